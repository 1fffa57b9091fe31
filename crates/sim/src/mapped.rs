//! Files reached through a mapping: faults, read-around, and the page tables that map them
//! (`filemap_fault`, `filemap_map_pages`).

use core::ops::Range;

use crate::filemap::{File, Progress, Reader};
use crate::folio::{Flag, Folios, MAPPED, PageId, State};
use crate::lruvec::Kind;
use crate::memory::Memory;
use crate::readahead::Window;

/// Pages that one fault maps at most, aligned (`fault_around_bytes`).
const AROUND: u64 = 16;

impl Reader<'_> {
    /// Touches the pages from `*cursor` up to `stop` through the mapping; stops where it has to
    /// wait, or to pause after a write. `faulting` tells that the page at the cursor has been
    /// counted as a fault.
    pub(crate) fn touch(
        &mut self,
        cursor: &mut u64,
        stop: u64,
        write: bool,
        faulting: &mut bool,
    ) -> Progress {
        while *cursor < stop {
            let page = self.file.base + *cursor as PageId;
            let raw = self.memory.folios.raw(page);
            if !Folios::is_mapped_and_used(raw, write) || self.memory.throttled.is_pending() {
                match self.fault(*cursor, page, write, faulting) {
                    Progress::Complete => *faulting = false,
                    wait => return wait,
                }
            }
            self.memory.spent += match write {
                true => self.memory.costs.touch_ps,
                false => self.memory.costs.load_ps,
            };
            *cursor += 1;
        }
        Progress::Complete
    }

    /// Maps the page at `cursor`, after reading it if it is not there.
    fn fault(&mut self, cursor: u64, page: PageId, write: bool, faulting: &mut bool) -> Progress {
        self.memory.in_fault = true;
        let progress = self.read_and_map(cursor, page, write, faulting);
        self.memory.in_fault = false;
        progress
    }

    fn read_and_map(
        &mut self,
        cursor: u64,
        page: PageId,
        write: bool,
        faulting: &mut bool,
    ) -> Progress {
        let folios = &mut self.memory.folios;
        let is_mapped = Folios::is_mapped(folios.raw(page));
        if is_mapped && (!write || folios.has(page, Flag::Dirty)) {
            folios.set(page, Flag::Accessed);
            return self.pause_if(self.memory.throttled.is_pending());
        }
        let first_try = !core::mem::replace(faulting, true);
        let folios = &self.memory.folios;
        let was_read = folios.is_resident(page) && !folios.is_reading(page);
        let is_retry = self.memory.rules.counts_retries && was_read;
        self.memory.count_fault(first_try || is_retry);
        if is_mapped {
            self.make_writable(page);
            return self.pause_if(true);
        }
        if first_try && !write {
            let mapped = self.map_around(cursor);
            self.memory.spent += self.memory.costs.map_file_ps * mapped / AROUND;
            if self.is_mapped(page) {
                return Progress::Complete;
            }
        }
        if first_try && !self.memory.folios.is_resident(page) {
            self.memory.events.pgmajfault += 1;
        }
        if first_try && self.memory.folios.is_resident(page) {
            self.readahead.note_mapped_hit();
        }
        let pages = self.file.pages;
        let fetched = self.fetch(cursor, |readahead| readahead.on_mapped_miss(cursor, pages));
        if let Err(why) = fetched {
            return Progress::NoPage(why);
        }
        if self.is_marked(page)
            && self.memory.folios.take(page, Flag::Readahead)
            && !self.is_mapped(page)
        {
            let window = self.readahead.on_mark(cursor, 1);
            if let Err(why) = self.read_ahead(window) {
                return Progress::NoPage(why);
            }
        }
        if self.memory.folios.is_reading(page) {
            return Progress::Waits(page);
        }
        if write {
            self.make_writable(page);
            return self.pause_if(true);
        }
        self.map_around(cursor);
        self.memory.spent += self.memory.costs.map_file_ps;
        Progress::Complete
    }

    /// Where the task has dirtied something, or is to be judged again: it may have to pause. What
    /// it wrote is written.
    fn pause_if(&mut self, dirtied: bool) -> Progress {
        let pause = match dirtied {
            true => self.memory.balance_dirty(self.file.disk),
            false => None,
        };
        pause.map_or(Progress::Complete, Progress::Pauses)
    }

    fn is_mapped(&self, page: PageId) -> bool {
        self.memory.folios.has(page, MAPPED)
    }

    /// Maps the pages around a fault that are there, and counts each as a fault that did not miss;
    /// how many were not mapped before.
    fn map_around(&mut self, cursor: u64) -> u64 {
        let first = cursor / AROUND * AROUND;
        let end = (first + AROUND).min(self.file.pages);
        let before = self.memory.file_mapped;
        for page in self.file.pages_of(first..end) {
            if self.memory.map_file_page(page) {
                self.readahead.note_mapped_hit();
            }
        }
        self.memory.file_mapped - before
    }
}

impl File {
    /// The pages of a range of indices.
    pub(crate) fn pages_of(&self, indices: Range<u64>) -> Range<PageId> {
        self.base + indices.start as PageId..self.base + indices.end as PageId
    }

    /// Takes the file's pages out of the page tables of a process that ends: those that were used
    /// through them count as accessed once more (`zap_pte_range`).
    pub(crate) fn unmap(&self, memory: &mut Memory) {
        for page in self.pages_of(0..self.pages) {
            if memory.folios.is_resident(page) && memory.folios.take(page, MAPPED) {
                memory.file_mapped -= 1;
                let on_list = matches!(memory.folios.state(page), State::Inactive | State::Active);
                if memory.folios.take(page, Flag::Accessed) && on_list {
                    memory.mark_accessed(page);
                }
            }
        }
    }
}

impl Memory {
    /// Maps a resident page of a file; it counts as used. One that is marked for readahead waits
    /// for a fault of its own. Whether the page is one that a fault finds: since 6.9 pages that
    /// were evicted and came back do not count.
    pub(crate) fn map_file_page(&mut self, page: PageId) -> bool {
        let there = self.folios.is_resident(page) && !self.folios.is_reading(page);
        if !there || self.folios.has(page, Flag::Readahead) {
            return false;
        }
        if !self.folios.has(page, MAPPED) {
            debug_assert_eq!(self.kind(page), Kind::File);
            self.folios.set(page, MAPPED);
            self.folios.set(page, Flag::Accessed);
            self.file_mapped += 1;
        }
        !(self.rules.doubts_refaults && self.folios.has(page, Flag::Workingset))
    }
}

impl crate::readahead::Readahead {
    /// The window for a miss through a mapping (`do_sync_mmap_readahead`): around the page, unless
    /// most faults miss.
    pub(crate) fn on_mapped_miss(&mut self, page: u64, file_pages: u64) -> Window {
        match self.mapped_miss() {
            None => Window {
                start: page,
                end: page + 1,
                mark: None,
            },
            Some(size) => {
                let start = page.saturating_sub(size / 2);
                let end = (start + size).min(file_pages);
                self.go_on_behind(start, size, size / 4);
                let mark = (end > start + size - size / 4).then(|| start + size - size / 4);
                Window { start, end, mark }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lru::Lru;
    use crate::readahead::{Limits, Readahead};

    #[test]
    fn a_fault_maps_the_sixteen_pages_around_it_that_are_there() {
        let mut memory = Memory::with_cache(10_000, 10, 30, 0);
        let file = File {
            base: 0,
            pages: 64,
            disk: 0,
            offset: 0,
        };
        let mut reader = Reader {
            memory: &mut memory,
            file: &file,
            readahead: &mut Readahead::new(Limits::DEFAULT),
        };
        let progress = reader.touch(&mut 20, 30, false, &mut false);
        assert_eq!(progress, Progress::Complete);
        assert_eq!(memory.file_mapped, 14, "16 to 29: 30 and 31 are not there");
        assert_eq!((memory.events.pgfault, memory.events.pgmajfault), (1, 0));
        assert_eq!(memory.list(Lru::InactiveFile), 30);
    }

    #[test]
    fn most_faults_missing_end_the_read_around() {
        let mut readahead = Readahead::new(Limits::DEFAULT);
        let first = readahead.on_mapped_miss(100, 1000);
        assert_eq!((first.start, first.end, first.mark), (84, 116, Some(108)));
        for page in 0..100 {
            readahead.on_mapped_miss(page * 7, 1000);
        }
        let alone = readahead.on_mapped_miss(500, 1000);
        assert_eq!((alone.start, alone.end), (500, 501));
    }
}
