//! Page tables as the source of age: the walk before a new generation is made, and the look around
//! a page that eviction found used.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Range;

use mm::rules::Mechanism;

use crate::mm::folio::Folios;
use crate::mm::folio::{Flag, PageId, State};
use crate::mm::ksm::share::Shares;
use crate::mm::lru::Kind;
use crate::mm::lruvec::state::ANON;
use crate::mm::lruvec::state::Lruvecs;
use crate::mm::lruvec::state::Walked;
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::page_writeback::state::Writeback;
use crate::mm::parts::Memory;
use crate::mm::rmap::state::Rmap;
use crate::sched::cpu::Cpu;

/// Pages that one page table maps; tables are taken to begin at multiples of it.
const TABLE: PageId = HUGE_PAGES as PageId;
/// Entries that a look around sees (`MIN_LRU_BATCH`).
const AROUND: PageId = 64;
/// Entries that a walk goes through between two looks at the scheduler: those of a page-upper
/// entry, which maps a gibibyte.
const STRETCH: u64 = 1 << 18;
/// A page table is worth a walk where one entry in this many was used: one of each cache line.
const DENSE: u64 = 8;

/// A walk through page tables (`struct lru_gen_mm_walk`): the parts that it touches.
pub(super) struct Walk<'m> {
    cpu: &'m mut Cpu,
    zones: &'m mut Zones,
    folios: &'m mut Folios,
    lruvecs: &'m mut Lruvecs,
    objects: &'m Objects,
    rmap: &'m mut Rmap,
    shares: &'m Shares,
    /// A new generation wakes its flushers.
    writeback: &'m mut Writeback,
}

impl Memory {
    pub(super) fn walk(&mut self) -> Walk<'_> {
        Walk {
            cpu: &mut self.cpu,
            zones: &mut self.zones,
            folios: &mut self.folios,
            lruvecs: &mut self.lruvecs,
            objects: &self.objects,
            rmap: &mut self.rmap,
            shares: &self.ksm.shares,
            writeback: &mut self.writeback,
        }
    }
}

impl Walk<'_> {
    /// Makes a new generation of a group. Before, the pages that page tables show as used come to
    /// the youngest there is (`try_to_inc_max_seq`).
    pub(super) fn age_group(&mut self, group: usize, swaps: bool) {
        if self.cpu.rules.lru_gen.walks {
            self.walk_page_tables(group, swaps);
        }
        let now = self.cpu.clock.ticking(self.cpu.now()).0;
        self.lruvecs
            .with_generations(self.zones, self.folios, group, |generations, folios| {
                generations.age(folios, swaps, now);
            });
        if self.cpu.rules.has(Mechanism::AgingWakesFlushers) {
            self.writeback.wake_flushers();
        }
    }

    /// Goes through the page tables, each process's own, that were worth it when last seen and that
    /// were used since a walk went by; those of anonymous memory are passed over where it cannot be
    /// swapped. Which were used the accessed bit of the entry above tells: it is not looked at
    /// without bit 4 of `lru_gen.enabled`, nor since 6.12 in the first walk, which leaves it
    /// (`walk_mm`).
    fn walk_page_tables(&mut self, group: usize, swaps: bool) {
        let began = self.cpu.spent;
        let filter = core::mem::take(&mut self.lruvecs[group].walked);
        let is_first = filter.tables.is_none();
        let leaves_bits = is_first && self.cpu.rules.has(Mechanism::FirstWalkLeavesBits);
        let looks_above = self.cpu.rules.lru_gen.looks_above;
        let passes_over = looks_above && !is_first && !filter.left_bits;
        let mut next = Walked {
            tables: Some(BTreeSet::new()),
            left_bits: leaves_bits,
        };
        let tables = (self.folios.len() as PageId).div_ceil(TABLE);
        for table in (0..tables).filter(|&table| filter.has_any(table)) {
            let mut owners = self.rmap.table_users(table, group);
            owners.extend(swaps.then_some(ANON));
            owners.retain(|&owner| filter.has(table, owner));
            for owner in owners {
                let is_unused = passes_over
                    && owner == ANON
                    && !self.rmap.is_table_used(self.folios, group, table);
                if !is_unused && self.walk_table(group, table, owner) {
                    next.add(table, owner);
                }
            }
        }
        if looks_above && !leaves_bits {
            self.rmap.forget_table_users(group);
        }
        self.lruvecs[group].walked = next;
        let entry = self.cpu.costs.walk_ps + self.cpu.costs.walk_young_ps;
        self.cpu.unbroken += (self.cpu.spent - began).min(STRETCH * entry);
    }

    /// Walks the page table that a process has of a place; true where it is worth the next walk. Of
    /// a file, entries that map nothing count too.
    fn walk_table(&mut self, group: usize, table: PageId, owner: usize) -> bool {
        let pages = self.folios.pages_of(table);
        let mut used = Vec::new();
        let mut entries = 0;
        for page in pages.clone() {
            if self.folios.group(page) == group
                && let Some(young) = self.folios.take_entry(self.objects, self.rmap, page, owner)
            {
                entries += 1;
                used.extend(young.then_some(page));
            }
        }
        self.cpu.pay_for_entries(entries, used.len() as u64);
        self.lruvecs
            .promote(self.zones, self.folios, self.objects, group, &used);
        let all = match owner {
            ANON => entries,
            _ => pages.len() as u64,
        };
        used.len() as u64 * DENSE >= all && !used.is_empty()
    }

    /// A page that eviction holds was used: so may have been those around it, by the same process.
    /// They join the youngest generation, and their page table is walked next time if many were
    /// (`lru_gen_look_around`). Returns how many processes had used the page, which is forgotten.
    pub(super) fn look_around(&mut self, group: usize, page: PageId) -> usize {
        let (users, count) = match self.folios.kind(page) {
            Kind::Anon => (alloc::vec![ANON], self.shares.users(page)),
            Kind::File => {
                let users = self.rmap.users_of(self.folios, page);
                let count = users.len();
                (users, count)
            }
        };
        for &owner in &users {
            self.look_around_in(group, page, owner);
        }
        self.folios.clear(page, Flag::Accessed);
        count
    }

    /// Looks at the entries around a page's in the table of one process.
    fn look_around_in(&mut self, group: usize, page: PageId, owner: usize) {
        let table = page / TABLE;
        let Range { start: begin, end } = self.folios.pages_of(table);
        let start = page
            .saturating_sub(AROUND / 2)
            .clamp(begin, end.saturating_sub(AROUND).max(begin));
        let around = start..(start + AROUND).min(end);
        let entries = around.end - around.start;
        let mut used = Vec::new();
        let mut young = 1;
        for other in around {
            let is_candidate = other != page && self.folios.group(other) == group;
            if !is_candidate || !self.rmap.is_used_by(self.folios, other, owner) {
                continue;
            }
            match self.folios.state(other) {
                State::Inactive if self.objects.huge_first(other).is_none() => used.push(other),
                // In the same batch: it is kept when its turn comes.
                State::Unevictable => self.folios.set(other, Flag::Referenced),
                _ => continue,
            }
            match owner {
                ANON => self.folios.clear(other, Flag::Accessed),
                _ => self.rmap.forget_use(self.folios, other, owner),
            }
            young += 1;
        }
        self.cpu.pay_for_entries(u64::from(entries), young);
        self.lruvecs
            .promote(self.zones, self.folios, self.objects, group, &used);
        if young * DENSE >= u64::from(entries) {
            self.lruvecs[group].walked.add(table, owner);
        }
    }
}

impl Rmap {
    /// Whether a page table of anonymous memory was used since a walk went by, as far as its
    /// entries tell: a look around clears them, and leaves the entry above.
    fn is_table_used(&self, folios: &Folios, group: usize, table: PageId) -> bool {
        folios
            .pages_of(table)
            .any(|page| folios.group(page) == group && self.is_used_by(folios, page, ANON))
    }

    /// Whether a process has used a page that it maps, and nobody has noticed.
    fn is_used_by(&self, folios: &Folios, page: PageId, owner: usize) -> bool {
        match folios.has(page, Flag::Anon) {
            true => owner == ANON && folios.is_mapped(page) && folios.has(page, Flag::Accessed),
            false => owner != ANON && self.has_used(folios, page, owner) == Some(true),
        }
    }
}

impl Folios {
    /// The pages that a page table maps, as far as there are any.
    fn pages_of(&self, table: PageId) -> Range<PageId> {
        let first = table * TABLE;
        first..(first + TABLE).min(self.len() as PageId)
    }

    /// Whether a process has used a page that it maps and that is in a generation, which is
    /// forgotten; none where it does not map the page.
    fn take_entry(
        &mut self,
        objects: &Objects,
        rmap: &mut Rmap,
        page: PageId,
        owner: usize,
    ) -> Option<bool> {
        if self.has(page, Flag::Anon) != (owner == ANON) {
            return None;
        }
        if owner != ANON {
            let young = rmap.has_used(self, page, owner)? && self.state(page) == State::Inactive;
            if young {
                rmap.forget_use(self, page, owner);
            }
            return Some(young);
        }
        match objects.huge_first(page) {
            Some(first) if first != page => None,
            Some(first) => Some(self.take_accessed_huge(first)),
            None => Some(self.is_young(page) && self.take(page, Flag::Accessed)),
        }
    }
}

impl Cpu {
    fn pay_for_entries(&mut self, entries: u64, young: u64) {
        self.spent += entries * self.costs.walk_ps + young * self.costs.walk_young_ps;
    }
}

impl Lruvecs {
    /// The pages join the youngest generation; of a huge page all of it does.
    pub(super) fn promote(
        &mut self,
        zones: &mut Zones,
        folios: &mut Folios,
        objects: &Objects,
        group: usize,
        pages: &[PageId],
    ) {
        if pages.is_empty() {
            return;
        }
        let whole = |&page: &PageId| match objects.huge_first(page) {
            Some(first) => first..first + TABLE,
            None => page..page + 1,
        };
        let ranges: Vec<_> = pages.iter().map(whole).collect();
        self.with_generations(zones, folios, group, |generations, folios| {
            for page in ranges.into_iter().flatten() {
                if folios.state(page) == State::Inactive {
                    generations.promote(folios, page);
                }
            }
        });
    }
}
