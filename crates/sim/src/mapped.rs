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
    /// wait. `faulting` tells that the page at the cursor has been counted as a fault.
    pub(crate) fn touch(&mut self, cursor: &mut u64, stop: u64, faulting: &mut bool) -> Progress {
        while *cursor < stop {
            let page = self.file.base + *cursor as PageId;
            if !Folios::is_mapped_and_used(self.memory.folios.raw(page)) {
                match self.fault(*cursor, page, faulting) {
                    Progress::Complete => *faulting = false,
                    wait => return wait,
                }
            }
            self.memory.spent += self.memory.costs.load_ps;
            *cursor += 1;
        }
        Progress::Complete
    }

    /// Maps the page at `cursor`, after reading it if it is not there.
    fn fault(&mut self, cursor: u64, page: PageId, faulting: &mut bool) -> Progress {
        self.memory.in_fault = true;
        let progress = self.read_and_map(cursor, page, faulting);
        self.memory.in_fault = false;
        progress
    }

    fn read_and_map(&mut self, cursor: u64, page: PageId, faulting: &mut bool) -> Progress {
        let folios = &mut self.memory.folios;
        if folios.has(page, MAPPED) && folios.is_resident(page) && !folios.is_reading(page) {
            folios.set(page, Flag::Accessed);
            return Progress::Complete;
        }
        let first_try = !core::mem::replace(faulting, true);
        self.memory.count_fault(first_try);
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
        if self.memory.folios.take(page, Flag::Readahead) && !self.is_mapped(page) {
            let window = self.readahead.on_mark(cursor, 1);
            if let Err(why) = self.read_ahead(window) {
                return Progress::NoPage(why);
            }
        }
        if self.memory.folios.is_reading(page) {
            return Progress::Waits(page);
        }
        self.map_around(cursor);
        Progress::Complete
    }

    fn is_mapped(&self, page: PageId) -> bool {
        self.memory.folios.has(page, MAPPED)
    }

    /// Maps the pages around a fault that are there.
    fn map_around(&mut self, cursor: u64) {
        let first = cursor / AROUND * AROUND;
        let pages = self
            .file
            .pages_of(first..(first + AROUND).min(self.file.pages));
        for page in pages {
            self.memory.map_file_page(page);
        }
        self.memory.spent += self.memory.costs.map_file_ps;
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
    /// for a fault of its own.
    pub(crate) fn map_file_page(&mut self, page: PageId) {
        let there = self.folios.is_resident(page) && !self.folios.is_reading(page);
        if there && !self.folios.has(page, Flag::Readahead) && !self.folios.has(page, MAPPED) {
            debug_assert_eq!(self.kind(page), Kind::File);
            self.folios.set(page, MAPPED);
            self.folios.set(page, Flag::Accessed);
            self.file_mapped += 1;
        }
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
        let progress = reader.touch(&mut 20, 30, &mut false);
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
