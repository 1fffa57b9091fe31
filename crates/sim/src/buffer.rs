//! Buffer heads: what a file system keeps for the block of each page that was written to, until the
//! page is freed (`fs/buffer.c`).

use crate::folio::PageId;
use crate::memory::Memory;
use crate::pcp::List;
use crate::writeback::Tags;

/// Buffer heads that share a page of slab: 104 bytes each.
const HEADS_PER_PAGE: u64 = 39;

/// The buffer heads of all files; blocks are as large as pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffers {
    /// The file system has none.
    pub(crate) none: bool,
    pages: Tags,
    heads: u64,
    slab_pages: u64,
}

impl Buffers {
    /// Pages of slab that they take.
    pub(crate) fn slab_pages(&self) -> u64 {
        self.slab_pages
    }
}

impl Memory {
    /// A page of a file is written to: its block gets a buffer head, unless it has one
    /// (`create_empty_buffers`).
    pub(crate) fn create_buffers(&mut self, page: PageId) {
        if self.objects.buffers.none || self.objects.buffers.pages.has(page) {
            return;
        }
        let is_full = |buffers: &Buffers| buffers.heads >= buffers.slab_pages * HEADS_PER_PAGE;
        if is_full(&self.objects.buffers) && self.draw_for_kernel(List::Heads).is_ok() {
            self.objects.buffers.slab_pages += 1;
        }
        // Such a request does not fail; where nothing at all is free the next one makes up for it.
        let buffers = &mut self.objects.buffers;
        buffers.pages.set(page);
        buffers.heads += 1;
    }

    /// A page is freed, and with it its buffer head (`try_to_free_buffers`).
    pub(crate) fn free_buffers(&mut self, page: PageId) {
        let buffers = &mut self.objects.buffers;
        if buffers.heads == 0 || !buffers.pages.has(page) {
            return;
        }
        buffers.pages.clear(page);
        buffers.heads -= 1;
        while self.objects.buffers.slab_pages > self.objects.buffers.heads.div_ceil(HEADS_PER_PAGE)
        {
            self.release_of_kernel(List::Heads);
            self.objects.buffers.slab_pages -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_pages_share_slab_pages_until_they_are_freed() {
        let mut memory = Memory::with_cache(10_000, 10, 100, 0);
        let slab = |memory: &Memory| (memory.objects.slab_pages(), memory.zones[0].kernel);
        let before = slab(&memory);
        (0..40).for_each(|page| memory.create_buffers(page));
        memory.create_buffers(5);
        let two_more = (before.0 + 2, before.1 + 2);
        assert_eq!(slab(&memory), two_more, "39 in one page, one in the next");
        memory.free_buffers(50);
        assert_eq!(slab(&memory), two_more, "it was never written to");
        (0..40).for_each(|page| memory.free_buffers(page));
        assert_eq!(slab(&memory), before);
    }
}
