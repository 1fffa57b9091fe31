//! The kernel's own pages, by what they are.

use crate::fs::buffer::Buffers;
use crate::mm::folio::NIL;
use crate::mm::folio::NODE_PAGES;
use crate::mm::folio::PageId;
use crate::mm::memcontrol::group_id::GroupId;
use crate::mm::page_alloc::pcp::List;
use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::slub::Cache;
use crate::mm::slub::SlabId;
use alloc::vec::Vec;

/// What the kernel keeps for the pages of files and regions.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    /// Entries (pages and shadows) in each node of the trees, by page index / 64. An anonymous
    /// page's entry is that of its swap slot.
    pub(crate) node_entries: Vec<u8>,
    /// The first page of the huge page that each node's pages are part of; empty where there is
    /// none.
    huge: Vec<PageId>,
    /// The group that pays for each node; empty where there is none but the root.
    pub(crate) node_groups: Vec<u8>,
    /// The slab of each node.
    pub(crate) node_slabs: Vec<SlabId>,
    /// `radix_tree_node`: on one CPU 14 objects of 576 bytes share a slab.
    pub(crate) tree_nodes: Cache,
    /// The per-CPU list that its slabs come from.
    pub(crate) node_list: List,
    pub(crate) buffers: Buffers,
    /// Bios of pages on their way to or from swap: 192 bytes in slots of 256, 16 share a page.
    pub(crate) bios: Cache,
    pub(crate) page_table_pages: u64,
    /// Pages that say what lies in each swap slot, and those that processes and the bench have
    /// beside the regions of the workload.
    pub(crate) held_pages: u64,
    /// Pages that compressed swap takes.
    pub(crate) zram_pages: u64,
}

impl Default for Objects {
    fn default() -> Self {
        Self {
            node_entries: Vec::new(),
            huge: Vec::new(),
            node_groups: Vec::new(),
            node_slabs: Vec::new(),
            tree_nodes: Cache::new(14, 52),
            node_list: List::Slab,
            buffers: Buffers::default(),
            bios: Cache::new(16, 52),
            page_table_pages: 0,
            held_pages: 0,
            zram_pages: 0,
        }
    }
}

impl Objects {
    /// Slabs of tree nodes are single pages from now on: one of a sampled run stands for several
    /// slabs, which need not lie side by side.
    pub(crate) fn sample(&mut self) {
        (self.tree_nodes, self.node_list) = (Cache::new(7, 52), List::Heads);
    }

    /// Makes room for the nodes of pages up to `end`.
    pub(crate) fn grow(&mut self, end: PageId, has_groups: bool) {
        self.node_entries.resize((end / NODE_PAGES) as usize, 0);
        self.node_slabs.resize((end / NODE_PAGES) as usize, 0);
        if has_groups {
            self.node_groups.resize((end / NODE_PAGES) as usize, 0);
        }
    }

    /// Makes a huge page of the 512 pages from `first`.
    pub(crate) fn join(&mut self, first: PageId) {
        let end = ((first + HUGE_PAGES as PageId) / NODE_PAGES) as usize;
        if self.huge.len() < end {
            self.huge.resize(end, NIL);
        }
        self.huge[(first / NODE_PAGES) as usize..end].fill(first);
    }

    /// Makes base pages of it again.
    pub(crate) fn split(&mut self, first: PageId) {
        let nodes = (HUGE_PAGES as PageId / NODE_PAGES) as usize;
        let begin = (first / NODE_PAGES) as usize;
        self.huge[begin..begin + nodes].fill(NIL);
    }

    /// The first page of the huge page that a page is part of.
    pub(crate) fn huge_first(&self, page: PageId) -> Option<PageId> {
        let first = *self.huge.get((page / NODE_PAGES) as usize)?;
        (first != NIL).then_some(first)
    }

    /// Pages of slabs that reclaim can have, beside those that boot left.
    pub(crate) fn slab_pages(&self) -> u64 {
        self.tree_nodes.len() * self.node_list.block() + self.buffers.slab_pages()
    }

    /// Pages of other slabs.
    pub(crate) fn unreclaimable_slab_pages(&self) -> u64 {
        self.bios.len()
    }

    /// Whether a page or shadow is all that its node holds.
    pub(crate) fn is_last_of_node(&self, page: PageId) -> bool {
        self.node_entries[(page / NODE_PAGES) as usize] == 1
    }

    /// Whether a node holds pages or shadows.
    pub(crate) fn has_entries(&self, node: u32) -> bool {
        self.node_entries[node as usize] > 0
    }

    /// The group that pays for a node.
    pub(crate) fn group_of_node(&self, node: u32) -> GroupId {
        let group = self.node_groups.get(node as usize);
        group.map_or(0, |&group| GroupId::from(group))
    }

    /// All pages that they take.
    pub(crate) fn pages(&self) -> u64 {
        let slab = self.slab_pages() + self.unreclaimable_slab_pages();
        slab + self.page_table_pages + self.held_pages + self.zram_pages
    }
}
