//! The pool of huge pages that are set aside (`mm/hugetlb.c`): out of the zones' free pages, on no
//! list, never reclaimed.

use alloc::vec::Vec;

use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::sched::cpu::Cpu;

/// The pool, in huge pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hugetlb {
    /// The zone of each page of the pool.
    zones: Vec<usize>,
    /// Pages in use.
    used: u64,
    /// Pages that mapped regions will use.
    reserved: u64,
    /// Pages that a mapping may add beyond the pool (`vm.nr_overcommit_hugepages`), and those that
    /// some have added.
    pub(crate) overcommit: u64,
    surplus: u64,
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

    /// Sets pages of the pool aside; false where too few are left.
    fn reserve(&mut self, pages: u64) -> bool {
        let fits = self.free() - self.reserved >= pages;
        self.reserved += if fits { pages } else { 0 };
        fits
    }

    /// A region uses one of its pages.
    pub(crate) fn take(&mut self) {
        self.reserved -= 1;
        self.used += 1;
    }

    /// A region keeps the reservation of a page that it used.
    pub(crate) fn untake(&mut self) {
        self.used -= 1;
        self.reserved += 1;
    }
}

impl Memory {
    /// Sets pages aside for a region, further ones than the pool has if that is allowed and there
    /// is memory for them; false otherwise.
    pub(crate) fn reserve_hugetlb(&mut self, pages: u64) -> bool {
        let spare = self.zones.hugetlb.free() - self.zones.hugetlb.reserved;
        let lacking = pages.saturating_sub(spare);
        if self.zones.hugetlb.surplus + lacking
            > self
                .zones
                .hugetlb
                .overcommit
                .max(self.zones.hugetlb.surplus)
        {
            return false;
        }
        let total = self.zones.hugetlb.total();
        self.resize_hugetlb(total + lacking);
        self.zones.hugetlb.surplus += self.zones.hugetlb.total() - total;
        let reserved = self.zones.hugetlb.reserve(pages);
        self.zones.drop_surplus(&mut self.cpu);
        reserved
    }

    /// Makes the pool as large as asked for, or as there is memory for; pages that are in use stay
    /// (`vm.nr_hugepages`). What cannot be had at once is reclaimed for.
    pub(crate) fn resize_hugetlb(&mut self, wanted: u64) {
        while self.zones.hugetlb.total() < wanted {
            let zone = match self.zones.take_huge_block(&mut self.cpu) {
                Some(zone) => zone,
                None => match self.reclaim_directly() {
                    Ok(0) => break,
                    _ => continue,
                },
            };
            self.zones.hugetlb.zones.push(zone);
        }
        let spare = self.zones.hugetlb.free() - self.zones.hugetlb.reserved;
        let surplus = self.zones.hugetlb.total().saturating_sub(wanted).min(spare);
        for _ in 0..surplus {
            if let Some(zone) = self.zones.hugetlb.zones.pop() {
                self.zones.give_huge_block(&mut self.cpu, zone);
            }
        }
    }
}

impl Zones {
    /// A region gives up what it had reserved.
    pub(crate) fn give_hugetlb(&mut self, cpu: &mut Cpu, reserved: u64) {
        self.hugetlb.reserved -= reserved;
        self.drop_surplus(cpu);
    }

    /// Surplus pages that nobody wants go back to their zones.
    fn drop_surplus(&mut self, cpu: &mut Cpu) {
        let spare = self.hugetlb.free() - self.hugetlb.reserved;
        for _ in 0..spare.min(self.hugetlb.surplus) {
            if let Some(zone) = self.hugetlb.zones.pop() {
                self.give_huge_block(cpu, zone);
                self.hugetlb.surplus -= 1;
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
        assert_eq!(memory.zones.hugetlb.total(), 4);
        assert_eq!(memory.zones.free_pages(), 10_000 - 4 * HUGE_PAGES);
        assert!(memory.reserve_hugetlb(3) && !memory.reserve_hugetlb(2));
        memory.zones.hugetlb.take();
        memory.resize_hugetlb(0);
        assert_eq!(memory.zones.hugetlb.total(), 3, "one in use, two reserved");
        memory.zones.hugetlb.untake();
        memory.zones.give_hugetlb(&mut memory.cpu, 3);
        memory.resize_hugetlb(0);
        assert_eq!(memory.zones.free_pages(), 10_000);
    }

    #[test]
    fn a_mapping_may_add_pages_and_they_go_with_it() {
        let mut memory = Memory::with_zone(10_000, 100);
        memory.zones.hugetlb.overcommit = 5;
        assert!(!memory.reserve_hugetlb(6));
        assert!(memory.reserve_hugetlb(5));
        assert_eq!(memory.zones.hugetlb.total(), 5);
        memory.zones.give_hugetlb(&mut memory.cpu, 5);
        assert_eq!(
            (memory.zones.hugetlb.total(), memory.zones.free_pages()),
            (0, 10_000)
        );
    }

    #[test]
    fn a_pool_larger_than_memory_stays_smaller() {
        let mut memory = Memory::with_cache(10_000, 100, 8000, 0);
        memory.resize_hugetlb(100);
        let total = memory.zones.hugetlb.total();
        assert!((17..20).contains(&total), "{total}");
    }
}
