//! Pages that are locked into memory (`mm/mlock.c`): on no list that reclaim looks at.

use crate::mm::filemap::Reader;
use crate::mm::filemap::state::{File, Progress};
use crate::mm::folio::Folios;
use crate::mm::folio::{Flag, PageId, State};
use crate::mm::lruvec::state::Lruvecs;
use crate::mm::memory::state::{Held, Region};
use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::sched::cpu::Cpu;

impl Memory {
    /// Faults the whole region in, and locks it unless it is only to be filled
    /// (`populate_vma_page_range`). What was done when it has to wait stays so; it
    /// goes on where it is called again.
    pub(crate) fn fill_region(
        &mut self,
        region: &mut Region,
        held: &mut Held,
        fill: Fill,
    ) -> Progress {
        for index in 0..region.pages() {
            let page = region.base + index as PageId;
            let is_locked =
                self.folios.state(page) == State::Unevictable || self.folios.is_locked(page);
            let is_filled = fill == Fill::Populate && region.is_touched(index, true, self);
            if is_locked || is_filled || region.is_hugetlb(index) {
                continue;
            }
            let progress = self.fault(region, index, true, true, held);
            if progress != Progress::Complete {
                return progress;
            }
            if fill == Fill::Lock && self.folios.is_resident(page) {
                self.lock_page(page);
            }
        }
        Progress::Complete
    }

    /// Moves a resident page off its list for good. One that is being written to swap will be
    /// locked when it is used next.
    pub(crate) fn lock_page(&mut self, page: PageId) {
        if let Some(first) = self.objects.huge_first(page) {
            return (first..first + HUGE_PAGES as PageId).for_each(|page| {
                self.lruvecs
                    .set_aside(&self.cpu, &mut self.zones, &mut self.folios, page)
            });
        }
        if self.folios.has(page, Flag::Anon) && self.folios.has(page, Flag::Swapcache) {
            self.leave_swap_cache(page);
            self.folios.set(page, Flag::Dirty);
        }
        self.lruvecs
            .set_aside(&self.cpu, &mut self.zones, &mut self.folios, page);
    }
}

impl File {
    /// How many of its first pages are so.
    fn count(&self, pages: u64, is_so: impl Fn(PageId) -> bool) -> u64 {
        let first = self.base..self.base + pages as PageId;
        first.filter(|page| is_so(*page)).count() as u64
    }
}

impl Lruvecs {
    pub(crate) fn set_aside(
        &mut self,
        cpu: &Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        page: PageId,
    ) {
        if matches!(folios.state(page), State::Inactive | State::Active) {
            self.take_from_list(cpu, zones, folios, page);
            folios.set_state(page, State::Unevictable);
            zones[folios.zone(page)].unevictable += 1;
        }
    }
}

impl Zones {
    /// Pages that are locked.
    pub(crate) fn unevictable(&self) -> u64 {
        self.iter().map(|zone| zone.unevictable).sum()
    }
}

/// How far the lock of a file has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Locking {
    /// The next page, as an index.
    cursor: u64,
    /// Its fault has been counted.
    faulting: bool,
}

impl Locking {
    /// It begins at a page.
    pub(crate) fn at(cursor: u64) -> Self {
        Self {
            cursor,
            faulting: false,
        }
    }
}

/// Why a region is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// `mlock`.
    Lock,
    /// `MAP_POPULATE`.
    Populate,
}

/// Which pages of a file are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// All; what is missing is read in.
    All,
    /// Those in memory (`MLOCK_ONFAULT`, and a fault for each that is found there).
    Resident,
}

impl File {
    /// How many of its first pages are locked.
    pub(crate) fn locked_pages(&self, folios: &Folios, pages: u64) -> u64 {
        self.count(pages, |page| folios.state(page) == State::Unevictable)
    }

    /// How many of its first pages are in memory (`mincore`).
    pub(crate) fn resident_pages(&self, folios: &Folios, pages: u64) -> u64 {
        self.count(pages, |page| folios.is_resident(page))
    }

    /// The first page that is not locked, or the one after those looked at.
    pub(crate) fn first_unlocked(&self, folios: &Folios, pages: u64) -> u64 {
        let is_unlocked = |at: &u64| folios.state(self.base + *at as PageId) != State::Unevictable;
        (0..pages).find(is_unlocked).unwrap_or(pages)
    }
}

impl Memory {
    /// Puts the locked pages of a file back on a list (`munlock_folio`).
    pub(crate) fn unlock_file(&mut self, file: &File) {
        for page in file.base..file.base + file.pages as PageId {
            if self.folios.state(page) == State::Unevictable {
                self.zones[self.folios.zone(page)].unevictable -= 1;
                let lru = self.folios.kind(page).inactive();
                self.folios.set_state(page, State::Inactive);
                self.lruvecs
                    .add_to_list(&self.cpu, &mut self.zones, &mut self.folios, page, lru);
            }
        }
    }
}

impl Reader<'_> {
    /// Maps the file up to page `end` and locks it. It goes on where it is called again after a
    /// wait.
    pub(crate) fn lock(&mut self, locking: &mut Locking, end: u64, which: Which) -> Progress {
        while locking.cursor < end {
            let index = locking.cursor;
            let page = self.file.base + index as PageId;
            let is_passed = which == Which::Resident && !self.memory.folios.is_resident(page);
            if self.memory.folios.state(page) != State::Unevictable && !is_passed {
                let progress = self.touch(&mut { index }, index + 1, false, &mut locking.faulting);
                if progress != Progress::Complete {
                    return progress;
                }
                self.memory.lock_page(page);
            }
            locking.cursor += 1;
        }
        *locking = Locking::default();
        Progress::Complete
    }
}
