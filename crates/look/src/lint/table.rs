//! Every rule, by subject.

use super::rule::{Check, Rule, Severity};
use super::rules::{
    actions, containers, daemons, dirty, huge_pages, keys, ksm, loaders, lru_gen, oom, overcommit,
    reclaim, reserve, swap, values, zswap,
};

macro_rules! rule {
    ($name:literal, $severity:ident, $check:expr) => {
        Rule {
            name: $name,
            severity: Severity::$severity,
            page: include_str!(concat!("../../../../docs/rules/", $name, ".md")),
            check: $check,
        }
    };
}

const DIRTY: &[&str] = &[
    "vm.dirty_ratio",
    "vm.dirty_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_background_bytes",
];
const MIN_FREE: &[&str] = &["vm.min_free_kbytes"];
const SWAPPINESS: &[&str] = &["vm.swappiness"];
const OVERCOMMIT: &[&str] = &["vm.overcommit_memory"];
const HUGE_PAGES: &[&str] = &["vm.nr_hugepages"];
const VFS_PRESSURE: &[&str] = &["vm.vfs_cache_pressure"];

/// The rules. Those of one subject follow one another.
pub const RULES: &[Rule] = &[
    // Dirty limits and writeback.
    rule!("dirty-pair", Warning, Check::Whole(dirty::pair)),
    rule!("dirty-bytes-floor", Error, Check::Each(dirty::bytes_floor)),
    rule!(
        "dirty-bytes-tiny",
        Error,
        Check::Standing(&["vm.dirty_bytes"], dirty::bytes_tiny)
    ),
    rule!(
        "dirty-ratio-zero",
        Error,
        Check::Standing(&["vm.dirty_ratio"], dirty::ratio_zero)
    ),
    rule!(
        "dirty-ratio-high",
        Note,
        Check::Standing(&["vm.dirty_ratio"], dirty::ratio_high)
    ),
    rule!(
        "background-tiny",
        Warning,
        Check::Standing(&["vm.dirty_background_bytes"], dirty::background_tiny)
    ),
    rule!(
        "background-not-below",
        Warning,
        Check::Whole(dirty::background_not_below)
    ),
    rule!(
        "flush-too-long",
        Warning,
        Check::Standing(DIRTY, dirty::flush_too_long)
    ),
    rule!(
        "writeback-off",
        Warning,
        Check::Standing(&["vm.dirty_writeback_centisecs"], dirty::writeback_off)
    ),
    rule!(
        "writeback-late",
        Note,
        Check::Standing(&["vm.dirty_writeback_centisecs"], dirty::writeback_late)
    ),
    rule!(
        "dirtytime-off",
        Note,
        Check::Standing(&["vm.dirtytime_expire_seconds"], dirty::dirtytime_off)
    ),
    rule!(
        "expire-long",
        Note,
        Check::Standing(&["vm.dirty_expire_centisecs"], dirty::expire_long)
    ),
    rule!(
        "centisecs-unit",
        Warning,
        Check::Standing(
            &["vm.dirty_expire_centisecs", "vm.dirty_writeback_centisecs"],
            dirty::centisecs_unit
        )
    ),
    rule!(
        "bdi-max-ratio-late",
        Note,
        Check::Each(dirty::max_ratio_late)
    ),
    rule!(
        "dirty-on-zfs",
        Note,
        Check::Standing(&["vm.dirty_ratio", "vm.dirty_bytes"], dirty::on_zfs)
    ),
    // What is held back.
    rule!(
        "min-free-kills",
        Error,
        Check::Standing(MIN_FREE, reserve::min_free_kills)
    ),
    rule!(
        "min-free-share",
        Warning,
        Check::Standing(MIN_FREE, reserve::min_free_share)
    ),
    rule!(
        "min-free-unit",
        Error,
        Check::Standing(MIN_FREE, reserve::min_free_unit)
    ),
    rule!(
        "min-free-tiny",
        Error,
        Check::Standing(MIN_FREE, reserve::min_free_tiny)
    ),
    rule!(
        "min-free-overruled",
        Note,
        Check::Standing(MIN_FREE, reserve::min_free_overruled)
    ),
    rule!("nothing-left", Error, Check::Whole(reserve::nothing_left)),
    rule!(
        "scale-factor-kills",
        Error,
        Check::Standing(&["vm.watermark_scale_factor"], reserve::scale_factor_kills)
    ),
    rule!(
        "scale-factor-unit",
        Warning,
        Check::Standing(&["vm.watermark_scale_factor"], reserve::scale_factor_unit)
    ),
    // Reclaim.
    rule!(
        "swappiness-0-with-swap",
        Warning,
        Check::Standing(SWAPPINESS, swap::zero_with_swap)
    ),
    rule!(
        "swappiness-200",
        Warning,
        Check::Standing(SWAPPINESS, swap::two_hundred)
    ),
    rule!(
        "swappiness-range",
        Error,
        Check::Standing(SWAPPINESS, swap::range)
    ),
    rule!(
        "swappiness-dead",
        Note,
        Check::Standing(SWAPPINESS, swap::dead)
    ),
    rule!("swappiness-percent", Note, Check::Each(swap::percent)),
    rule!(
        "zram-low-swappiness",
        Note,
        Check::Standing(SWAPPINESS, swap::zram_low)
    ),
    rule!(
        "zram-readahead",
        Note,
        Check::Standing(&["vm.page-cluster"], swap::zram_readahead)
    ),
    rule!(
        "page-cluster-large",
        Warning,
        Check::Standing(&["vm.page-cluster"], swap::cluster_large)
    ),
    rule!(
        "vfs-pressure-zero",
        Error,
        Check::Standing(VFS_PRESSURE, reclaim::vfs_zero)
    ),
    rule!(
        "vfs-pressure-low",
        Warning,
        Check::Standing(VFS_PRESSURE, reclaim::vfs_low)
    ),
    rule!(
        "vfs-pressure-high",
        Note,
        Check::Standing(VFS_PRESSURE, reclaim::vfs_high)
    ),
    rule!(
        "zone-reclaim",
        Warning,
        Check::Standing(&["vm.zone_reclaim_mode"], reclaim::zone_reclaim)
    ),
    rule!(
        "zone-reclaim-dead",
        Note,
        Check::Standing(&["vm.zone_reclaim_mode"], reclaim::zone_reclaim_dead)
    ),
    rule!(
        "laptop-mode-dead",
        Warning,
        Check::Standing(&["vm.laptop_mode"], reclaim::laptop_mode)
    ),
    rule!(
        "compaction-extreme",
        Note,
        Check::Standing(
            &["vm.compaction_proactiveness"],
            reclaim::compaction_extreme
        )
    ),
    rule!(
        "min-ttl-long",
        Warning,
        Check::Standing(&["lru_gen.min_ttl_ms"], lru_gen::ttl_long)
    ),
    rule!(
        "min-ttl-dead",
        Warning,
        Check::Standing(&["lru_gen.min_ttl_ms"], lru_gen::ttl_dead)
    ),
    // Promises of memory, and what happens when it runs out.
    rule!(
        "overcommit-below-committed",
        Error,
        Check::Standing(OVERCOMMIT, overcommit::committed)
    ),
    rule!(
        "overcommit-2-default-ratio",
        Warning,
        Check::Standing(OVERCOMMIT, overcommit::default_ratio)
    ),
    rule!(
        "overcommit-2-runtime",
        Note,
        Check::Standing(OVERCOMMIT, overcommit::runtime)
    ),
    rule!(
        "overcommit-ratio-dead",
        Note,
        Check::Standing(
            &["vm.overcommit_ratio", "vm.overcommit_kbytes"],
            overcommit::ratio_dead
        )
    ),
    rule!(
        "panic-on-oom-stays",
        Warning,
        Check::Standing(&["vm.panic_on_oom"], oom::panic_stays)
    ),
    rule!(
        "oom-kills-asking-task",
        Note,
        Check::Standing(&["vm.oom_kill_allocating_task"], oom::asking_task)
    ),
    rule!(
        "max-map-count-kills",
        Error,
        Check::Standing(&["vm.max_map_count"], oom::map_count_kills)
    ),
    rule!(
        "max-map-count-low",
        Warning,
        Check::Standing(&["vm.max_map_count"], oom::map_count_low)
    ),
    rule!(
        "max-map-count-down",
        Warning,
        Check::Whole(oom::map_count_down)
    ),
    // Huge pages.
    rule!(
        "hugepages-beyond-memory",
        Error,
        Check::Standing(HUGE_PAGES, huge_pages::beyond)
    ),
    rule!(
        "hugepages-share",
        Warning,
        Check::Standing(HUGE_PAGES, huge_pages::share)
    ),
    rule!(
        "thp-defrag-always",
        Note,
        Check::Standing(&["thp.defrag"], huge_pages::defrag_always)
    ),
    rule!(
        "thp-always-fork",
        Note,
        Check::Standing(&["thp.enabled"], huge_pages::always_fork)
    ),
    // Merging and compressing.
    rule!(
        "ksm-advisor-locks",
        Error,
        Check::Standing(&["ksm.pages_to_scan"], ksm::advisor_locks)
    ),
    rule!(
        "ksm-unmerge-kills",
        Error,
        Check::Standing(&["ksm.run"], ksm::unmerge_kills)
    ),
    rule!(
        "ksm-no-sleep",
        Warning,
        Check::Standing(&["ksm.sleep_millisecs"], ksm::no_sleep)
    ),
    rule!(
        "ksm-not-running",
        Note,
        Check::Standing(
            &["ksm.pages_to_scan", "ksm.sleep_millisecs"],
            ksm::not_running
        )
    ),
    rule!(
        "zswap-on-zram",
        Warning,
        Check::Standing(&["zswap.enabled"], zswap::on_zram)
    ),
    rule!(
        "zswap-without-swap",
        Note,
        Check::Standing(&["zswap.enabled"], zswap::without_swap)
    ),
    // Keys and values.
    rule!("key-gone", Warning, Check::Each(keys::gone)),
    rule!("key-misspelt", Error, Check::Each(keys::misspelt)),
    rule!("key-unknown", Note, Check::Each(keys::unknown)),
    rule!("key-too-new", Warning, Check::Each(keys::too_new)),
    rule!("key-of-patch", Note, Check::Each(keys::of_patch)),
    rule!("key-with-command", Error, Check::Each(keys::with_command)),
    rule!("sysfs-in-sysctl", Error, Check::Each(keys::sysfs_in_sysctl)),
    rule!("value-refused", Error, Check::Each(values::refused)),
    rule!("value-octal", Error, Check::Each(values::octal)),
    rule!("value-comment", Note, Check::Each(values::comment)),
    rule!(
        "action-as-setting",
        Warning,
        Check::Each(actions::as_setting)
    ),
    // Files and who reads them.
    rule!("line-ignored", Error, Check::Whole(loaders::line_ignored)),
    rule!("set-twice", Warning, Check::Whole(loaders::set_twice)),
    rule!("vendor-wins", Warning, Check::Whole(loaders::vendor_wins)),
    rule!(
        "loaders-differ",
        Note,
        Check::Whole(loaders::loaders_differ)
    ),
    rule!("live-differs", Note, Check::Whole(loaders::live_differs)),
    rule!(
        "sysctl-conf-unread",
        Warning,
        Check::Whole(loaders::sysctl_conf_unread)
    ),
    rule!(
        "name-not-conf",
        Warning,
        Check::Whole(loaders::name_not_conf)
    ),
    rule!(
        "tmpfiles-first-wins",
        Warning,
        Check::Whole(loaders::tmpfiles_first_wins)
    ),
    rule!(
        "sysctl-in-tmpfiles",
        Note,
        Check::Each(loaders::sysctl_in_tmpfiles)
    ),
    rule!("two-writers", Note, Check::Whole(daemons::two_writers)),
    rule!(
        "ksmtuned-overrules",
        Warning,
        Check::Each(daemons::ksmtuned)
    ),
    rule!("vm-in-container", Error, Check::Each(containers::vm_key)),
    // What a file allows.
    rule!("allow-without-reason", Warning, Check::Allowances),
    rule!("allow-unused", Warning, Check::Allowances),
    rule!("allow-unknown", Warning, Check::Allowances),
];

/// The rule of a name.
pub fn find(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.name == name)
}

/// The names of all rules.
pub fn names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.name)
}
