//! The swap cache, and how far a swap-in reads ahead (`mm/swap_state.c`).

use crate::mm::folio::{Flag, Folios, PageId};
use crate::mm::memcontrol::state::Groups;
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::swapfile::Swap;
use crate::sched::cpu::Cpu;

/// Hits that are remembered at most (`SWAP_RA_HITS_MAX`).
const MOST_HITS: u32 = 63;

/// The largest window as a power of two, whatever `vm.page-cluster` says (`SWAP_RA_ORDER_CEILING`).
const CEILING: u32 = 5;

/// The window of one region, or of the whole machine where the swap area's own order decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SwapReadahead {
    /// The last fault.
    previous: u64,
    window: u32,
    hits: u32,
}

/// Pages from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl SwapReadahead {
    /// That of the machine: it begins as if four pages had been hit.
    pub(crate) const MACHINE: Self = Self {
        previous: 0,
        window: 0,
        hits: 4,
    };

    /// A fault found its page in the swap cache.
    pub(crate) fn found(&mut self, page: u64) {
        self.previous = page;
    }

    /// A page that was read ahead is used.
    pub(crate) fn hit(&mut self) {
        self.hits = (self.hits + 1).min(MOST_HITS);
    }

    /// The pages around a fault in a region, as the last faults went on (`swap_vma_readahead`).
    pub(crate) fn around(&mut self, page: u64, page_cluster: u32) -> Window {
        let (previous, size) = (
            self.previous,
            self.size(page, 1 << page_cluster.min(CEILING)),
        );
        let size = u64::from(size);
        let start = if size == 1 || page == previous + 1 {
            page
        } else if page + 1 == previous {
            page.saturating_sub(size - 1)
        } else {
            page.saturating_sub((size - 1) / 2)
        };
        Window {
            start,
            end: start + size,
        }
    }

    /// How many slots to read for a fault on slot `offset` (`swapin_nr_pages`): a power of two.
    pub(crate) fn slots(&mut self, offset: u32, page_cluster: u32) -> u32 {
        self.size(u64::from(offset), 1 << page_cluster)
    }

    /// The window grows with the pages that were used of the last ones, and shrinks by half at most
    /// (`__swapin_nr_pages`).
    fn size(&mut self, at: u64, most: u32) -> u32 {
        let wanted = self.hits + 2;
        let follows = at == self.previous + 1 || at + 1 == self.previous;
        let size = match wanted {
            2 if !follows => 1,
            2 => 2,
            _ => wanted.next_power_of_two().max(4),
        };
        let size = size.min(most).max((self.window / 2).min(most)).max(1);
        (self.previous, self.window, self.hits) = (at, size, 0);
        size
    }
}

impl Swap {
    /// Gives an anonymous page a swap slot, and the slot an entry in its tree (`add_to_swap`).
    pub(crate) fn add_to_swap(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        groups: &mut Groups,
        objects: &mut Objects,
        page: PageId,
    ) -> bool {
        let group = folios.group(page);
        if self.free() == 0 || !groups.charge_swap(group) {
            return false;
        }
        self.take_slot(page);
        // The entry of a page that has been in swap before may still be there: it is one of 64.
        if objects
            .tree_insert(cpu, zones, folios, groups, page)
            .is_err()
        {
            self.free_slot(self.slot_of(page));
            groups.uncharge_swap(group);
            return false;
        }
        folios.set(page, Flag::Swapcache);
        folios.set(page, Flag::Dirty);
        folios.swap_cached += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattered_faults_read_one_page_and_neighbours_two() {
        let mut readahead = SwapReadahead::default();
        assert_eq!(
            readahead.around(100, 3),
            Window {
                start: 100,
                end: 101
            }
        );
        assert_eq!(
            readahead.around(500, 3),
            Window {
                start: 500,
                end: 501
            }
        );
        assert_eq!(
            readahead.around(501, 3),
            Window {
                start: 501,
                end: 503
            }
        );
        assert_eq!(
            readahead.around(500, 3),
            Window {
                start: 499,
                end: 501
            }
        );
    }

    #[test]
    fn hits_widen_the_window_up_to_the_cluster_and_it_shrinks_by_half() {
        let mut readahead = SwapReadahead::default();
        readahead.around(10, 3);
        (11..=15).for_each(|page| {
            readahead.found(page);
            readahead.hit();
        });
        assert_eq!(readahead.around(16, 3), Window { start: 16, end: 24 });
        assert_eq!(
            readahead.around(900, 3).end - readahead.previous,
            3,
            "4 around it"
        );
        assert_eq!(readahead.around(16, 3), Window { start: 16, end: 18 });
        assert_eq!(
            readahead.around(500, 0),
            Window {
                start: 500,
                end: 501
            }
        );
    }
}
