//! How this kernel reclaims: what depends on its release, and the tunables that reclaim reads.

use mm::release::is_since;
use mm::units::Nanos;

/// Switches and weights of reclaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// `vm.swappiness`, 0 to 200.
    pub(crate) swappiness: u64,
    /// `vm.page-cluster`: a swap-in reads at most 2 to this power pages.
    pub(crate) page_cluster: u32,
    /// `vm.oom_kill_allocating_task`: the task that finds no memory is the victim.
    pub(crate) oom_kill_allocating_task: bool,
    /// Pages scanned in vain weigh on their kind, and pages written 32 times as much (since 6.2).
    pub(crate) counts_rotations: bool,
    /// kswapd stops at its goal and trims the scan in proportion (since 3.11). Before, it scanned
    /// its whole share of every list, and more of it with every pass.
    pub(crate) kswapd_stops_at_goal: bool,
    /// Proactive reclaim goes for a quarter of what is left at a time (since 6.8).
    pub(crate) reclaims_in_quarters: bool,
    /// `memory.reclaim` knows `swappiness=` (since 6.11).
    pub(crate) reclaim_knows_swappiness: bool,
    /// A device has `bdi/strict_limit` and `max_ratio_fine` (since 6.2).
    pub(crate) limits_devices_strictly: bool,
    /// A direct reclaim that got nothing begins again, with a walk through all groups (since 6.11;
    /// before, each walk goes through all).
    pub(crate) walks_twice: bool,
    /// Reclaim decides by statistics of the control groups that are brought up to date every two
    /// seconds only (`mem_cgroup_flush_stats_ratelimited`, since 6.8).
    pub(crate) stats_lag: bool,
    /// A fault that waited for a page of a file counts once more when it is tried again (until
    /// 6.3).
    pub(crate) counts_retries: bool,
    /// Pages that came back do not speak for reading around a fault (since 6.9).
    pub(crate) doubts_refaults: bool,
    /// Where no page is missing among those looked at behind a mark, the last of them passes for
    /// missing (until 6.17, of which 6.12 has the correction).
    pub(crate) next_miss_is_the_last: bool,
    /// A miss at the mark of a reader's last window or just behind it goes on with the next one,
    /// and so does the mark of another just behind it (until 6.10; since, misses look for what a
    /// sequential reader left, and marks for the first page that is missing).
    pub(crate) misses_follow_windows: bool,
    /// A `read()` notes how far it came when it ends (since 6.11; before, with each page).
    pub(crate) notes_reads_at_their_end: bool,
    /// A run of kswapd that got nothing, and at some priority went for the page cache alone, begins
    /// again without doing so (since 6.10).
    pub(crate) kswapd_retries: bool,
    /// `vm.watermark_boost_factor`, in 1/10000 of a high watermark.
    pub(crate) boost_factor: u64,
    /// The allocator as it was until 6.9: a type takes all free pages of a foreign block, even
    /// where that stays what it is; a batch is counted at once; and a page goes back to the free
    /// ones of its list's type, not of its block's.
    pub(crate) takes_pages_with_the_block: bool,
    /// Pages that come to their lists at a time (`PAGEVEC_SIZE`: 31 since 6.10, 15 before).
    pub(crate) folio_batch: u64,
    /// Reclaim frees the pages of a batch from the last one to the first.
    pub(crate) frees_last_first: bool,
    /// ksmd takes a page's checksum before it looks for an equal one that is merged already, and
    /// leaves one that has changed alone (since 6.11).
    pub(crate) ksm_checks_first: bool,
    /// Unmerging replaces the zero page too, where merging had put it (since 6.6).
    pub(crate) ksm_parts_zero_pages: bool,
    /// Splitting a huge page leaves the zero page in place of its empty pages (since 6.12).
    pub(crate) split_drops_empty_pages: bool,
    /// A dirty file that is not old enough for the flusher's present work is left alone once its
    /// slice is used up (since 6.10).
    pub(crate) leaves_young_files: bool,
    pub(crate) floors: Floors,
    pub(crate) lru_gen: LruGen,
    /// A new generation wakes the flushers (until 6.11); since, batches of nothing but dirty pages
    /// do.
    pub(crate) aging_wakes_flushers: bool,
    /// MGLRU's first walk through page tables neither looks at the accessed bits above them nor
    /// clears these, so that the second goes through them again (since 6.12).
    pub(crate) first_walk_leaves_bits: bool,
    /// The multi-generation LRU as 6.1 has it: kswapd ages in a step of its own, and every group
    /// is visited (the groups' own LRU came with 6.3).
    pub(crate) lru_gen_is_early: bool,
    /// The throttling of writeback lets whatever is written to swap have as much under way as
    /// kswapd (since 6.11; before, kswapd alone).
    pub(crate) hurries_swap: bool,
    /// A page that joins the youngest generation as it is faulted in is not protected from
    /// eviction for having come back: its uses are forgotten (6.12.117 does so, 6.1 does not).
    pub(crate) activation_forgets_uses: bool,
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

impl Default for Rules {
    fn default() -> Self {
        Self {
            swappiness: 60,
            page_cluster: 3,
            oom_kill_allocating_task: false,
            counts_rotations: true,
            kswapd_stops_at_goal: true,
            reclaims_in_quarters: true,
            reclaim_knows_swappiness: true,
            limits_devices_strictly: true,
            walks_twice: true,
            stats_lag: false,
            counts_retries: false,
            doubts_refaults: true,
            next_miss_is_the_last: false,
            misses_follow_windows: false,
            notes_reads_at_their_end: true,
            boost_factor: 15_000,
            takes_pages_with_the_block: false,
            folio_batch: 31,
            frees_last_first: false,
            kswapd_retries: true,
            leaves_young_files: true,
            floors: Floors::default(),
            lru_gen: LruGen::default(),
            ksm_checks_first: true,
            ksm_parts_zero_pages: true,
            split_drops_empty_pages: true,
            aging_wakes_flushers: false,
            first_walk_leaves_bits: true,
            lru_gen_is_early: false,
            hurries_swap: true,
            activation_forgets_uses: true,
        }
    }
}

impl Rules {
    /// Whether global reclaim goes by the groups' own LRU.
    pub(crate) fn has_memcg_lru(&self) -> bool {
        self.lru_gen.enabled && !self.lru_gen_is_early
    }

    /// Those of a kernel with its tunables at their defaults, by its release as `uname -r` says it.
    pub(crate) fn of(release: &str) -> Self {
        Self {
            counts_rotations: is_since(release, 6, 2),
            reclaims_in_quarters: is_since(release, 6, 8),
            reclaim_knows_swappiness: is_since(release, 6, 11),
            limits_devices_strictly: is_since(release, 6, 2),
            walks_twice: is_since(release, 6, 11),
            stats_lag: is_since(release, 6, 8),
            counts_retries: !is_since(release, 6, 4),
            doubts_refaults: is_since(release, 6, 9),
            next_miss_is_the_last: !is_since(release, 6, 12),
            misses_follow_windows: !is_since(release, 6, 11),
            notes_reads_at_their_end: is_since(release, 6, 11),
            takes_pages_with_the_block: !is_since(release, 6, 10),
            folio_batch: if is_since(release, 6, 10) { 31 } else { 15 },
            frees_last_first: !is_since(release, 6, 9),
            kswapd_retries: is_since(release, 6, 10),
            leaves_young_files: is_since(release, 6, 10),
            ksm_checks_first: mm::formula::ksm::checks_first(release),
            ksm_parts_zero_pages: is_since(release, 6, 6),
            split_drops_empty_pages: is_since(release, 6, 12),
            aging_wakes_flushers: !is_since(release, 6, 12),
            first_walk_leaves_bits: is_since(release, 6, 12),
            lru_gen_is_early: !is_since(release, 6, 3),
            hurries_swap: is_since(release, 6, 11),
            activation_forgets_uses: is_since(release, 6, 12),
            ..Self::default()
        }
    }
}
