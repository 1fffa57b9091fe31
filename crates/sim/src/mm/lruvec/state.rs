//! The lists of each group, and what reclaim remembers of them.

use crate::mm::lru::List;
use crate::mm::lru_gen::Generations;
use crate::mm::lru_gen::memcg_lru::MemcgLru;
use crate::mm::workingset::state::ShadowNodes;
use crate::sched::timer::TICK;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Index;
use core::ops::IndexMut;
use core::slice;
use mm::formula::scan_balance::Costs;
use mm::formula::scan_ratio::Recent;
use mm::units::Nanos;

use crate::mm::folio::PageId;
use alloc::collections::BTreeSet;

/// Stands for the process that maps a page of anonymous memory: there is but one.
pub(crate) const ANON: usize = usize::MAX;

/// The page tables that the next walk goes through, by place and process: those that had used
/// entries enough when they were last seen (the Bloom filter of `lru_gen_mm_state`). Before the
/// first walk there is none, and all are walked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walked {
    pub(crate) tables: Option<BTreeSet<(PageId, usize)>>,
    /// The last walk left the accessed bits of the entries above the tables as they were.
    pub(crate) left_bits: bool,
}

impl Walked {
    pub(crate) fn has(&self, table: PageId, owner: usize) -> bool {
        let of = |tables: &BTreeSet<_>| tables.contains(&(table, owner));
        self.tables.as_ref().is_none_or(of)
    }

    /// Whether it has the table of any process.
    pub(crate) fn has_any(&self, table: PageId) -> bool {
        let of = |tables: &BTreeSet<_>| tables.range((table, 0)..=(table, ANON)).next().is_some();
        self.tables.as_ref().is_none_or(of)
    }

    pub(crate) fn add(&mut self, table: PageId, owner: usize) {
        if let Some(tables) = &mut self.tables {
            tables.insert((table, owner));
        }
    }
}

/// The group that holds what no control group does, and in whose terms global reclaim thinks.
pub(crate) const ROOT: usize = 0;

/// Time between two flushes of the groups' statistics: `FLUSH_TIME` is two seconds, 500 ticks; the
/// timer wheel keeps a timer of that length to eight ticks, so that it takes 504.
pub(crate) const FLUSH_PERIOD: Nanos = Nanos(504 * TICK.0);

/// One group's lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lruvec {
    /// The group above it.
    pub(crate) parent: Option<usize>,
    pub(crate) lists: [List; 4],
    /// Where the multi-generation LRU is on, the pages are here instead.
    pub(crate) generations: Generations,
    pub(crate) walked: Walked,
    /// Evictions and activations so far, of the groups below too (`nonresident_age`).
    pub(crate) nonresident_age: u64,
    /// Refaults that were activated, by kind, of the groups below too.
    pub(crate) activated_refaults: [u64; 2],
    /// Those of its own that a CPU has not added yet, where it adds many at a time.
    pub(crate) unadded_refaults: [u64; 2],
    /// The same as `activated_refaults` when reclaim last looked: a change asks for deactivation.
    pub(crate) refaults_seen: [u64; 2],
    /// The statistics as reclaim sees them where they lag.
    pub(crate) stats: Stats,
    /// What reclaiming each kind has cost of late (`anon_cost`, `file_cost`).
    pub(crate) cost: Costs,
    /// What came of the pages of each kind before costs decided.
    pub(crate) recent: Recent,
}

/// The groups' lists, the root's first, parents before children.
#[derive(Clone, Debug)]
pub(crate) struct Lruvecs {
    of: Vec<Lruvec>,
    pub(crate) memcg_lru: MemcgLru,
    /// New pages that are still to come to their lists.
    pub(crate) batched: u64,
    pub(crate) shadow_nodes: ShadowNodes,
}

impl Default for Lruvecs {
    fn default() -> Self {
        Self::new(vec![Lruvec::default()])
    }
}

impl Lruvecs {
    pub(crate) fn new(of: Vec<Lruvec>) -> Self {
        Self {
            memcg_lru: MemcgLru::new(of.len()),
            of,
            batched: 0,
            shadow_nodes: ShadowNodes::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.of.len()
    }

    pub(crate) fn iter(&self) -> slice::Iter<'_, Lruvec> {
        self.of.iter()
    }
}

impl Index<usize> for Lruvecs {
    type Output = Lruvec;

    fn index(&self, group: usize) -> &Lruvec {
        &self.of[group]
    }
}

impl IndexMut<usize> for Lruvecs {
    fn index_mut(&mut self, group: usize) -> &mut Lruvec {
        &mut self.of[group]
    }
}

/// A group's statistics, those of the groups below included, as of the last flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stats {
    pub(crate) lists: [u64; 4],
    /// Pages on its own lists.
    pub(crate) own: u64,
    pub(crate) activated_refaults: [u64; 2],
    /// Pages of files that are dirty, and that are being written.
    pub(crate) dirty: [u64; 2],
}

impl Lruvecs {
    /// Whether `group` is `ancestor` or below it.
    pub(crate) fn is_below(&self, group: usize, ancestor: usize) -> bool {
        let mut at = Some(group);
        while let Some(group) = at {
            if group == ancestor {
                return true;
            }
            at = self[group].parent;
        }
        false
    }

    /// Does something to a group and all above it.
    pub(crate) fn upwards(&mut self, group: usize, mut change: impl FnMut(&mut Lruvec)) {
        let mut at = Some(group);
        while let Some(group) = at {
            change(&mut self[group]);
            at = self[group].parent;
        }
    }

    /// Counts pages that were evicted or activated (`workingset_age_nonresident`).
    pub(crate) fn age_nonresident(&mut self, group: usize, pages: u64) {
        self.upwards(group, |lruvec| lruvec.nonresident_age += pages);
    }
}
