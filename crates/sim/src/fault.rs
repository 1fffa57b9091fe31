//! Anonymous regions and the faults that fill them (`mm/memory.c`, `mm/huge_memory.c`).

use alloc::vec::Vec;
use core::ops::Range;

use mm::units::{Bytes, PageSize};
use mm::workload::{Huge, Target};

use crate::folio::{PageId, State};
use crate::lru::Lru;
use crate::page_alloc::HUGE_PAGES;
use crate::system::System;
use crate::task::Task;

/// An anonymous region.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) base: PageId,
    pub(crate) size: Bytes,
    huge: Huge,
    /// What maps each 512 of its pages.
    tables: Vec<Table>,
}

/// What maps 512 pages of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Table {
    /// Nothing yet.
    None,
    /// A page table, page by page.
    Base,
    /// One huge page; its page table is kept in reserve.
    Huge,
}

impl<'a> System<'a> {
    /// A fault on page `index` of the region that is accessed: a huge page where the setting and
    /// the region allow one and there is one, else a base page. False where there is no memory.
    pub(crate) fn fault(&mut self, task: &mut Task<'a>, target: &Target, index: u64) -> bool {
        let Target::Region(name) = target else {
            return true;
        };
        let Some(region) = task.regions.get_mut(name.as_str()) else {
            return true;
        };
        self.memory.events.pgfault += 1;
        if !region.has_table(index) {
            if self.memory.take_page_table().is_err() {
                return false;
            }
            region.note(index, Table::Base);
            task.page_tables += 1;
            let wanted = self.tunables.gives_huge_pages(region.huge);
            if let Some(first) = region.huge_range(index).filter(|_| wanted) {
                if self.memory.allocate_huge(first, State::Inactive) {
                    region.note(index, Table::Huge);
                    self.add_huge(task, first);
                    return true;
                }
                self.memory.events.thp_fault_fallback += 1;
            }
        }
        let page = region.base + index as PageId;
        if self.memory.allocate(page, State::Inactive).is_err() {
            return false;
        }
        self.add_anon(task, page, 1);
        self.memory.spent += self.memory.costs.anon_fault_ps;
        true
    }

    fn add_huge(&mut self, task: &mut Task<'a>, first: PageId) {
        self.add_anon(task, first, HUGE_PAGES);
        self.memory.events.thp_fault_alloc += 1;
        self.memory.anon_huge_pages += HUGE_PAGES;
        self.memory.spent += self.memory.costs.huge_fault_ps;
    }

    fn add_anon(&mut self, task: &mut Task<'a>, first: PageId, pages: u64) {
        for page in first..first + pages as PageId {
            self.memory.add_to_list(page, Lru::InactiveAnon);
        }
        self.memory.anon_pages += pages;
        task.rss += pages;
    }

    /// Frees the resident pages of a region. Its page tables stay, but those in reserve for huge
    /// pages go with them, and the next fault may take a huge page again.
    pub(crate) fn drop_region(&mut self, task: &mut Task<'a>, region: &mut Region) {
        let (mut dropped, mut huge) = (0, 0);
        let pages = region.pages() as PageId;
        for (index, table) in region.tables.iter_mut().enumerate() {
            let first = region.base + index as PageId * HUGE_PAGES as PageId;
            let end = (first + HUGE_PAGES as PageId).min(region.base + pages);
            dropped += self.drop_pages(first..end, *table);
            if *table == Table::Huge {
                *table = Table::None;
                huge += 1;
            }
        }
        self.memory.anon_pages -= dropped;
        self.memory.anon_huge_pages -= huge * HUGE_PAGES;
        self.memory.give_page_tables(huge);
        task.rss -= dropped;
        task.page_tables -= huge;
        let freed_one_by_one = dropped - huge * HUGE_PAGES + huge;
        self.memory.spent += freed_one_by_one * self.memory.costs.anon_free_ps;
    }

    /// Frees the resident pages under one page table; returns how many.
    fn drop_pages(&mut self, pages: Range<PageId>, table: Table) -> u64 {
        if table == Table::None {
            return 0;
        }
        if table == Table::Huge {
            self.memory.free_huge(pages.start);
        }
        let mut dropped = 0;
        for page in pages {
            if !self.memory.folios.is_resident(page) {
                continue;
            }
            self.memory.take_from_list(page, Lru::InactiveAnon);
            if table == Table::Base {
                self.memory.free(page);
            }
            self.memory.folios.forget(page);
            dropped += 1;
        }
        dropped
    }
}

impl Region {
    pub(crate) fn new(base: PageId, size: Bytes, huge: Huge) -> Self {
        let tables = size.pages_ceil(PageSize::FOUR_KIB).0.div_ceil(HUGE_PAGES) as usize;
        Self {
            base,
            size,
            huge,
            tables: alloc::vec![Table::None; tables],
        }
    }

    pub(crate) fn pages(&self) -> u64 {
        self.size.pages_ceil(PageSize::FOUR_KIB).0
    }

    fn has_table(&self, index: u64) -> bool {
        self.tables[(index / HUGE_PAGES) as usize] != Table::None
    }

    fn note(&mut self, index: u64, table: Table) {
        self.tables[(index / HUGE_PAGES) as usize] = table;
    }

    /// The first page of the huge page that could hold a page, if it lies inside the region.
    fn huge_range(&self, index: u64) -> Option<PageId> {
        let first = index / HUGE_PAGES * HUGE_PAGES;
        (first + HUGE_PAGES <= self.pages()).then_some(self.base + first as PageId)
    }

    /// Page-table pages that it holds.
    pub(crate) fn tables_held(&self) -> u64 {
        self.tables
            .iter()
            .filter(|table| **table != Table::None)
            .count() as u64
    }
}
