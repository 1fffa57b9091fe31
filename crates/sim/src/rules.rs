//! How this kernel reclaims: what depends on its release, and the tunables that reclaim reads.

use mm::rules::{Mechanism, Mechanisms};
use mm::units::Nanos;
use scenario::workload::Huge;

/// Switches and weights of reclaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// What the release has.
    pub(crate) mechanisms: Mechanisms,
    /// `vm.swappiness`, 0 to 200.
    pub(crate) swappiness: u64,
    /// `vm.page-cluster`: a swap-in reads at most 2 to this power pages.
    pub(crate) page_cluster: u32,
    pub(crate) huge_pages: HugePages,
    /// `vm.oom_kill_allocating_task`: the task that finds no memory is the victim.
    pub(crate) oom_kill_allocating_task: bool,
    /// `vm.watermark_boost_factor`, in 1/10000 of a high watermark.
    pub(crate) boost_factor: u64,
    pub(crate) floors: Floors,
    pub(crate) lru_gen: LruGen,
}

/// `/sys/kernel/mm/transparent_hugepage/enabled`: when a fault asks for a huge page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HugePages {
    Always,
    Advised,
    Never,
}

/// `/sys/kernel/mm/lru_gen`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LruGen {
    /// Pages are kept in generations.
    pub(crate) enabled: bool,
    /// Aging goes through the page tables.
    pub(crate) walks: bool,
    /// A walk passes over page tables that were not used since it last went by, as the accessed
    /// bits of the entries above them tell.
    pub(crate) looks_above: bool,
    /// `min_ttl_ms`: what was used within this time is kept.
    pub(crate) min_ttl: Nanos,
}

/// le9uo's floors, in percent of the node's memory; all 0 is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Floors {
    /// `vm.anon_min_ratio`: anonymous pages below it are not reclaimed.
    pub(crate) anon_min: u64,
    /// `vm.clean_low_ratio`: below it anonymous pages are reclaimed first.
    pub(crate) clean_low: u64,
    /// `vm.clean_min_ratio`: clean page cache below it is not reclaimed.
    pub(crate) clean_min: u64,
}

impl HugePages {
    /// Whether a fault in a region with this advice asks for one.
    pub(crate) fn are_given(self, advice: Huge) -> bool {
        match self {
            Self::Always => advice != Huge::Never,
            Self::Advised => advice == Huge::Advise,
            Self::Never => false,
        }
    }
}

impl Default for Rules {
    /// Those of the newest kernel, where a reader of the groups' statistics need not wait.
    fn default() -> Self {
        let mut rules = Self::of("newest");
        rules.mechanisms.set(Mechanism::StatsLag, false);
        rules
    }
}

impl Rules {
    /// Whether the kernel has a mechanism.
    pub(crate) fn has(&self, mechanism: Mechanism) -> bool {
        self.mechanisms.has(mechanism)
    }

    /// Whether global reclaim goes by the groups' own LRU.
    pub(crate) fn has_memcg_lru(&self) -> bool {
        self.lru_gen.enabled && !self.has(Mechanism::EarlyLruGen)
    }

    /// Pages that come to their lists, or are read, at a time (`PAGEVEC_SIZE`).
    pub(crate) fn folio_batch(&self) -> u64 {
        match self.has(Mechanism::LargeFolioBatch) {
            true => 31,
            false => 15,
        }
    }

    /// Those of a kernel with its tunables at their defaults, by its release as `uname -r` says it.
    pub(crate) fn of(release: &str) -> Self {
        Self {
            mechanisms: Mechanisms::of(release),
            swappiness: 60,
            page_cluster: 3,
            huge_pages: HugePages::Never,
            oom_kill_allocating_task: false,
            boost_factor: 15_000,
            floors: Floors::default(),
            lru_gen: LruGen::default(),
        }
    }
}
