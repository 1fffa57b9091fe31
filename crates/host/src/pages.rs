//! What the anonymous pages of running processes hold, as hashes.
//!
//! Nothing is changed in them and nothing stopped. Only pages in memory are read, by
//! `/proc/PID/pagemap`, so none is faulted or swapped in; a page that goes to swap between the two
//! reads is the exception. They are read through `/proc/PID/mem`: `process_vm_readv` would pin
//! them, and pinning a page that a fork or KSM left shared copies it first (`FAULT_FLAG_UNSHARE`).
//! Any way of reading marks a page as accessed. What is kept are hashes, never contents.

mod cost;
mod hash;
mod kept;
mod memory;
mod units;

use std::thread;
use std::time::{Duration, Instant};

use mm::formula::sharing::{Candidate, Sample, ZERO_PAGE};
use mm::process::anon_huge_pages;
use mm::units::{Bytes, Nanos, PageSize, Pages};
use rustix::time::{ClockId, clock_gettime};

use crate::processes::Process;
use crate::{Root, root};
use hash::Hasher;
use kept::Kept;
use memory::{Buffers, Memory, Present};
use units::Unit;

pub use cost::visit_cost;

/// Memory that one kept page takes, in bytes.
pub const BYTES_KEPT: usize = size_of::<Candidate>();

/// Bounds of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// CPU time of this process, for both looks together.
    pub cpu: Nanos,
    /// Pages that are kept, at most; each takes [`BYTES_KEPT`].
    pub keep: usize,
    /// From the first look to the second, at least.
    pub between: Duration,
}

/// What was read.
#[derive(Debug)]
pub struct Reading {
    /// In ascending order.
    candidates: Vec<Candidate>,
    /// The process of each unit, by its place in the list.
    owners: Vec<u32>,
    common: Vec<u64>,
    one_in: u64,
    /// Candidates whose content was read.
    pub read: Pages,
    /// Candidates there are: counted where everything was read, else what the processes say.
    pub all: Pages,
    /// Pages in swap, in what was read.
    pub swapped: Pages,
    /// Anonymous memory in huge pages, as far as there was time to ask.
    pub huge: Bytes,
    /// Whether time was left to look at every kept page again.
    pub twice: bool,
    /// Processes, by their place in the list, that ended before they were read to the end.
    pub lost: Vec<u32>,
    /// Processes that may not be read, and the system's reason.
    pub refused: Vec<(u32, String)>,
}

/// Reads the anonymous pages of the processes, twice, within the limits.
#[must_use]
pub fn read(root: &Root, processes: &[Process], page: PageSize, limits: &Limits) -> Reading {
    let (started, spent) = (Instant::now(), cpu_time());
    let within = |halves: u64| cpu_time().0 - spent.0 < limits.cpu.0 / 2 * halves;
    let mut reader = Reader::new(root, processes, page, limits.keep);
    let units = reader.units(|| within(1));
    let mut read = 0;
    while read < units.len() && within(1) {
        reader.first_look(&units[read]);
        read += 1;
    }
    thread::sleep(limits.between.saturating_sub(started.elapsed()));
    let twice = reader.second_look(&units[..read], || within(2));
    reader.finish(read == units.len(), twice)
}

/// CPU time that this process has used.
#[must_use]
pub fn cpu_time() -> Nanos {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Nanos(seconds * Nanos::SECOND.0 + nanos)
}

impl Reading {
    /// The sample for the estimate.
    #[must_use]
    pub fn sample(&self) -> Sample<'_> {
        Sample {
            candidates: &self.candidates,
            owners: &self.owners,
            common: &self.common,
            one_in: self.one_in,
            pages_read: self.read.0,
            pages_all: self.all.0,
        }
    }

    /// The process of each unit, by its place in the list.
    #[must_use]
    pub fn owners(&self) -> &[u32] {
        &self.owners
    }

    /// Pages that were kept.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.candidates.len()
    }
}

struct Reader<'a> {
    root: &'a Root,
    processes: &'a [Process],
    page: PageSize,
    hasher: Hasher,
    kept: Kept,
    buffers: Buffers,
    owners: Vec<u32>,
    read: u64,
    swapped: u64,
    huge: Bytes,
    lost: Vec<u32>,
    refused: Vec<(u32, String)>,
}

impl<'a> Reader<'a> {
    fn new(root: &'a Root, processes: &'a [Process], page: PageSize, keep: usize) -> Self {
        Self {
            root,
            processes,
            page,
            hasher: Hasher::new(page),
            kept: Kept::new(keep),
            buffers: Buffers::new(page),
            owners: Vec::new(),
            read: 0,
            swapped: 0,
            huge: Bytes::ZERO,
            lost: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// What is to be read, in random order, and notes whom we may not read.
    fn units(&mut self, within: impl Fn() -> bool) -> Vec<Unit> {
        let mut units = Vec::new();
        let mounts = units::hugetlb_mounts(self.root);
        let mut room = units::OF_ALL;
        for (index, process) in (0..).zip(self.processes) {
            // Its mappings may be read where its memory may not.
            let readable = Memory::open(self.root, process.pid, self.page);
            let mut units_of =
                || units::of(self.root, process.pid, index, self.page, &mounts, &mut room);
            match readable.and_then(|_| units_of()) {
                Ok(of_process) => {
                    units.extend(of_process);
                    if within() {
                        self.add_huge(process.pid);
                    }
                }
                Err(error) if crate::processes::is_gone(&error) => self.lost.push(index),
                Err(error) => self.refused.push((index, root::reason(&error))),
            }
        }
        units::shuffle(&mut units);
        units
    }

    fn add_huge(&mut self, pid: u32) {
        let rollup = self.root.read(&format!("proc/{pid}/smaps_rollup"));
        let huge = rollup.ok().and_then(|text| anon_huge_pages(&text));
        self.huge = self.huge.saturating_add(huge.unwrap_or(Bytes::ZERO));
    }

    fn first_look(&mut self, unit: &Unit) {
        let number = u32::try_from(self.owners.len()).unwrap_or(u32::MAX);
        self.owners.push(unit.process);
        let Self {
            root,
            processes,
            page,
            buffers,
            kept,
            read,
            hasher,
            ..
        } = self;
        let mut take = |present: &Present, bytes: &[u8]| {
            let content = hasher.content(bytes);
            // The kernel's page of zeros is no candidate, nor is what was merged with it.
            if content == ZERO_PAGE && !present.entry.is_exclusive() {
                return;
            }
            *read += 1;
            kept.offer(present.candidate(content, number));
        };
        let pid = processes[unit.process as usize].pid;
        let looked = Memory::open(root, pid, *page)
            .and_then(|memory| memory.look(unit, buffers, |_| true, &mut take));
        match looked {
            Ok(swapped) => self.swapped += swapped,
            Err(_) => self.lose(unit.process),
        }
    }

    /// Looks at the kept pages again; whether there was time for all.
    fn second_look(&mut self, units: &[Unit], within: impl Fn() -> bool) -> bool {
        let Self {
            root,
            processes,
            page,
            buffers,
            kept,
            hasher,
            ..
        } = self;
        let mut lost = Vec::new();
        let by_unit = kept.candidates.chunk_by_mut(|a, b| a.unit == b.unit);
        for candidates in by_unit {
            if !within() {
                return false;
            }
            let unit = &units[candidates[0].unit as usize];
            candidates
                .iter_mut()
                .for_each(|candidate| candidate.changed = true);
            let places: Vec<u16> = candidates.iter().map(|candidate| candidate.page).collect();
            let wanted = |place: u16| places.binary_search(&place).is_ok();
            let mut take = |present: &Present, bytes: &[u8]| {
                if let Ok(at) = places.binary_search(&present.place) {
                    candidates[at].changed = hasher.content(bytes) != candidates[at].content;
                }
            };
            let pid = processes[unit.process as usize].pid;
            let looked = Memory::open(root, pid, *page)
                .and_then(|memory| memory.look(unit, buffers, wanted, &mut take));
            if looked.is_err() {
                lost.push(unit.process);
            }
        }
        lost.into_iter().for_each(|process| self.lose(process));
        true
    }

    fn lose(&mut self, process: u32) {
        if !self.lost.contains(&process) {
            self.lost.push(process);
        }
    }

    fn finish(self, whole: bool, twice: bool) -> Reading {
        let refused = |index: &u32| self.refused.iter().any(|(process, _)| process == index);
        let read_from = (0..)
            .zip(self.processes)
            .filter(|(index, _)| !refused(index));
        let said = read_from.map(|(_, process)| process.rss_anon.pages_floor(self.page));
        let all = match whole {
            true => self.read,
            false => self.read.max(said.sum::<Pages>().0),
        };
        let Kept {
            mut candidates,
            common,
            one_in,
            ..
        } = self.kept;
        candidates.sort_unstable();
        Reading {
            candidates,
            owners: self.owners,
            common,
            one_in,
            read: Pages(self.read),
            all: Pages(all),
            swapped: Pages(self.swapped),
            huge: self.huge,
            twice,
            lost: self.lost,
            refused: self.refused,
        }
    }
}

#[cfg(test)]
mod tests;
