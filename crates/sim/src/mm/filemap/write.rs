//! Writes to files through the page cache (`generic_perform_write`), and through mappings.

use crate::mm::filemap::Reader;
use crate::mm::filemap::state::{Progress, Span};
use crate::mm::folio::PageId;
use crate::mm::page_alloc::state::{Effort, NoPage};
use crate::mm::rmap::state::Mapping;

impl Reader<'_> {
    /// Writes the pages from `*cursor` up to `stop`; stops where it has to wait or to pause. A page
    /// that `span` covers in part is read first, unless it is there or lies at `beyond`, where the
    /// file ended before, or behind it.
    pub(crate) fn write(
        &mut self,
        cursor: &mut u64,
        stop: u64,
        span: Span,
        beyond: u64,
    ) -> Progress {
        self.memory.cpu.unbroken = 0;
        if self.memory.cpu.current.throttled.is_pending()
            && let Some(ticks) = self.memory.balance_dirty(self.file.disk)
        {
            return Progress::Pauses(ticks);
        }
        while *cursor < stop {
            let page = self.file.base + *cursor as PageId;
            let is_whole = span.covers(*cursor) || *cursor >= beyond;
            match self.make_resident(*cursor, page, is_whole) {
                Progress::Complete => {}
                wait => return wait,
            }
            self.memory.cpu.spent += self.memory.cpu.costs.write_ps
                + self
                    .memory
                    .zones
                    .remote(&self.memory.cpu, &self.memory.folios, page, 2);
            self.memory.writeback.mark_dirty(
                &mut self.memory.cpu,
                &mut self.memory.zones,
                &mut self.memory.folios,
                &mut self.memory.objects,
                page,
            );
            *cursor += 1;
            if let Some(ticks) = self.memory.balance_dirty(self.file.disk) {
                return Progress::Pauses(ticks);
            }
            if self.memory.writeback.wakes_someone() {
                return Progress::NoPage(NoPage::Again);
            }
        }
        Progress::Complete
    }

    /// Sees to it that a page that is to be written is there.
    fn make_resident(&mut self, index: u64, page: PageId, is_whole: bool) -> Progress {
        let folios = &self.memory.folios;
        if folios.is_resident(page) {
            return match folios.is_reading(page) {
                true => Progress::Waits(page),
                false => Progress::Complete,
            };
        }
        let made = match is_whole {
            true => self.insert_written(page),
            false => self.insert_part_written(index, page),
        };
        match made {
            Err(why) => Progress::NoPage(why),
            Ok(()) if is_whole => Progress::Complete,
            Ok(()) => Progress::Waits(page),
        }
    }

    /// Allocates a page that is written as a whole: nothing has to be read.
    fn insert_written(&mut self, page: PageId) -> Result<(), NoPage> {
        self.insert(page, Effort::Write)?;
        let cost = self.memory.cpu.costs.write_in_ps;
        self.memory
            .lruvecs
            .pay_for_new_page(&mut self.memory.cpu, cost);
        self.memory.folios.unlock(page);
        Ok(())
    }

    /// Allocates a page that is written in part, and reads it first (`ext4_block_write_begin`).
    fn insert_part_written(&mut self, index: u64, page: PageId) -> Result<(), NoPage> {
        let costs = &self.memory.cpu.costs;
        let read_in = costs.read_in_ps - costs.read_done_ps;
        self.insert_next(page, Effort::Write, read_in)?;
        self.request(Some(index), index + 1)
    }

    /// A mapped page that is there is written to for the first time since it was last clean
    /// (`do_page_mkwrite`).
    pub(crate) fn make_writable(&mut self, mapping: Mapping, page: PageId) -> Progress {
        let progress =
            self.memory
                .writeback
                .update_time(&self.memory.cpu, &self.memory.objects, self.file);
        if progress != Progress::Complete {
            return progress;
        }
        self.memory
            .rmap
            .map_page(&mut self.memory.folios, mapping, page, true);
        self.memory.cpu.spent += self.memory.cpu.costs.mkwrite_ps;
        self.memory.writeback.mark_dirty(
            &mut self.memory.cpu,
            &mut self.memory.zones,
            &mut self.memory.folios,
            &mut self.memory.objects,
            page,
        );
        self.pause_if(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::filemap::state::File;
    use crate::mm::lru::Lru;
    use crate::mm::lruvec::state::ROOT;
    use crate::mm::parts::Memory;
    use crate::mm::readahead::{Advised, Readahead};

    /// The oldest of eight inactive pages is evicted and comes back at once: how many refaults and
    /// activations that makes.
    fn come_back(bring: fn(&mut Reader<'_>, PageId) -> Result<(), NoPage>) -> [u64; 2] {
        let mut memory = Memory::with_cache(1000, 10, 8, 8);
        let list = &memory.lruvecs[ROOT].lists[Lru::InactiveFile as usize];
        let page = list.tail().expect("a page");
        let (cpu, zones, folios) = (&memory.cpu, &mut memory.zones, &mut memory.folios);
        memory.lruvecs.take_from_list(cpu, zones, folios, page);
        memory.evict(page);
        let file = File {
            base: 0,
            pages: 16,
            size: 16 * 4096,
            disk: 0,
            offset: 0,
        };
        let mut reader = Reader {
            memory: &mut memory,
            file: &file,
            readahead: &mut Readahead::new(Advised::Normal),
        };
        bring(&mut reader, page).expect("it fits");
        let events = &memory.cpu.events;
        [
            events.workingset_refault_file,
            events.workingset_activate_file,
        ]
    }

    #[test]
    fn a_page_that_comes_back_to_be_written_is_no_refault_and_one_to_be_read_is() {
        let read = |reader: &mut Reader<'_>, page| reader.insert(page, Effort::Full);
        assert_eq!(come_back(read), [1, 1]);
        let write = |reader: &mut Reader<'_>, page| reader.insert_written(page);
        assert_eq!(come_back(write), [0, 0]);
    }
}
