//! Swap areas and their slots, and which page has which slot (`mm/swapfile.c`).

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::mm::folio::{NIL, PageId};
use crate::mm::swap_state::SwapReadahead;

/// Slots that are handed out one after the other (`SWAPFILE_CLUSTER`).
const CLUSTER: usize = 256;

/// What keeps the pages of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backing {
    /// A disk, from this byte on.
    Disk { disk: usize, offset: u64 },
    /// Compressed memory; uncompressed over compressed size in thousandths.
    Zram { ratio_milli: u32 },
}

/// A swap area.
#[derive(Clone, Debug)]
struct Area {
    backing: Backing,
    /// Its first slot among all slots.
    first: u32,
    /// The page in each slot.
    pages: Vec<PageId>,
    used_in_cluster: Vec<u16>,
    free: u64,
    /// Clusters without a page, in the order in which they became so.
    free_clusters: VecDeque<u32>,
    /// The slot to try next, and the end of its cluster.
    next: usize,
    end: usize,
}

/// All swap areas, those that are used first at the front.
#[derive(Clone, Debug)]
pub(crate) struct Swap {
    areas: Vec<Area>,
    /// The slot of each resident page that has one.
    slot_of: Vec<u32>,
    total: u64,
    /// How far a swap-in reads ahead in the order of the slots.
    pub(crate) readahead: SwapReadahead,
    /// Pages that are being written to swap.
    pub(crate) writing: u64,
}

impl Default for Swap {
    fn default() -> Self {
        Self {
            areas: Vec::new(),
            slot_of: Vec::new(),
            total: 0,
            readahead: SwapReadahead::MACHINE,
            writing: 0,
        }
    }
}

impl Swap {
    /// Adds an area of this many slots; the first holds its header. False where slots can no longer
    /// be numbered.
    pub(crate) fn add(&mut self, backing: Backing, slots: u64) -> bool {
        let first = self.areas.last().map_or(0, Area::end_slot);
        let slots = slots.saturating_sub(1);
        let end = u64::from(first) + slots;
        if end >= u64::from(NIL) {
            return false;
        }
        let clusters = (slots as usize).div_ceil(CLUSTER);
        self.areas.push(Area {
            backing,
            first,
            pages: vec![NIL; slots as usize],
            used_in_cluster: vec![0; clusters],
            free: slots,
            free_clusters: (0..clusters as u32).collect(),
            next: 0,
            end: 0,
        });
        self.total += slots;
        true
    }

    /// Slots in all, in pages.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Slots that are free.
    pub(crate) fn free(&self) -> u64 {
        self.areas.iter().map(|area| area.free).sum()
    }

    /// Whether more than half is used: pages that come back give their slots up
    /// (`vm_swap_full`).
    pub(crate) fn is_half_full(&self) -> bool {
        self.free() * 2 < self.total
    }

    /// Gives a resident page a slot; false where none is free.
    pub(crate) fn take_slot(&mut self, page: PageId) -> bool {
        let area = self.areas.iter_mut().find(|area| area.free > 0);
        let Some(slot) = area.map(|area| area.take(page)) else {
            return false;
        };
        self.set_slot(page, slot);
        true
    }

    /// Notes the slot of a page that comes back and keeps it.
    pub(crate) fn set_slot(&mut self, page: PageId, slot: u32) {
        if self.slot_of.len() <= page as usize {
            self.slot_of.resize(page as usize + 1, NIL);
        }
        self.slot_of[page as usize] = slot;
    }

    /// The page in a slot has another index from now on.
    pub(crate) fn move_slot(&mut self, slot: u32, to: PageId) {
        let area = self.area_mut(slot);
        area.pages[(slot - area.first) as usize] = to;
        self.set_slot(to, slot);
    }

    /// The slot of a resident page that has one.
    pub(crate) fn slot_of(&self, page: PageId) -> u32 {
        self.slot_of[page as usize]
    }

    /// Frees a slot.
    pub(crate) fn free_slot(&mut self, slot: u32) {
        let area = self.area_mut(slot);
        let index = (slot - area.first) as usize;
        debug_assert_ne!(area.pages[index], NIL, "it is in use");
        area.pages[index] = NIL;
        area.free += 1;
        let used = &mut area.used_in_cluster[index / CLUSTER];
        *used -= 1;
        if *used == 0 {
            area.free_clusters.push_back((index / CLUSTER) as u32);
        }
    }

    /// What keeps a slot, and where on the disk it lies.
    pub(crate) fn place(&self, slot: u32) -> (Backing, u64) {
        let area = self.area(slot);
        let offset = match area.backing {
            Backing::Disk { offset, .. } => offset + (u64::from(slot - area.first) + 1) * 4096,
            Backing::Zram { .. } => 0,
        };
        (area.backing, offset)
    }

    /// The pages in the aligned window of `slots` slots around one (`swap_cluster_readahead`), with
    /// their slots.
    pub(crate) fn around(&self, slot: u32, slots: u32) -> impl Iterator<Item = (u32, PageId)> + '_ {
        let area = self.area(slot);
        // The header is slot 0 of the area's own numbering.
        let index = slot - area.first + 1;
        let start = (index & !(slots - 1)).max(1) - 1;
        let end = ((index | (slots - 1)) as usize).min(area.pages.len());
        let within = start..end as u32;
        within
            .map(|index| (area.first + index, area.pages[index as usize]))
            .filter(|(_, page)| *page != NIL)
    }

    /// Where in its area a slot lies.
    pub(crate) fn offset_in_area(&self, slot: u32) -> u32 {
        slot - self.area(slot).first + 1
    }

    /// Slots in use on zram, and the pages of memory that they take.
    pub(crate) fn zram_pages(&self) -> u64 {
        let taken = |area: &Area| match area.backing {
            Backing::Zram { ratio_milli } => {
                let used = area.pages.len() as u64 - area.free;
                (used * 1000).div_ceil(u64::from(ratio_milli.max(1)))
            }
            Backing::Disk { .. } => 0,
        };
        self.areas.iter().map(taken).sum()
    }

    fn area(&self, slot: u32) -> &Area {
        let after = self.areas.partition_point(|area| area.first <= slot);
        &self.areas[after - 1]
    }

    fn area_mut(&mut self, slot: u32) -> &mut Area {
        let after = self.areas.partition_point(|area| area.first <= slot);
        &mut self.areas[after - 1]
    }
}

impl Area {
    fn end_slot(&self) -> u32 {
        self.first + self.pages.len() as u32
    }

    /// A free slot: the next one of the cluster in use, else the first of a free cluster, else the
    /// next free one after the last that was taken.
    fn take(&mut self, page: PageId) -> u32 {
        if self.next >= self.end || self.pages[self.next] != NIL {
            self.find();
        }
        let index = self.next;
        self.pages[index] = page;
        self.free -= 1;
        self.used_in_cluster[index / CLUSTER] += 1;
        self.next += 1;
        self.first + index as u32
    }

    fn find(&mut self) {
        let rest = self.next..self.end.max(self.next).min(self.pages.len());
        if let Some(index) = rest.into_iter().find(|&i| self.pages[i] == NIL) {
            self.next = index;
            return;
        }
        while let Some(cluster) = self.free_clusters.pop_front() {
            // A cluster may have been used by the search below since it became free.
            if self.used_in_cluster[cluster as usize] == 0 {
                self.next = cluster as usize * CLUSTER;
                self.end = (self.next + CLUSTER).min(self.pages.len());
                return;
            }
        }
        let all = self.pages.len();
        let from = self.next;
        let mut around = (from..all).chain(0..from.min(all));
        let free = around.find(|&index| self.pages[index] == NIL);
        self.next = free.expect("a slot is free");
        self.end = all;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swap(slots: u64) -> Swap {
        let mut swap = Swap::default();
        assert!(swap.add(Backing::Disk { disk: 0, offset: 0 }, slots + 1));
        swap
    }

    #[test]
    fn slots_are_handed_out_in_order_and_freed_clusters_come_last() {
        let mut swap = swap(600);
        for page in 0..512 {
            assert!(swap.take_slot(page));
        }
        assert_eq!((swap.slot_of(0), swap.slot_of(511)), (0, 511));
        (0..256).for_each(|slot| swap.free_slot(slot));
        assert!(swap.take_slot(900));
        assert_eq!(swap.slot_of(900), 512, "the third cluster was free earlier");
        (901..988).for_each(|page| assert!(swap.take_slot(page)));
        assert!(swap.take_slot(988));
        assert_eq!(swap.slot_of(988), 0, "then the first one again");
        assert_eq!(swap.free(), 600 - 512 + 256 - 89);
    }

    #[test]
    fn the_last_free_slots_are_found_and_a_full_area_gives_none() {
        let mut swap = swap(300);
        for page in 0..300 {
            assert!(swap.take_slot(page));
        }
        assert!(!swap.take_slot(300));
        swap.free_slot(7);
        swap.free_slot(290);
        assert!(swap.take_slot(301) && swap.take_slot(302));
        let mut slots = [swap.slot_of(301), swap.slot_of(302)];
        slots.sort_unstable();
        assert_eq!(slots, [7, 290]);
        assert!(!swap.take_slot(303));
    }

    #[test]
    fn a_second_area_is_used_when_the_first_is_full() {
        let mut swap = swap(2);
        assert!(swap.add(Backing::Zram { ratio_milli: 2000 }, 5));
        for page in 0..4 {
            assert!(swap.take_slot(page));
        }
        assert_eq!(swap.place(swap.slot_of(1)).1, 2 * 4096);
        assert_eq!(
            swap.place(swap.slot_of(2)).0,
            Backing::Zram { ratio_milli: 2000 }
        );
        assert_eq!(swap.zram_pages(), 1);
        assert_eq!((swap.total(), swap.free()), (6, 2));
        assert!(swap.is_half_full());
    }

    #[test]
    fn the_window_around_a_slot_is_aligned_with_the_header_counted() {
        let mut swap = swap(20);
        (100..112).for_each(|page| assert!(swap.take_slot(page)));
        let slots: Vec<u32> = swap.around(5, 8).map(|(slot, _)| slot).collect();
        assert_eq!(slots, [0, 1, 2, 3, 4, 5, 6], "7 slots and the header");
        let slots: Vec<u32> = swap.around(7, 8).map(|(slot, _)| slot).collect();
        assert_eq!(slots, [7, 8, 9, 10, 11]);
    }
}
