//! Which files may be read, and why reading each changes nothing.
//!
//! Reading a kernel file runs kernel code, and some of it acts: reading `vm.lowmem_reserve_ratio`
//! computes the lowmem reserves again, on every kernel. So what looks at a machine reads the files
//! of [`READABLE`] and no other, whatever else a kernel has; [`Root::look`] holds it to that. What
//! a row says was looked up in the kernel's source from 2.6.32 on. [`ACTING`] are the files that
//! have something to say and act when they are read: they are left out, and a capture notes it.
//!
//! "Changes nothing" has two edges. Some files bring a sum up to date that the kernel keeps in
//! parts (pressure averages, control group counters, busy time of a disk): the kernel does the same
//! by itself within seconds, and no figure becomes another one. And each read takes CPU time and,
//! for the buffer, memory, as `cat` does.
//!
//! [`Root::look`]: crate::Root::look

use mm::catalogue::{folder, path_of};

/// Why a file that acts when it is read is not in a capture, as its note says it.
pub const READING_ACTS: &str = "left out: reading it changes the machine";

/// Files of one folder that may be read, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readable {
    /// The folder, without the leading slash. `*` stands for one name, a `**` at the end for any
    /// number of them.
    pub folder: &'static str,
    /// The files' names.
    pub names: &'static [&'static str],
    /// What the kernel does when one is read.
    pub why: &'static str,
}

/// A file that acts when it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acting {
    /// Its path, without the leading slash.
    pub path: &'static str,
    /// The first release (major, minor) on which it can be read without effect, where there is one.
    pub harmless_from: Option<(u32, u32)>,
    /// What reading it does.
    pub effect: &'static str,
}

const PRINTS: &str = "prints values that are there";
const SUMS: &str = "adds up counters of each CPU and prints the sum; the counters stay";
const WALKS: &str = "counts under the zone's lock, which it holds for microseconds";
const AVERAGES: &str = "brings the averages up to date, as the kernel does every 2 s while tasks \
    stall; opened for writing it would set a trigger";
const HANDLER: &str = "a sysctl whose handler acts on a write only, or has none of its own";
const FLUSHES: &str = "folds counters of each CPU into the group's, as the kernel does every 2 s";

const fn row(folder: &'static str, names: &'static [&'static str], why: &'static str) -> Readable {
    Readable { folder, names, why }
}

/// Every file that may be read by what looks at a machine.
pub const READABLE: &[Readable] = &[
    row("proc", &["meminfo", "vmstat", "stat"], SUMS),
    row("proc", &["zoneinfo", "buddyinfo"], WALKS),
    row("proc", &["cmdline", "swaps", "uptime"], PRINTS),
    row(
        "proc",
        &["diskstats"],
        "prints counters; before 5.0 and since 5.12 it first brings the busy time of a disk with \
         requests up to now, as the end of a request does",
    ),
    row(
        "proc",
        &["cpuinfo"],
        "prints; from 4.15 to 5.17 it asks every CPU for its clock rate, which wakes idle ones: \
         read only where cpu/modalias is missing, as it is on other machines than x86",
    ),
    row("proc/self", &["cgroup", "mountinfo", "mounts"], PRINTS),
    row("proc/pressure", &["memory", "io", "cpu"], AVERAGES),
    row("proc/sys/fs", &["inode-nr"], SUMS),
    row("proc/sys/kernel", &["osrelease", "numa_balancing"], PRINTS),
    row(folder::VM, SYSCTLS, HANDLER),
    row(
        folder::VM,
        &["dirty_writeback_centisecs"],
        "prints; before 3.7 its handler starts a timer again (left out there)",
    ),
    row("sys/devices/system/node", &["online"], PRINTS),
    row("sys/devices/system/cpu", &["modalias"], PRINTS),
    row(folder::KSM, KSM, PRINTS),
    row(folder::LRU_GEN, &["enabled", "min_ttl_ms"], PRINTS),
    row(folder::NUMA, &["demotion_enabled"], PRINTS),
    row(folder::SWAP, &["vma_ra_enabled"], PRINTS),
    row(folder::THP, THP, PRINTS),
    row(folder::THP_EACH, &["enabled", "shmem_enabled"], PRINTS),
    row(folder::KHUGEPAGED, KHUGEPAGED, PRINTS),
    row(
        folder::HUGEPAGES_EACH,
        &[
            "nr_hugepages",
            "nr_overcommit_hugepages",
            "free_hugepages",
            "resv_hugepages",
        ],
        PRINTS,
    ),
    row(folder::ZSWAP, ZSWAP, PRINTS),
    row(
        "sys/block/*",
        &["size", "dev", "disksize", "comp_algorithm"],
        PRINTS,
    ),
    row(
        "sys/block/*",
        &["mm_stat"],
        "adds up what zram's pool holds in each class",
    ),
    row("sys/block/*/queue", QUEUE, PRINTS),
    row("sys/block/*/bdi", BDI, PRINTS),
    row("sys/class/bdi/*", BDI, PRINTS),
    row(
        "sys/kernel/debug",
        &["bdi"],
        "a folder: opened to see whether it may be looked into",
    ),
    row(
        "sys/kernel/debug/bdi/*",
        &["stats"],
        "counts inodes under the list's lock; the aging of the device's share is caught up with, \
         as the next written page does",
    ),
    row(
        "sys/kernel/debug",
        &["lru_gen"],
        "walks groups and generations and prints their sizes; only a write ages or evicts",
    ),
    row("sys/fs/cgroup/**", CGROUP, PRINTS),
    row("sys/fs/cgroup/**", CGROUP_SUMS, FLUSHES),
    row("sys/fs/cgroup/**", &["memory.pressure"], AVERAGES),
];

/// Sysctls that are plain numbers when read. Each handler was looked at: none acts without a write.
const SYSCTLS: &[&str] = &[
    "admin_reserve_kbytes",
    "anon_min_kbytes",
    "anon_min_ratio",
    "block_dump",
    "clean_low_kbytes",
    "clean_low_ratio",
    "clean_min_kbytes",
    "clean_min_ratio",
    "compact_unevictable_allowed",
    "compaction_proactiveness",
    "defrag_mode",
    "dirty_background_bytes",
    "dirty_background_ratio",
    "dirty_bytes",
    "dirty_expire_centisecs",
    "dirty_ratio",
    "dirtytime_expire_seconds",
    "enable_soft_offline",
    "extfrag_threshold",
    "extra_free_kbytes",
    "highmem_is_dirtyable",
    "hugetlb_optimize_vmemmap",
    "hugetlb_shm_group",
    "laptop_mode",
    "legacy_va_layout",
    "max_map_count",
    "mem_profiling",
    "memfd_noexec",
    "memory_failure_early_kill",
    "memory_failure_recovery",
    "min_free_kbytes",
    "movable_gigantic_pages",
    "nr_hugepages",
    "nr_hugepages_mempolicy",
    "nr_overcommit_hugepages",
    "numa_stat",
    "numa_zonelist_order",
    "oom_dump_tasks",
    "oom_kill_allocating_task",
    "overcommit_kbytes",
    "overcommit_memory",
    "overcommit_ratio",
    "page-cluster",
    "page_lock_unfairness",
    "pagecache_limit_ignore_dirty",
    "pagecache_limit_mb",
    "panic_on_oom",
    "percpu_pagelist_fraction",
    "percpu_pagelist_high_fraction",
    "stat_interval",
    "swappiness",
    "unprivileged_userfaultfd",
    "user_reserve_kbytes",
    "vfs_cache_pressure",
    "vfs_cache_pressure_denom",
    "watermark_boost_factor",
    "watermark_scale_factor",
    "workingset_protection",
    "zone_reclaim_mode",
];

const KSM: &[&str] = &[
    "advisor_max_cpu",
    "advisor_max_pages_to_scan",
    "advisor_min_pages_to_scan",
    "advisor_mode",
    "advisor_target_scan_time",
    "full_scans",
    "general_profit",
    "ksm_zero_pages",
    "max_page_sharing",
    "merge_across_nodes",
    "pages_scanned",
    "pages_shared",
    "pages_sharing",
    "pages_skipped",
    "pages_to_scan",
    "pages_unshared",
    "pages_volatile",
    "run",
    "sleep_millisecs",
    "smart_scan",
    "stable_node_chains",
    "stable_node_chains_prune_millisecs",
    "stable_node_dups",
    "use_zero_pages",
];

const THP: &[&str] = &[
    "defrag",
    "enabled",
    "hpage_pmd_size",
    "shmem_enabled",
    "shrink_underused",
    "use_zero_page",
];

const KHUGEPAGED: &[&str] = &[
    "alloc_sleep_millisecs",
    "defrag",
    "full_scans",
    "max_ptes_none",
    "max_ptes_shared",
    "max_ptes_swap",
    "pages_collapsed",
    "pages_to_scan",
    "scan_sleep_millisecs",
];

const ZSWAP: &[&str] = &[
    "accept_threshold_percent",
    "compressor",
    "enabled",
    "exclusive_loads",
    "max_pool_percent",
    "non_same_filled_pages_enabled",
    "same_filled_pages_enabled",
    "shrinker_enabled",
    "zpool",
];

const QUEUE: &[&str] = &[
    "nr_requests",
    "read_ahead_kb",
    "rotational",
    "scheduler",
    "write_cache",
];

const BDI: &[&str] = &[
    "max_bytes",
    "max_ratio",
    "max_ratio_fine",
    "min_bytes",
    "min_ratio",
    "min_ratio_fine",
    "read_ahead_kb",
    "strict_limit",
];

/// Files of a group that print a number or a list; `memory.peak` and `memory.max_usage_in_bytes`
/// are reset by a write only.
const CGROUP: &[&str] = &[
    "cgroup.controllers",
    "memory.current",
    "memory.events",
    "memory.failcnt",
    "memory.high",
    "memory.limit_in_bytes",
    "memory.low",
    "memory.max",
    "memory.max_usage_in_bytes",
    "memory.memsw.limit_in_bytes",
    "memory.min",
    "memory.oom_control",
    "memory.peak",
    "memory.soft_limit_in_bytes",
    "memory.swap.current",
    "memory.swap.max",
    "memory.swappiness",
    "memory.zswap.max",
    "pids.events",
    "pids.max",
];

/// Files of a group that are sums over CPUs.
const CGROUP_SUMS: &[&str] = &[
    "memory.stat",
    "memory.usage_in_bytes",
    "memory.zswap.current",
];

/// Files that hold something worth knowing and act when they are read.
pub const ACTING: &[Acting] = &[
    Acting {
        path: path_of("vm.lowmem_reserve_ratio"),
        harmless_from: None,
        effect: "computes the lowmem reserves again from what the zones manage now, and with them \
            what MemAvailable and the dirty thresholds leave out \
            (lowmem_reserve_ratio_sysctl_handler)",
    },
    Acting {
        path: path_of("vm.min_unmapped_ratio"),
        harmless_from: None,
        effect: "computes again from how many unmapped pages on a node reclaims its own \
            (sysctl_min_unmapped_ratio_sysctl_handler)",
    },
    Acting {
        path: path_of("vm.min_slab_ratio"),
        harmless_from: None,
        effect: "computes again from how many slab pages on a node reclaims its own \
            (sysctl_min_slab_ratio_sysctl_handler)",
    },
    Acting {
        path: path_of("vm.dirty_writeback_centisecs"),
        harmless_from: Some((3, 7)),
        effect: "starts the timer of the superblocks again, so that reading it often puts their \
            writing off (bdi_arm_supers_timer)",
    },
];

/// Whether what looks at a machine may read this file.
#[must_use]
pub fn may_read(path: &str) -> bool {
    readable(path).is_some()
}

/// Whether this file has something to say: it may be read, or acts when it is read.
#[must_use]
pub fn is_known(path: &str) -> bool {
    may_read(path) || ACTING.iter().any(|acting| acting.path == path)
}

/// The row that lets this file be read.
#[must_use]
pub fn readable(path: &str) -> Option<&'static Readable> {
    let (folder, name) = path.rsplit_once('/')?;
    let mut rows = READABLE.iter();
    rows.find(|row| row.names.contains(&name) && matches(row.folder, folder))
}

/// What reading a file does on a kernel of this release (`proc/sys/kernel/osrelease`), where it
/// acts. A release that is not understood counts as an old one.
#[must_use]
pub fn acts(path: &str, release: &str) -> Option<&'static Acting> {
    let acting = ACTING.iter().find(|acting| acting.path == path)?;
    let harmless = acting.harmless_from.zip(major_minor(release));
    let harmless = harmless.is_some_and(|(from, release)| release >= from);
    (!harmless).then_some(acting)
}

/// The first two numbers of a release, `6.12` of `6.12.3-amd64`.
fn major_minor(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.trim().split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next()?.parse().ok();
    Some((number()?, number()?))
}

/// Whether a folder is the one that a row names.
fn matches(pattern: &str, folder: &str) -> bool {
    if let Some(above) = pattern.strip_suffix("/**") {
        let below = folder.strip_prefix(above);
        return below.is_some_and(|below| below.is_empty() || below.starts_with('/'));
    }
    if !pattern.contains('*') {
        return pattern == folder;
    }
    let mut names = folder.split('/');
    let same = |pattern: &str| {
        let name = names.next();
        name.is_some_and(|name| pattern == "*" || pattern == name)
    };
    pattern.split('/').all(same) && names.next().is_none()
}

#[cfg(test)]
mod tests;
