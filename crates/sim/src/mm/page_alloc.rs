//! Zones, watermarks and the page allocator (`mm/page_alloc.c`).

pub(crate) mod boost;
pub(crate) mod buddy;
pub(crate) mod fallback;
pub(crate) mod pcp;
pub(crate) mod pieces;
pub(crate) mod rmqueue;
pub(crate) mod slowpath;
pub(crate) mod zone;
pub(crate) mod zonelist;

use alloc::vec::Vec;

use mm::formula::reserve::totalreserve;
use mm::formula::watermarks::{MovableRule, Rule, ZoneSize, watermarks};
use mm::units::{Kib, PageSize, Pages};
use mm::zoneinfo::ZoneKind;

use crate::mm::folio::{PageId, State};
use crate::mm::memcontrol::Charging;
use crate::mm::page_alloc::buddy::{Frame, Migrate};
use crate::mm::page_alloc::fallback::Draw;
use crate::mm::page_alloc::pcp::{List, ZoneState};
use crate::mm::page_alloc::slowpath::DirectReclaim;
use crate::mm::page_alloc::zone::{HUGE_ORDER, HUGE_PAGES, Mark, Zone};
use crate::mm::parts::Memory;

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

impl Memory {
    /// Sets the watermarks that `min_free_kbytes` and `watermark_scale_factor` give
    /// (`__setup_per_zone_wmarks`).
    pub(crate) fn set_watermarks(&mut self, min_free: Kib, scale_factor: u64) {
        let sizes: Vec<ZoneSize> = self.zones.layout.iter().map(ZoneSize::from).collect();
        let rule = Rule {
            min_free: min_free.pages_floor(PageSize::FOUR_KIB),
            scale_factor,
            movable: MovableRule::observed(&self.zones.layout),
        };
        for (zone, marks) in self.zones.layout.iter_mut().zip(watermarks(&sizes, rule)) {
            zone.watermarks = marks;
        }
        for (zone, layout) in self.zones.listed() {
            let marks = layout.watermarks;
            let marks = [marks.min, marks.low, marks.high].map(|mark| mark.0 / self.cpu.scale);
            [zone.min, zone.low, zone.high] = marks;
            zone.boost = 0;
            zone.pcp.set_limits(zone.low, zone.managed);
        }
    }

    /// Pages that no user can have (`calculate_totalreserve_pages`).
    pub(crate) fn totalreserve(&self) -> Pages {
        totalreserve(&self.zones.layout)
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
        if self.cpu.may_yield && self.zones.kswapd.wants_cpu() {
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
        self.draw(zone, page);
        self.count_allocation(zone, 1);
        self.settle();
        self.folios.place(page, zone, state);
        Ok(())
    }

    /// Allocates a page as the kernel does for itself, without any reclaim of its own; whether there
    /// is one.
    pub(crate) fn allocate_at_once(&mut self, page: PageId, state: State) -> bool {
        let Some(zone) = self.zone_for_kernel(1) else {
            return false;
        };
        self.draw(zone, page);
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
        let Some(zone) = zone.filter(|&zone| !self.zones.nodes.is_remote(zone)) else {
            return false;
        };
        if !self.charge_huge(first) {
            return false;
        }
        let pages = first..first + HUGE_PAGES as PageId;
        match self.is_sampled() {
            true => pages.clone().for_each(|page| self.draw(zone, page)),
            false => {
                let frame = self.take_block(zone, List::Huge);
                let frame = frame.expect("the zone has room for it");
                pages.clone().zip(frame..).for_each(|(page, frame)| {
                    self.settle_in(page, zone, frame);
                });
            }
        }
        self.count_allocation(zone, HUGE_PAGES);
        pages.for_each(|page| self.folios.place(page, zone, state));
        true
    }

    /// Frees the page that `page` occupies; its state is the caller's business.
    pub(crate) fn free(&mut self, page: PageId) {
        let (zone, frame) = self.vacate(page);
        self.give_block(zone, frame, 0);
    }

    /// As [`Self::free`], but the free page comes with the others of its batch.
    pub(crate) fn free_with_batch(&mut self, page: PageId) {
        let place = self.vacate(page);
        self.zones.freed.push(place);
    }

    /// Frees the pages of a batch of reclaim: until 6.8 the last one first (`free_unref_page_list`).
    pub(crate) fn free_batch(&mut self) {
        let mut freed = core::mem::take(&mut self.zones.freed);
        if self.cpu.rules.frees_last_first {
            freed.reverse();
        }
        for (zone, frame) in freed.drain(..) {
            self.give_block(zone, frame, 0);
        }
        self.zones.freed = freed;
    }

    /// A page leaves its frame.
    fn vacate(&mut self, page: PageId) -> (usize, Frame) {
        self.free_buffers(page);
        let zone = self.folios.zone(page);
        let frame = self.leave(page, zone);
        self.uncharge_page(page, 1);
        self.cpu.events.pgfree += 1;
        (zone, frame)
    }

    /// Frees the huge page whose first page is `page`.
    pub(crate) fn free_huge(&mut self, page: PageId) {
        let zone = self.folios.zone(page);
        for rest in page + 1..page + HUGE_PAGES as PageId {
            let frame = self.leave(rest, zone);
            if self.is_sampled() {
                self.give_block(zone, frame, 0);
            }
        }
        let frame = self.leave(page, zone);
        let order = if self.is_sampled() { 0 } else { HUGE_ORDER };
        self.give_block(zone, frame, order);
        self.uncharge_page(page, HUGE_PAGES);
        self.cpu.events.pgfree += HUGE_PAGES;
    }

    /// Takes 512 contiguous pages for the kernel, above min; the zone they come from.
    pub(crate) fn take_huge_block(&mut self) -> Option<usize> {
        let zone = self.find_zone(Mark::Min, HUGE_PAGES)?;
        let from = &mut self.zones[zone];
        let frame = from
            .buddy
            .draw(HUGE_ORDER, Migrate::Movable, &mut Draw::default())?;
        from.pool.push(frame);
        from.count_free();
        from.kernel += HUGE_PAGES;
        self.count_allocation(zone, HUGE_PAGES);
        Some(zone)
    }

    pub(crate) fn give_huge_block(&mut self, zone: usize) {
        let to = &mut self.zones[zone];
        let frame = to.pool.pop().expect("it was taken");
        to.buddy.give(frame, HUGE_ORDER);
        to.count_free();
        to.kernel -= HUGE_PAGES;
        self.cpu.events.pgfree += HUGE_PAGES;
    }

    /// Takes a frame out of a zone for a page.
    fn draw(&mut self, zone: usize, page: PageId) {
        let frame = self.take_block(zone, List::Users);
        self.settle_in(page, zone, frame.expect("the zone has a free page"));
    }

    /// A page lies in a frame from now on.
    pub(crate) fn settle_in(&mut self, page: PageId, zone: usize, frame: Frame) {
        self.zones.frames[page as usize] = frame;
        self.zones[zone].buddy.set_user(frame, true);
    }

    /// It does no longer.
    fn leave(&mut self, page: PageId, zone: usize) -> Frame {
        let frame = self.zones.frames[page as usize];
        self.zones[zone].buddy.set_user(frame, false);
        frame
    }

    /// What the kernel does once a second: counters are brought up to date, and limits of per-CPU
    /// lists that grew are lowered (`refresh_cpu_vm_stats`).
    pub(crate) fn tick(&mut self) {
        for zone in self.zones.iter_mut() {
            let above = zone.pcp.decay();
            zone.give_back(List::Unmovable, above);
            zone.count_free();
        }
    }

    pub(crate) fn zone_state(&self, zone: usize) -> ZoneState {
        let zone = &self.zones[zone];
        ZoneState {
            reclaiming: self.zones.kswapd.reclaims(),
            below_high: !zone.is_above(Mark::High, zone.free, 1),
        }
    }

    /// Gives all pages on per-CPU lists back (`drain_all_pages`).
    pub(crate) fn drain(&mut self) {
        self.zones.iter_mut().for_each(Zone::drain);
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
                self.cpu.stalls.push((self.now(), false));
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
            .zones
            .layout
            .get(zone.layout)
            .map(|layout| &layout.protection);
        match protection.and_then(|protection| protection.get(highest)) {
            Some(pages) => pages.0 / self.cpu.scale,
            None => zone.reserve,
        }
    }

    /// The first zone of the zonelist that keeps its watermark after giving `pages` pages.
    pub(crate) fn find_zone(&self, mark: Mark, pages: u64) -> Option<usize> {
        self.zones
            .nodes
            .find(self.zones.len(), |zone| self.has_room(zone, mark, pages))
    }

    pub(crate) fn has_room(&self, zone: usize, mark: Mark, pages: u64) -> bool {
        let zone = &self.zones[zone];
        let has_block = match self.is_sampled() || pages == 1 {
            true => zone.buddy.free() >= pages,
            false => zone.buddy.has(pages.ilog2() as usize),
        };
        zone.is_above(mark, zone.free, pages) && has_block
    }

    /// A simulated page stands for several: 512 of them are as many huge pages, and need not lie side
    /// by side.
    fn is_sampled(&self) -> bool {
        self.cpu.scale > 1
    }

    fn count_allocation(&mut self, zone: usize, pages: u64) {
        match self.zones[zone].kind {
            ZoneKind::Dma => self.cpu.events.pgalloc_dma += pages,
            ZoneKind::Dma32 => self.cpu.events.pgalloc_dma32 += pages,
            _ => self.cpu.events.pgalloc_normal += pages,
        }
    }
}

#[cfg(test)]
mod tests;
