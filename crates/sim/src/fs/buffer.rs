//! Buffer heads: what a file system keeps for the block of each page that was written to, until the
//! page is freed (`fs/buffer.c`).

use alloc::vec::Vec;

use crate::mm::folio::PageId;
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::pcp::List;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::slub::{Cache, SlabId};
use crate::sched::cpu::Cpu;

/// No buffer head.
const NONE: SlabId = SlabId::MAX;

/// The buffer heads of all files; blocks are as large as pages.
#[derive(Clone, Debug)]
pub(crate) struct Buffers {
    /// The file system has none.
    pub(crate) none: bool,
    /// 104 bytes each: 39 share a page.
    cache: Cache,
    /// The slab of each page's head; no memory before the first.
    slabs: Vec<SlabId>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self {
            none: false,
            cache: Cache::new(39, 120),
            slabs: Vec::new(),
        }
    }
}

impl Buffers {
    /// Pages of slab that they take.
    pub(crate) fn slab_pages(&self) -> u64 {
        self.cache.len()
    }

    fn slab(&self, page: PageId) -> SlabId {
        self.slabs.get(page as usize).copied().unwrap_or(NONE)
    }
}

impl Objects {
    /// A page of a file is written to: its block gets a buffer head, unless it has one
    /// (`create_empty_buffers`).
    pub(crate) fn create_buffers(&mut self, cpu: &mut Cpu, zones: &mut Zones, page: PageId) {
        if self.buffers.none || self.buffers.slab(page) != NONE {
            return;
        }
        let taken = self.buffers.cache.take();
        let slab = taken.or_else(|| {
            let (zone, frame) = zones.draw_for_kernel(cpu, List::Heads).ok()?;
            Some(self.buffers.cache.add(zone, frame))
        });
        // Such a request does not fail; where nothing at all is free the page has none.
        let Some(slab) = slab else { return };
        let slabs = &mut self.buffers.slabs;
        if slabs.len() <= page as usize {
            slabs.resize(page as usize + 1, NONE);
        }
        slabs[page as usize] = slab;
    }

    /// Whether a page's block has a buffer head.
    pub(crate) fn has_buffers(&self, page: PageId) -> bool {
        self.buffers.slab(page) != NONE
    }

    /// A page is freed, and with it its buffer head (`try_to_free_buffers`).
    pub(crate) fn free_buffers(&mut self, zones: &mut Zones, page: PageId) {
        let buffers = &mut self.buffers;
        let slab = buffers.slab(page);
        if slab == NONE {
            return;
        }
        buffers.slabs[page as usize] = NONE;
        let mut freed = Vec::new();
        buffers.cache.give(slab, &mut freed);
        for (zone, frame) in freed {
            zones.release_to(zone, List::Heads, frame);
        }
    }
}

#[cfg(test)]
mod tests {

    use crate::mm::parts::Memory;

    #[test]
    fn written_pages_share_slab_pages_until_they_are_freed() {
        let mut memory = Memory::with_cache(10_000, 10, 100, 0);
        let slab = |memory: &Memory| (memory.objects.slab_pages(), memory.zones[0].kernel);
        let before = slab(&memory);
        (0..40).for_each(|page| {
            memory
                .objects
                .create_buffers(&mut memory.cpu, &mut memory.zones, page)
        });
        memory
            .objects
            .create_buffers(&mut memory.cpu, &mut memory.zones, 5);
        let two_more = (before.0 + 2, before.1 + 2);
        assert_eq!(slab(&memory), two_more, "39 in one page, one in the next");
        memory.objects.free_buffers(&mut memory.zones, 50);
        assert_eq!(slab(&memory), two_more, "it was never written to");
        (0..40).for_each(|page| memory.objects.free_buffers(&mut memory.zones, page));
        assert_eq!(slab(&memory), two_more, "the CPU keeps a few");
        (0..39 * 30).for_each(|page| {
            memory
                .objects
                .create_buffers(&mut memory.cpu, &mut memory.zones, page)
        });
        (0..39 * 30).for_each(|page| memory.objects.free_buffers(&mut memory.zones, page));
        let kept = slab(&memory).0 - before.0;
        assert!((5..30).contains(&kept), "{kept}");
    }
}
