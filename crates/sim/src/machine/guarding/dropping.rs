//! Files that the guard drops: `posix_fadvise` as the daemon calls it.

use core::convert::Infallible;
use core::ops::Range;

use guard::search::Pages;
use guard::{Dropped, Search};
use mm::units::Bytes;

use crate::machine::guarding::state::Guarding;
use crate::machine::system::System;
use crate::mm::folio::PageId;
use crate::mm::parts::Memory;

/// System calls by which the daemon opens a file and finds out what it is.
const CALLS: u64 = 10;

impl System<'_> {
    pub(crate) fn drop_for(&mut self, guarding: &mut Guarding, files: &[Search], most: Bytes) {
        let mut left = most;
        for search in files {
            if left == Bytes::ZERO {
                return;
            }
            let dropped = self.drop_file(*search, left);
            left = left.saturating_sub(dropped.bytes);
            guarding.dropped.push(dropped);
        }
    }

    fn drop_file(&mut self, search: Search, most: Bytes) -> Dropped {
        self.memory.cpu.spent += self.memory.cpu.costs.syscall_ps * CALLS;
        let file = search.file.0 as usize;
        let size = self.scenario.machine.files[file].size;
        let is_written = self.is_written(file);
        let mut cache = Cache { system: self, file };
        let (bytes, next) = match is_written {
            true => (Bytes::ZERO, search.from),
            false => {
                let Ok(dropped) = search.drop(size, most, &mut cache);
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

    /// Whether a file has dirty pages.
    fn is_written(&self, file: usize) -> bool {
        let Memory {
            writeback, folios, ..
        } = &self.memory;
        let file = &self.files[file];
        let mut pages = file.pages_of(0..file.pages);
        !pages.all(|page| writeback.is_clean_file(folios, page))
    }
}

/// The pages of a file.
struct Cache<'a, 'b> {
    system: &'a mut System<'b>,
    file: usize,
}

impl Cache<'_, '_> {
    /// Pages by their places in the file.
    fn indices(&self, range: &Range<u64>) -> Range<u64> {
        let page = |at| self.system.pages_of(self.file, Bytes(at));
        // The page in which it begins: pages are counted up to where they end.
        page(range.start + 1) - 1..page(range.end)
    }
}

impl Pages for Cache<'_, '_> {
    type Error = Infallible;

    fn is_resident(&mut self, at: u64) -> Result<bool, Infallible> {
        let Range { start, .. } = self.indices(&(at..at + 1));
        let System { memory, files, .. } = &mut *self.system;
        memory.cpu.spent += memory.cpu.costs.syscall_ps;
        let page = files[self.file].base + start as PageId;
        Ok(memory.folios.is_resident(page))
    }

    fn drop(&mut self, range: Range<u64>) -> Result<(), Infallible> {
        let indices = self.indices(&range);
        let System { memory, files, .. } = &mut *self.system;
        memory.cpu.spent += memory.cpu.costs.syscall_ps;
        files[self.file].drop_range(indices, memory);
        Ok(())
    }
}
