//! Kernel samepage merging (`mm/ksm.c`): ksmd scans the pages of mergeable regions and lets equal
//! ones share one page, which is copied again when somebody writes to it.
//!
//! A page's bytes are one word ([`mm::contents`]): pages are equal where their words are, and a
//! checksum is the word itself.

mod candidate;
mod files;
mod merge;
mod scan;
mod settings;
#[cfg(test)]
mod tests;
mod tree;
mod unmerge;

use alloc::vec::Vec;

use mm::contents::Contents;
use mm::formula::ksm::RMAP_ITEM;
use mm::formula::ksm_advisor::Advisor;
use mm::units::{Nanos, PageSize};

use crate::mm::folio::PageId;
use crate::mm::memory::Region;
use crate::mm::objects::Objects;
use crate::mm::page_alloc::pcp::List;
use crate::mm::page_alloc::zone::Zones;
use crate::sched::cpu::Cpu;
use candidate::Candidate;
pub(crate) use files::Template;
use scan::Cursor;
pub(crate) use scan::Scan;
use settings::Run;
pub(crate) use settings::{PREFIX, Settings};
use tree::Trees;

/// Candidates that share a page of the kernel's (`struct ksm_rmap_item`); and merged pages, of which
/// it remembers as much (`struct ksm_stable_node`).
const PER_SLAB: u64 = PageSize::FOUR_KIB.bytes() / RMAP_ITEM.0;

/// Empty slabs of a cache that are kept.
const SPARE_SLABS: u64 = 5;

/// ksmd and what it knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ksm {
    pub(crate) settings: Settings,
    /// Processes with mergeable memory, in the order in which they are scanned.
    spaces: Vec<Space>,
    /// Their regions, by [`AreaId`].
    areas: Vec<Option<Area>>,
    cursor: Cursor,
    trees: Trees,
    counts: Counts,
    advisor: Advisor,
    /// The full scan under way: when it began, and ksmd's CPU time then.
    scan_began: (Nanos, Nanos),
    /// Pages that may still be scanned before ksmd sleeps, times the scale.
    left: u64,
    /// Pages of the kernel's that hold the candidates, and the merged pages' nodes.
    slabs: [u64; 2],
    /// Indices for pages that become merged ones.
    indices: Vec<PageId>,
    /// A batch is under way: who writes `run` or what the trees depend on waits for its end.
    pub(crate) is_in_batch: bool,
    /// It was woken and the scheduler does not know yet.
    pub(crate) wants_cpu: bool,
    /// When ksmd goes on, while it sleeps between two batches.
    pub(crate) sleeps_until: Option<Nanos>,
    /// CPU time that it has used.
    pub(crate) cpu_time: Nanos,
}

/// A process.
#[derive(Clone, Debug)]
struct Space {
    /// As an entity of the scheduler.
    entity: usize,
    areas: Vec<AreaId>,
    exited: bool,
}

/// A mergeable region's index.
type AreaId = u32;

/// A mergeable region.
#[derive(Clone, Debug)]
struct Area {
    base: PageId,
    contents: Contents,
    /// When it was mapped: what is volatile changes since.
    mapped: Nanos,
    /// It is mapped, and mergeable.
    is_live: bool,
    /// What is known of each of its pages.
    candidates: Vec<Candidate>,
}

/// What the files of `/sys/kernel/mm/ksm` count: simulated pages, and scans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Candidates (`ksm_rmap_items`).
    items: u64,
    shared: u64,
    sharing: u64,
    unshared: u64,
    zero_pages: u64,
    scanned: u64,
    skipped: u64,
    full_scans: u64,
}

/// A page of a mergeable region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    area: AreaId,
    index: u32,
}

impl Ksm {
    /// `MADV_MERGEABLE`: a region of a process is to be scanned. A process that is new to ksmd comes
    /// right before the place that it is scanning (`__ksm_enter`).
    pub(crate) fn make_mergeable(&mut self, entity: usize, region: &Region) {
        let ksm = self;
        if ksm.live_area(region.base).is_some() {
            return;
        }
        let area = Area {
            base: region.base,
            contents: region.contents.clone(),
            mapped: region.mapped,
            is_live: true,
            candidates: alloc::vec![Candidate::default(); region.pages() as usize],
        };
        let id = ksm.areas.len() as AreaId;
        ksm.areas.push(Some(area));
        let is_of = |space: &&mut Space| space.entity == entity && !space.exited;
        match ksm.spaces.iter_mut().find(is_of) {
            Some(space) => space.areas.push(id),
            None => {
                let space = Space {
                    entity,
                    areas: alloc::vec![id],
                    exited: false,
                };
                ksm.wants_cpu |= ksm.spaces.is_empty();
                ksm.insert_before_cursor(space);
            }
        }
    }

    /// The region is no longer mapped, or no longer mergeable: ksmd forgets its pages when it comes
    /// to them.
    pub(crate) fn leave_region(&mut self, base: PageId) {
        let mut areas = self.areas.iter_mut();
        let area = areas.find(|area| area.as_ref().is_some_and(|area| area.is_at(base)));
        match area {
            Some(Some(area)) if area.candidates.iter().any(Candidate::exists) => {
                area.is_live = false;
            }
            Some(unseen) => *unseen = None,
            None => {}
        }
    }

    /// A process has ended: it is the next that ksmd looks at (`__ksm_exit`).
    pub(crate) fn leave_process(&mut self, entity: usize) {
        let ksm = self;
        let is_of = |space: &Space| space.entity == entity && !space.exited;
        if let Some(at) = ksm.spaces.iter().position(is_of) {
            ksm.spaces[at].exited = true;
            ksm.move_behind_cursor(at);
        }
    }

    /// Whether a process has mergeable memory.
    pub(crate) fn is_merging(&self, entity: usize) -> bool {
        let mut spaces = self.spaces.iter();
        spaces.any(|space| space.entity == entity && !space.exited)
    }

    /// The kernel's pages follow the number of candidates and of merged pages. Of the slabs that
    /// are empty it keeps a few (`min_partial`).
    fn follow_candidates(&mut self, cpu: &mut Cpu, zones: &mut Zones, objects: &mut Objects) {
        let used = [self.counts.items, self.trees.objects()];
        for (cache, used) in used.into_iter().enumerate() {
            let wanted = used.div_ceil(PER_SLAB);
            while self.slabs[cache] < wanted && objects.hold(cpu, zones, List::Unmovable, 1) == 1 {
                self.slabs[cache] += 1;
            }
            let spare = self.slabs[cache].saturating_sub(wanted + SPARE_SLABS);
            objects.let_go(zones, List::Unmovable, spare);
            self.slabs[cache] -= spare;
        }
    }
}

impl Area {
    /// Whether it is the region that begins there now.
    fn is_at(&self, base: PageId) -> bool {
        self.is_live && self.base == base
    }
}

impl Ksm {
    /// Whether ksmd has anything to do.
    pub(crate) fn has_work(&self) -> bool {
        self.settings.run == Run::Merge && !self.spaces.is_empty()
    }

    /// Pages of the kernel's that hold what ksmd remembers.
    pub(crate) fn slabs(&self) -> u64 {
        self.slabs.iter().sum()
    }

    fn live_area(&mut self, base: PageId) -> Option<&mut Area> {
        self.areas
            .iter_mut()
            .flatten()
            .find(|area| area.is_at(base))
    }

    fn area(&self, id: AreaId) -> &Area {
        let area = self.areas[id as usize].as_ref();
        area.expect("a place is in an area that is there")
    }

    fn candidate(&mut self, place: Place) -> &mut Candidate {
        let area = self.areas[place.area as usize].as_mut();
        let area = area.expect("a place is in an area that is there");
        &mut area.candidates[place.index as usize]
    }

    /// What the page holds at a time.
    fn word(&self, place: Place, now: Nanos) -> u64 {
        let area = self.area(place.area);
        let age = now.saturating_sub(area.mapped);
        area.contents.word_after(u64::from(place.index), age)
    }

    fn page(&self, place: Place) -> PageId {
        self.area(place.area).base + place.index
    }
}
