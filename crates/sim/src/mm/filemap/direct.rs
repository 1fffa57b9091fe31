//! Reads and writes past the page cache (`O_DIRECT`), and what they do to the pages that it has.

use mm::units::PageSize;

use crate::block::disk::{Direction, Request};
use crate::fs::fs_writeback::state::Syncing;
use crate::machine::running::{Running, Underway};
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::filemap::state::Progress;

/// Pages of a request of direct I/O (`BIO_MAX_VECS`).
const DIRECT_PAGES: u64 = 256;

impl<'a> System<'a> {
    /// Reads or writes the pages of an operation: one request after the other, each waited for.
    pub(crate) fn transfer_directly(
        &mut self,
        task: &Task<'a>,
        running: &mut Running<'a>,
        operation: &mut Underway,
        index: usize,
    ) -> Progress {
        if operation.meets_cache {
            return self.part_from_cache(running, operation, index);
        }
        let file = &self.files[index];
        let end = operation.end.min(operation.cursor + DIRECT_PAGES);
        if operation.faulting {
            operation.faulting = false;
            operation.cursor = end;
            return Progress::Complete;
        }
        operation.faulting = true;
        let pages = end - operation.cursor;
        self.memory.cpu.spent += pages * self.memory.cpu.costs.direct_ps;
        let direction = match operation.write {
            true => Direction::Write,
            false => Direction::Read,
        };
        let page = PageSize::FOUR_KIB.bytes();
        let offset = file.offset + operation.cursor * page;
        let mut request = Request::new(direction, offset, pages * page);
        request.waiter = Some(task.entity);
        self.memory.io.submit(
            &mut self.memory.cpu,
            &self.memory.folios,
            file.disk,
            request,
        );
        Progress::Submitted
    }

    /// Before an operation its dirty pages are written and waited for (`kiocb_write_and_wait`); a
    /// write then throws out what is cached of its range (`kiocb_invalidate_pages`).
    fn part_from_cache(
        &mut self,
        running: &mut Running<'a>,
        operation: &mut Underway,
        index: usize,
    ) -> Progress {
        let (file, memory) = (&self.files[index], &mut self.memory);
        let range = operation.cursor..operation.end.min(file.pages);
        if running.writing_out.is_none() && memory.writeback.has_unwritten(file, &range) {
            running.writing_out = Some(Syncing::of_range(index, range.clone()));
        }
        if let Some(syncing) = &mut running.writing_out {
            let progress = memory.writeback.sync_step(
                &mut memory.cpu,
                &mut memory.folios,
                &mut memory.rmap,
                &mut memory.io,
                syncing,
            );
            if progress != Progress::Complete {
                return progress;
            }
            running.writing_out = None;
        }
        if operation.write {
            file.drop_range(range, memory);
        }
        operation.meets_cache = false;
        Progress::Complete
    }
}
