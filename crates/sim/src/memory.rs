//! The memory of one node: zones, pages, lists and the reclaim that moves pages between them.
//!
//! Every operation adds its CPU time to [`Memory::spent`]; the task that asked for it pays.

use alloc::vec::Vec;

use mm::calibration::Costs;

use crate::folio::{Flag, Folios, NIL, NODE_PAGES, PageId, State};
use crate::kswapd::Kswapd;
use crate::lru::{List, Lru};
use crate::page_alloc::OutOfMemory;
use crate::page_alloc::Zone;
use crate::vmstat::Events;

/// Kernel objects that a tree node of the page cache shares a slab with, and the slab's pages
/// (`radix_tree_node`: 28 objects of 576 bytes in four pages).
const NODES_PER_SLAB: u64 = 28;
const PAGES_PER_SLAB: u64 = 4;

/// The node's memory.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// Lowest first.
    pub(crate) zones: Vec<Zone>,
    /// All zones of the node, with their watermarks, as /proc/zoneinfo lists them.
    pub(crate) layout: Vec<mm::zoneinfo::Zone>,
    pub(crate) folios: Folios,
    pub(crate) lists: [List; 4],
    /// Evictions and activations so far (`lruvec->nonresident_age`).
    pub(crate) nonresident_age: u64,
    /// `workingset_activate_file` when reclaim last looked: a change asks for deactivation.
    pub(crate) refaults_seen: u64,
    pub(crate) kswapd: Kswapd,
    pub(crate) events: Events,
    pub(crate) costs: Costs,
    /// CPU time used since it was last taken, in picoseconds.
    pub(crate) spent: u64,
    /// Entries (pages and shadows) in each node of the page cache's trees, by page index / 64.
    node_entries: Vec<u8>,
    tree_nodes: u64,
    slab_pages: u64,
    /// Resident anonymous pages, and those of them in huge pages.
    pub(crate) anon_pages: u64,
    pub(crate) anon_huge_pages: u64,
    pub(crate) page_table_pages: u64,
    /// Pages that are being read.
    pub(crate) in_flight: u64,
    /// Freed ranges of page indices, reused by the next object of the same length.
    free_ranges: Vec<(PageId, u32)>,
}

impl Memory {
    pub(crate) fn new(zones: Vec<Zone>, layout: Vec<mm::zoneinfo::Zone>, costs: Costs) -> Self {
        Self {
            zones,
            layout,
            folios: Folios::default(),
            lists: [List::default(); 4],
            nonresident_age: 0,
            refaults_seen: 0,
            kswapd: Kswapd::default(),
            events: Events::default(),
            costs,
            spent: 0,
            node_entries: Vec::new(),
            tree_nodes: 0,
            slab_pages: 0,
            anon_pages: 0,
            anon_huge_pages: 0,
            page_table_pages: 0,
            in_flight: 0,
            free_ranges: Vec::new(),
        }
    }

    /// Takes a range of page indices for an object of `pages` pages; all of them are absent. `None`
    /// where fewer indices are left.
    pub(crate) fn take_range(&mut self, pages: u64) -> Option<PageId> {
        let length = range_length(pages)?;
        if let Some(at) = self.free_ranges.iter().position(|&(_, len)| len == length) {
            return Some(self.free_ranges.swap_remove(at).0);
        }
        let base = PageId::try_from(self.folios.len()).ok()?;
        let end = base.checked_add(length).filter(|&end| end < NIL)?;
        self.folios.grow(end as usize);
        self.node_entries.resize((end / NODE_PAGES) as usize, 0);
        Some(base)
    }

    /// Gives back the range of an object of `pages` pages; they must be absent.
    pub(crate) fn give_range(&mut self, base: PageId, pages: u64) {
        let length = range_length(pages).expect("it was taken");
        self.free_ranges.push((base, length));
    }

    /// Takes the CPU time used since the last call, in picoseconds.
    pub(crate) fn take_spent(&mut self) -> u64 {
        core::mem::take(&mut self.spent)
    }

    pub(crate) fn list(&self, lru: Lru) -> u64 {
        self.lists[lru as usize].len()
    }

    pub(crate) fn file_pages(&self) -> u64 {
        self.list(Lru::InactiveFile) + self.list(Lru::ActiveFile) + self.in_flight
    }

    pub(crate) fn slab_pages(&self) -> u64 {
        self.slab_pages
    }

    pub(crate) fn free_pages(&self) -> u64 {
        self.zones.iter().map(|zone| zone.free).sum()
    }

    /// Puts a page on the head of a list.
    pub(crate) fn add_to_list(&mut self, page: PageId, lru: Lru) {
        let state = if lru.is_active() {
            State::Active
        } else {
            State::Inactive
        };
        self.folios.set_state(page, state);
        self.lists[lru as usize].push_head(&mut self.folios, page);
        self.zones[self.folios.zone(page)].lru[lru as usize] += 1;
    }

    /// Takes a page off its list.
    pub(crate) fn take_from_list(&mut self, page: PageId, lru: Lru) {
        self.lists[lru as usize].remove(&mut self.folios, page);
        self.zones[self.folios.zone(page)].lru[lru as usize] -= 1;
    }

    /// What a `read()` of a resident page-cache page does to it (`folio_mark_accessed`): the first
    /// access marks it, the second activates it.
    pub(crate) fn mark_accessed(&mut self, page: PageId) {
        if !self.folios.has(page, Flag::Referenced) {
            self.folios.set(page, Flag::Referenced);
        } else if self.folios.state(page) == State::Inactive {
            self.activate(page);
            self.folios.clear(page, Flag::Referenced);
        }
    }

    /// Moves an inactive page-cache page to the head of the active list.
    fn activate(&mut self, page: PageId) {
        self.take_from_list(page, Lru::InactiveFile);
        self.add_to_list(page, Lru::ActiveFile);
        self.nonresident_age += 1;
        self.events.pgactivate += 1;
        self.spent += self.costs.activate_ps;
    }

    /// A page or shadow enters the tree of a file where nothing was.
    ///
    /// # Errors
    /// There is no page for another node; the tree is as it was.
    pub(crate) fn tree_insert(&mut self, page: PageId) -> Result<(), OutOfMemory> {
        let node = (page / NODE_PAGES) as usize;
        if self.node_entries[node] == 0 {
            self.take_slab_for(self.tree_nodes + 1)?;
            self.tree_nodes += 1;
        }
        self.node_entries[node] += 1;
        Ok(())
    }

    /// A page or shadow left the tree for good.
    pub(crate) fn tree_remove(&mut self, page: PageId) {
        let entries = &mut self.node_entries[(page / NODE_PAGES) as usize];
        *entries -= 1;
        if *entries == 0 {
            self.tree_nodes -= 1;
            self.give_spare_slab();
        }
    }

    fn take_slab_for(&mut self, nodes: u64) -> Result<(), OutOfMemory> {
        while self.slab_pages < slab_for(nodes) {
            if let Err(error) = self.take_kernel_page() {
                self.give_spare_slab();
                return Err(error);
            }
            self.slab_pages += 1;
        }
        Ok(())
    }

    fn give_spare_slab(&mut self) {
        while self.slab_pages > slab_for(self.tree_nodes) {
            self.give_kernel_page();
            self.slab_pages -= 1;
        }
    }

    /// Takes the page-table page that maps another 512 pages of a region.
    ///
    /// # Errors
    /// There is no page left at all.
    pub(crate) fn take_page_table(&mut self) -> Result<(), OutOfMemory> {
        self.take_kernel_page()?;
        self.page_table_pages += 1;
        Ok(())
    }

    /// Gives `count` page-table pages back.
    pub(crate) fn give_page_tables(&mut self, count: u64) {
        for _ in 0..count {
            self.give_kernel_page();
        }
        self.page_table_pages -= count;
    }

    /// A page of the kernel's own is taken from the highest zone that has one above its minimum,
    /// and where none has, from the one with most, its minimum included: the kernel's own needs are
    /// small.
    fn take_kernel_page(&mut self) -> Result<(), OutOfMemory> {
        let fits = |zone: &Zone| zone.free > zone.min.saturating_add(zone.reserve);
        let above_min = self.zones.iter().rposition(fits);
        let zone = above_min.or_else(|| self.largest_free());
        let zone = zone.ok_or(OutOfMemory)?;
        self.draw(zone);
        self.zones[zone].kernel += 1;
        Ok(())
    }

    fn give_kernel_page(&mut self) {
        let zone = self
            .zones
            .iter()
            .rposition(|zone| zone.kernel > 0)
            .expect("one was taken");
        self.zones[zone].kernel -= 1;
        self.release(zone);
    }

    fn largest_free(&self) -> Option<usize> {
        let with_free = (0..self.zones.len()).filter(|&zone| self.zones[zone].free > 0);
        with_free.max_by_key(|&zone| self.zones[zone].free)
    }

    /// The counters of an empty machine, for tests of one mechanism.
    #[cfg(test)]
    pub(crate) fn with_zone(managed: u64, min: u64) -> Self {
        Self::new(
            alloc::vec![Zone::plain(managed, min)],
            Vec::new(),
            Costs::default(),
        )
    }

    /// A zone with so many pages of a file on the inactive and on the active list.
    #[cfg(test)]
    pub(crate) fn with_cache(managed: u64, min: u64, inactive: u64, active: u64) -> Self {
        let mut memory = Self::with_zone(managed, min);
        let base = memory.take_range(inactive + active).expect("there is room");
        for index in 0..inactive + active {
            let page = base + index as PageId;
            memory.allocate(page, State::Inactive).expect("it fits");
            memory.tree_insert(page).expect("it fits");
            let list = match index < inactive {
                true => Lru::InactiveFile,
                false => Lru::ActiveFile,
            };
            memory.add_to_list(page, list);
        }
        memory
    }
}

/// Indices that an object takes: whole tree nodes.
fn range_length(pages: u64) -> Option<u32> {
    let length = pages.checked_next_multiple_of(u64::from(NODE_PAGES))?;
    u32::try_from(length).ok()
}

/// Slab pages that so many tree nodes need.
fn slab_for(nodes: u64) -> u64 {
    nodes.div_ceil(NODES_PER_SLAB) * PAGES_PER_SLAB
}
