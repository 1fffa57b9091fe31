//! The pool of huge pages that are set aside (`mm/hugetlb.c`): out of the zones' free pages, on no
//! list, never reclaimed.

use alloc::vec::Vec;

use crate::memory::Memory;
use crate::page_alloc::HUGE_PAGES;

/// The pool, in huge pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hugetlb {
    /// The zone of each page of the pool.
    zones: Vec<usize>,
    /// Pages in use.
    used: u64,
    /// Pages that mapped regions will use.
    reserved: u64,
}

impl Hugetlb {
    pub(crate) fn total(&self) -> u64 {
        self.zones.len() as u64
    }

    pub(crate) fn free(&self) -> u64 {
        self.total() - self.used
    }

    pub(crate) fn reserved(&self) -> u64 {
        self.reserved
    }

    /// Sets pages aside for a region; false where too few are left.
    pub(crate) fn reserve(&mut self, pages: u64) -> bool {
        let fits = self.free() - self.reserved >= pages;
        self.reserved += if fits { pages } else { 0 };
        fits
    }

    /// A region uses one of its pages.
    pub(crate) fn take(&mut self) {
        self.reserved -= 1;
        self.used += 1;
    }

    /// A region gives back what it used and what it had reserved.
    pub(crate) fn give(&mut self, used: u64, reserved: u64) {
        self.used -= used;
        self.reserved -= reserved;
    }
}

impl Memory {
    /// Makes the pool as large as asked for, or as there is memory for; pages that are in use stay
    /// (`vm.nr_hugepages`). What cannot be had at once is reclaimed for.
    pub(crate) fn resize_hugetlb(&mut self, wanted: u64) {
        while self.hugetlb.total() < wanted {
            let zone = match self.take_huge_block() {
                Some(zone) => zone,
                None => match self.reclaim_directly() {
                    Ok(0) => break,
                    _ => continue,
                },
            };
            self.hugetlb.zones.push(zone);
        }
        let spare = self.hugetlb.free() - self.hugetlb.reserved;
        let surplus = self.hugetlb.total().saturating_sub(wanted).min(spare);
        for _ in 0..surplus {
            if let Some(zone) = self.hugetlb.zones.pop() {
                self.give_huge_block(zone);
            }
        }
    }

    /// Base pages that the pool holds.
    pub(crate) fn hugetlb_pages(&self) -> u64 {
        self.hugetlb.total() * HUGE_PAGES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pool_takes_free_pages_and_gives_them_back() {
        let mut memory = Memory::with_zone(10_000, 100);
        memory.resize_hugetlb(4);
        assert_eq!(memory.hugetlb.total(), 4);
        assert_eq!(memory.free_pages(), 10_000 - 4 * HUGE_PAGES);
        assert!(memory.hugetlb.reserve(3) && !memory.hugetlb.reserve(2));
        memory.hugetlb.take();
        memory.resize_hugetlb(0);
        assert_eq!(memory.hugetlb.total(), 3, "one in use, two reserved");
        memory.hugetlb.give(1, 2);
        memory.resize_hugetlb(0);
        assert_eq!(memory.free_pages(), 10_000);
    }

    #[test]
    fn a_pool_larger_than_memory_stays_smaller() {
        let mut memory = Memory::with_cache(10_000, 100, 8000, 0);
        memory.resize_hugetlb(100);
        let total = memory.hugetlb.total();
        assert!((17..20).contains(&total), "{total}");
    }
}
