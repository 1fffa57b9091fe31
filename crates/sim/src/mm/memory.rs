//! Anonymous regions and the faults that fill them (`mm/memory.c`, `mm/huge_memory.c`).

pub(crate) mod state;
pub(crate) mod swap_in;

use core::ops::Range;

use scenario::workload::Huge;

use crate::mm::filemap::state::Progress;
use crate::mm::folio::{Flag, Folios, PageId, State};
use crate::mm::lru::{Kind, Lru};
use crate::mm::lruvec::state::Lruvecs;
use crate::mm::memory::state::{Held, Region, Table};
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::state::NoPage;
use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::mm::swapfile::Swap;
use crate::sched::cpu::Cpu;

impl Memory {
    /// Sees to it that a page is there and known to be used; `faulting` says whether its fault has
    /// been counted.
    pub(crate) fn fault_in(
        &mut self,
        region: &mut Region,
        index: u64,
        write: bool,
        faulting: &mut bool,
        held: &mut Held,
    ) -> Progress {
        if region.is_touched(index, write, self) {
            return Progress::Complete;
        }
        let first_try = !core::mem::replace(faulting, true);
        let progress = self.fault(region, index, write, first_try, held);
        *faulting = progress != Progress::Complete;
        progress
    }

    /// Makes a page of a region present and used; the first try counts as a fault.
    pub(crate) fn fault(
        &mut self,
        region: &mut Region,
        index: u64,
        write: bool,
        first_try: bool,
        held: &mut Held,
    ) -> Progress {
        let page = region.entry(index, self);
        let result = match self.folios.state(page) {
            State::Reading => return Progress::Waits(page),
            State::Shadow => {
                self.bring_home(page);
                return match self.folios.is_merged(page) {
                    true => self.fault_shared(region, index, write, first_try),
                    false => self.fault(region, index, write, first_try, held),
                };
            }
            State::Absent => {
                self.groups.count_fault(&mut self.cpu, first_try);
                match region.huge {
                    Huge::Hugetlb => self.zones.fault_hugetlb(&mut self.cpu, region, index),
                    _ => self.fault_anon(region, index, held),
                }
            }
            State::Swapped => {
                self.groups.count_fault(&mut self.cpu, first_try);
                match self.swap_in(region, index, page) {
                    Ok(()) if self.folios.is_reading(page) => return Progress::Waits(page),
                    result => result,
                }
            }
            _ => {
                self.use_page(region, page, index, write, first_try);
                Ok(())
            }
        };
        result.map_or_else(Progress::NoPage, |()| Progress::Complete)
    }

    /// A fault on page `index` of a region that holds nothing there (`do_anonymous_page`): a huge
    /// page where the setting and the region allow one and there is one, else a base page.
    ///
    /// # Errors
    /// There is no page, or not yet; what was done so far stays.
    fn fault_anon(
        &mut self,
        region: &mut Region,
        index: u64,
        held: &mut Held,
    ) -> Result<(), NoPage> {
        if !region.has_table(index) {
            self.objects
                .take_page_table(&mut self.cpu, &mut self.zones, &mut self.groups)?;
            region.note(index, Table::Base);
            held.page_tables += 1;
            let wanted = self.cpu.rules.huge_pages.are_given(region.huge);
            if let Some(first) = region.huge_range(index).filter(|_| wanted) {
                if self.fault_huge(first) {
                    region.note(index, Table::Huge);
                    held.pages += HUGE_PAGES;
                    return Ok(());
                }
                self.cpu.events.thp_fault_fallback += 1;
            }
        }
        let page = region.base + index as PageId;
        self.folios.set(page, Flag::Anon);
        self.allocate(page, State::Inactive)?;
        self.folios
            .add_anon(&self.cpu, &mut self.zones, &mut self.lruvecs, page);
        held.pages += 1;
        let cost = self.cpu.costs.anon_fault_ps;
        self.lruvecs.pay_for_new_page(&mut self.cpu, cost);
        self.cpu.spent += self.zones.remote(&self.cpu, &self.folios, page, 2);
        Ok(())
    }

    pub(crate) fn fault_huge(&mut self, first: PageId) -> bool {
        let pages = first..first + HUGE_PAGES as PageId;
        for raw in self.folios.raws_mut(pages.clone()) {
            *raw |= Flag::Anon.bit();
        }
        if !self.zones.allocate_huge(
            &mut self.cpu,
            &mut self.folios,
            &mut self.groups,
            first,
            State::Inactive,
        ) {
            return false;
        }
        self.folios
            .add_anon_huge(&self.cpu, &mut self.zones, &mut self.lruvecs, pages);
        self.objects.join(first);
        self.cpu.events.thp_fault_alloc += 1;
        self.groups.stat(self.cpu.current.group).thp_fault_alloc += 1;
        self.folios.anon_huge_pages += HUGE_PAGES;
        self.cpu.spent += self.cpu.costs.huge_fault_ps;
        true
    }

    /// Frees what a region holds. Its page tables stay, but those in reserve for huge pages go with
    /// them, and the next fault may take a huge page again.
    pub(crate) fn drop_region(&mut self, region: &mut Region) -> Held {
        self.drop_tables(region, &mut 0, u64::MAX)
    }

    /// As [`Self::drop_region`], from the page table `next` on until so much CPU time is spent.
    pub(crate) fn drop_tables(
        &mut self,
        region: &mut Region,
        next: &mut usize,
        budget: u64,
    ) -> Held {
        let mut held = Held::default();
        while *next < region.tables.len() && self.cpu.spent < budget {
            self.drop_table(region, *next, &mut held);
            *next += 1;
        }
        self.objects.give_page_tables(
            &mut self.zones,
            &mut self.groups,
            held.page_tables,
            region.group,
        );
        held
    }

    fn drop_table(&mut self, region: &mut Region, index: usize, held: &mut Held) {
        let first = region.base + index as PageId * HUGE_PAGES as PageId;
        let end = (first + HUGE_PAGES as PageId).min(region.base + region.pages() as PageId);
        let table = &mut region.tables[index];
        let frees = match *table {
            Table::None => 0,
            Table::Hugetlb => {
                self.zones.hugetlb.untake();
                *table = Table::None;
                0
            }
            Table::Huge if self.objects.huge_first(first).is_some() => {
                self.drop_huge(first);
                held.pages += HUGE_PAGES;
                held.page_tables += 1;
                *table = Table::None;
                1
            }
            Table::Huge | Table::Base => {
                let dropped = self.drop_pages(first..end);
                held.pages += dropped;
                dropped
            }
        };
        self.cpu.spent += frees * self.cpu.costs.anon_free_ps;
    }

    fn drop_huge(&mut self, first: PageId) {
        self.objects.split(first);
        self.folios.anon_huge_pages -= HUGE_PAGES;
        self.zones
            .free_huge(&mut self.cpu, &self.folios, &mut self.groups, first);
        self.folios.anon_pages -= HUGE_PAGES;
        let pages = first..first + HUGE_PAGES as PageId;
        let is_in_line = self.folios.in_line(pages.clone()) == pages;
        if is_in_line && !self.cpu.rules.lru_gen.enabled {
            self.lruvecs
                .take_run(&mut self.zones, &mut self.folios, pages.clone());
        } else {
            for page in pages.clone() {
                self.folios.take_off(
                    &self.cpu,
                    &mut self.zones,
                    &mut self.lruvecs,
                    &mut self.swap,
                    page,
                );
            }
        }
        self.folios.forget_run(pages);
    }

    /// Frees the pages under one page table, resident or in swap; returns how many.
    fn drop_pages(&mut self, pages: Range<PageId>) -> u64 {
        let mut dropped = 0;
        for page in pages {
            match self.folios.state(page) {
                State::Absent => continue,
                State::Shadow => self.drop_shared(page),
                State::Swapped => self.give_slot(self.folios.slot(page), page),
                _ => self.drop_resident(page),
            }
            self.folios.forget(page);
            dropped += 1;
        }
        dropped
    }

    pub(crate) fn drop_resident(&mut self, page: PageId) {
        self.folios.take_off(
            &self.cpu,
            &mut self.zones,
            &mut self.lruvecs,
            &mut self.swap,
            page,
        );
        if self.folios.has(page, Flag::Swapcache) {
            self.leave_swap_cache(page);
        }
        if !self.folios.has(page, Flag::Unmapped) {
            self.folios.anon_pages -= 1;
        }
        self.zones.free(
            &mut self.cpu,
            &self.folios,
            &mut self.groups,
            &mut self.objects,
            page,
        );
    }
}

impl Zones {
    /// The pool has a page for each that a region reserved.
    fn fault_hugetlb(
        &mut self,
        cpu: &mut Cpu,
        region: &mut Region,
        index: u64,
    ) -> Result<(), NoPage> {
        region.note(index, Table::Hugetlb);
        self.hugetlb.take();
        cpu.spent += cpu.costs.huge_fault_ps;
        Ok(())
    }
}

impl Folios {
    /// A new page is mapped, used and dirty.
    pub(crate) fn add_anon(
        &mut self,
        cpu: &Cpu,
        zones: &mut Zones,
        lruvecs: &mut Lruvecs,
        page: PageId,
    ) {
        self.set(page, Flag::Accessed);
        self.set(page, Flag::Dirty);
        lruvecs.add_new(cpu, zones, self, page);
        self.anon_pages += 1;
    }

    /// As [`Self::add_anon`] of the pages of a new huge page.
    fn add_anon_huge(
        &mut self,
        cpu: &Cpu,
        zones: &mut Zones,
        lruvecs: &mut Lruvecs,
        pages: Range<PageId>,
    ) {
        if cpu.rules.lru_gen.enabled {
            return pages.for_each(|page| self.add_anon(cpu, zones, lruvecs, page));
        }
        for raw in self.raws_mut(pages.clone()) {
            *raw |= Flag::Accessed.bit() | Flag::Dirty.bit();
        }
        let (group, count) = (self.group(pages.start), pages.len() as u64);
        let (lru, rotated) = match cpu.rules.begins_active(self, pages.start) {
            true => (Lru::ActiveAnon, count),
            false => (Lru::InactiveAnon, 0),
        };
        lruvecs.add_run(zones, self, pages, lru);
        lruvecs.note_recent(cpu, group, Kind::Anon, count, rotated);
        self.anon_pages += count;
    }

    /// Whether a huge page was used since it was last asked: one entry of a page table maps all of
    /// it, so an access to any of its pages counts.
    pub(crate) fn take_accessed_huge(&mut self, first: PageId) -> bool {
        (first..first + HUGE_PAGES as PageId)
            .fold(false, |used, page| self.take(page, Flag::Accessed) | used)
    }

    /// Makes base pages of a huge page.
    pub(crate) fn split_huge(&mut self, cpu: &mut Cpu, objects: &mut Objects, first: PageId) {
        objects.split(first);
        self.anon_huge_pages -= HUGE_PAGES;
        cpu.events.thp_split_page += 1;
    }

    /// Takes a resident page off its list, or out of the hands of a disk.
    fn take_off(
        &mut self,
        cpu: &Cpu,
        zones: &mut Zones,
        lruvecs: &mut Lruvecs,
        swap: &mut Swap,
        page: PageId,
    ) {
        match self.state(page) {
            State::Writing => swap.writing -= 1,
            State::Unevictable => zones[self.zone(page)].unevictable -= 1,
            _ => {
                lruvecs.take_from_list(cpu, zones, self, page);
            }
        }
    }
}

impl Region {
    /// Whether it never held this page.
    pub(crate) fn is_empty(&self, index: u64, memory: &Memory) -> bool {
        memory.folios.state(self.entry(index, memory)) == State::Absent
    }

    /// Whether a touch of a page changes nothing.
    pub(crate) fn is_touched(&self, index: u64, write: bool, memory: &Memory) -> bool {
        self.is_hugetlb(index)
            || Folios::is_touched(memory.folios.raw(self.entry(index, memory)), write)
    }

    /// Whether a touch of each of these pages changes nothing.
    pub(crate) fn are_touched(&self, pages: Range<u64>, write: bool, memory: &Memory) -> bool {
        let mut index = pages.start;
        while index < pages.end {
            let table = (index / HUGE_PAGES) as usize;
            index = match self.tables[table] {
                Table::None | Table::Base => {
                    let end = pages.end.min((table as u64 + 1) * HUGE_PAGES);
                    let pages = self.base + index as PageId..self.base + end as PageId;
                    if !Folios::are_touched(memory.folios.raws(pages), write) {
                        return false;
                    }
                    end
                }
                Table::Huge | Table::Hugetlb => {
                    if !self.is_touched(index, write, memory) {
                        return false;
                    }
                    index + self.alike(index, memory)
                }
            };
        }
        true
    }

    /// How many pages, from this one on, have their use noted in one place: those of a huge page.
    pub(crate) fn alike(&self, index: u64, memory: &Memory) -> u64 {
        let one = match self.tables[(index / HUGE_PAGES) as usize] {
            Table::Huge => memory
                .objects
                .huge_first(self.base + index as PageId)
                .is_none(),
            table => table != Table::Hugetlb,
        };
        if one {
            1
        } else {
            HUGE_PAGES - index % HUGE_PAGES
        }
    }

    /// The page whose flags tell of a page's use: the first one of a huge page.
    pub(crate) fn entry(&self, index: u64, memory: &Memory) -> PageId {
        let page = self.base + index as PageId;
        match self.tables[(index / HUGE_PAGES) as usize] {
            Table::Huge => memory.objects.huge_first(page).unwrap_or(page),
            _ => page,
        }
    }
}
