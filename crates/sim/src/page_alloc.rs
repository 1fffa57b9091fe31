//! Zones, watermarks and the page allocator (`mm/page_alloc.c`).

use alloc::vec::Vec;

use mm::formula::reserve::totalreserve;
use mm::formula::watermarks::{MovableRule, Rule, ZoneSize, watermarks};
use mm::units::{Kib, PageSize, Pages};
use mm::zoneinfo::ZoneKind;

use crate::boost::Foreign;
use crate::direct::DirectReclaim;
use crate::folio::{PageId, State};
use crate::memcontrol::Charging;
use crate::memory::Memory;
use crate::pageblock::Pageblock;
#[cfg(test)]
use crate::pcp::Tuning;
use crate::pcp::{List, Pcp, ZoneState};

/// Base pages of a huge page.
pub(crate) const HUGE_PAGES: u64 = 512;

/// A zone of the node.
#[derive(Clone, Debug)]
pub(crate) struct Zone {
    pub(crate) kind: ZoneKind,
    /// Its place among all zones of the node, those without memory included.
    pub(crate) layout: usize,
    pub(crate) managed: u64,
    pub(crate) free: u64,
    pub(crate) min: u64,
    pub(crate) low: u64,
    pub(crate) high: u64,
    /// What its watermarks are raised by for now.
    pub(crate) boost: u64,
    pub(crate) foreign: Foreign,
    /// The block that the kernel's objects and users take from each other.
    pub(crate) contended: Pageblock,
    /// Pages withheld from requests that could use a higher zone (`protection` of the highest).
    pub(crate) reserve: u64,
    /// Pages on each LRU list, and pages that are locked into memory.
    pub(crate) lru: [u64; 4],
    pub(crate) unevictable: u64,
    /// Pages that the model's own kernel objects hold: tree nodes, page tables.
    pub(crate) kernel: u64,
    /// Pages of slabs.
    pub(crate) slab: u64,
    /// Pages in use that no mechanism of the model touches: what boot left.
    pub(crate) fixed: u64,
    /// Pages that boot left on each LRU list, which the files of the boot state count.
    pub(crate) of_boot: [u64; 4],
    pub(crate) pcp: Pcp,
}

/// A watermark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Min,
    Low,
    High,
}

/// How much a request for a page is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// One direct reclaim (`__GFP_NORETRY`): a page that is read ahead.
    Once,
    /// Direct reclaim until the OOM killer has to be called.
    Full,
    /// As much, for a page that is to be written (`__GFP_WRITE`).
    Write,
}

/// Why there is no page now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPage {
    /// The effort was in vain. If it was a full one, the OOM killer is due.
    OutOfMemory,
    /// Direct reclaim waits for a disk: ask again when it has done something.
    Congested { disk: usize },
    /// kswapd has just been woken, or direct reclaim has used its time slice: ask again when others
    /// have had the CPU, if they have a claim to it.
    Again,
    /// The OOM killer is due in this control group.
    OverLimit { group: usize },
}

impl NoPage {
    /// Whether to ask again rather than to do without.
    pub(crate) fn is_over_soon(self) -> bool {
        self != Self::OutOfMemory
    }
}

/// An allocation that has not found its page yet, kept from one attempt to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allocation {
    /// Rounds of direct reclaim without progress.
    pub(crate) fruitless: u32,
    /// The round under way.
    pub(crate) reclaim: Option<DirectReclaim>,
    /// What its control group has to do with it.
    pub(crate) charging: Charging,
}

impl Zone {
    /// A watermark, its boost included.
    pub(crate) fn mark(&self, mark: Mark) -> u64 {
        let unboosted = match mark {
            Mark::Min => self.min,
            Mark::Low => self.low,
            Mark::High => self.high,
        };
        unboosted.saturating_add(self.boost)
    }

    /// `__zone_watermark_ok` with `free` pages taken as free, for a block of `pages` pages.
    pub(crate) fn is_above(&self, mark: Mark, free: u64, pages: u64) -> bool {
        free.saturating_sub(pages - 1) > self.mark(mark).saturating_add(self.reserve)
    }

    #[cfg(test)]
    pub(crate) fn plain(managed: u64, min: u64) -> Self {
        Self {
            kind: ZoneKind::Normal,
            layout: 0,
            managed,
            free: managed,
            min,
            low: min + min / 4,
            high: min + min / 2,
            boost: 0,
            foreign: Foreign::default(),
            contended: Pageblock::of(HUGE_PAGES),
            reserve: 0,
            lru: [0; 4],
            unevictable: 0,
            kernel: 0,
            slab: 0,
            fixed: 0,
            of_boot: [0; 4],
            pcp: Pcp::new(0, 1, 4, Tuning::of("6.1")),
        }
    }
}

impl Memory {
    /// Sets the watermarks that `min_free_kbytes` and `watermark_scale_factor` give
    /// (`__setup_per_zone_wmarks`).
    pub(crate) fn set_watermarks(&mut self, min_free: Kib, scale_factor: u64) {
        let sizes: Vec<ZoneSize> = self.layout.iter().map(ZoneSize::from).collect();
        let rule = Rule {
            min_free: min_free.pages_floor(PageSize::FOUR_KIB),
            scale_factor,
            movable: MovableRule::observed(&self.layout),
        };
        for (zone, marks) in self.layout.iter_mut().zip(watermarks(&sizes, rule)) {
            zone.watermarks = marks;
        }
        for zone in &mut self.zones {
            // A memory without a layout is one of a unit test.
            let Some(layout) = self.layout.get(zone.layout) else {
                continue;
            };
            let marks = layout.watermarks;
            let marks = [marks.min, marks.low, marks.high].map(|mark| mark.0 / self.scale);
            [zone.min, zone.low, zone.high] = marks;
            zone.boost = 0;
            zone.pcp.set_limits(zone.low, zone.managed);
        }
    }

    /// Pages that no user can have (`calculate_totalreserve_pages`).
    pub(crate) fn totalreserve(&self) -> Pages {
        totalreserve(&self.layout)
    }

    /// Allocates a page for `page`, which becomes resident in `state`.
    ///
    /// # Errors
    /// Direct reclaim made no progress and no reclaimable page is left, or it is not done yet.
    pub(crate) fn allocate(&mut self, page: PageId, state: State) -> Result<(), NoPage> {
        self.allocate_with(Effort::Full, page, state)
    }

    /// As [`Self::allocate`], with so much effort.
    ///
    /// # Errors
    /// The effort did not suffice, or reclaim is not done yet.
    pub(crate) fn allocate_with(
        &mut self,
        effort: Effort,
        page: PageId,
        state: State,
    ) -> Result<(), NoPage> {
        if self.may_yield && self.kswapd.wants_cpu() {
            return Err(NoPage::Again);
        }
        self.charge_page(page)?;
        let at_once = match self.allocation.reclaim {
            None if effort == Effort::Write => self.find_zone_for_write(),
            None => self.find_zone(Mark::Low, 1),
            Some(_) => None,
        };
        let zone = match at_once {
            Some(zone) => zone,
            None => self.allocate_slowly(effort)?,
        };
        self.draw(zone);
        self.count_allocation(zone, 1);
        self.settle();
        self.zones[zone].contended.place(page);
        self.folios.place(page, zone, state);
        Ok(())
    }

    /// Allocates a page as the kernel does for itself, without any reclaim of its own; whether there
    /// is one.
    pub(crate) fn allocate_at_once(&mut self, page: PageId, state: State) -> bool {
        let Some(zone) = self.zone_for_kernel(1) else {
            return false;
        };
        self.draw(zone);
        self.count_allocation(zone, 1);
        self.folios.place(page, zone, state);
        true
    }

    /// Allocates a huge page if one can be had without any reclaim, as a fault does where `defrag`
    /// is at its default: like any request that may not wait it goes down to min. Its 512 pages
    /// from `first` become resident.
    pub(crate) fn allocate_huge(&mut self, first: PageId, state: State) -> bool {
        let find = |mark| self.find_zone(mark, HUGE_PAGES);
        let zone = find(Mark::Low).or_else(|| find(Mark::Min));
        let Some(zone) = zone.filter(|&zone| !self.nodes.is_remote(zone)) else {
            return false;
        };
        if !self.charge_huge(first) {
            return false;
        }
        let state_of_zone = self.zone_state(zone);
        let from = &mut self.zones[zone];
        from.free -= from.pcp.allocate(List::Huge, state_of_zone);
        self.count_allocation(zone, HUGE_PAGES);
        for page in first..first + HUGE_PAGES as u32 {
            self.folios.place(page, zone, state);
        }
        true
    }

    /// Frees the page that `page` occupies; its state is the caller's business.
    pub(crate) fn free(&mut self, page: PageId) {
        self.free_buffers(page);
        let zone = self.folios.zone(page);
        self.zones[zone].users_give(page);
        self.release(zone);
        self.uncharge_page(page, 1);
        self.events.pgfree += 1;
    }

    /// Frees the huge page whose first page is `page`.
    pub(crate) fn free_huge(&mut self, page: PageId) {
        let zone = self.folios.zone(page);
        let state = self.zone_state(zone);
        let zone = &mut self.zones[zone];
        zone.free += zone.pcp.free(List::Huge, state);
        self.uncharge_page(page, HUGE_PAGES);
        self.events.pgfree += HUGE_PAGES;
    }

    /// Takes 512 contiguous pages for the kernel, above min; the zone they come from.
    pub(crate) fn take_huge_block(&mut self) -> Option<usize> {
        let zone = self.find_zone(Mark::Min, HUGE_PAGES)?;
        self.zones[zone].free -= HUGE_PAGES;
        self.zones[zone].kernel += HUGE_PAGES;
        self.count_allocation(zone, HUGE_PAGES);
        Some(zone)
    }

    pub(crate) fn give_huge_block(&mut self, zone: usize) {
        self.zones[zone].free += HUGE_PAGES;
        self.zones[zone].kernel -= HUGE_PAGES;
        self.events.pgfree += HUGE_PAGES;
    }

    /// Gives a page back to its zone, by way of the per-CPU list.
    pub(crate) fn release(&mut self, zone: usize) {
        let state = self.zone_state(zone);
        let zone = &mut self.zones[zone];
        let given = zone.pcp.free(List::Users, state);
        zone.free += given;
    }

    /// Takes a page out of a zone, by way of the per-CPU list.
    pub(crate) fn draw(&mut self, zone: usize) {
        let state = self.zone_state(zone);
        let from = &mut self.zones[zone];
        let drawn = from.pcp.allocate(List::Users, state);
        self.users_take(zone, drawn);
        self.zones[zone].free -= drawn;
    }

    /// What the kernel does once a second: limits of per-CPU lists that grew are lowered.
    pub(crate) fn tick(&mut self) {
        for zone in &mut self.zones {
            zone.free += zone.pcp.decay();
        }
    }

    pub(crate) fn zone_state(&self, zone: usize) -> ZoneState {
        let zone = &self.zones[zone];
        ZoneState {
            free: zone.free,
            reclaiming: self.kswapd.is_awake(),
            below_high: !zone.is_above(Mark::High, zone.free, 1),
        }
    }

    /// Gives all pages on per-CPU lists back (`drain_all_pages`).
    pub(crate) fn drain(&mut self) {
        for zone in &mut self.zones {
            zone.free += zone.pcp.drain();
        }
    }

    /// The kernel's own allocations when a process starts: taken and given back. Under low they
    /// wake kswapd; under min they reclaim directly and empty the per-CPU lists.
    pub(crate) fn allocate_in_passing(&mut self) {
        if self.find_zone(Mark::Low, 1).is_some() {
            return;
        }
        self.wake_kswapd_for_user();
        if self.find_zone(Mark::Min, 1).is_none() {
            if self.reclaim_directly().is_err() {
                self.stalls.push((self.now(), false));
            }
            let allocation = core::mem::take(&mut self.allocation);
            self.refund(allocation.charging);
            self.drain();
        }
    }

    /// Whether some zone is above its minimum: a page can be had without direct reclaim.
    pub(crate) fn is_above_min(&self) -> bool {
        self.find_zone(Mark::Min, 1).is_some()
    }

    /// Whether some zone up to `highest` is above its high watermark for requests that can use
    /// these (`pgdat_balanced`): kswapd's goal.
    pub(crate) fn is_balanced(&self, highest: usize) -> bool {
        let mut zones = self.zones[..=highest].iter();
        zones.any(|zone| self.is_above_high(zone, highest, 0))
    }

    /// Whether all zones up to `highest` are so many pages above high for requests that can use
    /// these.
    pub(crate) fn are_safe(&self, highest: usize, pages: u64) -> bool {
        let mut zones = self.zones[..=highest].iter();
        zones.all(|zone| self.is_above_high(zone, highest, pages))
    }

    fn is_above_high(&self, zone: &Zone, highest: usize, pages: u64) -> bool {
        zone.free > zone.mark(Mark::High) + self.reserve(zone, highest) + pages
    }

    /// Pages of a zone withheld from requests that could use the zones up to `highest`.
    fn reserve(&self, zone: &Zone, highest: usize) -> u64 {
        let highest = self.zones[highest].layout;
        let protection = self
            .layout
            .get(zone.layout)
            .map(|layout| &layout.protection);
        match protection.and_then(|protection| protection.get(highest)) {
            Some(pages) => pages.0 / self.scale,
            None => zone.reserve,
        }
    }

    /// The first zone of the zonelist that keeps its watermark after giving `pages` pages.
    pub(crate) fn find_zone(&self, mark: Mark, pages: u64) -> Option<usize> {
        self.nodes
            .find(self.zones.len(), |zone| self.has_room(zone, mark, pages))
    }

    pub(crate) fn has_room(&self, zone: usize, mark: Mark, pages: u64) -> bool {
        let zone = &self.zones[zone];
        zone.is_above(mark, zone.free, pages)
    }

    fn count_allocation(&mut self, zone: usize, pages: u64) {
        match self.zones[zone].kind {
            ZoneKind::Dma => self.events.pgalloc_dma += pages,
            ZoneKind::Dma32 => self.events.pgalloc_dma32 += pages,
            _ => self.events.pgalloc_normal += pages,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocation_stops_at_low_wakes_kswapd_and_goes_on_to_min() {
        let mut memory = Memory::with_zone(1000, 100);
        let base = memory.take_range(1000).expect("there is room");
        for page in base..base + 875 {
            memory.allocate(page, State::Inactive).expect("above low");
        }
        assert_eq!(memory.zones[0].free, 125);
        assert!(!memory.kswapd.is_awake());
        memory
            .allocate(base + 875, State::Inactive)
            .expect("above min");
        assert!(
            memory.kswapd.is_awake(),
            "the first page under low wakes it"
        );
        for page in base + 876..base + 900 {
            memory.allocate(page, State::Inactive).expect("above min");
        }
        assert_eq!(
            memory.allocate(base + 900, State::Inactive),
            Err(NoPage::OutOfMemory)
        );
        assert_eq!(memory.zones[0].free, 100, "min stays for the kernel");
    }

    #[test]
    fn the_kernels_own_pages_leave_a_zone_at_low_and_wake_kswapd_like_any_other() {
        let mut memory = Memory::with_two_zones(1000, 100);
        memory.zones[1].free = 125;
        memory
            .take_kernel_page()
            .expect("the lower zone is above low");
        assert_eq!((memory.zones[1].free, memory.zones[0].kernel), (125, 1));
        assert!(!memory.kswapd.is_awake());
        memory.zones[0].free = 125;
        memory.take_kernel_page().expect("above min");
        assert_eq!(
            (memory.zones[1].kernel, memory.kswapd.is_awake()),
            (1, true)
        );
        for zone in &mut memory.zones {
            zone.free = 50;
        }
        assert!(
            memory.take_kernel_page().is_ok(),
            "small needs are met below min"
        );
    }

    #[test]
    fn a_boost_raises_all_marks() {
        let mut memory = Memory::with_zone(1000, 100);
        memory.zones[0].free = 400;
        assert!(memory.is_balanced(0));
        memory.zones[0].boost = 300;
        assert!(!memory.is_balanced(0) && !memory.is_above_min());
    }
}
