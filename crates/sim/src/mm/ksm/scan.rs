//! ksmd's way through the mergeable regions (`ksm_do_scan`, `scan_get_next_rmap_item`).

use mm::formula::ksm_advisor::FullScan;

use super::Candidate;
use crate::mm::folio::Folios;
use crate::mm::ksm::share::Entry;
use crate::mm::ksm::state::{Cursor, Scan};
use crate::mm::ksm::state::{Ksm, Space};
use crate::mm::ksm::tree::{AreaId, Place};
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::sched::cpu::Cpu;

/// What comes next on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Page(Place),
    /// The time slice is used up.
    Budget,
    /// The full scan is over, and with it the batch.
    End,
}

impl Ksm {
    /// Adds a process so that it is scanned last.
    pub(super) fn insert_before_cursor(&mut self, space: Space) {
        let at = match self.cursor.is_scanning {
            true => self.cursor.space,
            false => self.spaces.len(),
        };
        self.spaces.insert(at, space);
        if self.cursor.is_scanning {
            self.cursor.space += 1;
        }
    }

    /// Moves a process to where it is scanned next, unless it is being scanned.
    pub(super) fn move_behind_cursor(&mut self, at: usize) {
        if !self.cursor.is_scanning || at == self.cursor.space {
            return;
        }
        let space = self.spaces.remove(at);
        if at < self.cursor.space {
            self.cursor.space -= 1;
        }
        self.spaces.insert(self.cursor.space + 1, space);
    }

    /// The region that ksmd is in.
    fn current(&self) -> Option<AreaId> {
        let space = self.spaces.get(self.cursor.space)?;
        space.areas.get(self.cursor.area).copied()
    }

    /// Goes on to the next region; one that is gone is forgotten, once its candidates are: those
    /// before the cursor when it went are still there.
    fn leave_area(&mut self, id: AreaId, is_live: bool) {
        let at = self.cursor;
        self.cursor.index = 0;
        let area = self.areas[id as usize].as_ref();
        if is_live {
            self.cursor.area += 1;
        } else if !area.is_some_and(|area| area.candidates.iter().any(Candidate::exists)) {
            self.areas[id as usize] = None;
            self.spaces[at.space].areas.remove(at.area);
        }
    }

    /// Goes on to the next process; one that has nothing left is forgotten.
    fn leave_space(&mut self) {
        let at = self.cursor.space;
        (self.cursor.area, self.cursor.index) = (0, 0);
        match self.spaces[at].areas.is_empty() {
            true => {
                self.spaces.remove(at);
            }
            false => self.cursor.space += 1,
        }
    }
}

impl Memory {
    /// Lets ksmd scan until its batch or its time slice is over (`ksm_do_scan`).
    pub(crate) fn ksm_do_scan(&mut self) -> Scan {
        if !self.ksm.is_in_batch && !self.ksm.has_work() {
            return Scan::Waits;
        }
        if !core::mem::replace(&mut self.ksm.is_in_batch, true) {
            self.cpu.spent += self.cpu.costs.ksm_batch_ps;
        }
        while self.ksm.left >= self.cpu.scale {
            match self.ksm.next_page(
                &mut self.cpu,
                &mut self.zones,
                &self.folios,
                &mut self.objects,
            ) {
                Next::Page(place) => {
                    self.ksm.left -= self.cpu.scale;
                    self.ksm.counts.scanned += 1;
                    self.consider(place);
                }
                Next::Budget => return Scan::More,
                Next::End => break,
            }
            if self.cpu.spent >= self.cpu.budget {
                return Scan::More;
            }
        }
        self.ksm.is_in_batch = false;
        self.ksm
            .follow_candidates(&mut self.cpu, &mut self.zones, &mut self.objects);
        Scan::Sleeps
    }
}

impl Ksm {
    /// A batch begins. Where a page stands for many, what is left of the last one counts.
    pub(crate) fn begin_batch(&mut self, cpu: &Cpu) {
        let ksm = self;
        let rest = ksm.left % cpu.scale;
        ksm.left = ksm.settings.pages_to_scan.saturating_add(rest);
    }

    /// The next page that ksmd looks at (`scan_get_next_rmap_item`).
    fn next_page(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &Folios,
        objects: &mut Objects,
    ) -> Next {
        if !self.cursor.is_scanning {
            self.begin_full_scan(cpu);
        }
        while self.cursor.space < self.spaces.len() {
            let space = &self.spaces[self.cursor.space];
            let exited = space.exited;
            let Some(id) = self.current() else {
                self.leave_space();
                cpu.spent += cpu.costs.ksm_mm_ps;
                continue;
            };
            let area = self.areas[id as usize].as_ref();
            let (is_live, len) = area.map_or((false, 0), |area| {
                (area.is_live && !exited, area.candidates.len() as u32)
            });
            if self.cursor.index < len {
                if let Some(next) = self.pass(cpu, zones, folios, objects, id, is_live) {
                    return next;
                }
                continue;
            }
            self.leave_area(id, is_live);
        }
        self.end_full_scan(cpu, zones, objects);
        Next::End
    }

    /// Takes the page at the cursor, if there is anything to it.
    fn pass(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &Folios,
        objects: &mut Objects,
        area: AreaId,
        is_live: bool,
    ) -> Option<Next> {
        if cpu.spent >= cpu.budget {
            return Some(Next::Budget);
        }
        let index = self.cursor.index;
        let place = Place { area, index };
        self.cursor.index += 1;
        if !is_live || !self.is_anon_mapped(folios, place) {
            self.forget(cpu, place, cpu.costs.ksm_forget_ps);
            return None;
        }
        if !self.candidate(place).exists() {
            self.candidate(place).begin();
            self.counts.items += 1;
            cpu.spent += cpu.costs.ksm_item_ps;
            self.follow_candidates(cpu, zones, objects);
        }
        let is_merged = self.merged(folios, self.page(place)).is_some();
        if self.settings.smart_scan {
            if !is_merged && self.candidate(place).is_skipped() {
                self.counts.skipped += 1;
                if self.leave_tree(place) {
                    cpu.spent += cpu.costs.ksm_leave_ps;
                }
                cpu.spent += cpu.costs.ksm_skip_ps;
                return None;
            }
            cpu.spent += cpu.costs.ksm_smart_ps;
        }
        Some(Next::Page(place))
    }

    /// Whether a page of anonymous memory is mapped there: the zero page is none, and ksmd brings
    /// back nothing from swap.
    fn is_anon_mapped(&self, folios: &Folios, place: Place) -> bool {
        let page = self.page(place);
        match self.shares.entry(folios, page) {
            Entry::Own => folios.is_anon_mapped(page),
            Entry::Mapped(_) => true,
            Entry::Zero | Entry::Swapped(_) => false,
        }
    }

    fn begin_full_scan(&mut self, cpu: &Cpu) {
        let now = cpu.now();
        self.cursor = Cursor {
            is_scanning: true,
            ..Cursor::default()
        };
        self.scan_began = (now, self.cpu_time);
        self.trees.begin_scan();
    }

    fn end_full_scan(&mut self, cpu: &mut Cpu, zones: &mut Zones, objects: &mut Objects) {
        let now = cpu.now();
        let spent = mm::units::Nanos(cpu.spent / 1000);
        self.cursor = Cursor::default();
        self.counts.full_scans += 1;
        self.follow_candidates(cpu, zones, objects);
        if self.settings.is_advised {
            let (began, cpu) = self.scan_began;
            let scan = FullScan {
                took: now.saturating_sub(began),
                cpu: (self.cpu_time + spent).saturating_sub(cpu),
                pages_to_scan: self.settings.pages_to_scan,
            };
            self.settings.pages_to_scan = self.advisor.advise(scan, self.settings.bounds);
        }
    }
}
