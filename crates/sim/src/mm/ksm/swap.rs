//! Merged pages on their way to swap and back: reclaim unmaps all that share one, and each faults
//! for itself. The first maps what was read, the others get copies (`ksm_might_need_to_copy`).

use super::share::{Entry, Owner, ShareId};
use crate::mm::filemap::state::Progress;
use crate::mm::folio::{Flag, PageId, State};
use crate::mm::memory::state::Region;
use crate::mm::page_alloc::state::NoPage;
use crate::mm::parts::Memory;

impl Memory {
    /// A fault on a page of a region that shares another, or did before it went to swap.
    pub(crate) fn fault_shared(
        &mut self,
        region: &mut Region,
        index: u64,
        write: bool,
        first_try: bool,
    ) -> Progress {
        let place = region.base + index as PageId;
        let result = match self.ksm.shares.entry(&self.folios, place) {
            Entry::Swapped(id) => return self.fault_swapped(region, index, id, write, first_try),
            Entry::Mapped(id) if !write => {
                self.ksm.shares.touch(&mut self.folios, place, id);
                Ok(())
            }
            _ if !write => Ok(()),
            _ => {
                self.groups.count_fault(&mut self.cpu, first_try);
                self.copy_shared(place)
            }
        };
        result.map_or_else(Progress::NoPage, |()| Progress::Complete)
    }

    /// A fault on a place whose entry names the swap slot of a page that others share
    /// (`do_swap_page`).
    fn fault_swapped(
        &mut self,
        region: &mut Region,
        index: u64,
        id: ShareId,
        write: bool,
        first_try: bool,
    ) -> Progress {
        let place = region.base + index as PageId;
        let page = self.ksm.shares.get(id).page;
        if self.folios.is_reading(page) {
            return Progress::Waits(page);
        }
        self.groups.count_fault(&mut self.cpu, first_try);
        if self.folios.state(page) == State::Swapped {
            match self.swap_in(region, index, page) {
                Ok(()) if self.folios.is_reading(page) => return Progress::Waits(page),
                Ok(()) => {}
                Err(why) => return Progress::NoPage(why),
            }
        } else if first_try {
            let (cpu, folios) = (&mut self.cpu, &mut self.folios);
            self.swap
                .note_found(cpu, folios, &mut region.readahead, page, index);
        }
        let share = self.ksm.shares.get(id);
        let owner = [Owner::First, Owner::Place(place)];
        let result = match share.node.is_some() || owner.contains(&share.owner) {
            true => self.map_swapped(place, id, write),
            false => self.copy_swapped(place, id),
        };
        result.map_or_else(Progress::NoPage, |()| Progress::Complete)
    }

    /// Maps a page of the swap cache as it is: a merged one that has not been freed yet, or one
    /// that was read and that nobody else has mapped before.
    fn map_swapped(&mut self, place: PageId, id: ShareId, write: bool) -> Result<(), NoPage> {
        let share = self.ksm.shares.get_mut(id);
        share.swapped -= 1;
        if share.node.is_none() {
            share.owner = Owner::Place(place);
        }
        let (page, is_last) = (share.page, share.swapped == 0);
        let locked = self.folios.is_locked(place);
        self.map_shared(place, id, locked);
        let cost = self.cpu.costs.swap_in_ps;
        self.lruvecs.pay_for_new_page(&mut self.cpu, cost);
        let is_writing = self.folios.state(page) == State::Writing;
        if is_last && !is_writing && self.swap.is_half_full() {
            self.leave_swap_cache(page);
            self.folios.set(page, Flag::Dirty);
        }
        match write {
            true => self.copy_shared(place),
            false => Ok(()),
        }
    }

    /// Copies a page of the swap cache that is another's.
    fn copy_swapped(&mut self, place: PageId, id: ShareId) -> Result<(), NoPage> {
        self.take_page_instead(place)?;
        self.cpu.events.ksm_swpin_copy += 1;
        self.cpu.spent += self.cpu.costs.ksm_cow_ps;
        let share = self.ksm.shares.get_mut(id);
        share.swapped -= 1;
        // The page stays in the swap cache until reclaim finds it, unless that was meanwhile.
        if self.folios.state(share.page) == State::Swapped {
            self.free_unused(id);
        }
        Ok(())
    }

    /// Lets an entry map a shared page, which is in memory.
    pub(super) fn map_shared(&mut self, place: PageId, id: ShareId, locked: bool) {
        self.ksm.shares.map(&mut self.folios, place, id, locked);
        if locked {
            let page = self.ksm.shares.get(id).page;
            self.lruvecs
                .set_aside(&self.cpu, &mut self.zones, &mut self.folios, page);
        }
    }

    /// Gives a place that shares a page one of its own, locked as the other was.
    pub(super) fn take_page_instead(&mut self, place: PageId) -> Result<(), NoPage> {
        let locked = self.folios.is_locked(place);
        self.allocate(place, State::Inactive)?;
        self.folios
            .add_anon(&self.cpu, &mut self.zones, &mut self.lruvecs, place);
        if locked {
            self.lruvecs
                .set_aside(&self.cpu, &mut self.zones, &mut self.folios, place);
        }
        Ok(())
    }

    /// The page of a place that shares it with nobody any longer becomes its own again, in memory
    /// or in swap; but a merged page stays so.
    pub(crate) fn bring_home(&mut self, place: PageId) {
        let entry = self.ksm.shares.entry(&self.folios, place);
        let (Entry::Mapped(id) | Entry::Swapped(id)) = entry else {
            return;
        };
        let share = *self.ksm.shares.get(id);
        let is_free = [Owner::First, Owner::Place(place)].contains(&share.owner);
        if share.node.is_some() || share.mapped + share.swapped > 1 || !is_free {
            return;
        }
        let page = share.page;
        let state = self.folios.state(page);
        let slot = match state {
            State::Swapped => Some(self.folios.slot(page)),
            State::Inactive | State::Active => {
                let has_slot = self.folios.has(page, Flag::Swapcache);
                has_slot.then(|| self.swap.slot_of(page))
            }
            _ => return,
        };
        if slot.is_some_and(|slot| !self.move_slot(slot, page, place)) {
            return;
        }
        self.move_page(page, place);
        let share = self.ksm.shares.get_mut(id);
        (share.mapped, share.swapped) = (0, 0);
        self.ksm.shares.give(id);
    }

    /// Gives a page another index, in its place on its list, or in swap.
    pub(super) fn move_page(&mut self, page: PageId, to: PageId) {
        self.zones.frames[to as usize] = self.zones.frames[page as usize];
        match self.folios.state(page) {
            State::Inactive | State::Active => {
                self.lruvecs.rename(&self.cpu, &mut self.folios, page, to)
            }
            _ => self.folios.move_to(page, to),
        }
    }

    /// Gives the page in a swap slot another index, and the slot's entry in its tree with it; false
    /// where there is no page for that.
    pub(super) fn move_slot(&mut self, slot: u32, page: PageId, to: PageId) -> bool {
        let inserted = self.objects.tree_insert(
            &mut self.cpu,
            &mut self.zones,
            &self.folios,
            &mut self.groups,
            to,
        );
        if inserted.is_ok() {
            self.objects
                .tree_remove(&mut self.zones, &mut self.groups, page);
            self.swap.move_slot(slot, to);
        }
        inserted.is_ok()
    }

    /// Reclaim has freed a page that is in swap now. A merged one is so no longer: its node is
    /// stale, and who faults on it gets what is read. One that nobody shares any longer is gone
    /// for good.
    pub(crate) fn note_evicted(&mut self, page: PageId) {
        let Some(id) = self.ksm.shares.of(page) else {
            return;
        };
        self.ksm.lose_page(id);
        if self.ksm.shares.get(id).is_unused() {
            self.give_slot(self.folios.slot(page), page);
            self.folios.forget(page);
            self.ksm.shares.give(id);
        }
    }

    /// Frees a shared page, or its slot, that no entry leads to any longer. One that is being read
    /// or written stays in the swap cache until reclaim finds it. Whether it was freed.
    pub(super) fn free_unused(&mut self, id: ShareId) -> bool {
        let share = self.ksm.shares.get(id);
        let page = share.page;
        if !share.is_unused() {
            return false;
        }
        match self.folios.state(page) {
            State::Reading | State::Writing => return false,
            State::Swapped => self.give_slot(self.folios.slot(page), page),
            _ => self.drop_resident(page),
        }
        self.folios.forget(page);
        self.ksm.lose_page(id);
        self.ksm.shares.give(id);
        true
    }
}

impl super::Ksm {
    /// A shared page has been freed.
    fn lose_page(&mut self, id: ShareId) {
        let share = self.shares.get_mut(id);
        share.owner = Owner::First;
        if let Some(node) = share.node.take() {
            self.trees.becomes_stale(node);
        }
    }
}
