//! Page tables as the source of age: the walk before a new generation is made, and the look around
//! a page that eviction found used.

use alloc::vec::Vec;

use crate::folio::{Flag, PageId, State};
use crate::memory::Memory;
use crate::page_alloc::HUGE_PAGES;

/// Pages that one page table maps; tables are taken to begin at multiples of it.
const TABLE: PageId = HUGE_PAGES as PageId;
/// Entries that a look around sees (`MIN_LRU_BATCH`).
const AROUND: PageId = 64;
/// Entries that a walk goes through between two looks at the scheduler: those of a page-upper
/// entry, which maps a gibibyte.
const STRETCH: u64 = 1 << 18;
/// A page table is worth a walk where one entry in so many was used: one of each cache line.
const DENSE: u64 = 8;

/// The page tables that the next walk goes through: those that had used entries enough when they
/// were last seen (the Bloom filter of `lru_gen_mm_state`). Before the first walk there is none,
/// and all are walked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walked {
    tables: Option<Vec<bool>>,
}

impl Walked {
    fn has(&self, table: PageId) -> bool {
        let of = |tables: &Vec<bool>| tables.get(table as usize).copied().unwrap_or(false);
        self.tables.as_ref().is_none_or(of)
    }

    fn add(&mut self, table: PageId) {
        let Some(tables) = &mut self.tables else {
            return;
        };
        if tables.len() <= table as usize {
            tables.resize(table as usize + 1, false);
        }
        tables[table as usize] = true;
    }
}

impl Memory {
    /// Makes a new generation of a group. Before, the pages that page tables show as used come to
    /// the youngest there is (`try_to_inc_max_seq`).
    pub(super) fn age_group(&mut self, group: usize, swaps: bool) {
        if self.rules.lru_gen.walks {
            self.walk_page_tables(group, swaps);
        }
        let now = self.now().0;
        self.with_generations(group, |generations, folios| {
            generations.age(folios, swaps, now);
        });
        if self.rules.aging_wakes_flushers {
            self.wake_flushers();
        }
    }

    /// Goes through the page tables that the last walk found worth it; those of anonymous memory
    /// are passed over where it cannot be swapped.
    fn walk_page_tables(&mut self, group: usize, swaps: bool) {
        let began = self.spent;
        let filter = core::mem::take(&mut self.lruvecs[group].walked);
        let mut next = Walked {
            tables: Some(Vec::new()),
        };
        let tables = (self.folios.len() as PageId).div_ceil(TABLE);
        for table in (0..tables).filter(|&table| filter.has(table)) {
            if self.walk_table(group, table, swaps) {
                next.add(table);
            }
        }
        self.lruvecs[group].walked = next;
        self.unbroken += (self.spent - began).min(STRETCH * self.costs.walk_ps);
    }

    /// Walks one page table; true where it is worth the next walk.
    fn walk_table(&mut self, group: usize, table: PageId, swaps: bool) -> bool {
        let first = table * TABLE;
        let end = (first + TABLE).min(self.folios.len() as PageId);
        let mut used = Vec::new();
        let mut entries = 0;
        for page in first..end {
            let anon = self.folios.has(page, Flag::Anon);
            let walked = if anon { swaps } else { self.is_mapped(page) };
            if !walked || self.group(page) != group {
                continue;
            }
            let huge = self.huge_first(page);
            if huge.is_some_and(|first| first != page) {
                continue;
            }
            entries += 1;
            let young = match huge {
                Some(first) => self.take_accessed_huge(first),
                None => self.is_young(page),
            };
            if young {
                used.push(page);
            }
        }
        self.spent += entries * self.costs.walk_ps;
        for &page in &used {
            self.folios.clear(page, Flag::Accessed);
        }
        self.promote(group, &used);
        used.len() as u64 * DENSE >= entries && !used.is_empty()
    }

    /// The pages join the youngest generation; of a huge page all of it does.
    pub(super) fn promote(&mut self, group: usize, pages: &[PageId]) {
        if pages.is_empty() {
            return;
        }
        let whole = |&page: &PageId| match self.huge_first(page) {
            Some(first) => first..first + TABLE,
            None => page..page + 1,
        };
        let ranges: Vec<_> = pages.iter().map(whole).collect();
        self.with_generations(group, |generations, folios| {
            for page in ranges.into_iter().flatten() {
                if folios.state(page) == State::Inactive {
                    generations.promote(folios, page);
                }
            }
        });
    }

    /// A page that eviction holds was used: so may have been those around it. They join the
    /// youngest generation, and their page table is walked next time if many were
    /// (`lru_gen_look_around`).
    pub(super) fn look_around(&mut self, group: usize, page: PageId) {
        let table = page / TABLE;
        let begin = table * TABLE;
        let end = (begin + TABLE).min(self.folios.len() as PageId);
        let start = page
            .saturating_sub(AROUND / 2)
            .clamp(begin, end.saturating_sub(AROUND).max(begin));
        let around = start..(start + AROUND).min(end);
        let entries = around.end - around.start;
        let mut used = Vec::new();
        let mut young = 1;
        for other in around {
            let same = self.is_mapped(other) && self.group(other) == group;
            if !same || other == page || !self.folios.has(other, Flag::Accessed) {
                continue;
            }
            if self.is_young(other) && self.huge_first(other).is_none() {
                self.folios.clear(other, Flag::Accessed);
                used.push(other);
                young += 1;
            } else if self.folios.state(other) == State::Unevictable {
                // In the same batch: it is kept when its turn comes.
                self.folios.clear(other, Flag::Accessed);
                self.folios.set(other, Flag::Referenced);
                young += 1;
            }
        }
        self.spent += u64::from(entries) * self.costs.walk_ps;
        self.promote(group, &used);
        if young * DENSE >= u64::from(entries) {
            self.lruvecs[group].walked.add(table);
        }
    }
}
