//! Whose pages the page cache holds.
//!
//! Files are found by what processes have open (`/proc/PID/fd`) and mapped (`/proc/PID/map_files`),
//! and asked by `cachestat` (Linux 6.5), which counts pages and reads none. So nothing comes into
//! memory, no page is marked as accessed, and no time of access changes. A file is first only
//! named: what is no regular file, what another program or machine serves and what has a lease is
//! never opened. It runs beside the caller, who does not wait longer than was asked for: a process
//! that holds its own locks lets nobody read its mappings.

mod ask;
mod group;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use mm::maps;
use mm::page_cache::{CachedFile, LeftOut, PageCache, Program};
use mm::units::{Bytes, PageSize};

use self::ask::{Answer, Pages};
use crate::mounts::{Found, Local};
use crate::{Root, processes};

/// The most files that are kept.
const MOST: usize = 1 << 18;

/// Its device and number.
type Inode = ((u32, u32), u64);

/// What is found of one process, or of a part of its files.
#[derive(Debug, Default)]
struct Part {
    program: String,
    group: String,
    /// The files that it has; pages where it is the first that was seen with it.
    files: BTreeMap<Inode, Option<CachedFile>>,
    left_out: LeftOut,
}

/// Looks at all processes, for as long as `within` at most.
#[must_use]
pub fn read(root: &Root, page: PageSize, within: Duration) -> PageCache {
    let until = Instant::now() + within;
    let (send, receive) = mpsc::channel();
    let own = root.clone();
    thread::spawn(move || Looking::new(own, page, until).all(&send));
    let mut all = Collected::default();
    loop {
        match receive.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(part) => all.take(part),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                all.left_out.is_cut = true;
                break;
            }
        }
    }
    all.finish(group::read(root))
}

/// What is looked at, and what was seen before.
struct Looking {
    root: Root,
    page: PageSize,
    until: Instant,
    leased: BTreeSet<u64>,
    seen: BTreeSet<Inode>,
    /// A name space of mounts, and those that nobody else serves.
    mounts: Option<(PathBuf, Rc<Local>)>,
}

impl Looking {
    fn new(root: Root, page: PageSize, until: Instant) -> Self {
        let leased = ask::leased(&root.read("proc/locks").unwrap_or_default());
        Self {
            root,
            page,
            until,
            leased,
            seen: BTreeSet::new(),
            mounts: None,
        }
    }

    /// Hands over each process when it was looked at.
    fn all(mut self, send: &Sender<Part>) {
        if let Err(reason) = ask::is_known() {
            let none = Some(reason);
            let left_out = LeftOut {
                none,
                ..LeftOut::default()
            };
            let _ = send.send(Part {
                left_out,
                ..Part::default()
            });
            return;
        }
        for pid in processes::all(&self.root) {
            let mut part = self.process(pid);
            let is_over = self.is_over();
            part.left_out.is_cut |= is_over;
            if send.send(part).is_err() || is_over {
                return;
            }
        }
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    fn process(&mut self, pid: u32) -> Part {
        let root = self.root.clone();
        let text = |name: &str| {
            let read = root.read(&format!("proc/{pid}/{name}"));
            read.unwrap_or_default()
        };
        let mut part = Part {
            program: text("comm").trim().to_owned(),
            group: group::of(&text("cgroup")).unwrap_or_default(),
            ..Part::default()
        };
        if is_of_kernel(&text("stat")) {
            return part;
        }
        let Some(mounts) = self.mounts(pid) else {
            return part;
        };
        match root.join(&format!("proc/{pid}/fd")).read_dir() {
            Ok(names) => {
                let paths = names.filter_map(|name| Some(name.ok()?.path()));
                self.files(paths.map(|path| (path, None)), &mounts, &mut part);
            }
            Err(error) if processes::is_gone(&error) => return part,
            Err(_) => part.left_out.processes += 1,
        }
        let mapped = root.read(&format!("proc/{pid}/maps"));
        part.left_out.is_cut |= mapped.as_ref().is_err_and(is_too_large);
        let mapped = maps::parse("maps", &mapped.unwrap_or_default()).unwrap_or_default();
        let folder = root.join(&format!("proc/{pid}/map_files"));
        let mut inodes = BTreeSet::new();
        let of_files = mapped
            .iter()
            .filter(|it| it.inode != 0 && inodes.insert((it.inode, &it.name)));
        let paths = of_files.map(|it| {
            let path = folder.join(format!("{:x}-{:x}", it.start, it.end));
            (path, Some(it))
        });
        self.files(paths, &mounts, &mut part);
        part
    }

    /// The mounts that a process sees: most see the same as the one before.
    fn mounts(&mut self, pid: u32) -> Option<Rc<Local>> {
        let at = |name: &str| format!("proc/{pid}/{name}");
        let space = self.root.join(&at("ns/mnt")).read_link().ok();
        match &self.mounts {
            Some((known, mounts)) if space.as_ref() == Some(known) => Some(mounts.clone()),
            _ => {
                let text = self.root.read(&at("mountinfo")).ok()?;
                let mounts = Rc::new(Local::of(text.as_bytes()).ok()?);
                self.mounts = space.map(|space| (space, mounts.clone()));
                Some(mounts)
            }
        }
    }

    /// Files by links that lead to them, of mappings with what is known of these.
    fn files<'a>(
        &mut self,
        links: impl Iterator<Item = (PathBuf, Option<&'a maps::Mapping>)>,
        mounts: &Local,
        part: &mut Part,
    ) {
        for (link, mapping) in links {
            if self.is_over() || self.seen.len() >= MOST {
                part.left_out.is_cut = true;
                return;
            }
            // What is closed meanwhile is no longer there.
            if let Some(found) = self.found(&link, mapping, mounts) {
                self.file(&link, mapping, &found, mounts, part);
            }
        }
    }

    /// Without the right to follow the link of a mapping, its path may lead to the same file.
    fn found(&self, link: &Path, of: Option<&maps::Mapping>, mounts: &Local) -> Option<Found> {
        let by_path = |of: &maps::Mapping| {
            let found = mounts.find(Path::new(&of.name)).ok()?;
            (found.inode() == of.inode).then_some(found)
        };
        Found::behind(link).ok().or_else(|| by_path(of?))
    }

    fn file(
        &mut self,
        link: &Path,
        mapping: Option<&maps::Mapping>,
        found: &Found,
        mounts: &Local,
        part: &mut Part,
    ) {
        if !found.is_regular() {
            return;
        }
        if !mounts.has(found) {
            part.left_out.served += 1;
            return;
        }
        let inode = (found.device(), found.inode());
        let mut first = None;
        if self.seen.insert(inode) {
            let pages = match self.leased.contains(&found.inode()) {
                true => Answer::Leased,
                false => ask::pages(found, self.page, &|| self.is_over()),
            };
            let Some(pages) = pages.counted(&mut part.left_out) else {
                return;
            };
            let path = match mapping {
                Some(mapping) => mapping.name.clone(),
                None => link
                    .read_link()
                    .map_or_else(|_| String::new(), |it| it.display().to_string()),
            };
            first = Some(cached(path, pages, part));
        }
        part.files.entry(inode).or_insert(first);
    }
}

/// Whether a `/proc/PID/stat` is that of a thread of the kernel's, which has no files.
fn is_of_kernel(stat: &str) -> bool {
    const PF_KTHREAD: u64 = 0x0020_0000;
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let flags = rest.split_whitespace().nth(6);
    flags.is_some_and(|it| it.parse::<u64>().is_ok_and(|it| it & PF_KTHREAD != 0))
}

/// Whether there is more of it than is read.
fn is_too_large(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::FileTooLarge
}

fn cached(path: String, pages: Pages, part: &Part) -> CachedFile {
    CachedFile {
        path,
        is_shared_memory: pages.is_shared_memory,
        size: pages.size,
        cached: pages.cached,
        dirty: pages.dirty,
        evicted_recently: pages.evicted_recently,
        programs: vec![],
        group: part.group.clone(),
    }
}

/// What all processes have.
#[derive(Debug, Default)]
struct Collected {
    files: BTreeMap<Inode, CachedFile>,
    programs: BTreeMap<String, BTreeSet<Inode>>,
    left_out: LeftOut,
}

impl Collected {
    fn take(&mut self, part: Part) {
        let all = &mut self.left_out;
        all.none = part.left_out.none.or(all.none.take());
        all.processes += part.left_out.processes;
        all.refused += part.left_out.refused;
        all.served += part.left_out.served;
        all.leased += part.left_out.leased;
        all.overlaid += part.left_out.overlaid;
        all.is_cut |= part.left_out.is_cut;
        for (inode, file) in part.files {
            if let Some(file) = file {
                self.files.insert(inode, file);
            }
            let programs = self.programs.entry(part.program.clone());
            programs.or_default().insert(inode);
        }
    }

    fn finish(self, groups: Vec<mm::page_cache::Group>) -> PageCache {
        let (mut known, mut programs) = (self.files, vec![]);
        known.retain(|_, file| file.cached > Bytes::ZERO);
        for (name, inodes) in self.programs {
            let (mut files, mut cached) = (0, 0);
            for inode in inodes {
                if let Some(file) = known.get_mut(&inode) {
                    file.programs.push(name.clone());
                    (files, cached) = (files + 1, cached + file.cached.0);
                }
            }
            let cached = Bytes(cached);
            programs.push(Program {
                name,
                files,
                cached,
            });
        }
        let mut files: Vec<CachedFile> = known.into_values().collect();
        files.sort_by(|a, b| b.cached.cmp(&a.cached).then_with(|| a.path.cmp(&b.path)));
        programs.retain(|program| program.files > 0);
        programs.sort_by_key(|program| std::cmp::Reverse(program.cached));
        PageCache {
            files,
            programs,
            groups,
            left_out: self.left_out,
        }
    }
}

#[cfg(test)]
mod tests;
