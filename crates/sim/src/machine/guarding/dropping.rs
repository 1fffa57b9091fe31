//! Files that the guard drops: `posix_fadvise` as the daemon calls it.

use core::convert::Infallible;
use core::ops::Range;

use guard::search::Pages;
use guard::{Dropped, Search};
use mm::units::Bytes;
use scenario::machine;

use crate::machine::guarding::state::Guarding;
use crate::mm::filemap::state::File;
use crate::mm::folio::PageId;
use crate::mm::parts::Memory;

/// System calls by which the daemon opens a file and finds out what it is.
const CALLS: u64 = 10;

impl Guarding {
    /// Drops what was found of `files`, whose sizes the machine says, up to `most` bytes.
    pub(super) fn drop_files(
        &mut self,
        memory: &mut Memory,
        files: &[File],
        known: &[machine::File],
        found: &[Search],
        most: Bytes,
    ) {
        let mut left = most;
        for search in found {
            if left == Bytes::ZERO {
                return;
            }
            let index = search.file.0 as usize;
            let (file, size) = (&files[index], known[index].size);
            let dropped = Cache { memory, file }.drop_file(*search, size, left);
            left = left.saturating_sub(dropped.bytes);
            self.dropped.push(dropped);
        }
    }
}

/// The pages of a file.
struct Cache<'a> {
    memory: &'a mut Memory,
    file: &'a File,
}

impl Cache<'_> {
    fn drop_file(&mut self, search: Search, size: Bytes, most: Bytes) -> Dropped {
        self.memory.cpu.spent += self.memory.cpu.costs.syscall_ps * CALLS;
        let (bytes, next) = match self.is_written() {
            true => (Bytes::ZERO, search.from),
            false => {
                let Ok(dropped) = search.drop(size, most, self);
                dropped
            }
        };
        Dropped {
            file: search.file,
            size: Some(size),
            bytes,
            next,
        }
    }

    /// Whether it has dirty pages.
    fn is_written(&self) -> bool {
        let (writeback, folios) = (&self.memory.writeback, &self.memory.folios);
        let mut pages = self.file.pages_of(0..self.file.pages);
        !pages.all(|page| writeback.is_clean_file(folios, page))
    }

    /// Pages by their places in the file.
    fn indices(&self, range: &Range<u64>) -> Range<u64> {
        let page = |at| self.file.pages_below(&self.memory.cpu, Bytes(at));
        // The page in which it begins: pages are counted up to where they end.
        page(range.start + 1) - 1..page(range.end)
    }
}

impl Pages for Cache<'_> {
    type Error = Infallible;

    fn is_resident(&mut self, at: u64) -> Result<bool, Infallible> {
        let Range { start, .. } = self.indices(&(at..at + 1));
        self.memory.cpu.spent += self.memory.cpu.costs.syscall_ps;
        let page = self.file.base + start as PageId;
        Ok(self.memory.folios.is_resident(page))
    }

    fn drop(&mut self, range: Range<u64>) -> Result<(), Infallible> {
        let indices = self.indices(&range);
        self.memory.cpu.spent += self.memory.cpu.costs.syscall_ps;
        self.file.drop_range(indices, self.memory);
        Ok(())
    }
}
