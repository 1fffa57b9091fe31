//! Files reached through a mapping: faults and read-around (`filemap_fault`, `filemap_map_pages`).

use core::ops::Range;

use mm::rules::Mechanism;

use crate::mm::filemap::Reader;
use crate::mm::filemap::state::{File, Progress};
use crate::mm::folio::Folios;
use crate::mm::folio::{Flag, PageId, State};
use crate::mm::lru::Kind;
use crate::mm::parts::Memory;
use crate::mm::readahead::{Limits, Window};
use crate::mm::rmap::state::Mapping;
use crate::sched::cpu::Cpu;

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
        let mapping = self.memory.rmap.mapping(&self.memory.cpu, self.file.base);
        let pages = self.file.pages_of(*cursor..stop);
        self.memory.rmap.use_tables(mapping, pages);
        while *cursor < stop {
            let page = self.file.base + *cursor as PageId;
            let is_used =
                self.memory
                    .rmap
                    .is_mapped_and_used(&self.memory.folios, mapping, page, write);
            if !is_used || self.memory.cpu.current.throttled.is_pending() {
                match self.fault(mapping, *cursor, write, faulting) {
                    Progress::Complete => *faulting = false,
                    Progress::Pauses(ticks) => {
                        *faulting = false;
                        return Progress::Pauses(ticks);
                    }
                    wait => return wait,
                }
            }
            // A store to a file's page writes one word, as a load reads one.
            self.memory.cpu.spent += self.memory.cpu.costs.load_ps;
            *cursor += 1;
        }
        Progress::Complete
    }

    /// Maps the page at `cursor`, after reading it if it is not there.
    fn fault(
        &mut self,
        mapping: Mapping,
        cursor: u64,
        write: bool,
        faulting: &mut bool,
    ) -> Progress {
        self.memory.cpu.current.in_fault = true;
        let progress = self.read_and_map(mapping, cursor, write, faulting);
        self.memory.cpu.current.in_fault = false;
        progress
    }

    fn read_and_map(
        &mut self,
        mapping: Mapping,
        cursor: u64,
        write: bool,
        faulting: &mut bool,
    ) -> Progress {
        let page = self.file.base + cursor as PageId;
        let is_mapped = self.memory.rmap.maps(mapping, page);
        if is_mapped && self.memory.rmap.may_touch(mapping, page, write) {
            self.memory
                .rmap
                .use_mapped(&mut self.memory.folios, mapping, page);
            return self.pause_if(self.memory.cpu.current.throttled.is_pending());
        }
        let first_try = !core::mem::replace(faulting, true);
        let folios = &self.memory.folios;
        let was_read = folios.is_resident(page) && !folios.is_reading(page);
        let is_retry = self.memory.cpu.rules.has(Mechanism::CountsRetriedFaults) && was_read;
        self.memory
            .groups
            .count_fault(&mut self.memory.cpu, first_try || is_retry);
        if is_mapped {
            return self.make_writable(mapping, page);
        }
        if first_try {
            self.memory.rmap.extend_tables(
                &mut self.memory.cpu,
                &mut self.memory.zones,
                &mut self.memory.groups,
                &mut self.memory.objects,
                mapping,
                page,
            );
        }
        if first_try && !write {
            self.map_around(mapping, cursor);
            if self.memory.rmap.maps(mapping, page) {
                return Progress::Complete;
            }
        }
        match self.memory.folios.is_resident(page) {
            true if first_try => self.readahead.note_mapped_hit(),
            false if first_try => self.memory.cpu.events.pgmajfault += 1,
            _ => {}
        }
        let file = self.file;
        let fetched = self.fetch(cursor, |readahead, memory| {
            let (device, _) = file.reads_ahead(memory);
            readahead.on_mapped_miss(cursor, file.end(), device)
        });
        if let Err(why) = fetched {
            return Progress::NoPage(why);
        }
        if self.is_marked(page)
            && self.memory.folios.take(page, Flag::Readahead)
            && !self.memory.rmap.maps(mapping, page)
            && let Err(why) = self.read_behind_mark(cursor, self.most_mapped())
        {
            return Progress::NoPage(why);
        }
        if self.memory.folios.is_reading(page) {
            return Progress::Waits(page);
        }
        if write {
            return self.make_writable(mapping, page);
        }
        self.map_around(mapping, cursor);
        Progress::Complete
    }

    /// Where the task has dirtied something, or is to be judged again: it may have to pause. What
    /// it wrote is written.
    pub(crate) fn pause_if(&mut self, dirtied: bool) -> Progress {
        let pause = match dirtied {
            true => self.memory.balance_dirty(self.file.disk),
            false => None,
        };
        pause.map_or(Progress::Complete, Progress::Pauses)
    }

    /// Maps the pages around a fault that are there, and counts each as a fault that did not miss.
    fn map_around(&mut self, mapping: Mapping, cursor: u64) {
        let first = cursor / AROUND * AROUND;
        let end = (first + AROUND).min(self.file.end());
        let mut took = 0;
        for page in self.file.pages_of(first..end) {
            if !self.memory.folios.is_ready(page) {
                continue;
            }
            if !self.memory.rmap.maps(mapping, page) {
                took += match self.memory.folios.is_mapped(page) {
                    true => self.memory.cpu.costs.map_again_ps,
                    false => self.memory.cpu.costs.map_file_ps,
                };
                self.memory
                    .rmap
                    .map_page(&mut self.memory.folios, mapping, page, false);
            }
            if !self.memory.folios.is_doubtful(&self.memory.cpu, page) {
                self.readahead.note_mapped_hit();
            }
        }
        self.memory.cpu.spent += took / AROUND;
    }
}

impl File {
    /// The pages of a range of indices.
    pub(crate) fn pages_of(&self, indices: Range<u64>) -> Range<PageId> {
        self.base + indices.start as PageId..self.base + indices.end as PageId
    }

    /// Takes the file's pages out of the page tables of a process that ends: those that were used
    /// through them count as accessed once more (`zap_pte_range`).
    pub(crate) fn unmap(&self, owner: usize, memory: &mut Memory) {
        for page in memory.rmap.end_mapping(
            &mut memory.zones,
            &mut memory.folios,
            &mut memory.groups,
            &mut memory.objects,
            owner,
            self.base,
        ) {
            if matches!(memory.folios.state(page), State::Inactive | State::Active) {
                memory.lruvecs.mark_accessed(
                    &mut memory.cpu,
                    &mut memory.zones,
                    &mut memory.folios,
                    &mut memory.groups,
                    page,
                );
            }
        }
    }
}

impl Folios {
    /// Whether a fault finds a page of a file to map: one that is marked for readahead waits for a
    /// fault of its own.
    fn is_ready(&self, page: PageId) -> bool {
        let there = self.is_resident(page) && !self.is_reading(page);
        debug_assert!(!there || self.kind(page) == Kind::File);
        there && !self.has(page, Flag::Readahead)
    }

    /// Whether a page that a fault finds says nothing for reading around: since 6.9 one that was
    /// evicted and came back.
    fn is_doubtful(&self, cpu: &Cpu, page: PageId) -> bool {
        cpu.rules.has(Mechanism::DoubtsRefaults) && self.has(page, Flag::Workingset)
    }
}

impl Reader<'_> {
    /// What is read of the file at most through a mapping, in pages.
    fn most_mapped(&self) -> u64 {
        let (device, _) = self.file.reads_ahead(self.memory);
        self.readahead.most_mapped(device)
    }
}

impl crate::mm::readahead::Readahead {
    /// The window for a miss through a mapping (`do_sync_mmap_readahead`): around the page, unless
    /// most faults miss.
    pub(crate) fn on_mapped_miss(&mut self, page: u64, file_pages: u64, device: Limits) -> Window {
        match self.mapped_miss(device) {
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
    use crate::mm::lru::Lru;
    use crate::mm::readahead::{Advised, Readahead};

    #[test]
    fn a_fault_maps_the_sixteen_pages_around_it_that_are_there() {
        let mut memory = Memory::with_cache(10_000, 10, 30, 0);
        let file = File {
            base: 0,
            pages: 64,
            size: 64 * 4096,
            disk: 0,
            offset: 0,
        };
        let mut reader = Reader {
            memory: &mut memory,
            file: &file,
            readahead: &mut Readahead::new(Advised::Normal),
        };
        let progress = reader.touch(&mut 20, 30, false, &mut false);
        assert_eq!(progress, Progress::Complete);
        assert_eq!(
            memory.folios.file_mapped, 14,
            "16 to 29: 30 and 31 are not there"
        );
        assert_eq!(
            (memory.cpu.events.pgfault, memory.cpu.events.pgmajfault),
            (1, 0)
        );
        assert_eq!(memory.zones.list(Lru::InactiveFile), 30);
    }

    #[test]
    fn most_faults_missing_end_the_read_around() {
        let mut readahead = Readahead::NEW;
        let first = readahead.on_mapped_miss(100, 1000, Limits::DEFAULT);
        assert_eq!((first.start, first.end, first.mark), (84, 116, Some(108)));
        for page in 0..100 {
            readahead.on_mapped_miss(page * 7, 1000, Limits::DEFAULT);
        }
        let alone = readahead.on_mapped_miss(500, 1000, Limits::DEFAULT);
        assert_eq!((alone.start, alone.end), (500, 501));
    }
}
