//! The files of the machine as a process has them open: each once, until it closes it or ends, so
//! that advice and the kernel's readahead state outlast a step.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use mm::units::Bytes;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::Advice;
use scenario::machine::{File, Machine};
use scenario::workload::{Action, Process, Target, Via};

use crate::mapping::Mapping;
use crate::place::Place;
use crate::plan::each_step;

/// The open files of one process.
#[derive(Debug)]
pub(crate) struct Files<'a> {
    place: &'a Place,
    machine: &'a Machine,
    open: BTreeMap<String, OpenFile>,
    /// Files that the process closes and never writes, which it opens as a reader does: who watches
    /// files tells the closes of readers and writers apart.
    only_read: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct OpenFile {
    cached: Option<OwnedFd>,
    direct: Option<OwnedFd>,
    mapping: Option<Mapping>,
    advice: Option<Advice>,
}

impl<'a> Files<'a> {
    /// None open yet.
    pub(crate) fn new(place: &'a Place, machine: &'a Machine, process: &Process) -> Self {
        Self {
            only_read: only_read(process),
            place,
            machine,
            open: BTreeMap::new(),
        }
    }

    /// The size of a file as the study says it.
    pub(crate) fn size(&self, name: &str) -> Result<Bytes, Errno> {
        self.find(name).map(|file| file.size)
    }

    /// A descriptor that goes through the page cache.
    pub(crate) fn cached(&mut self, name: &str) -> Result<BorrowedFd<'_>, Errno> {
        let path = self.path(name)?;
        let flags = match self.only_read.contains(name) {
            true => OFlags::RDONLY,
            false => OFlags::RDWR,
        };
        let cached = &mut self.entry(name).cached;
        if cached.is_none() {
            *cached = Some(open(&path, flags)?);
        }
        cached.as_ref().map(|fd| fd.as_fd()).ok_or(Errno::BADF)
    }

    /// A descriptor that goes past the page cache.
    pub(crate) fn direct(&mut self, name: &str) -> Result<BorrowedFd<'_>, Errno> {
        let path = self.path(name)?;
        let direct = &mut self.entry(name).direct;
        if direct.is_none() {
            *direct = Some(open(&path, OFlags::RDWR | OFlags::DIRECT)?);
        }
        direct.as_ref().map(|fd| fd.as_fd()).ok_or(Errno::BADF)
    }

    /// A shared mapping of the whole file, under the advice given so far.
    pub(crate) fn mapping(&mut self, name: &str) -> Result<&Mapping, Errno> {
        if self.entry(name).mapping.is_none() {
            let length = usize::try_from(self.size(name)?.0).map_err(|_| Errno::NOMEM)?;
            let mapping = Mapping::file(self.cached(name)?, length)?;
            let entry = self.entry(name);
            if let Some(advice) = entry.advice {
                mapping.advise(advice)?;
            }
            entry.mapping = Some(mapping);
        }
        self.entry(name).mapping.as_ref().ok_or(Errno::BADF)
    }

    /// Remembers advice about mappings, and gives it to the mapping there is.
    pub(crate) fn advise_mapping(&mut self, name: &str, advice: Advice) -> Result<(), Errno> {
        let entry = self.entry(name);
        entry.advice = Some(advice);
        entry
            .mapping
            .as_ref()
            .map_or(Ok(()), |mapping| mapping.advise(advice))
    }

    /// Closes a file, as a program does that is done with it. One that is not open stays so.
    pub(crate) fn close(&mut self, name: &str) -> Result<(), Errno> {
        self.find(name)?;
        self.open.remove(name);
        Ok(())
    }

    fn entry(&mut self, name: &str) -> &mut OpenFile {
        if !self.open.contains_key(name) {
            self.open.insert(name.to_owned(), OpenFile::default());
        }
        self.open.get_mut(name).expect("it was inserted above")
    }

    fn find(&self, name: &str) -> Result<&'a File, Errno> {
        self.machine
            .files
            .iter()
            .find(|file| file.name == name)
            .ok_or(Errno::NOENT)
    }

    fn path(&self, name: &str) -> Result<PathBuf, Errno> {
        let file = self.find(name)?;
        Ok(self.place.disk(&file.disk).join(&file.name))
    }
}

fn open(path: &std::path::Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::CLOEXEC | flags, Mode::empty())
}

fn only_read(process: &Process) -> BTreeSet<String> {
    let (mut closed, mut written) = (BTreeSet::new(), BTreeSet::new());
    each_step(&process.steps, &mut |step| match &step.action {
        Action::Close { file } => _ = closed.insert(file.clone()),
        Action::Lock {
            target: Target::File(file),
        }
        | Action::Sync { file } => {
            written.insert(file.clone());
        }
        Action::Access(access) if access.write_percent > 0 || access.via == Via::Mmap => {
            if let Target::File(file) = &access.target {
                written.insert(file.clone());
            }
        }
        _ => {}
    });
    &closed - &written
}
