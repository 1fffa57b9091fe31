//! Files that the guard drops, piece by piece: `posix_fadvise` as the daemon calls it.

use core::ops::Range;

use guard::{Dropped, Search};
use mm::units::{Bytes, PageSize};

use crate::machine::guarding::state::Guarding;
use crate::machine::system::System;
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
        let syscall = self.memory.cpu.costs.syscall_ps;
        self.memory.cpu.spent += syscall * CALLS;
        let index = search.file.0 as usize;
        let size = self.scenario.machine.files[index].size;
        let mut dropped = Dropped {
            file: search.file,
            size: Some(size),
            bytes: Bytes::ZERO,
            next: search.from,
        };
        for piece in search.pieces(size) {
            self.memory.cpu.spent += syscall;
            dropped.next = Bytes(piece.end);
            let page = |at| self.pages_of(index, Bytes(at));
            let range = page(piece.start)..page(piece.end);
            let Some(bytes) = self.drop_piece(index, range) else {
                continue;
            };
            dropped.bytes = dropped.bytes.saturating_add(bytes);
            if bytes == Bytes::ZERO || dropped.bytes >= most {
                break;
            }
        }
        dropped
    }

    /// What of a piece was dropped; `None` where nobody has read it to its end.
    fn drop_piece(&mut self, index: usize, range: Range<u64>) -> Option<Bytes> {
        let Self { memory, files, .. } = self;
        let file = &files[index];
        let pages = file.pages_of(range.clone());
        let is_resident = |memory: &Memory, page| memory.folios.is_resident(page);
        let last = pages.clone().next_back();
        last.filter(|page| is_resident(memory, *page))?;
        // Somebody writes the file.
        let is_clean = |page| memory.writeback.is_clean_file(&memory.folios, page);
        if !pages.clone().all(is_clean) {
            return Some(Bytes::ZERO);
        }
        let count = |memory: &Memory| {
            let resident = pages.clone().filter(|page| is_resident(memory, *page));
            resident.count() as u64
        };
        let before = count(memory);
        file.drop_range(range, memory);
        let gone = before - count(memory);
        Some(memory.cpu.real(gone).bytes(PageSize::FOUR_KIB))
    }
}
