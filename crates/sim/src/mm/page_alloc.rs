//! Zones, watermarks and the page allocator (`mm/page_alloc.c`).

pub(crate) mod boost;
pub(crate) mod buddy;
pub(crate) mod fallback;
pub(crate) mod pcp;
pub(crate) mod pieces;
pub(crate) mod rmqueue;
pub(crate) mod slowpath;
pub(crate) mod state;
pub(crate) mod zone;
pub(crate) mod zonelist;

use alloc::vec::Vec;

use mm::formula::reserve::totalreserve;
use mm::formula::watermarks::{MovableRule, Rule, ZoneSize, watermarks};
use mm::rules::Mechanism;
use mm::units::{Kib, PageSize, Pages};
use mm::zoneinfo::ZoneKind;

use crate::mm::folio::Folios;
use crate::mm::folio::{PageId, State};
use crate::mm::memcontrol::state::Groups;
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::buddy::{Frame, Migrate};
use crate::mm::page_alloc::fallback::Draw;
use crate::mm::page_alloc::pcp::{List, ZoneState};
use crate::mm::page_alloc::state::{Effort, NoPage};
use crate::mm::page_alloc::zone::Zones;
use crate::mm::page_alloc::zone::{HUGE_ORDER, HUGE_PAGES, Mark, Zone};
use crate::mm::parts::Memory;
use crate::sched::cpu::Cpu;

impl Zones {
    /// Sets the watermarks that `min_free_kbytes` and `watermark_scale_factor` give
    /// (`__setup_per_zone_wmarks`).
    pub(crate) fn set_watermarks(&mut self, cpu: &Cpu, min_free: Kib, scale_factor: u64) {
        let sizes: Vec<ZoneSize> = self.layout.iter().map(ZoneSize::from).collect();
        let rule = Rule {
            min_free: min_free.pages_floor(PageSize::FOUR_KIB),
            scale_factor,
            movable: MovableRule::observed(&self.layout),
        };
        for (zone, marks) in self.layout.iter_mut().zip(watermarks(&sizes, rule)) {
            zone.watermarks = marks;
        }
        for (zone, layout) in self.listed() {
            let marks = layout.watermarks;
            let marks = [marks.min, marks.low, marks.high].map(|mark| mark.0 / cpu.scale);
            [zone.min, zone.low, zone.high] = marks;
            zone.boost = 0;
            zone.pcp.set_limits(zone.low, zone.managed);
        }
    }

    /// Pages that no user can have (`calculate_totalreserve_pages`).
    pub(crate) fn totalreserve(&self) -> Pages {
        totalreserve(&self.layout)
    }

    /// Allocates a page as the kernel does for itself, without any reclaim of its own; whether
    /// there is one.
    pub(crate) fn allocate_at_once(
        &mut self,
        cpu: &mut Cpu,
        folios: &mut Folios,
        page: PageId,
        state: State,
    ) -> bool {
        let Some(zone) = self.zone_for_kernel(cpu, 1) else {
            return false;
        };
        self.draw(cpu, zone, page);
        self.count_allocation(cpu, zone, 1);
        folios.place(page, zone, state);
        true
    }

    /// Allocates a huge page if one can be had without any reclaim, as a fault does where `defrag`
    /// is at its default: like any request that may not wait it goes down to min. Its 512 pages
    /// from `first` become resident.
    pub(crate) fn allocate_huge(
        &mut self,
        cpu: &mut Cpu,
        folios: &mut Folios,
        groups: &mut Groups,
        first: PageId,
        state: State,
    ) -> bool {
        let find = |mark| self.find_zone(cpu, mark, HUGE_PAGES);
        let zone = find(Mark::Low).or_else(|| find(Mark::Min));
        let Some(zone) = zone.filter(|&zone| !self.nodes.is_remote(zone)) else {
            return false;
        };
        if !groups.charge_huge(cpu, folios, first) {
            return false;
        }
        let pages = first..first + HUGE_PAGES as PageId;
        match cpu.is_sampled() {
            true => pages.clone().for_each(|page| self.draw(cpu, zone, page)),
            false => {
                let frame = self.take_block(cpu, zone, List::Huge);
                let frame = frame.expect("the zone has room for it");
                pages.clone().zip(frame..).for_each(|(page, frame)| {
                    self.settle_in(page, zone, frame);
                });
            }
        }
        self.count_allocation(cpu, zone, HUGE_PAGES);
        pages.for_each(|page| folios.place(page, zone, state));
        true
    }

    /// Frees the page that `page` occupies; its state is the caller's business.
    pub(crate) fn free(
        &mut self,
        cpu: &mut Cpu,
        folios: &Folios,
        groups: &mut Groups,
        objects: &mut Objects,
        page: PageId,
    ) {
        let (zone, frame) = self.vacate(cpu, folios, groups, objects, page);
        self.give_block(zone, frame, 0);
    }

    /// As [`Self::free`], but the free page comes with the others of its batch.
    pub(crate) fn free_with_batch(
        &mut self,
        cpu: &mut Cpu,
        folios: &Folios,
        groups: &mut Groups,
        objects: &mut Objects,
        page: PageId,
    ) {
        let place = self.vacate(cpu, folios, groups, objects, page);
        self.freed.push(place);
    }

    /// A page that nothing else is kept for leaves its frame, which comes with the others of its
    /// batch.
    pub(crate) fn free_in_batch(&mut self, page: PageId, zone: usize) {
        let frame = self.leave(page, zone);
        self.freed.push((zone, frame));
    }

    /// Frees the pages of a batch of reclaim: until 6.8 the last one first
    /// (`free_unref_page_list`).
    pub(crate) fn free_batch(&mut self, cpu: &Cpu) {
        let mut freed = core::mem::take(&mut self.freed);
        if cpu.rules.has(Mechanism::FreesLastFirst) {
            freed.reverse();
        }
        self.give_pages(&freed);
        freed.clear();
        self.freed = freed;
    }

    /// A page leaves its frame.
    fn vacate(
        &mut self,
        cpu: &mut Cpu,
        folios: &Folios,
        groups: &mut Groups,
        objects: &mut Objects,
        page: PageId,
    ) -> (usize, Frame) {
        objects.free_buffers(self, page);
        let zone = folios.zone(page);
        let frame = self.leave(page, zone);
        groups.uncharge_page(folios, page, 1);
        cpu.events.pgfree += 1;
        (zone, frame)
    }

    /// Frees the huge page whose first page is `page`.
    pub(crate) fn free_huge(
        &mut self,
        cpu: &mut Cpu,
        folios: &Folios,
        groups: &mut Groups,
        page: PageId,
    ) {
        let zone = folios.zone(page);
        for rest in page + 1..page + HUGE_PAGES as PageId {
            let frame = self.leave(rest, zone);
            if cpu.is_sampled() {
                self.give_block(zone, frame, 0);
            }
        }
        let frame = self.leave(page, zone);
        let order = if cpu.is_sampled() { 0 } else { HUGE_ORDER };
        self.give_block(zone, frame, order);
        groups.uncharge_page(folios, page, HUGE_PAGES);
        cpu.events.pgfree += HUGE_PAGES;
    }

    /// Takes 512 contiguous pages for the kernel, above min; the zone they come from.
    pub(crate) fn take_huge_block(&mut self, cpu: &mut Cpu) -> Option<usize> {
        let zone = self.find_zone(cpu, Mark::Min, HUGE_PAGES)?;
        let from = &mut self[zone];
        let frame = from
            .buddy
            .draw(HUGE_ORDER, Migrate::Movable, &mut Draw::default())?;
        from.pool.push(frame);
        from.count_free();
        from.kernel += HUGE_PAGES;
        self.count_allocation(cpu, zone, HUGE_PAGES);
        Some(zone)
    }

    pub(crate) fn give_huge_block(&mut self, cpu: &mut Cpu, zone: usize) {
        let to = &mut self[zone];
        let frame = to.pool.pop().expect("it was taken");
        to.buddy.give(frame, HUGE_ORDER);
        to.count_free();
        to.kernel -= HUGE_PAGES;
        cpu.events.pgfree += HUGE_PAGES;
    }

    /// Takes a frame out of a zone for a page.
    fn draw(&mut self, cpu: &mut Cpu, zone: usize, page: PageId) {
        let frame = self.take_block(cpu, zone, List::Users);
        self.settle_in(page, zone, frame.expect("the zone has a free page"));
    }

    /// A page lies in a frame from now on.
    pub(crate) fn settle_in(&mut self, page: PageId, zone: usize, frame: Frame) {
        self.frames[page as usize] = frame;
        self[zone].buddy.set_user(frame, true);
    }

    /// It does no longer.
    fn leave(&mut self, page: PageId, zone: usize) -> Frame {
        let frame = self.frames[page as usize];
        self[zone].buddy.set_user(frame, false);
        frame
    }

    /// What the kernel does once a second: counters are brought up to date, and limits of per-CPU
    /// lists that grew are lowered (`refresh_cpu_vm_stats`).
    pub(crate) fn tick(&mut self) {
        for zone in self.iter_mut() {
            let above = zone.pcp.decay();
            zone.give_back(List::Unmovable, above);
            zone.count_free();
        }
    }

    pub(crate) fn zone_state(&self, zone: usize) -> ZoneState {
        let zone = &self[zone];
        ZoneState {
            reclaiming: self.kswapd.reclaims(),
            below_high: !zone.is_above(Mark::High, zone.free, 1),
        }
    }

    /// Gives all pages on per-CPU lists back (`drain_all_pages`).
    pub(crate) fn drain(&mut self) {
        self.iter_mut().for_each(Zone::drain);
    }

    /// Whether some zone is above its minimum: a page can be had without direct reclaim.
    pub(crate) fn is_above_min(&self, cpu: &Cpu) -> bool {
        self.find_zone(cpu, Mark::Min, 1).is_some()
    }

    /// Whether some zone up to `highest` is above its high watermark for requests that can use
    /// these (`pgdat_balanced`): kswapd's goal.
    pub(crate) fn is_balanced(&self, cpu: &Cpu, highest: usize) -> bool {
        let mut zones = self[..=highest].iter();
        zones.any(|zone| self.is_above_high(cpu, zone, highest, 0))
    }

    /// Whether all zones up to `highest` are this many pages above high for requests that can use
    /// these.
    pub(crate) fn are_safe(&self, cpu: &Cpu, highest: usize, pages: u64) -> bool {
        let mut zones = self[..=highest].iter();
        zones.all(|zone| self.is_above_high(cpu, zone, highest, pages))
    }

    /// Whether a zone has so much above its high watermark (`zone_watermark_ok_safe`, as
    /// `pgdat_balanced` asks it).
    fn is_above_high(&self, cpu: &Cpu, zone: &Zone, highest: usize, pages: u64) -> bool {
        zone.free > zone.mark(Mark::High) + self.reserve(cpu, zone, highest) + pages
    }

    /// Pages of a zone withheld from requests that could use the zones up to `highest`.
    fn reserve(&self, cpu: &Cpu, zone: &Zone, highest: usize) -> u64 {
        let highest = self[highest].layout;
        let protection = self
            .layout
            .get(zone.layout)
            .map(|layout| &layout.protection);
        match protection.and_then(|protection| protection.get(highest)) {
            Some(pages) => pages.0 / cpu.scale,
            None => zone.reserve,
        }
    }

    /// The first zone of the zonelist that keeps its watermark after giving `pages` pages (the
    /// choice of `get_page_from_freelist`).
    pub(crate) fn find_zone(&self, cpu: &Cpu, mark: Mark, pages: u64) -> Option<usize> {
        self.nodes
            .find(self.len(), |zone| self.has_room(cpu, zone, mark, pages))
    }

    pub(crate) fn has_room(&self, cpu: &Cpu, zone: usize, mark: Mark, pages: u64) -> bool {
        let zone = &self[zone];
        let has_block = match cpu.is_sampled() || pages == 1 {
            true => zone.buddy.free() >= pages,
            false => zone.buddy.has(pages.ilog2() as usize),
        };
        zone.is_above(mark, zone.free, pages) && has_block
    }

    pub(crate) fn count_allocation(&self, cpu: &mut Cpu, zone: usize, pages: u64) {
        match self[zone].kind {
            ZoneKind::Dma => cpu.events.pgalloc_dma += pages,
            ZoneKind::Dma32 => cpu.events.pgalloc_dma32 += pages,
            _ => cpu.events.pgalloc_normal += pages,
        }
    }
}

impl Memory {
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
            None if effort == Effort::Write => {
                self.zones.find_zone_for_write(&self.cpu, &self.writeback)
            }
            None => self.zones.find_zone(&self.cpu, Mark::Low, 1),
            Some(_) => None,
        };
        let zone = match at_once {
            Some(zone) => zone,
            None => self.allocate_slowly(effort)?,
        };
        self.zones.draw(&mut self.cpu, zone, page);
        self.zones.count_allocation(&mut self.cpu, zone, 1);
        self.allocation.settle();
        self.folios.place(page, zone, state);
        Ok(())
    }

    /// The kernel's own allocations when a process starts: taken and given back. Under low they
    /// wake kswapd; under min they reclaim directly and empty the per-CPU lists.
    pub(crate) fn allocate_in_passing(&mut self) {
        if self.zones.find_zone(&self.cpu, Mark::Low, 1).is_some() {
            return;
        }
        self.zones.wake_kswapd_for_user(&mut self.cpu);
        if self.zones.find_zone(&self.cpu, Mark::Min, 1).is_none() {
            if self.reclaim_directly().is_err() {
                self.cpu.stalls.push((self.cpu.now(), false));
            }
            let allocation = core::mem::take(&mut self.allocation);
            self.groups.refund(allocation.charging);
            let entity = self.cpu.current.entity;
            self.io.forget(&mut self.cpu, &self.folios, entity);
            self.zones.drain();
        }
    }
}

impl Cpu {
    /// A simulated page stands for several: 512 of them are as many huge pages, and need not lie
    /// side by side.
    fn is_sampled(&self) -> bool {
        self.scale > 1
    }
}

#[cfg(test)]
mod tests;
