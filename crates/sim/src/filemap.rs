//! The page cache: files, reads through it, and what is being read (`mm/filemap.c`).

use alloc::vec::Vec;

use mm::units::{Bytes, Nanos};

use crate::disk::Disk;
use crate::folio::{Flag, PageId, State};
use crate::lru::Lru;
use crate::memory::Memory;
use crate::readahead::{Readahead, Window};
use crate::workingset::History;

const PAGE: u64 = 4096;

/// A file of the machine.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Index of its first page.
    pub(crate) base: PageId,
    /// Its length in pages.
    pub(crate) pages: u64,
    /// The disk it lies on, and where.
    pub(crate) disk: usize,
    pub(crate) offset: u64,
    /// Reads that have not come back.
    pub(crate) reads: Vec<Read>,
}

/// Pages on their way from the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) start: PageId,
    pub(crate) end: PageId,
    pub(crate) done: Nanos,
}

/// How far a `read()` got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All pages asked for were copied.
    Complete,
    /// The page at the cursor is being read until then.
    WaitsUntil(Nanos),
    /// There is no memory for the page at the cursor.
    OutOfMemory,
}

/// The parts of the machine that a read touches.
pub(crate) struct Reader<'a> {
    pub(crate) memory: &'a mut Memory,
    pub(crate) disks: &'a mut [Disk],
    pub(crate) file: &'a mut File,
    /// The file's index.
    pub(crate) index: usize,
    pub(crate) readahead: &'a mut Readahead,
    /// When the step began: the CPU time spent since is in the memory's account.
    pub(crate) began: Nanos,
    /// Reads that were submitted, with the file's index, for the caller to await.
    pub(crate) submitted: &'a mut Vec<(usize, Read)>,
}

impl Reader<'_> {
    /// Copies pages from `*cursor` up to `stop` (`filemap_read`), reading ahead as it goes; stops
    /// where it has to wait. The `read()` as a whole ends at `end`.
    pub(crate) fn read(&mut self, cursor: &mut u64, stop: u64, end: u64) -> Progress {
        while *cursor < stop {
            let page = self.file.base + *cursor as PageId;
            if !crate::folio::Folios::is_settled(self.memory.folios.raw(page)) {
                match self.prepare(*cursor, end) {
                    Progress::Complete => self.memory.mark_accessed(page),
                    wait => return wait,
                }
            }
            self.memory.spent += self.memory.costs.cached_read_ps;
            self.readahead.note_read(*cursor);
            *cursor += 1;
        }
        Progress::Complete
    }

    /// Sees to it that the page at `cursor` is there: reads it on a miss, reads on where it is
    /// marked.
    fn prepare(&mut self, cursor: u64, end: u64) -> Progress {
        let page = self.file.base + cursor as PageId;
        if !self.memory.folios.is_resident(page) {
            let window = self.readahead.on_miss(cursor, end - cursor);
            self.submit(window);
            if !self.memory.folios.is_resident(page) {
                return Progress::OutOfMemory;
            }
        }
        if self.memory.folios.take(page, Flag::Readahead) {
            let window = self.readahead.on_mark(cursor, end - cursor);
            self.submit(window);
        }
        if self.memory.folios.is_in_flight(page) {
            return Progress::WaitsUntil(self.file.completion(page));
        }
        Progress::Complete
    }

    /// Reads the pages of a window that are not there, one request for each gap.
    fn submit(&mut self, window: Window) {
        let end = window.end.min(self.file.pages);
        let mut gap = None;
        for index in window.start..end {
            let page = self.file.base + index as PageId;
            if self.memory.folios.is_resident(page) {
                self.request(gap.take(), page);
                continue;
            }
            if !self.insert(page) {
                self.request(gap.take(), page);
                return;
            }
            if window.mark == Some(index) {
                self.memory.folios.set(page, Flag::Readahead);
            }
            gap = gap.or(Some(page));
        }
        self.request(gap, self.file.base + end as PageId);
    }

    /// Allocates a page and puts it into the file's tree, locked; false where there is no memory.
    fn insert(&mut self, page: PageId) -> bool {
        let history = self.memory.history(page);
        if self.memory.allocate(page, State::InFlight).is_err() {
            return false;
        }
        if history == History::None && self.memory.tree_insert(page).is_err() {
            self.memory.free(page);
            self.memory.folios.forget(page);
            return false;
        }
        self.memory.admit(page, history);
        self.memory.in_flight += 1;
        self.memory.spent += self.memory.costs.read_in_ps;
        true
    }

    fn request(&mut self, start: Option<PageId>, end: PageId) {
        let Some(start) = start else { return };
        let offset = self.file.offset + u64::from(start - self.file.base) * PAGE;
        let length = Bytes(u64::from(end - start) * PAGE);
        self.memory.spent += self.memory.costs.request_ps;
        let now = self.began + Nanos(self.memory.spent / 1000);
        let done = self.disks[self.file.disk].read(now, offset, length);
        let read = Read { start, end, done };
        self.memory.events.pgpgin += length.0 / 1024;
        self.file.reads.push(read);
        self.submitted.push((self.index, read));
    }
}

impl File {
    /// When the page that is being read will be there.
    fn completion(&self, page: PageId) -> Nanos {
        let covers = |read: &&Read| (read.start..read.end).contains(&page);
        self.reads
            .iter()
            .find(covers)
            .map(|read| read.done)
            .expect("a page in flight has a read")
    }

    /// A read came back: its pages are unlocked and go to their lists.
    pub(crate) fn complete(&mut self, read: Read, memory: &mut Memory) {
        self.reads.retain(|other| *other != read);
        for page in read.start..read.end {
            let active = memory.folios.state(page) == State::InFlightActive;
            memory.in_flight -= 1;
            memory.add_to_list(
                page,
                if active {
                    Lru::ActiveFile
                } else {
                    Lru::InactiveFile
                },
            );
        }
    }

    /// Drops every clean page that is not in use (`POSIX_FADV_DONTNEED`, `vm.drop_caches`).
    pub(crate) fn drop_pages(&self, memory: &mut Memory) {
        for page in self.base..self.base + self.pages as PageId {
            match memory.folios.state(page) {
                State::Inactive => memory.take_from_list(page, Lru::InactiveFile),
                State::Active => memory.take_from_list(page, Lru::ActiveFile),
                _ => continue,
            }
            memory.free(page);
            memory.folios.forget(page);
            memory.tree_remove(page);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use mm::machine;

    use super::*;
    use crate::readahead::Limits;

    /// A file of 64 pages, of which `cached` are there, read from its first page.
    fn read_with(cached: &[PageId]) -> (Memory, File, Progress) {
        let mut memory = Memory::with_zone(10_000, 10);
        let base = memory.take_range(64).expect("there is room");
        for page in cached.iter().map(|index| base + index) {
            memory.allocate(page, State::Inactive).expect("it fits");
            memory.tree_insert(page).expect("it fits");
            memory.add_to_list(page, Lru::InactiveFile);
        }
        let disk = machine::Disk {
            name: "disk".into(),
            size: Bytes::GIB,
            read_bandwidth: Bytes(1 << 30),
            write_bandwidth: Bytes(1 << 30),
            latency: Nanos(1000),
            seek: Nanos::ZERO,
            channels: 1,
            queue_depth: 1,
            rotational: false,
        };
        let mut file = File {
            base,
            pages: 64,
            disk: 0,
            offset: 0,
            reads: Vec::new(),
        };
        let mut reader = Reader {
            memory: &mut memory,
            disks: &mut [Disk::new(&disk)],
            file: &mut file,
            index: 0,
            readahead: &mut Readahead::new(Limits::DEFAULT),
            began: Nanos::ZERO,
            submitted: &mut Vec::new(),
        };
        let progress = reader.read(&mut 0, 32, 32);
        (memory, file, progress)
    }

    fn requests(file: &File) -> Vec<(PageId, PageId)> {
        let reads = file.reads.iter();
        reads.map(|read| (read.start, read.end)).collect()
    }

    #[test]
    fn a_miss_reads_the_window_in_one_request_and_waits_for_it() {
        let (memory, file, progress) = read_with(&[]);
        assert_eq!(requests(&file), [(0, 32)]);
        assert_eq!(progress, Progress::WaitsUntil(file.reads[0].done));
        assert_eq!(memory.in_flight, 32);
        assert_eq!(memory.events.pgpgin, 128);
    }

    #[test]
    fn a_window_that_is_partly_cached_makes_one_request_for_each_gap() {
        let (_, file, _) = read_with(&[5, 6, 20]);
        assert_eq!(requests(&file), [(0, 5), (7, 20), (21, 32)]);
    }

    #[test]
    fn cached_pages_are_marked_as_accessed_and_read_nothing() {
        let all: Vec<PageId> = (0..32).collect();
        let (memory, file, progress) = read_with(&all);
        assert_eq!((progress, file.reads), (Progress::Complete, vec![]));
        assert!(
            all.iter()
                .all(|&page| memory.folios.has(page, Flag::Referenced))
        );
    }

    #[test]
    fn a_read_that_came_back_puts_its_pages_on_the_list() {
        let (mut memory, mut file, _) = read_with(&[]);
        file.complete(file.reads[0], &mut memory);
        assert_eq!((memory.in_flight, memory.list(Lru::InactiveFile)), (0, 32));
        assert!(file.reads.is_empty());
    }
}
