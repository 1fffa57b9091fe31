//! The names of what the model has a mechanism for, and the kernel's files.

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
pub(super) const PROTECTION: &str = "vm.workingset_protection";
pub(super) const ANON_MIN: &str = "vm.anon_min_ratio";
pub(super) const CLEAN_LOW: &str = "vm.clean_low_ratio";
pub(super) const CLEAN_MIN: &str = "vm.clean_min_ratio";
pub(super) const OVERCOMMIT_HUGEPAGES: &str = "vm.nr_overcommit_hugepages";
pub(super) const NR_HUGEPAGES: &str = "vm.nr_hugepages";
pub(super) const KSWAPD: &str = "model.kswapd";
pub(super) const ADVISOR: &str = "ksm.advisor_mode";

/// What the model has a mechanism for, and the file.
pub(super) const KNOWN: [(&str, &str); 29] = [
    (MIN_FREE, "proc/sys/vm/min_free_kbytes"),
    (SCALE_FACTOR, "proc/sys/vm/watermark_scale_factor"),
    (BOOST_FACTOR, "proc/sys/vm/watermark_boost_factor"),
    (SWAPPINESS, "proc/sys/vm/swappiness"),
    (OVERCOMMIT_HUGEPAGES, "proc/sys/vm/nr_overcommit_hugepages"),
    (NR_HUGEPAGES, "proc/sys/vm/nr_hugepages"),
    (PAGE_CLUSTER, "proc/sys/vm/page-cluster"),
    (DIRTY, "proc/sys/vm/dirty_ratio"),
    (DIRTY_BYTES, "proc/sys/vm/dirty_bytes"),
    (BACKGROUND, "proc/sys/vm/dirty_background_ratio"),
    (BACKGROUND_BYTES, "proc/sys/vm/dirty_background_bytes"),
    (EXPIRE, "proc/sys/vm/dirty_expire_centisecs"),
    (INTERVAL, "proc/sys/vm/dirty_writeback_centisecs"),
    (MGLRU, "sys/kernel/mm/lru_gen/enabled"),
    (MIN_TTL, "sys/kernel/mm/lru_gen/min_ttl_ms"),
    (THP, "sys/kernel/mm/transparent_hugepage/enabled"),
    ("ksm.run", "sys/kernel/mm/ksm/run"),
    ("ksm.pages_to_scan", "sys/kernel/mm/ksm/pages_to_scan"),
    ("ksm.sleep_millisecs", "sys/kernel/mm/ksm/sleep_millisecs"),
    ("ksm.smart_scan", "sys/kernel/mm/ksm/smart_scan"),
    (
        "ksm.merge_across_nodes",
        "sys/kernel/mm/ksm/merge_across_nodes",
    ),
    ("ksm.use_zero_pages", "sys/kernel/mm/ksm/use_zero_pages"),
    ("ksm.max_page_sharing", "sys/kernel/mm/ksm/max_page_sharing"),
    (
        "ksm.stable_node_chains_prune_millisecs",
        "sys/kernel/mm/ksm/stable_node_chains_prune_millisecs",
    ),
    (
        "ksm.advisor_target_scan_time",
        "sys/kernel/mm/ksm/advisor_target_scan_time",
    ),
    ("ksm.advisor_max_cpu", "sys/kernel/mm/ksm/advisor_max_cpu"),
    (
        "ksm.advisor_min_pages_to_scan",
        "sys/kernel/mm/ksm/advisor_min_pages_to_scan",
    ),
    (
        "ksm.advisor_max_pages_to_scan",
        "sys/kernel/mm/ksm/advisor_max_pages_to_scan",
    ),
    (ADVISOR, "sys/kernel/mm/ksm/advisor_mode"),
];

/// What the model has whatever the calibrated kernel lacks, and the value that changes nothing:
/// le9uo's floors, and kswapd as it was before 3.11.
pub(super) const VARIANTS: [(&str, &str); 5] = [
    (PROTECTION, "0"),
    (ANON_MIN, "15"),
    (CLEAN_LOW, "0"),
    (CLEAN_MIN, "15"),
    (KSWAPD, "as calibrated"),
];

/// The value of [`KSWAPD`] that brings the old one back.
pub(super) const OLD_KSWAPD: &str = "before 3.11";
