//! Writes to files through the page cache (`generic_perform_write`), and through mappings.

use crate::mm::filemap::{Progress, Reader};
use crate::mm::folio::PageId;
use crate::mm::page_alloc::{Effort, NoPage};
use crate::mm::readahead::Window;
use crate::mm::rmap::Mapping;

impl Reader<'_> {
    /// Writes the pages from `*cursor` up to `stop`; stops where it has to wait or to pause. A page
    /// that is written in part is read first, unless it is there (`is_whole` tells that none is).
    pub(crate) fn write(&mut self, cursor: &mut u64, stop: u64, is_whole: bool) -> Progress {
        self.memory.cpu.unbroken = 0;
        if self.memory.cpu.current.throttled.is_pending()
            && let Some(ticks) = self.memory.balance_dirty(self.file.disk)
        {
            return Progress::Pauses(ticks);
        }
        while *cursor < stop {
            let page = self.file.base + *cursor as PageId;
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
            false => self.fetch(index, |_| Window::of_page(index)),
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
