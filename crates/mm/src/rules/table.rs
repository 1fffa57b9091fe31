//! The rows.

use super::{Balance, Mechanism, Print, Row, Rule};
use crate::formula::available::Rule as Available;
use crate::formula::dirty::{DirtyableRule as Dirtyable, PercentRule as Percent};
use crate::formula::reserve::Rule as Reserve;
use crate::formula::watermarks::Steps;
use crate::release::{Span, Version};

const fn row(rule: Rule, from: Version, to: Version, source: &'static str) -> Row {
    let releases = Span { from, to };
    Row {
        rule,
        releases,
        source,
    }
}

const fn does(mechanism: Mechanism, from: Version, to: Version, source: &'static str) -> Row {
    row(Rule::Does(mechanism), from, to, source)
}

const FIRST: Version = Version::FIRST;
const LAST: Version = Version::LAST;

const fn v(major: u32, minor: u32) -> Version {
    Version::first(major, minor)
}

const fn to(major: u32, minor: u32) -> Version {
    Version::last(major, minor)
}

/// Every rule, those of one subject from the oldest to the newest.
pub const TABLE: &[Row] = &[
    row(
        Rule::Steps(Steps::Quarters),
        FIRST,
        to(4, 5),
        "setup_per_zone_wmarks",
    ),
    row(
        Rule::Steps(Steps::Scaled),
        v(4, 6),
        LAST,
        "vm.watermark_scale_factor, 4.6",
    ),
    row(
        Rule::Available(Available::LowMarks),
        FIRST,
        to(4, 4),
        "si_mem_available, 3.14",
    ),
    row(
        Rule::Available(Available::Reserve),
        v(4, 5),
        to(4, 16),
        "totalreserve_pages, 4.5",
    ),
    row(
        Rule::Available(Available::Nameless),
        v(4, 17),
        to(4, 19),
        "nr_indirectly_reclaimable, 4.17",
    ),
    row(
        Rule::Available(Available::Reserve),
        v(4, 20),
        LAST,
        "nr_kernel_misc_reclaimable, 4.20",
    ),
    row(
        Rule::Dirtyable(Dirtyable::WithAnonymous),
        FIRST,
        to(3, 2),
        "determine_dirtyable_memory",
    ),
    row(
        Rule::Dirtyable(Dirtyable::WithAnonymousBeyondReserve),
        v(3, 3),
        to(3, 13),
        "dirty_balance_reserve, 3.3",
    ),
    row(
        Rule::Dirtyable(Dirtyable::FileBeyondReserve),
        v(3, 14),
        LAST,
        "global_dirtyable_memory, 3.14",
    ),
    row(
        Rule::Percent(Percent::Hundredths),
        FIRST,
        to(4, 6),
        "domain_dirty_limits",
    ),
    row(
        Rule::Percent(Percent::OfPageSize),
        v(4, 7),
        LAST,
        "domain_dirty_limits, 4.7",
    ),
    row(
        Rule::Reserve(Reserve::EmptyZonesToo),
        FIRST,
        to(5, 7),
        "setup_per_zone_lowmem_reserve",
    ),
    row(
        Rule::Reserve(Reserve::SkippedZonesUncounted),
        v(5, 8),
        Version(5, 10, 49),
        "clear out zone->lowmem_reserve[] if the zone is empty, 5.8",
    ),
    row(
        Rule::Reserve(Reserve::AllZonesCounted),
        Version(5, 10, 50),
        LAST,
        "setup_per_zone_lowmem_reserve, 5.11 and 5.10.50",
    ),
    row(
        Rule::Balance(Balance::EveryZone),
        FIRST,
        to(4, 7),
        "pgdat_balanced",
    ),
    row(
        Rule::Balance(Balance::AnyZone),
        v(4, 8),
        LAST,
        "pgdat_balanced, 4.8",
    ),
    row(
        Rule::Prints(Print::NoManaged),
        FIRST,
        to(3, 7),
        "managed_pages, 3.8",
    ),
    row(
        Rule::Prints(Print::ListsOfZones),
        FIRST,
        to(4, 7),
        "per-node LRU, 4.8",
    ),
    row(
        Rule::Prints(Print::Nameless),
        v(4, 17),
        to(4, 19),
        "nr_indirectly_reclaimable",
    ),
    row(
        Rule::Prints(Print::NoEmptyZones),
        FIRST,
        to(4, 12),
        "zoneinfo_show_print, 4.13",
    ),
    row(
        Rule::Prints(Print::NoBoost),
        FIRST,
        to(4, 20),
        "watermark_boost, 5.0",
    ),
    row(
        Rule::Prints(Print::HiddenBoost),
        v(5, 0),
        to(5, 15),
        "watermark_boost, 5.0",
    ),
    row(
        Rule::Prints(Print::PrintedBoost),
        v(5, 16),
        LAST,
        "zoneinfo_show_print, 5.16",
    ),
    row(
        Rule::Prints(Print::NoAvailable),
        FIRST,
        to(3, 13),
        "si_mem_available, 3.14",
    ),
    row(
        Rule::Prints(Print::NoHugetlb),
        FIRST,
        to(4, 15),
        "hugetlb_report_meminfo, 4.16",
    ),
    row(
        Rule::Prints(Print::NoVmalloc),
        v(4, 4),
        to(5, 2),
        "meminfo_proc_show, 4.4 and 5.3",
    ),
    row(
        Rule::Prints(Print::SmallLargestRoot),
        FIRST,
        to(5, 7),
        "calculate_min_free_kbytes, 5.8",
    ),
    row(
        Rule::Prints(Print::Unstable),
        FIRST,
        to(5, 7),
        "NR_UNSTABLE_NFS, discarded in 5.8",
    ),
    does(
        Mechanism::KswapdStopsAtGoal,
        v(3, 11),
        LAST,
        "kswapd_shrink_node, 3.11",
    ),
    does(
        Mechanism::SparesAnonAtZero,
        v(3, 5),
        LAST,
        "avoid swapping out with swappiness==0, 3.5",
    ),
    does(
        Mechanism::SparesAnonBesideCache,
        v(3, 8),
        LAST,
        "only evict file pages when we have plenty, 3.8",
    ),
    does(
        Mechanism::ActivatesDirtyFiles,
        v(4, 11),
        LAST,
        "move dirty pages out of the way until they're flushed, 4.11",
    ),
    does(
        Mechanism::WeighsByCost,
        v(5, 8),
        LAST,
        "balance LRU lists based on relative thrashing, 5.8",
    ),
    does(
        Mechanism::AnonBeginsInactive,
        v(5, 9),
        LAST,
        "protect the workingset on anonymous LRU, 5.9",
    ),
    does(
        Mechanism::StallsWhileReclaiming,
        v(5, 13),
        LAST,
        "psi_group_change, 5.13",
    ),
    does(
        Mechanism::LargePcp,
        v(5, 14),
        LAST,
        "disassociate the pcp->high from pcp->batch, 5.14",
    ),
    does(
        Mechanism::StatsInBatches,
        v(4, 16),
        to(5, 14),
        "__mod_memcg_lruvec_state; rstat since 5.15",
    ),
    does(
        Mechanism::StallsAtColdSwapIns,
        v(5, 5),
        to(5, 17),
        "fix psi memory pressure error on swapins, 5.18",
    ),
    does(
        Mechanism::WaitsUntilWritten,
        v(5, 16),
        LAST,
        "reclaim_throttle, 5.16",
    ),
    does(
        Mechanism::CountsRotations,
        v(6, 2),
        LAST,
        "lru_note_cost, 6.2",
    ),
    does(
        Mechanism::StrictDeviceLimits,
        v(6, 2),
        LAST,
        "bdi/strict_limit, 6.2",
    ),
    does(
        Mechanism::EarlyLruGen,
        FIRST,
        to(6, 2),
        "the groups' own LRU, 6.3",
    ),
    does(
        Mechanism::CountsRetriedFaults,
        FIRST,
        to(6, 3),
        "filemap_fault, 6.4",
    ),
    does(
        Mechanism::UnmergesZeroPages,
        v(6, 6),
        LAST,
        "break_ksm, 6.6",
    ),
    does(
        Mechanism::ProactiveInQuarters,
        v(6, 8),
        LAST,
        "memory_reclaim, 6.8",
    ),
    does(
        Mechanism::StatsLag,
        v(6, 8),
        LAST,
        "mem_cgroup_flush_stats_ratelimited, 6.8",
    ),
    does(
        Mechanism::FreesLastFirst,
        FIRST,
        to(6, 8),
        "free_unref_folios, 6.9",
    ),
    does(
        Mechanism::DoubtsRefaults,
        v(6, 9),
        LAST,
        "do_sync_mmap_readahead, 6.9",
    ),
    does(
        Mechanism::KswapdRetries,
        v(6, 10),
        LAST,
        "balance_pgdat, 6.10",
    ),
    does(
        Mechanism::TakesPagesWithTheBlock,
        FIRST,
        to(6, 9),
        "steal_suitable_fallback, 6.10",
    ),
    does(
        Mechanism::LargeFolioBatch,
        v(6, 10),
        LAST,
        "PAGEVEC_SIZE, 6.10",
    ),
    does(
        Mechanism::LeavesYoungFiles,
        v(6, 10),
        LAST,
        "writeback_sb_inodes, 6.10",
    ),
    does(
        Mechanism::ReclaimTakesSwappiness,
        v(6, 11),
        LAST,
        "memory_reclaim, 6.11",
    ),
    does(
        Mechanism::WalksTwice,
        v(6, 11),
        LAST,
        "do_try_to_free_pages, 6.11",
    ),
    does(
        Mechanism::MissesFollowWindows,
        FIRST,
        to(6, 10),
        "page_cache_sync_ra, 6.11",
    ),
    does(
        Mechanism::NotesReadsAtTheirEnd,
        v(6, 11),
        LAST,
        "filemap_read, 6.11",
    ),
    does(
        Mechanism::KsmChecksFirst,
        v(6, 11),
        LAST,
        "cmp_and_merge_page, 6.11",
    ),
    does(Mechanism::HurriesSwap, v(6, 11), LAST, "wbt_limit, 6.11"),
    does(
        Mechanism::RotationalReadsFar,
        v(6, 17),
        LAST,
        "blk_apply_bdi_limits, 6.17",
    ),
    does(
        Mechanism::NextMissIsTheLast,
        FIRST,
        to(6, 11),
        "page_cache_next_miss, 6.17 and 6.12",
    ),
    does(
        Mechanism::SplitDropsEmptyPages,
        v(6, 12),
        LAST,
        "split_huge_page_to_list_to_order, 6.12",
    ),
    does(
        Mechanism::AgingWakesFlushers,
        FIRST,
        to(6, 11),
        "try_to_inc_max_seq, 6.12",
    ),
    does(
        Mechanism::FirstWalkLeavesBits,
        v(6, 12),
        LAST,
        "walk_pmd_range, 6.12",
    ),
    does(
        Mechanism::ActivationForgetsUses,
        v(6, 12),
        LAST,
        "folio_activate, 6.12",
    ),
    does(Mechanism::TunedPcp, v(6, 7), LAST, "pcp->high_min, 6.7"),
    does(
        Mechanism::EarliestDeadline,
        v(6, 6),
        LAST,
        "pick_eevdf, 6.6",
    ),
    does(
        Mechanism::DelayedDequeue,
        v(6, 12),
        LAST,
        "DELAY_DEQUEUE, 6.12",
    ),
];
