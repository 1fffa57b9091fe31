//! What ksmd keeps: regions, candidates, trees, settings, counters.

use crate::mm::folio::PageId;
use crate::mm::ksm::candidate::Candidate;
use crate::mm::ksm::share::Shares;
use crate::mm::ksm::tree::Trees;
use crate::mm::ksm::tree::{AreaId, Place};
use crate::mm::memcontrol::group_id::GroupId;
use crate::mm::memory::state::Region;
use alloc::vec::Vec;
use mm::formula::ksm_advisor::Advisor;
use mm::formula::ksm_advisor::Bounds;
use mm::units::Nanos;
use scenario::contents::Contents;

/// ksmd and what it knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ksm {
    pub(crate) settings: Settings,
    /// Processes with mergeable memory, in the order in which they are scanned.
    pub(crate) spaces: Vec<Space>,
    /// Their regions, by [`AreaId`].
    pub(crate) areas: Vec<Option<Area>>,
    pub(crate) cursor: Cursor,
    pub(crate) trees: Trees,
    pub(crate) counts: Counts,
    pub(crate) advisor: Advisor,
    /// The full scan under way: when it began, and ksmd's CPU time then.
    pub(crate) scan_began: (Nanos, Nanos),
    /// Pages that may still be scanned before ksmd sleeps, times the scale.
    pub(crate) left: u64,
    /// Pages of the kernel's that hold the candidates, and the merged pages' nodes.
    pub(crate) slabs: [u64; 2],
    /// The merged pages, and what swap made of them.
    pub(crate) shares: Shares,
    /// A batch is under way: a write to `run`, or to what the trees depend on, waits for its end.
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
pub(crate) struct Space {
    /// As an entity of the scheduler.
    pub(crate) entity: usize,
    pub(crate) areas: Vec<AreaId>,
    pub(crate) exited: bool,
}

/// A mergeable region.
#[derive(Clone, Debug)]
pub(crate) struct Area {
    pub(crate) base: PageId,
    /// The control group of its process.
    pub(super) group: GroupId,
    contents: Contents,
    /// When it was mapped: what is volatile changes since.
    mapped: Nanos,
    /// It is mapped, and mergeable.
    pub(crate) is_live: bool,
    /// What is known of each of its pages.
    pub(crate) candidates: Vec<Candidate>,
}

/// What the files of `/sys/kernel/mm/ksm` count: simulated pages, and scans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Candidates (`ksm_rmap_items`).
    pub(crate) items: u64,
    pub(crate) shared: u64,
    pub(crate) sharing: u64,
    pub(crate) unshared: u64,
    pub(crate) zero_pages: u64,
    pub(crate) scanned: u64,
    pub(crate) skipped: u64,
    pub(crate) full_scans: u64,
}

impl Ksm {
    /// `MADV_MERGEABLE`: a region of a process is to be scanned. A process that is new to ksmd
    /// comes right before the place that it is scanning (`__ksm_enter`).
    pub(crate) fn make_mergeable(&mut self, entity: usize, region: &Region) {
        let ksm = self;
        if ksm.live_area(region.base).is_some() {
            return;
        }
        let area = Area {
            base: region.base,
            group: region.group,
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

    pub(crate) fn area(&self, id: AreaId) -> &Area {
        let area = self.areas[id as usize].as_ref();
        area.expect("a place is in an area that is there")
    }

    pub(crate) fn candidate(&mut self, place: Place) -> &mut Candidate {
        let area = self.areas[place.area as usize].as_mut();
        let area = area.expect("a place is in an area that is there");
        &mut area.candidates[place.index as usize]
    }

    /// What the page holds at a time.
    pub(crate) fn word(&self, place: Place, now: Nanos) -> u64 {
        let area = self.area(place.area);
        let age = now.saturating_sub(area.mapped);
        area.contents.word_after(u64::from(place.index), age)
    }

    pub(crate) fn page(&self, place: Place) -> PageId {
        self.area(place.area).base + place.index
    }
}

/// Where ksmd is: the place that it looks at next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// A full scan is under way.
    pub(crate) is_scanning: bool,
    pub(crate) space: usize,
    pub(crate) area: usize,
    pub(crate) index: u32,
}

/// How a piece of ksmd's work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    /// It has used its time slice.
    More,
    /// The batch is over.
    Sleeps,
    /// There is nothing to scan.
    Waits,
}

/// `pages_to_scan` after boot, and again when the advisor is switched off.
pub(crate) const DEFAULT_PAGES: u64 = 100;

/// Names of the tunables that ksmd reads begin with this.
pub(crate) const PREFIX: &str = "ksm.";

/// `run`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Run {
    /// 0: ksmd stands; what is merged stays so.
    #[default]
    Stop,
    /// 1.
    Merge,
    /// 2: everything was unmerged.
    Unmerge,
}

/// What the tunables say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) run: Run,
    pub(crate) pages_to_scan: u64,
    pub(crate) sleep_millisecs: u64,
    pub(super) smart_scan: bool,
    pub(super) merge_across_nodes: bool,
    pub(super) use_zero_pages: bool,
    pub(super) max_page_sharing: u32,
    /// The advisor sets `pages_to_scan`, within these bounds.
    pub(super) is_advised: bool,
    pub(super) bounds: Bounds,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            run: Run::Stop,
            pages_to_scan: DEFAULT_PAGES,
            sleep_millisecs: 20,
            smart_scan: false,
            merge_across_nodes: true,
            use_zero_pages: false,
            max_page_sharing: 256,
            is_advised: false,
            bounds: Bounds::default(),
        }
    }
}
