//! Zones, watermarks and the page allocator (`mm/page_alloc.c`).

pub(crate) mod boost;
pub(crate) mod buddy;
pub(crate) mod fallback;
pub(crate) mod pcp;
pub(crate) mod pieces;
pub(crate) mod rmqueue;
pub(crate) mod slowpath;
pub(crate) mod zonelist;

use alloc::vec::Vec;

use mm::formula::reserve::totalreserve;
use mm::formula::watermarks::{MovableRule, Rule, ZoneSize, watermarks};
use mm::units::{Kib, PageSize, Pages};
use mm::zoneinfo::ZoneKind;

use crate::mm::folio::{PageId, State};
use crate::mm::memcontrol::Charging;
use crate::mm::page_alloc::buddy::{Buddy, Frame, Migrate};
use crate::mm::page_alloc::fallback::Draw;
use crate::mm::page_alloc::pcp::{List, Pcp, ZoneState};
#[cfg(test)]
use crate::mm::page_alloc::pieces::Pieces;
use crate::mm::page_alloc::slowpath::DirectReclaim;
use crate::mm::parts::Memory;

/// The order of a huge page, and its base pages.
pub(crate) const HUGE_ORDER: usize = 9;
pub(crate) const HUGE_PAGES: u64 = 1 << HUGE_ORDER;

/// A zone of the node.
#[derive(Clone, Debug)]
pub(crate) struct Zone {
    pub(crate) kind: ZoneKind,
    /// Its place among all zones of the node, those without memory included.
    pub(crate) layout: usize,
    pub(crate) managed: u64,
    /// Free pages as the kernel counts them (`NR_FREE_PAGES`), what the CPU has changed since it
    /// last told the zone, and how much that may be.
    pub(crate) free: u64,
    pub(crate) untold: i64,
    pub(crate) tells_above: u64,
    pub(crate) min: u64,
    pub(crate) low: u64,
    pub(crate) high: u64,
    /// What its watermarks are raised by for now.
    pub(crate) boost: u64,
    /// Which of its pages are free.
    pub(crate) buddy: Buddy,
    /// The frames below this one are in use as boot left them.
    pub(crate) boot_end: Frame,
    /// Frames of the kernel's own pages, of users' pages that the kernel holds for processes, and
    /// of huge pages in the pool.
    pub(crate) held: Vec<Frame>,
    pub(crate) held_for_users: Vec<Frame>,
    pub(crate) pool: Vec<Frame>,
    /// Pages withheld from requests that could use a higher zone (`protection` of the highest).
    pub(crate) reserve: u64,
    /// Pages on each LRU list, and pages that are locked into memory.
    pub(crate) lru: [u64; 4],
    pub(crate) unevictable: u64,
    /// Pages that the model's own kernel objects hold: slabs, page tables.
    pub(crate) kernel: u64,
    /// Pages in use that no mechanism of the model touches: what boot left.
    pub(crate) fixed: u64,
    /// Pages that boot left on each LRU list, which the files of the boot state count.
    pub(crate) of_boot: [u64; 4],
    pub(crate) pcp: Pcp,
    /// Pages that boot left on the per-CPU lists.
    pub(crate) on_lists: u64,
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
        let mut zone = Self {
            kind: ZoneKind::Normal,
            layout: 0,
            managed,
            free: managed,
            untold: 0,
            tells_above: 0,
            min,
            low: min + min / 4,
            high: min + min / 2,
            boost: 0,
            buddy: Buddy::new(0, HUGE_ORDER, 0, &Pieces::default()),
            boot_end: 0,
            held: Vec::new(),
            held_for_users: Vec::new(),
            pool: Vec::new(),
            reserve: 0,
            lru: [0; 4],
            unevictable: 0,
            kernel: 0,
            fixed: 0,
            of_boot: [0; 4],
            pcp: Pcp::new(1, 4, crate::mm::page_alloc::pcp::Tuning::of("6.1")),
            on_lists: 0,
        };
        zone.lay_out(managed, HUGE_ORDER, &Pieces::default());
        zone
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
        let Some(zone) = zone.filter(|&zone| !self.nodes.is_remote(zone)) else {
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
        self.freed.push(place);
    }

    /// Frees the pages of a batch of reclaim: until 6.8 the last one first (`free_unref_page_list`).
    pub(crate) fn free_batch(&mut self) {
        let mut freed = core::mem::take(&mut self.freed);
        if self.rules.frees_last_first {
            freed.reverse();
        }
        for (zone, frame) in freed.drain(..) {
            self.give_block(zone, frame, 0);
        }
        self.freed = freed;
    }

    /// A page leaves its frame.
    fn vacate(&mut self, page: PageId) -> (usize, Frame) {
        self.free_buffers(page);
        let zone = self.folios.zone(page);
        let frame = self.leave(page, zone);
        self.uncharge_page(page, 1);
        self.events.pgfree += 1;
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
        self.events.pgfree += HUGE_PAGES;
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
        self.events.pgfree += HUGE_PAGES;
    }

    /// Takes a frame out of a zone for a page.
    fn draw(&mut self, zone: usize, page: PageId) {
        let frame = self.take_block(zone, List::Users);
        self.settle_in(page, zone, frame.expect("the zone has a free page"));
    }

    /// A page lies in a frame from now on.
    pub(crate) fn settle_in(&mut self, page: PageId, zone: usize, frame: Frame) {
        self.frames[page as usize] = frame;
        self.zones[zone].buddy.set_user(frame, true);
    }

    /// It does no longer.
    fn leave(&mut self, page: PageId, zone: usize) -> Frame {
        let frame = self.frames[page as usize];
        self.zones[zone].buddy.set_user(frame, false);
        frame
    }

    /// What the kernel does once a second: counters are brought up to date, and limits of per-CPU
    /// lists that grew are lowered (`refresh_cpu_vm_stats`).
    pub(crate) fn tick(&mut self) {
        for zone in &mut self.zones {
            let above = zone.pcp.decay();
            zone.give_back(List::Unmovable, above);
            zone.count_free();
        }
    }

    pub(crate) fn zone_state(&self, zone: usize) -> ZoneState {
        let zone = &self.zones[zone];
        ZoneState {
            reclaiming: self.kswapd.reclaims(),
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
        let has_block = match self.is_sampled() || pages == 1 {
            true => zone.buddy.free() >= pages,
            false => zone.buddy.has(pages.ilog2() as usize),
        };
        zone.is_above(mark, zone.free, pages) && has_block
    }

    /// A simulated page stands for several: 512 of them are as many huge pages, and need not lie side
    /// by side.
    fn is_sampled(&self) -> bool {
        self.scale > 1
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
mod tests;
