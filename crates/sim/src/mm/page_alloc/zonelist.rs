//! A second NUMA node: a task is given the memory of its own node while that has free pages, then
//! the other's (the zonelists of `mm/page_alloc.c`), whose bytes take longer to reach. Huge pages
//! come from the own node only (`alloc_pages_vma`).
//!
//! A task begins on the last node, which has the highest addresses, and stays on its
//! node until it goes to another. Both nodes share lists and kswapd.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use mm::formula::dirty::{self, Amount};
use mm::units::{Bytes, PageSize, Pages};
use mm::zoneinfo::Zone as Layout;

use crate::error::Error;
use crate::mm::folio::Folios;
use crate::mm::folio::PageId;
use crate::mm::mm_init::State;
use crate::mm::page_alloc::zone::Nodes;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::page_alloc::zone::{Mark, Zone};
use crate::mm::page_writeback::state::Writeback;
use crate::sched::cpu::Cpu;

/// Gives the second node the upper half of the memory, as nodes are ranges of addresses: the
/// highest zone, or its upper part, and that of the one below where this is not enough.
///
/// # Errors
/// The zones have less than that.
pub(crate) fn split(state: &mut State, memory: Bytes) -> Result<(), Error> {
    let mut missing = memory.0 / 2 / 4096;
    let mut upper = Vec::new();
    for index in (0..state.layout.len()).rev() {
        let zone = &mut state.layout[index];
        let own = missing.min(zone.managed.0);
        if own > 0 {
            missing -= own;
            upper.push((index, upper_part(zone, Pages(own))));
        }
    }
    if missing > 0 {
        return Err(Error::TooSmall { memory });
    }
    for (index, zone) in upper.into_iter().rev() {
        list(state, index);
        state.layout.push(zone);
    }
    Ok(())
}

/// Takes the upper part of a zone, which manages this many pages, away for the second node. It has
/// its share of the free pages; what lies on per-CPU lists stays, unless all goes.
fn upper_part(zone: &mut Layout, managed: Pages) -> Layout {
    let mut other = zone.clone();
    other.node = 1;
    if managed == zone.managed {
        zone.pagesets.clear();
        for pages in [&mut zone.spanned, &mut zone.present, &mut zone.managed] {
            *pages = Pages(0);
        }
        zone.free = Pages(0);
        return other;
    }
    let free = u128::from(zone.free.0) * u128::from(managed.0) / u128::from(zone.managed.0);
    let part = |pages: &mut Pages, left: &mut Pages, own: Pages| {
        *left = own.min(*pages);
        pages.0 -= left.0;
    };
    part(&mut zone.spanned, &mut other.spanned, managed);
    part(&mut zone.present, &mut other.present, managed);
    part(&mut zone.managed, &mut other.managed, managed);
    part(&mut zone.free, &mut other.free, Pages(free as u64));
    other.pagesets.iter_mut().for_each(|set| set.count = 0);
    let mut held = zone.managed.0 - zone.free.0;
    for set in &mut zone.pagesets {
        set.count = set.count.min(held);
        held -= set.count;
    }
    other
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

impl Nodes {
    pub(crate) fn of(zones: &[Zone], layout: &[Layout]) -> Self {
        let node = |zone: &Zone| layout.get(zone.layout).map(|layout| layout.node);
        let last = zones.last().and_then(node);
        Self {
            of_first: zones.iter().filter(|zone| node(zone) != last).count(),
            ..Self::default()
        }
    }
}

impl Zones {
    /// The running task goes to a node; false where the machine has none of that number.
    pub(crate) fn run_on_node(&mut self, node: u32) -> bool {
        let last = u32::from(self.nodes.of_first > 0);
        self.nodes.on_first = node < last;
        node <= last
    }

    /// Whether a page lies on another node than the running task.
    pub(crate) fn is_remote(&self, folios: &Folios, page: PageId) -> bool {
        self.nodes.is_remote(folios.zone(page))
    }

    /// A page becomes dirty.
    pub(crate) fn node_dirties(&mut self, folios: &Folios, page: PageId) {
        let node = self.node(folios, page);
        self.nodes.pending[node] += 1;
    }

    /// A dirty page has been written.
    pub(crate) fn node_cleans(&mut self, folios: &Folios, page: PageId) {
        let node = self.node(folios, page);
        self.nodes.pending[node] -= 1;
    }

    /// The zone for a page that is to be written: of a node that has not its share of dirty pages
    /// yet (`node_dirty_ok`). On one node the tasks that dirty pages are slowed before.
    pub(crate) fn find_zone_for_write(&self, cpu: &Cpu, writeback: &Writeback) -> Option<usize> {
        if self.nodes.of_first == 0 {
            return self.find_zone(cpu, Mark::Low, 1);
        }
        let room = |zone| self.has_room(cpu, zone, Mark::Low, 1);
        let zones = self.len();
        let own = self
            .nodes
            .find(zones, |zone| !self.nodes.is_remote(zone) && room(zone));
        let may = |zone: &usize| self.may_dirty(cpu, writeback, self.nodes.node(*zone));
        let other = || {
            self.nodes
                .find(zones, |zone| self.nodes.is_remote(zone) && room(zone))
        };
        own.filter(may).or_else(|| other().filter(may))
    }

    /// Whether a node has not its share of dirty pages yet, by what of it could be dirty.
    fn may_dirty(&self, cpu: &Cpu, writeback: &Writeback, node: usize) -> bool {
        let (first, last) = self[..].split_at(self.nodes.of_first);
        let (mut free, mut file, mut reserve) = (0, 0, 0);
        for zone in [first, last][node] {
            free += zone.free;
            file += zone.lru[2] + zone.lru[3];
            reserve += zone.managed.min(zone.mark(Mark::High) + zone.reserve);
        }
        let [free, file, reserve] = [free, file, reserve].map(|pages| cpu.real(pages));
        let own = dirty::dirtyable(free, reserve, file);
        let dirty = writeback.limits.dirty;
        let machine = match dirty {
            Amount::Bytes(_) => self.dirtyable(cpu),
            // A ratio is of the node's own.
            Amount::Ratio(_) => own,
        };
        let limit = dirty::node_limit(dirty, machine, own, PageSize::FOUR_KIB);
        cpu.real(self.nodes.pending[node]) <= limit
    }

    /// The number of a page's node, of two.
    pub(crate) fn node(&self, folios: &Folios, page: PageId) -> usize {
        self.nodes.node(folios.zone(page))
    }

    /// The time that going over the bytes of a page this many times takes longer where it lies on
    /// the other node. Reading goes over them once; writing twice, as lines are fetched first.
    pub(crate) fn remote(&self, cpu: &Cpu, folios: &Folios, page: PageId, times: u64) -> u64 {
        match self.is_remote(folios, page) {
            true => cpu.costs.remote_ps * times,
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::folio::State as Folio;
    use crate::mm::page_alloc::zone::HUGE_PAGES;
    use crate::mm::parts::Memory;

    #[test]
    fn huge_pages_come_from_the_own_node_and_base_pages_from_both() {
        let mut memory = Memory::with_two_zones(2000, 20);
        memory.zones.nodes.of_first = 1;
        memory.cpu.costs.remote_ps = 7;
        let base = memory.take_range(2 * HUGE_PAGES).expect("there is room");
        assert!(memory.zones.allocate_huge(
            &mut memory.cpu,
            &mut memory.folios,
            &mut memory.groups,
            base,
            Folio::Inactive
        ));
        assert_eq!(
            (
                memory.folios.zone(base),
                memory.zones.remote(&memory.cpu, &memory.folios, base, 2)
            ),
            (1, 0)
        );
        memory.zones[1].set_free(0);
        let next = base + HUGE_PAGES as PageId;
        assert!(
            !memory.zones.allocate_huge(
                &mut memory.cpu,
                &mut memory.folios,
                &mut memory.groups,
                next,
                Folio::Inactive
            ),
            "only the other node has any"
        );
        assert_eq!(memory.allocate(next, Folio::Inactive), Ok(()));
        assert_eq!(
            (
                memory.folios.zone(next),
                memory.zones.remote(&memory.cpu, &memory.folios, next, 2)
            ),
            (0, 14)
        );
    }
}
