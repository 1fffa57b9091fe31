//! A mapped region (`struct vm_area_struct`).

use crate::mm::folio::PageId;
use crate::mm::memcontrol::group_id::GroupId;
use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::swap_state::SwapReadahead;
use alloc::vec::Vec;
use core::ops::Range;
use mm::units::Bytes;
use mm::units::Nanos;
use mm::units::PageSize;
use scenario::contents::Contents;
use scenario::workload::Huge;

/// An anonymous region.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) base: PageId,
    pub(crate) size: Bytes,
    /// The control group that pays for its page tables.
    pub(crate) group: GroupId,
    pub(crate) huge: Huge,
    /// What its pages hold, and since when: what is volatile changes.
    pub(crate) contents: Contents,
    pub(crate) mapped: Nanos,
    /// What maps each 512 of its pages.
    pub(crate) tables: Vec<Table>,
    pub(crate) readahead: SwapReadahead,
}

/// What maps 512 pages of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// Nothing yet.
    None,
    /// A page table, page by page.
    Base,
    /// One page of the hugetlb pool.
    Hugetlb,
    /// One huge page, unless reclaim has split it; its page table is kept in reserve.
    Huge,
}

/// What a fault, or the freeing of a region, changed for the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Pages, resident or in swap.
    pub(crate) pages: u64,
    pub(crate) page_tables: u64,
}

impl Region {
    pub(crate) fn new(base: PageId, size: Bytes, huge: Huge, group: GroupId) -> Self {
        let tables = size.pages_ceil(PageSize::FOUR_KIB).0.div_ceil(HUGE_PAGES) as usize;
        Self {
            base,
            size,
            group,
            huge,
            contents: Contents::default(),
            mapped: Nanos::ZERO,
            tables: alloc::vec![Table::None; tables],
            readahead: SwapReadahead::default(),
        }
    }

    /// Page tables that it may have, one for each 512 pages.
    pub(crate) fn table_count(&self) -> usize {
        self.tables.len()
    }

    pub(crate) fn pages(&self) -> u64 {
        self.size.pages_ceil(PageSize::FOUR_KIB).0
    }

    pub(crate) fn has_table(&self, index: u64) -> bool {
        self.tables[(index / HUGE_PAGES) as usize] != Table::None
    }

    pub(crate) fn note(&mut self, index: u64, table: Table) {
        self.tables[(index / HUGE_PAGES) as usize] = table;
    }

    /// The pages that one page table maps, around a page; as indices.
    pub(crate) fn under_one_table(&self, index: u64) -> Range<u64> {
        let first = index / HUGE_PAGES * HUGE_PAGES;
        first..(first + HUGE_PAGES).min(self.pages())
    }

    /// The first page of the huge page that could hold a page, if it lies inside the region.
    pub(crate) fn huge_range(&self, index: u64) -> Option<PageId> {
        let first = index / HUGE_PAGES * HUGE_PAGES;
        (first + HUGE_PAGES <= self.pages()).then_some(self.base + first as PageId)
    }

    /// Whether a page of the hugetlb pool is there.
    pub(crate) fn is_hugetlb(&self, index: u64) -> bool {
        self.tables[(index / HUGE_PAGES) as usize] == Table::Hugetlb
    }

    /// Pages of the hugetlb pool that it uses or has reserved.
    pub(crate) fn hugetlb_pages(&self) -> u64 {
        match self.huge {
            Huge::Hugetlb => self.tables.len() as u64,
            _ => 0,
        }
    }

    /// `MADV_HUGEPAGE` and `MADV_NOHUGEPAGE`: for the faults to come.
    pub(crate) fn advise(&mut self, huge: Huge) {
        self.huge = huge;
    }

    /// Page-table pages that it holds.
    pub(crate) fn tables_held(&self) -> u64 {
        self.tables
            .iter()
            .filter(|table| matches!(table, Table::Base | Table::Huge))
            .count() as u64
    }
}
