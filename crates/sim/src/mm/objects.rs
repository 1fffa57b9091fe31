//! The kernel's own pages: nodes of the trees that hold the page cache and the swap cache, and page
//! tables.

pub(crate) mod state;

use alloc::vec::Vec;

use crate::mm::folio::Folios;
use crate::mm::folio::{NODE_PAGES, PageId};
use crate::mm::lru::Kind;
use crate::mm::memcontrol::group_id::GroupId;
use crate::mm::memcontrol::state::Groups;
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::buddy::Frame;
use crate::mm::page_alloc::pcp::List;
use crate::mm::page_alloc::state::NoPage;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::page_alloc::zone::{Mark, Zone};
use crate::mm::slub::SlabId;
use crate::sched::cpu::Cpu;

/// A process's top page table: its zone and its first frame.
pub(crate) type Pgd = (usize, Frame);

impl Zone {
    /// Frames of single pages that the kernel holds.
    fn held(&mut self, list: List) -> &mut Vec<Frame> {
        match list {
            List::Users => &mut self.held_for_users,
            _ => &mut self.held,
        }
    }
}

impl Objects {
    /// A page or shadow enters the tree of a file where nothing was.
    ///
    /// # Errors
    /// There is no page for another node; the tree is as it was.
    pub(crate) fn tree_insert(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &Folios,
        groups: &mut Groups,
        page: PageId,
    ) -> Result<(), NoPage> {
        let node = (page / NODE_PAGES) as usize;
        if self.node_entries[node] == 0 {
            self.node_slabs[node] = self.take_tree_node(cpu, zones)?;
            if groups.any() && folios.kind(page) == Kind::File {
                self.node_groups[node] = groups.charge_node(cpu) as u8;
            }
        }
        self.node_entries[node] += 1;
        Ok(())
    }

    /// A page or shadow left the tree for good.
    pub(crate) fn tree_remove(&mut self, zones: &mut Zones, groups: &mut Groups, page: PageId) {
        if let Some(node) = self.leave_tree(groups, page) {
            self.give_tree_node(zones, node);
        }
    }

    /// A page or shadow left the tree for good; its node, where that holds nothing any more and is
    /// to be given back.
    pub(crate) fn leave_tree(&mut self, groups: &mut Groups, page: PageId) -> Option<SlabId> {
        let node = (page / NODE_PAGES) as usize;
        self.node_entries[node] -= 1;
        if self.node_entries[node] > 0 {
            return None;
        }
        let group = self.node_groups.get_mut(node);
        let group = group.map_or(0, core::mem::take);
        groups.uncharge_node(GroupId::from(group));
        Some(self.node_slabs[node])
    }

    fn take_tree_node(&mut self, cpu: &mut Cpu, zones: &mut Zones) -> Result<SlabId, NoPage> {
        if let Some(slab) = self.tree_nodes.take() {
            return Ok(slab);
        }
        let (zone, frame) = zones.draw_for_kernel(cpu, self.node_list)?;
        Ok(self.tree_nodes.add(zone, frame))
    }

    pub(crate) fn give_tree_node(&mut self, zones: &mut Zones, slab: SlabId) {
        let mut freed = Vec::new();
        self.tree_nodes.give(slab, &mut freed);
        for (zone, frame) in freed {
            zones.release_to(zone, self.node_list, frame);
        }
    }

    /// A bio for a page of swap; none where nothing at all is free.
    pub(crate) fn take_bio(&mut self, cpu: &mut Cpu, zones: &mut Zones) -> Option<SlabId> {
        self.bios.take().or_else(|| {
            let (zone, frame) = zones.draw_for_kernel(cpu, List::Unmovable).ok()?;
            Some(self.bios.add(zone, frame))
        })
    }

    /// Gives bios back.
    pub(crate) fn give_bios(&mut self, zones: &mut Zones, bios: &[SlabId]) {
        let mut freed = Vec::new();
        for &bio in bios {
            self.bios.give(bio, &mut freed);
        }
        for (zone, frame) in freed {
            zones.release_to(zone, List::Unmovable, frame);
        }
    }

    /// Takes what the kernel allocates for a swap area of this many slots when it is switched on: a
    /// byte of use count and two of owning group a slot.
    pub(crate) fn hold_for_swap(&mut self, cpu: &mut Cpu, zones: &mut Zones, slots: u64) {
        self.hold(cpu, zones, List::Unmovable, (slots * 3).div_ceil(4096));
    }

    /// Takes pages that reclaim cannot have; returns how many there were.
    pub(crate) fn hold(&mut self, cpu: &mut Cpu, zones: &mut Zones, list: List, pages: u64) -> u64 {
        let taken = (0..pages).take_while(|_| zones.take_held(cpu, list).is_ok());
        let taken = taken.count() as u64;
        self.held_pages += taken;
        taken
    }

    /// Gives pages back that were held.
    pub(crate) fn let_go(&mut self, zones: &mut Zones, list: List, pages: u64) {
        (0..pages).for_each(|_| zones.give_held(list));
        self.held_pages -= pages;
    }

    /// Takes a process's top page table, a block of two: with page-table isolation built in there
    /// is one for user mode too (`pgd_alloc`). Where a page stands for several it is too small to
    /// count.
    pub(crate) fn pgd_alloc(&mut self, cpu: &mut Cpu, zones: &mut Zones) -> Option<Pgd> {
        if cpu.scale > 1 {
            return None;
        }
        let pgd = zones.draw_for_kernel(cpu, List::UnmovablePairs).ok();
        self.held_pages += 2 * u64::from(pgd.is_some());
        pgd
    }

    /// Gives it back. It is freed last, and where more was freed than taken of late the per-CPU
    /// list goes with it.
    pub(crate) fn pgd_free(&mut self, zones: &mut Zones, pgd: Option<Pgd>) {
        if let Some((zone, frame)) = pgd {
            zones.release_to(zone, List::UnmovablePairs, frame);
            self.held_pages -= 2;
        }
    }

    /// Takes the page-table page that maps another 512 pages of a region.
    ///
    /// # Errors
    /// There is no page left at all.
    pub(crate) fn take_page_table(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        groups: &mut Groups,
    ) -> Result<(), NoPage> {
        zones.take_kernel_page(cpu)?;
        self.page_table_pages += 1;
        groups.charge_kernel(cpu.current.group, 1);
        groups.stat(cpu.current.group).page_tables += 1;
        Ok(())
    }

    /// Gives `count` page-table pages back that were charged to a group.
    pub(crate) fn give_page_tables(
        &mut self,
        zones: &mut Zones,
        groups: &mut Groups,
        count: u64,
        group: GroupId,
    ) {
        groups.uncharge_kernel(group, count);
        groups.stat(group).page_tables -= count;
        for _ in 0..count {
            zones.give_kernel_page();
        }
        self.page_table_pages -= count;
    }
}

impl Zones {
    /// Takes a block for the kernel's own use: from the highest zone above low or, once kswapd is
    /// woken, above min. Where none is, from the one with most free pages: such requests reclaim,
    /// or may use the reserve, and are small. Returns the zone and the block's first frame.
    ///
    /// # Errors
    /// No zone has this many free pages.
    pub(crate) fn draw_for_kernel(
        &mut self,
        cpu: &mut Cpu,
        list: List,
    ) -> Result<(usize, Frame), NoPage> {
        let pages = list.block();
        let zone = self.zone_for_kernel(cpu, pages);
        let zone = zone.or_else(|| self.largest_free(list.order()));
        let zone = zone.ok_or(NoPage::OutOfMemory)?;
        let frame = self
            .take_block(cpu, zone, list)
            .ok_or(NoPage::OutOfMemory)?;
        self[zone].kernel += pages;
        Ok((zone, frame))
    }

    /// Gives a block of a zone back.
    pub(crate) fn release_to(&mut self, zone: usize, list: List, frame: Frame) {
        self[zone].kernel -= list.block();
        self.give_block(zone, frame, list.order());
    }

    /// Takes a page that the kernel holds until [`Self::give_held`].
    ///
    /// # Errors
    /// There is no page left at all.
    fn take_held(&mut self, cpu: &mut Cpu, list: List) -> Result<(), NoPage> {
        let (zone, frame) = self.draw_for_kernel(cpu, list)?;
        let from = &mut self[zone];
        from.buddy.set_user(frame, list == List::Users);
        from.held(list).push(frame);
        Ok(())
    }

    /// Gives the page back that it took last, from the highest zone that has one.
    fn give_held(&mut self, list: List) {
        let mut zones = self.iter_mut().enumerate().rev();
        let (zone, frame) = zones
            .find_map(|(index, zone)| Some((index, zone.held(list).pop()?)))
            .expect("one was taken");
        self[zone].buddy.set_user(frame, false);
        self.release_to(zone, list, frame);
    }

    /// The zone for a block of the kernel's own: the highest above low or, once kswapd is woken,
    /// above min.
    pub(crate) fn zone_for_kernel(&mut self, cpu: &mut Cpu, pages: u64) -> Option<usize> {
        self.find_zone(cpu, Mark::Low, pages).or_else(|| {
            self.wake_kswapd_for_user(cpu);
            self.find_zone(cpu, Mark::Min, pages)
        })
    }

    /// The zone with most free pages, of those that have a piece of this order.
    fn largest_free(&self, order: usize) -> Option<usize> {
        let with_free = (0..self.len()).filter(|&zone| self[zone].buddy.has(order));
        with_free.max_by_key(|&zone| self[zone].free)
    }

    /// Takes a page of the kernel's own.
    ///
    /// # Errors
    /// There is no page left at all.
    pub(crate) fn take_kernel_page(&mut self, cpu: &mut Cpu) -> Result<(), NoPage> {
        self.take_held(cpu, List::Unmovable)
    }

    pub(crate) fn give_kernel_page(&mut self) {
        self.give_held(List::Unmovable);
    }

    /// Takes a page of the kernel's own that it could move: it comes out of users' blocks, so it
    /// boosts no watermarks.
    ///
    /// # Errors
    /// There is no page left at all.
    pub(crate) fn take_movable_page(&mut self, cpu: &mut Cpu) -> Result<(), NoPage> {
        self.take_held(cpu, List::Users)
    }

    pub(crate) fn give_movable_page(&mut self) {
        self.give_held(List::Users);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::folio::State;
    use crate::mm::parts::Memory;

    #[test]
    fn sixteen_bios_share_a_page_until_their_requests_have_ended() {
        let mut memory = Memory::with_zone(1024, 10);
        let bios: Vec<SlabId> = (0..512)
            .filter_map(|_| memory.objects.take_bio(&mut memory.cpu, &mut memory.zones))
            .collect();
        assert_eq!(memory.objects.unreclaimable_slab_pages(), 512 / 16);
        crate::mm::invariants::conservation(&memory);
        memory.objects.give_bios(&mut memory.zones, &bios);
        let kept = memory.objects.unreclaimable_slab_pages();
        assert!((1..16).contains(&kept), "{kept}");
        crate::mm::invariants::conservation(&memory);
    }

    #[test]
    fn tree_nodes_of_a_sampled_run_need_no_pages_side_by_side() {
        let inserted = |is_sampled: bool| {
            let mut memory = Memory::with_zone(1024, 0);
            if is_sampled {
                memory.objects.sample();
            }
            let base = memory.take_range(1024).expect("there is room");
            for page in base..base + 1023 {
                memory.allocate(page, State::Inactive).expect("it fits");
            }
            // Every second frame, that of the page that is free already among them.
            let pages = base..base + 1023;
            let taken: Vec<Frame> = pages
                .clone()
                .map(|page| memory.zones.frames[page as usize])
                .collect();
            let left = (0..1024).find(|frame| !taken.contains(frame)).unwrap_or(0);
            pages
                .filter(|&page| (taken[(page - base) as usize] ^ left) & 1 == 0)
                .for_each(|page| {
                    memory.zones.free(
                        &mut memory.cpu,
                        &memory.folios,
                        &mut memory.groups,
                        &mut memory.objects,
                        page,
                    )
                });
            memory.zones.drain();
            memory.objects.tree_insert(
                &mut memory.cpu,
                &mut memory.zones,
                &memory.folios,
                &mut memory.groups,
                base,
            )
        };
        assert_eq!(inserted(false), Err(NoPage::OutOfMemory));
        assert_eq!(inserted(true), Ok(()));
    }
}
