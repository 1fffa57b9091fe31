//! Reads and writes past the page cache (`O_DIRECT`), and what they do to the pages that it has.

use core::ops::Range;

use mm::units::PageSize;

use crate::block::disk::{Direction, Request};
use crate::fs::fs_writeback::state::Syncing;
use crate::mm::filemap::state::{File, Progress};
use crate::mm::parts::Memory;

/// Pages of a request of direct I/O (`BIO_MAX_VECS`).
pub(crate) const DIRECT_PAGES: u64 = 256;

impl File {
    /// Sends a request for pages of the file, which the task that runs waits for.
    pub(crate) fn submit_direct(&self, memory: &mut Memory, range: Range<u64>, write: bool) {
        let pages = range.end - range.start;
        memory.cpu.spent += pages * memory.cpu.costs.direct_ps;
        let direction = match write {
            true => Direction::Write,
            false => Direction::Read,
        };
        let page = PageSize::FOUR_KIB.bytes();
        let offset = self.offset + range.start * page;
        let mut request = Request::new(direction, offset, pages * page);
        request.waiter = Some(memory.cpu.current.entity);
        memory
            .io
            .submit(&mut memory.cpu, &memory.folios, self.disk, request);
    }

    /// Writes the dirty pages of a range and waits for them (`kiocb_write_and_wait`); `index` is
    /// the file's, `underway` what is left of it when it is called again.
    pub(crate) fn write_and_wait(
        &self,
        memory: &mut Memory,
        index: usize,
        range: Range<u64>,
        underway: &mut Option<Syncing>,
    ) -> Progress {
        if underway.is_none() && memory.writeback.has_unwritten(self, &range) {
            *underway = Some(Syncing::of_range(index, range));
        }
        let Some(syncing) = underway else {
            return Progress::Complete;
        };
        let progress = memory.writeback.sync_step(
            &mut memory.cpu,
            &mut memory.folios,
            &mut memory.rmap,
            &mut memory.io,
            syncing,
        );
        if progress == Progress::Complete {
            *underway = None;
        }
        progress
    }
}
