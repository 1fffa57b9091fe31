//! A second NUMA node: a task is given the memory of its own node while that has free pages, then
//! the other's (the zonelists of `mm/page_alloc.c`), whose bytes take longer to reach. Huge pages
//! come from the own node only (`alloc_pages_vma`).
//!
//! All tasks run on the last node, which has memory of the highest zone alone, so that zones from
//! high to low are in the order of its zonelist. Both nodes share lists and kswapd.

use alloc::format;
use alloc::string::String;

use mm::units::{Bytes, Pages};
use mm::zoneinfo::Zone as Layout;

use crate::boot::State;
use crate::error::Error;
use crate::folio::PageId;
use crate::memory::Memory;
use crate::page_alloc::Zone;

/// Gives the second node half of the memory: the pages of the highest zone.
///
/// # Errors
/// The highest zone has less than half of it.
pub(crate) fn split(state: &mut State, memory: Bytes) -> Result<(), Error> {
    let own = memory.0 / 2 / 4096;
    let highest = state.layout.iter().rposition(Layout::is_populated);
    let highest = highest.filter(|&index| state.layout[index].managed.0 > own);
    let index = highest.ok_or(Error::TooSmall { memory })?;
    let zone = &mut state.layout[index];
    let mut other = zone.clone();
    let part = |pages: &mut Pages, left: &mut Pages| {
        *left = Pages(own.min(pages.0));
        pages.0 -= left.0;
    };
    part(&mut zone.present, &mut other.present);
    part(&mut zone.spanned, &mut other.spanned);
    part(&mut zone.managed, &mut other.managed);
    part(&mut zone.free, &mut other.free);
    other.node = 1;
    other.pagesets.iter_mut().for_each(|set| set.count = 0);
    other.protection.fill(Pages(0));
    list(state, index);
    state.layout.push(other);
    Ok(())
}

/// Adds the second node's zone to the text of zoneinfo.
fn list(state: &mut State, index: usize) {
    let path = "proc/zoneinfo";
    let text = state.frame.file(path).unwrap_or_default();
    let zone = text
        .split_inclusive("\nNode ")
        .nth(index)
        .unwrap_or_default();
    let zone = zone.trim_start_matches("Node ").trim_end_matches("\nNode ");
    let zone = zone.split_once(',').map_or("", |(_, rest)| rest);
    let text: String = format!("{text}Node 1,{}\n", zone.trim_end());
    state.frame.files.insert(path.into(), text);
}

/// How many zones, from the lowest on, are those of another node than the tasks'.
pub(crate) fn remote_zones(zones: &[Zone], layout: &[Layout]) -> usize {
    let node = |zone: &Zone| layout.get(zone.layout).map(|layout| layout.node);
    let own = zones.last().and_then(node);
    zones.iter().filter(|zone| node(zone) != own).count()
}

impl Memory {
    /// Whether a page lies on the other node.
    pub(crate) fn is_remote(&self, page: PageId) -> bool {
        self.remote_zones > 0 && self.folios.zone(page) < self.remote_zones
    }

    /// The time that going over the bytes of a page so many times takes longer where it lies on
    /// the other node. Reading goes over them once; writing twice, as lines are fetched first.
    pub(crate) fn remote(&self, page: PageId, times: u64) -> u64 {
        match self.is_remote(page) {
            true => self.costs.remote_ps * times,
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folio::State as Folio;
    use crate::page_alloc::HUGE_PAGES;

    #[test]
    fn huge_pages_come_from_the_own_node_and_base_pages_from_both() {
        let mut memory = Memory::with_two_zones(2000, 20);
        memory.remote_zones = 1;
        memory.costs.remote_ps = 7;
        let base = memory.take_range(2 * HUGE_PAGES).expect("there is room");
        assert!(memory.allocate_huge(base, Folio::Inactive));
        assert_eq!((memory.folios.zone(base), memory.remote(base, 2)), (1, 0));
        memory.zones[1].free = 0;
        let next = base + HUGE_PAGES as PageId;
        assert!(
            !memory.allocate_huge(next, Folio::Inactive),
            "only the other node has any"
        );
        assert_eq!(memory.allocate(next, Folio::Inactive), Ok(()));
        assert_eq!((memory.folios.zone(next), memory.remote(next, 2)), (0, 14));
    }
}
