//! Pages that come back from swap, and the swap cache (`do_swap_page`, `mm/swap_state.c`).

use alloc::vec::Vec;
use core::ops::Range;

use mm::rules::Mechanism;

use crate::block::disk::{Direction, Request};
use crate::mm::folio::Folios;
use crate::mm::folio::{Flag, PageId, State};
use crate::mm::ksm::share::Shares;
use crate::mm::memory::state::Region;
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::state::NoPage;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::mm::swap_state::SwapReadahead;
use crate::mm::swapfile::Backing;
use crate::mm::swapfile::Swap;
use crate::sched::cpu::Cpu;

impl Memory {
    /// A fault on a place whose page is in swap: one from zram is there at once, one from a disk is
    /// being read afterwards, with its neighbours. One that others share goes through the swap
    /// cache from zram, too (`__swap_count`).
    ///
    /// # Errors
    /// There is no page, or not yet.
    pub(crate) fn swap_in(
        &mut self,
        region: &mut Region,
        index: u64,
        page: PageId,
    ) -> Result<(), NoPage> {
        let slot = self.folios.slot(page);
        let is_own = page == region.base + index as PageId;
        let rotational = match self.swap.place(slot).0 {
            Backing::Disk { disk, .. } => self.io.disk(disk).is_rotational(),
            Backing::Zram { .. } if is_own => return self.swap_in_from_zram(page, slot),
            Backing::Zram { .. } => false,
        };
        // The page that is wanted comes first: without it there is nothing to read around.
        self.read_into_swap_cache(page, slot)?;
        let mut pages = match rotational {
            true => self.swap.cluster_around(&self.cpu, slot),
            false => {
                let shares = &self.ksm.shares;
                self.swap
                    .neighbours(&self.cpu, &self.folios, shares, region, index)
            }
        };
        self.cpu.events.pgmajfault += 1;
        self.groups.stat(self.cpu.current.group).pgmajfault += 1;
        pages.retain(|&(_, other)| other == page || self.read_ahead(other));
        self.send_reads(&pages);
        let always_stalls = self.cpu.rules.has(Mechanism::StallsAtColdSwapIns);
        self.may_go_on(|folios| always_stalls || folios.has(page, Flag::Workingset))
    }

    /// A process uses a page that is there: it is mapped if it is in the swap cache alone.
    pub(crate) fn use_page(
        &mut self,
        region: &mut Region,
        page: PageId,
        index: u64,
        write: bool,
        first_try: bool,
    ) {
        let in_cache_alone = self.folios.has(page, Flag::Unmapped);
        let first_write = write && self.folios.has(page, Flag::Swapcache);
        let faults = u64::from(first_try && (in_cache_alone || first_write));
        self.cpu.events.pgfault += faults;
        self.groups.stat(self.cpu.current.group).pgfault += faults;
        if in_cache_alone {
            if first_try {
                self.swap.note_found(
                    &mut self.cpu,
                    &mut self.folios,
                    &mut region.readahead,
                    page,
                    index,
                );
            }
            self.map_from_swap_cache(page, write);
        }
        self.folios.set(page, Flag::Accessed);
        if write {
            self.folios.set(page, Flag::Dirty);
        }
    }

    /// Maps a resident page that is in the swap cache alone, for a process that reads or writes it.
    pub(crate) fn map_from_swap_cache(&mut self, page: PageId, write: bool) {
        self.folios.clear(page, Flag::Unmapped);
        self.folios.anon_pages += 1;
        self.folios.set(page, Flag::Accessed);
        let cost = self.cpu.costs.swap_in_ps;
        self.lruvecs.pay_for_new_page(&mut self.cpu, cost);
        self.activate_swapped_in(page);
        let busy = matches!(self.folios.state(page), State::Writing);
        if !busy && (write || self.swap.is_half_full()) {
            self.leave_swap_cache(page);
            self.folios.set(page, Flag::Dirty);
        } else if write {
            self.folios.set(page, Flag::Dirty);
        }
    }

    /// Before 5.9 a fault activates what it brings in from swap.
    fn activate_swapped_in(&mut self, page: PageId) {
        let rules = &self.cpu.rules;
        let is_old = !rules.has(Mechanism::AnonBeginsInactive) && !rules.lru_gen.enabled;
        if is_old && self.folios.state(page) == State::Inactive {
            self.lruvecs.activate(
                &mut self.cpu,
                &mut self.zones,
                &mut self.folios,
                &mut self.groups,
                page,
            );
        }
    }

    /// A resident page gives its slot up.
    pub(crate) fn leave_swap_cache(&mut self, page: PageId) {
        self.folios.clear(page, Flag::Swapcache);
        self.folios.swap_cached -= 1;
        self.give_slot(self.swap.slot_of(page), page);
    }

    /// Frees a slot, and its entry in the swap cache's tree.
    pub(crate) fn give_slot(&mut self, slot: u32, page: PageId) {
        self.swap.free_slot(slot);
        self.groups.uncharge_swap(self.folios.group(page));
        self.objects
            .tree_remove(&mut self.zones, &mut self.groups, page);
        self.swap
            .follow_zram(&mut self.cpu, &mut self.zones, &mut self.objects);
    }

    fn swap_in_from_zram(&mut self, page: PageId, slot: u32) -> Result<(), NoPage> {
        let history = self.folios.history(page);
        self.allocate(page, State::Reading)?;
        self.admit(page, history);
        self.lruvecs
            .add_new(&self.cpu, &mut self.zones, &mut self.folios, page);
        self.folios.unlock(page);
        self.folios.set(page, Flag::Accessed);
        self.folios.set(page, Flag::Dirty);
        self.folios.anon_pages += 1;
        self.give_slot(slot, page);
        self.cpu.events.pgmajfault += 1;
        self.groups.stat(self.cpu.current.group).pgmajfault += 1;
        self.cpu.events.pswpin += 1;
        self.cpu.spent += self.cpu.costs.zram_in_ps;
        Ok(())
    }

    /// Allocates the page for a slot and puts it into the swap cache, locked.
    fn read_into_swap_cache(&mut self, page: PageId, slot: u32) -> Result<(), NoPage> {
        let history = self.folios.history(page);
        self.allocate(page, State::Reading)?;
        self.admit(page, history);
        self.swap.set_slot(page, slot);
        self.folios.set(page, Flag::Swapcache);
        self.folios.set(page, Flag::Unmapped);
        self.folios.clear(page, Flag::SwapReadahead);
        self.folios.swap_cached += 1;
        self.lruvecs
            .add_new(&self.cpu, &mut self.zones, &mut self.folios, page);
        self.cpu.events.pswpin += 1;
        Ok(())
    }

    /// Reads a page of the window too, unless it is there or there is no page for it.
    fn read_ahead(&mut self, page: PageId) -> bool {
        if self.folios.state(page) != State::Swapped || !self.zones.is_above_min(&self.cpu) {
            return false;
        }
        let read = self.read_into_swap_cache(page, self.folios.slot(page));
        if read.is_ok() {
            self.folios.set(page, Flag::SwapReadahead);
            self.cpu.events.swap_ra += 1;
        }
        read.is_ok()
    }

    /// Sends the reads of a window, those of neighbouring slots as one; from zram they are done.
    fn send_reads(&mut self, pages: &[(u32, PageId)]) {
        for &(slot, page) in pages {
            let (backing, offset) = self.swap.place(slot);
            let Backing::Disk { disk, .. } = backing else {
                self.folios.unlock(page);
                self.cpu.spent += self.cpu.costs.zram_in_ps;
                continue;
            };
            self.io.plug_swap(
                &mut self.cpu,
                &mut self.zones,
                &self.folios,
                &mut self.objects,
                disk,
                Request::page(Direction::Read, offset, page),
            );
        }
        self.io.unplug(&mut self.cpu, &self.folios);
    }
}

impl Swap {
    /// Compressed swap takes the pages that what lies in it needs: from the reserves if it must, as
    /// reclaim may, and movable ones (`zs_malloc` with `__GFP_MOVABLE`).
    pub(crate) fn follow_zram(&self, cpu: &mut Cpu, zones: &mut Zones, objects: &mut Objects) {
        let wanted = self.zram_pages();
        while objects.zram_pages < wanted && zones.take_movable_page(cpu).is_ok() {
            objects.zram_pages += 1;
        }
        while objects.zram_pages > wanted {
            zones.give_movable_page();
            objects.zram_pages -= 1;
        }
    }

    /// The pages of the window of a region's fault that are in swap, or are being read for it.
    fn neighbours(
        &self,
        cpu: &Cpu,
        folios: &Folios,
        shares: &Shares,
        region: &mut Region,
        index: u64,
    ) -> Vec<(u32, PageId)> {
        let window = region.readahead.around(index, cpu.rules.page_cluster);
        let table = region.under_one_table(index);
        let within: Range<u64> = window.start.max(table.start)..window.end.min(table.end);
        let slot = |at: u64| {
            let place = region.base + at as PageId;
            let page = shares.swapped_page(folios, place).unwrap_or(place);
            match folios.state(page) {
                State::Swapped => Some((folios.slot(page), page)),
                State::Reading if at == index => Some((self.slot_of(page), page)),
                _ => None,
            }
        };
        within.filter_map(slot).collect()
    }

    /// The pages in the slots around one.
    fn cluster_around(&mut self, cpu: &Cpu, slot: u32) -> Vec<(u32, PageId)> {
        let at = self.offset_in_area(slot);
        let slots = self.readahead.slots(at, cpu.rules.page_cluster);
        self.around(slot, slots).collect()
    }

    /// Notes that a fault found its page in the swap cache; a hit if it was read ahead, or is being
    /// written, for then it has the same bit, `PG_reclaim` (`lookup_swap_cache`).
    pub(crate) fn note_found(
        &mut self,
        cpu: &mut Cpu,
        folios: &mut Folios,
        readahead: &mut SwapReadahead,
        page: PageId,
        index: u64,
    ) {
        readahead.found(index);
        let is_writing = folios.state(page) == State::Writing;
        let was_ahead = folios.has(page, Flag::Unmapped) && folios.take(page, Flag::SwapReadahead);
        if was_ahead || is_writing {
            cpu.events.swap_ra_hit += 1;
            readahead.hit();
            self.readahead.hit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_found_in_the_swap_cache_is_a_hit_only_if_it_was_read_ahead() {
        let mut memory = Memory::with_zone(1000, 10);
        let page = memory.take_range(64).expect("there is room");
        memory.folios.set(page, Flag::Anon);
        memory.folios.set(page, Flag::Unmapped);
        let mut readahead = SwapReadahead::default();
        let mut hits = |change: fn(&mut Memory, PageId)| {
            change(&mut memory, page);
            memory
                .swap
                .note_found(&mut memory.cpu, &mut memory.folios, &mut readahead, page, 0);
            memory.cpu.events.swap_ra_hit
        };
        assert_eq!(hits(|_, _| ()), 0, "it was written and stayed");
        assert_eq!(
            hits(|memory, page| memory.folios.set(page, Flag::SwapReadahead)),
            1
        );
        assert_eq!(hits(|_, _| ()), 1, "the bit is gone");
        let writes = |memory: &mut Memory, page| memory.folios.set_state(page, State::Writing);
        assert_eq!(hits(writes), 2, "PG_reclaim is the same bit");
    }

    #[test]
    fn compressed_swap_grows_into_users_blocks_and_boosts_nothing() {
        let mut memory = Memory::with_zone(4096, 20);
        assert!(memory.swap.add(Backing::Zram { ratio_milli: 2000 }, 101));
        memory.zones[0].set_free(300);
        (0..100).for_each(|page| assert!(memory.swap.take_slot(page)));
        let (cpu, zones, objects) = (&mut memory.cpu, &mut memory.zones, &mut memory.objects);
        memory.swap.follow_zram(cpu, zones, objects);
        assert_eq!((objects.zram_pages, zones.boosts(0)), (50, 0));
        zones.take_kernel_page(cpu).expect("there are free ones");
        assert!(zones.boosts(0) > 0, "the kernel's own claim a block");
        (0..100).for_each(|slot| memory.swap.free_slot(slot));
        memory.swap.follow_zram(cpu, zones, objects);
        zones.drain();
        assert_eq!((objects.zram_pages, zones[0].free), (0, 299));
    }
}
