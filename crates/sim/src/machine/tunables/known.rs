//! The names of what the model has a mechanism for, and the kernel's files.

use mm::catalogue::path_of;
use mm::rules::{OLDER, Older};

pub(super) const MIN_FREE: &str = "vm.min_free_kbytes";
pub(super) const SCALE_FACTOR: &str = "vm.watermark_scale_factor";
pub(super) const BOOST_FACTOR: &str = "vm.watermark_boost_factor";
pub(super) const MGLRU: &str = "lru_gen.enabled";
pub(super) const MIN_TTL: &str = "lru_gen.min_ttl_ms";
pub(super) const THP: &str = "thp.enabled";
pub(super) const DIRTY: &str = "vm.dirty_ratio";
pub(super) const DIRTY_BYTES: &str = "vm.dirty_bytes";
pub(super) const BACKGROUND: &str = "vm.dirty_background_ratio";
pub(super) const BACKGROUND_BYTES: &str = "vm.dirty_background_bytes";
pub(super) const EXPIRE: &str = "vm.dirty_expire_centisecs";
pub(super) const INTERVAL: &str = "vm.dirty_writeback_centisecs";

pub(super) const SWAPPINESS: &str = "vm.swappiness";
pub(super) const PAGE_CLUSTER: &str = "vm.page-cluster";
pub(super) const OOM_KILL_ALLOCATING: &str = "vm.oom_kill_allocating_task";
pub(super) const PROTECTION: &str = "vm.workingset_protection";
pub(super) const ANON_MIN: &str = "vm.anon_min_ratio";
pub(super) const CLEAN_LOW: &str = "vm.clean_low_ratio";
pub(super) const CLEAN_MIN: &str = "vm.clean_min_ratio";
pub(super) const OVERCOMMIT_HUGEPAGES: &str = "vm.nr_overcommit_hugepages";
pub(super) const NR_HUGEPAGES: &str = "vm.nr_hugepages";
pub(super) const ADVISOR: &str = "ksm.advisor_mode";

/// How much of the dentries and inodes that nobody uses a pass of reclaim asks for. The model has
/// none of them: those of a machine that has just booted are 0.1 MiB (a VM with 6.1 or 6.12), and a
/// workload opens a few files. So on this machine it moves `slabs_scanned` on a kernel and no page
/// that a figure could show; `docs/model.md` has the measurement.
pub(super) const CACHE_PRESSURE: &str = "vm.vfs_cache_pressure";
pub(super) const CACHE_PRESSURE_DENOM: &str = "vm.vfs_cache_pressure_denom";

/// What the model has a mechanism for, or on its machine need not have one, and the file.
pub(super) const KNOWN: [(&str, &str); 32] = with_files([
    MIN_FREE,
    SCALE_FACTOR,
    BOOST_FACTOR,
    SWAPPINESS,
    OVERCOMMIT_HUGEPAGES,
    NR_HUGEPAGES,
    PAGE_CLUSTER,
    OOM_KILL_ALLOCATING,
    CACHE_PRESSURE,
    CACHE_PRESSURE_DENOM,
    DIRTY,
    DIRTY_BYTES,
    BACKGROUND,
    BACKGROUND_BYTES,
    EXPIRE,
    INTERVAL,
    MGLRU,
    MIN_TTL,
    THP,
    "ksm.run",
    "ksm.pages_to_scan",
    "ksm.sleep_millisecs",
    "ksm.smart_scan",
    "ksm.merge_across_nodes",
    "ksm.use_zero_pages",
    "ksm.max_page_sharing",
    "ksm.stable_node_chains_prune_millisecs",
    "ksm.advisor_target_scan_time",
    "ksm.advisor_max_cpu",
    "ksm.advisor_min_pages_to_scan",
    "ksm.advisor_max_pages_to_scan",
    ADVISOR,
]);

const fn with_files<const N: usize>(names: [&'static str; N]) -> [(&'static str, &'static str); N] {
    let mut known = [("", ""); N];
    let mut at = 0;
    while at < N {
        known[at] = (names[at], path_of(names[at]));
        at += 1;
    }
    known
}

/// What the model has whatever the calibrated kernel lacks, and the value that changes nothing:
/// le9uo's floors, and parts of the kernel as older releases had them.
pub(super) fn variants() -> impl Iterator<Item = (&'static str, &'static str)> {
    let older = OLDER.iter().map(|older| (older.name, Older::NONE));
    FLOORS.into_iter().chain(older)
}

const FLOORS: [(&str, &str); 4] = [
    (PROTECTION, "0"),
    (ANON_MIN, "15"),
    (CLEAN_LOW, "0"),
    (CLEAN_MIN, "15"),
];
