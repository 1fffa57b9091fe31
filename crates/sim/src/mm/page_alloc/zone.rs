//! A zone, and all zones of the machine (`struct zone`, `struct pglist_data`).

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};
use core::slice::{Iter, IterMut, SliceIndex};

use mm::zoneinfo::ZoneKind;

use crate::mm::hugetlb::state::Hugetlb;
use crate::mm::lru::Lru;
use crate::mm::page_alloc::buddy::{Buddy, Frame};
use crate::mm::page_alloc::pcp::Pcp;
#[cfg(test)]
use crate::mm::page_alloc::pieces::Pieces;
use crate::mm::vmscan::state::Kswapd;

/// The order of a huge page, and its base pages.
pub(crate) const HUGE_ORDER: usize = 9;
pub(crate) const HUGE_PAGES: u64 = 1 << HUGE_ORDER;

/// A zone of the node.
#[derive(Clone, Debug)]
pub(crate) struct Zone {
    pub(crate) kind: ZoneKind,
    /// Its place among all zones of the node, those without memory included.
    pub(crate) layout: usize,
    pub(crate) managed: u64,
    /// Free pages as the kernel counts them (`NR_FREE_PAGES`), what the CPU has changed since it
    /// last told the zone, and how much that may be.
    pub(crate) free: u64,
    pub(crate) untold: i64,
    pub(crate) tells_above: u64,
    pub(crate) min: u64,
    pub(crate) low: u64,
    pub(crate) high: u64,
    /// What its watermarks are raised by for now.
    pub(crate) boost: u64,
    /// Which of its pages are free.
    pub(crate) buddy: Buddy,
    /// The frames below this one are in use as boot left them.
    pub(crate) boot_end: Frame,
    /// Frames of the kernel's own pages, of users' pages that the kernel holds for processes, and
    /// of huge pages in the pool.
    pub(crate) held: Vec<Frame>,
    pub(crate) held_for_users: Vec<Frame>,
    pub(crate) pool: Vec<Frame>,
    /// Pages withheld from requests that could use a higher zone (`protection` of the highest).
    pub(crate) reserve: u64,
    /// Pages on each LRU list, and pages that are locked into memory.
    pub(crate) lru: [u64; 4],
    pub(crate) unevictable: u64,
    /// Pages that the model's own kernel objects hold: slabs, page tables.
    pub(crate) kernel: u64,
    /// Pages in use that no mechanism of the model touches: what boot left.
    pub(crate) fixed: u64,
    /// Those of them on each file list: blocks that the file system keeps. Reclaim sees them and
    /// gets none.
    pub(crate) kept_blocks: [u64; 4],
    /// Pages that boot left on each LRU list, which the files of the boot state count.
    pub(crate) of_boot: [u64; 4],
    pub(crate) pcp: Pcp,
    /// Pages that boot left on the per-CPU lists.
    pub(crate) on_lists: u64,
}

/// A watermark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Min,
    Low,
    High,
}

/// Which of the zones are whose, and on which node the running task is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Nodes {
    /// The zones of the first node, from the lowest on; none where there is but one node.
    pub(crate) of_first: usize,
    /// The running task is on the first of two.
    pub(crate) on_first: bool,
    /// Pages of files that are dirty or being written, of the first node and of the last.
    pub(crate) pending: [u64; 2],
}

impl Nodes {
    /// Whether there are two.
    pub(crate) fn are_several(&self) -> bool {
        self.of_first > 0
    }

    /// The number of a zone's node, of two.
    pub(crate) fn node(&self, zone: usize) -> usize {
        usize::from(zone >= self.of_first)
    }

    /// Whether a zone is another node's than the running task's.
    pub(crate) fn is_remote(&self, zone: usize) -> bool {
        (zone < self.of_first) != self.on_first
    }

    /// Looks for a zone in the order of the running task's zonelist: the own node's zones from high
    /// to low, then the other's.
    pub(crate) fn find(&self, zones: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
        if !self.on_first {
            return (0..zones).rev().find(|&zone| fits(zone));
        }
        let begins = self.of_first;
        let mut zonelist = (0..begins).rev().chain((begins..zones).rev());
        zonelist.find(|&zone| fits(zone))
    }
}

/// The zones, lowest first, and what belongs to the node that they make up.
#[derive(Clone, Debug)]
pub(crate) struct Zones {
    of: Vec<Zone>,
    pub(crate) nodes: Nodes,
    /// All zones of the node, with their watermarks, as /proc/zoneinfo lists them.
    pub(crate) layout: Vec<mm::zoneinfo::Zone>,
    /// The frame of its zone that each resident page lies in.
    pub(crate) frames: Vec<Frame>,
    /// Frames of the pages that the batch of reclaim under way has freed, and their zones.
    pub(crate) freed: Vec<(usize, Frame)>,
    pub(crate) hugetlb: Hugetlb,
    pub(crate) kswapd: Kswapd,
}

impl Zones {
    pub(crate) fn new(of: Vec<Zone>, layout: Vec<mm::zoneinfo::Zone>) -> Self {
        Self {
            nodes: Nodes::of(&of, &layout),
            of,
            layout,
            frames: Vec::new(),
            freed: Vec::new(),
            hugetlb: Hugetlb::default(),
            kswapd: Kswapd::default(),
        }
    }

    /// Pages on a file list that file systems keep.
    pub(crate) fn kept_blocks(&self, lru: Lru) -> u64 {
        self.of
            .iter()
            .map(|zone| zone.kept_blocks[lru as usize])
            .sum()
    }

    pub(crate) fn len(&self) -> usize {
        self.of.len()
    }

    pub(crate) fn iter(&self) -> Iter<'_, Zone> {
        self.of.iter()
    }

    /// Each zone with what /proc/zoneinfo lists of it; in a unit test that may be nothing.
    pub(crate) fn listed(&mut self) -> impl Iterator<Item = (&mut Zone, &mm::zoneinfo::Zone)> {
        let layout = &self.layout;
        let zones = self.of.iter_mut();
        zones.filter_map(|zone| layout.get(zone.layout).map(|listed| (zone, listed)))
    }

    pub(crate) fn iter_mut(&mut self) -> IterMut<'_, Zone> {
        self.of.iter_mut()
    }

    /// A zone, and the frames of all pages.
    pub(crate) fn with_frames(&mut self, zone: usize) -> (&mut Zone, &mut [Frame]) {
        (&mut self.of[zone], &mut self.frames)
    }
}

impl<I: SliceIndex<[Zone]>> Index<I> for Zones {
    type Output = I::Output;

    fn index(&self, index: I) -> &I::Output {
        &self.of[index]
    }
}

impl<I: SliceIndex<[Zone]>> IndexMut<I> for Zones {
    fn index_mut(&mut self, index: I) -> &mut I::Output {
        &mut self.of[index]
    }
}

impl Zone {
    /// A watermark, its boost included.
    pub(crate) fn mark(&self, mark: Mark) -> u64 {
        let unboosted = match mark {
            Mark::Min => self.min,
            Mark::Low => self.low,
            Mark::High => self.high,
        };
        unboosted.saturating_add(self.boost)
    }

    /// `__zone_watermark_ok` with `free` pages taken as free, for a block of `pages` pages.
    pub(crate) fn is_above(&self, mark: Mark, free: u64, pages: u64) -> bool {
        free.saturating_sub(pages - 1) > self.mark(mark).saturating_add(self.reserve)
    }

    #[cfg(test)]
    pub(crate) fn plain(managed: u64, min: u64) -> Self {
        let mut zone = Self {
            kind: ZoneKind::Normal,
            layout: 0,
            managed,
            free: managed,
            untold: 0,
            tells_above: 0,
            min,
            low: min + min / 4,
            high: min + min / 2,
            boost: 0,
            buddy: Buddy::new(0, HUGE_ORDER, 0, &Pieces::default()),
            boot_end: 0,
            held: Vec::new(),
            held_for_users: Vec::new(),
            pool: Vec::new(),
            reserve: 0,
            lru: [0; 4],
            unevictable: 0,
            kernel: 0,
            fixed: 0,
            kept_blocks: [0; 4],
            of_boot: [0; 4],
            pcp: Pcp::new(1, 4, crate::mm::page_alloc::pcp::Tuning::of("6.1")),
            on_lists: 0,
        };
        zone.lay_out(managed, HUGE_ORDER, &Pieces::default(), 0);
        zone
    }
}
