//! Boosted watermarks: where the slab and users' pages come to share a block, the zone's watermarks
//! are raised until kswapd has made room (`boost_watermark`).
//!
//! A block (512 pages) belongs to a migrate type: users', the slab's, or that of the kernel's other
//! objects. Boot leaves the slab blocks in the highest zone. In a lower zone it has none; what it
//! finds there depends on what the zone's reserve always keeps free. A block that is free as a
//! whole becomes the slab's, and so does one of which half is free, with all that is free in it;
//! but that one has users' pages in it too, so the watermarks are boosted, and again when users,
//! who have no other page left, take it back. Where no block is half free, pages come from the
//! block that boot has begun to use, or one by one. In the highest zone the kernel's objects of all
//! kinds have blocks; where these run out of free pages, and no block is free as a whole or by
//! half, pages come one by one from users' blocks, or users' from the kernel's, and each boosts.
//! Until 6.9 all free pages of a block come with the one that is taken, so that such boosts are
//! few: they are left out there.

use mm::formula::watermarks::{ZoneSize, boosted};
use mm::units::Pages;

use crate::folio::PageId;
use crate::memory::Memory;
use crate::page_alloc::{HUGE_PAGES, Zone};
use crate::pageblock::Pageblock;

/// So many boosts, of a block each, raise any zone's watermarks as far as they go by default.
const FULLY_BOOSTED: u64 = 64;

/// Which of a zone's free pages are not in users' blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// Free pages in the slab's blocks.
    slab: u64,
    /// Free pages in the block that boot has begun to use for the kernel's other objects.
    boot: u64,
}

impl Foreign {
    /// Those of a zone after boot: what is no whole free block is part of one that boot has begun.
    pub(crate) fn after_boot(free: u64) -> Self {
        Self {
            boot: free % HUGE_PAGES,
            ..Self::default()
        }
    }

    /// The kernel takes pages for its other objects: those of boot's block as long as it has any.
    pub(crate) fn kernel_takes(&mut self, pages: u64) {
        self.boot = self.boot.saturating_sub(pages);
    }

    /// The kernel gives pages of its other objects back.
    pub(crate) fn kernel_gives(&mut self, pages: u64) {
        self.boot += pages;
    }

    /// A scale-th of them.
    pub(crate) fn part(self, scale: u64) -> Self {
        let (slab, boot) = (self.slab / scale, self.boot / scale);
        Self { slab, boot }
    }
}

impl Zone {
    /// Users draw pages: those of the contended block where no other is free.
    fn users_draw(&mut self, pages: u64) {
        if !self.contended.is_slabs {
            let elsewhere = self.free_of_users().saturating_sub(self.contended.free());
            (elsewhere..pages).for_each(|_| self.contended.users_draw());
        }
    }

    /// The kernel draws pages of the highest zone: its own, those of blocks that are free as a
    /// whole, of the contended one where half of that is free, or one by one users'. How many times
    /// that boosts.
    fn kernel_draws(&mut self, pages: u64, block: u64) -> u64 {
        let free = self.free_of_users();
        let missing = pages.saturating_sub(self.foreign.slab);
        let claimed = missing.div_ceil(block) * block;
        let is_half = !self.contended.is_slabs && self.contended.has_half();
        let mut boosts = 0;
        if missing > 0 && free >= claimed + block {
            self.foreign.slab += claimed;
            self.contended = Pageblock::of(block);
            self.contended.is_slabs = true;
        } else if missing > 0 && is_half {
            self.foreign.slab += self.contended.free().min(free);
            self.contended.is_slabs = true;
            boosts = 1;
        }
        let stolen = pages.saturating_sub(self.foreign.slab);
        self.foreign.slab = self.foreign.slab.saturating_sub(pages);
        if self.contended.is_slabs {
            self.contended.slab_takes(pages.min(block));
        }
        boosts + stolen.min(FULLY_BOOSTED)
    }

    /// Users draw pages of the highest zone: theirs, those of the contended block where half of it
    /// is free, or one by one the kernel's. How many times that boosts.
    fn users_draw_highest(&mut self, pages: u64) -> u64 {
        let is_half = self.contended.is_slabs && self.contended.has_half();
        let comes_back = self.free_of_users() < pages && is_half;
        if comes_back {
            self.contended.is_slabs = false;
            let free = self.contended.free().min(self.foreign.slab);
            self.foreign.slab -= free;
        }
        let free = self.free_of_users();
        let stolen = pages.saturating_sub(free).min(self.foreign.slab);
        self.users_draw(pages.min(free));
        self.foreign.slab -= stolen;
        u64::from(comes_back) + stolen.min(FULLY_BOOSTED)
    }

    /// A page of users' comes back: it is the slab's where it lies in a block of the slab's.
    pub(crate) fn users_give(&mut self, page: PageId) {
        if self.contended.users_give(page) && self.contended.is_slabs {
            self.foreign.slab += 1;
        }
    }

    /// Pages of the slab's come back: they are users' where the block is.
    pub(crate) fn slab_gives(&mut self, pages: u64) {
        self.contended.slab_gives(pages);
        if self.contended.is_slabs {
            self.foreign.slab += pages;
        }
    }

    /// Free pages in users' blocks.
    fn free_of_users(&self) -> u64 {
        let foreign = self.foreign.slab + self.foreign.boot;
        self.free.saturating_sub(foreign)
    }
}

impl Memory {
    /// The slab is about to take some of a zone's free pages.
    pub(crate) fn slab_takes(&mut self, zone: usize, pages: u64) {
        if self.is_highest(zone) {
            return self.kernel_takes(zone, pages);
        }
        if pages == 0 {
            return;
        }
        let own = self.zones[zone].foreign.slab;
        let (claimed, boosts) = match own >= pages {
            true => (0, false),
            false => self.claim(zone),
        };
        let Zone {
            foreign, contended, ..
        } = &mut self.zones[zone];
        foreign.slab = (own + claimed).saturating_sub(pages);
        if contended.is_slabs {
            contended.slab_takes(pages);
        }
        self.boost_watermarks(zone, u64::from(boosts));
    }

    /// The slab has no page of a lower zone: it takes a block or what is free of one. How many
    /// pages it gets with the one that it asks for, and whether that boosts.
    fn claim(&mut self, zone: usize) -> (u64, bool) {
        let block = self.block();
        let free = self.zones[zone].free_of_users();
        let Zone {
            foreign, contended, ..
        } = &mut self.zones[zone];
        let is_users = !contended.is_slabs;
        if free >= 2 * block || is_users && contended.is_free() {
            *contended = Pageblock::of(block);
            contended.is_slabs = true;
            (block, false)
        } else if is_users && contended.has_half() {
            contended.is_slabs = true;
            (contended.free().min(free), true)
        } else if self.rules.takes_pages_with_the_block {
            (core::mem::take(&mut foreign.boot), true)
        } else {
            (0, true)
        }
    }

    /// The kernel is about to take pages of a zone. In the highest zone all of its objects have
    /// blocks.
    pub(crate) fn kernel_takes(&mut self, zone: usize, pages: u64) {
        if !self.is_highest(zone) {
            return self.zones[zone].foreign.kernel_takes(pages);
        }
        if !self.rules.takes_pages_with_the_block {
            let block = self.block();
            let boosts = self.zones[zone].kernel_draws(pages, block);
            self.boost_watermarks(zone, boosts);
        }
    }

    /// The kernel has given pages of a zone back.
    pub(crate) fn kernel_gives(&mut self, zone: usize, pages: u64) {
        let is_highest = self.is_highest(zone);
        let Zone {
            foreign, contended, ..
        } = &mut self.zones[zone];
        match is_highest {
            true if self.rules.takes_pages_with_the_block => {}
            true => {
                foreign.slab += pages;
                if contended.is_slabs {
                    contended.slab_gives(pages);
                }
            }
            false => foreign.kernel_gives(pages),
        }
    }

    pub(crate) fn is_highest(&self, zone: usize) -> bool {
        zone + 1 == self.zones.len()
    }

    /// Users are about to take some of a zone's free pages: where theirs are too few, they take
    /// those of the slab's blocks.
    pub(crate) fn users_take(&mut self, zone: usize, pages: u64) {
        let is_highest = self.is_highest(zone);
        let from = &mut self.zones[zone];
        if is_highest {
            let boosts = match self.rules.takes_pages_with_the_block {
                true => 0,
                false => from.users_draw_highest(pages),
            };
            return self.boost_watermarks(zone, boosts);
        }
        let comes_back = from.free_of_users() < pages && from.foreign.slab > 0;
        if comes_back {
            from.contended.is_slabs = false;
            from.foreign.slab = 0;
        }
        from.users_draw(pages);
        self.boost_watermarks(zone, u64::from(comes_back));
    }

    /// Raises a zone's watermarks so many times by a block, and wakes kswapd.
    fn boost_watermarks(&mut self, zone: usize, times: u64) {
        if times == 0 {
            return;
        }
        let (block, factor) = (Pages(self.block()), self.rules.boost_factor);
        let raised = &mut self.zones[zone];
        let size = ZoneSize {
            kind: raised.kind,
            managed: Pages(raised.managed),
        };
        for _ in 0..times {
            raised.boost = boosted(Pages(raised.boost), size, Pages(raised.high), block, factor).0;
        }
        self.wake_kswapd(zone);
    }

    /// What the zones up to `highest` are boosted by.
    pub(crate) fn boosts(&self, highest: usize) -> u64 {
        self.zones[..=highest].iter().map(|zone| zone.boost).sum()
    }

    /// Pages of a block: one at least, where a page stands for more than that.
    fn block(&self) -> u64 {
        (HUGE_PAGES / self.scale).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcp::{List, Pcp, Tuning};
    use mm::calibration::Costs;

    /// Two zones; the lower one has so many free pages, 224 of them in the block that boot began.
    fn memory(free: u64) -> Memory {
        let mut lower = Zone::plain(4000, 20);
        (lower.free, lower.foreign) = (free, Foreign::after_boot(7 * 512 + 224));
        for page in free - 224..512 {
            lower.contended.users_draw();
            lower.contended.place(page as u32);
        }
        let zones = alloc::vec![lower, Zone::plain(100_000, 600)];
        Memory::new(zones, alloc::vec::Vec::new(), Costs::default())
    }

    fn slab_takes(memory: &mut Memory, pages: u64) {
        memory.slab_takes(0, pages);
        memory.zones[0].free -= pages;
    }

    #[test]
    fn a_block_that_is_half_free_goes_back_and_forth_and_boosts_each_time() {
        let mut memory = memory(224 + 260);
        slab_takes(&mut memory, 2);
        assert_eq!((memory.zones[0].boost, memory.boosts(1)), (512, 512));
        assert!(memory.kswapd.is_awake(), "balanced, but boosted");
        memory.zones[0].boost = 0;
        slab_takes(&mut memory, 2);
        assert_eq!(memory.zones[0].boost, 0, "the slab has the block now");
        memory.users_take(0, 1);
        assert_eq!(memory.zones[0].boost, 512);
        memory.zones[0].boost = 0;
        memory.users_take(0, 1);
        assert_eq!(memory.zones[0].boost, 0, "users have it again");
    }

    #[test]
    fn a_block_that_is_free_as_a_whole_is_taken_without_a_boost() {
        let mut memory = memory(3808);
        slab_takes(&mut memory, 2);
        assert_eq!((memory.boosts(1), memory.zones[0].foreign.slab), (0, 510));
        memory.slab_takes(1, 2);
        assert_eq!(
            memory.boosts(1),
            0,
            "the highest zone has blocks of the slab's"
        );
    }

    #[test]
    fn where_no_block_is_half_free_the_slab_took_the_block_of_boot_until_6_9() {
        for takes_pages_with_the_block in [true, false] {
            let mut memory = memory(224 + 200);
            memory.rules.takes_pages_with_the_block = takes_pages_with_the_block;
            memory.users_take(0, 1);
            slab_takes(&mut memory, 2);
            assert_eq!(memory.zones[0].boost, 512);
            memory.zones[0].boost = 0;
            slab_takes(&mut memory, 2);
            let boost = if takes_pages_with_the_block { 0 } else { 512 };
            assert_eq!(memory.zones[0].boost, boost);
        }
    }

    #[test]
    fn the_kernels_own_pages_come_from_the_block_that_boot_has_begun() {
        let mut memory = memory(224 + 257);
        memory.zones[1].free = 0;
        memory.draw_for_kernel(List::Unmovable).expect("it fits");
        memory.users_take(0, 1);
        memory.zones[0].free -= 1;
        slab_takes(&mut memory, 2);
        assert_eq!(memory.boosts(1), 512, "half a block is still free");
        memory.zones[0].boost = 0;
        memory.users_take(0, 1);
        assert_eq!(memory.zones[0].boost, 512);
        memory.zones[0].pcp = Pcp::new(4, 1, 4, Tuning::of("6.1"));
        memory.release_of_kernel(List::Unmovable);
        assert_eq!(memory.zones[0].foreign.boot, 224, "the list is full");
    }

    #[test]
    fn in_the_highest_zone_the_kernels_pages_boost_where_no_block_is_free_as_a_whole() {
        let mut memory = memory(224);
        memory.kernel_takes(1, 31);
        assert_eq!((memory.boosts(1), memory.zones[1].foreign.slab), (0, 481));
        memory.zones[1].free = 900;
        memory.kernel_takes(1, 480);
        assert_eq!(memory.boosts(1), 0, "the block has them");
        memory.kernel_takes(1, 31);
        assert_eq!(memory.boosts(1), 1350, "one by one, up to 1.5 times high");
    }

    #[test]
    fn users_that_empty_the_highest_zone_take_the_kernels_pages_and_boost() {
        for takes_pages_with_the_block in [true, false] {
            let mut memory = memory(224);
            memory.rules.takes_pages_with_the_block = takes_pages_with_the_block;
            memory.zones[1].free = 500;
            memory.kernel_gives(1, 100);
            memory.users_take(1, 400);
            assert_eq!(memory.boosts(1), 0);
            memory.users_take(1, 500);
            assert_eq!(memory.boosts(1) == 0, takes_pages_with_the_block);
        }
    }

    #[test]
    fn half_a_block_of_the_highest_zone_goes_back_and_forth_with_a_boost_each_time() {
        let mut memory = memory(224);
        memory.zones[1].free = 2000;
        memory.kernel_takes(1, 31);
        assert_eq!((memory.boosts(1), memory.zones[1].foreign.slab), (0, 481));
        memory.zones[1].free = 481;
        memory.users_take(1, 1);
        assert_eq!((memory.boosts(1), memory.zones[1].foreign.slab), (512, 0));
        memory.zones[1].free = 480;
        memory.kernel_takes(1, 31);
        assert_eq!(
            (memory.boosts(1), memory.zones[1].foreign.slab),
            (1024, 449)
        );
    }

    #[test]
    fn a_factor_of_0_switches_it_off() {
        let mut memory = memory(224 + 260);
        memory.rules.boost_factor = 0;
        slab_takes(&mut memory, 2);
        assert_eq!(memory.boosts(1), 0);
        assert!(!memory.kswapd.is_awake());
    }
}
