//! Every finding: its name, how bad it is at worst, the facts that it needs, its page, and the rule
//! that looks for it.

use crate::pages::{Entry, Pages};

use super::facts::Looked;
use super::finding::{Answer, Severity};
use super::{capacity, groups, merging, movement, reclaim, reserve, slab, untold, writeback, zram};

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: &'static str,
    /// How much it matters at worst.
    pub(crate) severity: Severity,
    /// The facts without which nothing is said.
    pub(crate) needs: &'static str,
    /// The text of docs/findings/NAME.md.
    pub(crate) page: &'static str,
    /// The rule; `None` for what a kernel log or a series tells.
    pub(super) rule: Option<fn(&Looked<'_>) -> Answer>,
}

macro_rules! row {
    ($name:literal, $severity:ident, $needs:literal, $rule:expr) => {
        Row {
            name: $name,
            severity: Severity::$severity,
            needs: $needs,
            page: include_str!(concat!("../../../../docs/findings/", $name, ".md")),
            rule: $rule,
        }
    };
}

const LOG: &str = "a kernel log";

const PROGRAM: &str = "a program's own words";

macro_rules! log {
    ($name:literal, $severity:ident) => {
        log!($name, $severity, LOG)
    };
    ($name:literal, $severity:ident, $needs:expr) => {
        Row {
            needs: $needs,
            ..row!($name, $severity, "", None)
        }
    };
}

/// The findings; of two that weigh the same the earlier is shown first.
pub(crate) const ROWS: &[Row] = &[
    // What happened, by a kernel log.
    row!(
        "group-limit",
        Critical,
        "a kernel log, or files of control groups",
        Some(groups::at_the_limit)
    ),
    log!("group-kernel-limit", Critical),
    log!("oom-machine", Critical),
    log!("oom-low-zone", Critical),
    log!("oom-cma", Critical),
    log!("oom-highatomic", Critical),
    log!("oom-boost", Critical),
    log!("oom-fragmented", Critical),
    log!("oom-lowmem-reserve", Critical),
    log!("oom-cpuset", Critical),
    log!("oom-policy", Critical),
    log!("oom-sysrq", Critical),
    log!("oom-min-ttl", Critical),
    log!("oom-page-fault", Critical),
    log!("oom-unexplained", Critical),
    log!("evidence-cut", Critical),
    log!("kill-by-user-space", Critical),
    log!("kill-of-container", Critical),
    log!("overcommit-refused", Critical),
    row!(
        "group-pids-limit",
        Warning,
        "a kernel log, or pids.events of control groups",
        Some(groups::at_pids_limit)
    ),
    log!("program-memory-refused", Warning, PROGRAM),
    log!("program-tasks-refused", Warning, PROGRAM),
    log!("program-own-limit", Warning, PROGRAM),
    log!("allocation-failed-order", Warning),
    log!("allocation-failed-atomic", Warning),
    log!("allocation-failed", Warning),
    log!("allocation-stall", Warning),
    log!("vmalloc-failed", Warning),
    log!("slab-failed", Warning),
    log!("cma-failed", Warning),
    log!("signal-unexplained", Note),
    log!("task-stuck", Note),
    log!("program-advice", Note, PROGRAM),
    log!("memory-dump", Note),
    // What happens now.
    row!(
        "group-kills-counted",
        Warning,
        "files of control groups",
        Some(groups::out_of_memory)
    ),
    row!(
        "oom-kills-counted",
        Critical,
        "/proc/vmstat",
        Some(movement::killed)
    ),
    row!(
        "group-throttled",
        Critical,
        "files of control groups",
        Some(groups::at_high)
    ),
    row!(
        "thrashing-anonymous-pages",
        Critical,
        "/proc/vmstat twice, or a series",
        Some(movement::swapping_both_ways)
    ),
    row!(
        "group-protection-starves",
        Critical,
        "files of control groups twice, and MemTotal",
        Some(groups::protection_starves)
    ),
    row!(
        "thrashing-file-pages",
        Critical,
        "/proc/vmstat twice",
        Some(movement::refaults)
    ),
    row!(
        "kswapd-endless",
        Critical,
        "top, or /proc/vmstat",
        Some(reclaim::kswapd)
    ),
    row!(
        "memory-pressure",
        Critical,
        "/proc/pressure/memory, or a series",
        Some(movement::pressure)
    ),
    row!(
        "direct-reclaim",
        Warning,
        "/proc/vmstat and MemTotal, or a series",
        Some(reclaim::direct)
    ),
    row!(
        "writers-throttled",
        Warning,
        "/proc/vmstat and vm.*",
        Some(writeback::writers_wait)
    ),
    row!(
        "flush-backlog",
        Warning,
        "/sys/kernel/debug/bdi and /proc/diskstats, twice",
        Some(writeback::backlog)
    ),
    row!(
        "compaction-storm",
        Warning,
        "/proc/vmstat twice",
        Some(movement::compaction)
    ),
    row!(
        "protection-taken",
        Warning,
        "files of control groups",
        Some(groups::protection_taken)
    ),
    // How full the machine is, and of what.
    row!(
        "zram-full",
        Critical,
        "/proc/swaps, SwapTotal and SwapFree",
        Some(zram::full)
    ),
    row!(
        "swap-full",
        Critical,
        "SwapTotal and SwapFree",
        Some(capacity::swap_full)
    ),
    row!(
        "zram-holds",
        Critical,
        "mm_stat of zram, Zswap or nr_zspages, and MemTotal",
        Some(zram::holds)
    ),
    row!(
        "available-low",
        Critical,
        "MemTotal and MemAvailable",
        Some(capacity::available)
    ),
    row!(
        "swap-not-used",
        Warning,
        "vm.swappiness, SwapFree and MemAvailable",
        Some(capacity::swap_not_used)
    ),
    row!(
        "commit-limit",
        Critical,
        "vm.overcommit_memory, CommitLimit and Committed_AS",
        Some(capacity::commit_limit)
    ),
    row!(
        "node-below-low",
        Critical,
        "/proc/zoneinfo",
        Some(reserve::node_short)
    ),
    row!(
        "free-is-cma",
        Warning,
        "/proc/zoneinfo, or the zones of a kernel log",
        Some(reserve::free_is_cma)
    ),
    row!(
        "min-free-raised",
        Critical,
        "/proc/zoneinfo and vm.min_free_kbytes",
        Some(reserve::raised)
    ),
    row!(
        "balloon-inflated",
        Warning,
        "Balloon in meminfo (6.16), vmstat, or vmware-toolbox-cmd",
        Some(capacity::balloon)
    ),
    row!(
        "memory-in-no-line",
        Warning,
        "all large lines of /proc/meminfo, or a whole Mem-Info",
        Some(untold::in_no_line)
    ),
    row!(
        "slab-cache-large",
        Warning,
        "slabtop, /proc/slabinfo, or the table in a kernel log",
        Some(slab::one_cache)
    ),
    row!(
        "slab-unreclaimable-large",
        Warning,
        "SUnreclaim",
        Some(slab::unreclaimable)
    ),
    row!(
        "huge-pages-idle",
        Warning,
        "HugePages_Free, HugePages_Rsvd and Hugepagesize, or a kernel log",
        Some(capacity::idle_huge_pages)
    ),
    row!(
        "anonymous-not-mapped",
        Warning,
        "the anonymous lists, AnonPages, Shmem and SwapCached",
        Some(capacity::unmapped)
    ),
    row!(
        "page-tables-large",
        Warning,
        "PageTables",
        Some(capacity::page_tables)
    ),
    row!(
        "kernel-stacks-large",
        Warning,
        "KernelStack",
        Some(capacity::stacks)
    ),
    row!(
        "vmalloc-large",
        Warning,
        "VmallocUsed, KernelStack and the release",
        Some(capacity::vmalloc)
    ),
    row!(
        "node-imbalance",
        Warning,
        "/proc/zoneinfo, or meminfo of the nodes",
        Some(reserve::node_imbalance)
    ),
    row!(
        "zone-reclaim",
        Warning,
        "/proc/zoneinfo and vm.zone_reclaim_mode",
        Some(reserve::zone_reclaim)
    ),
    row!(
        "io-pressure",
        Note,
        "/proc/pressure/io",
        Some(movement::io_pressure)
    ),
    row!(
        "slab-reclaimable-large",
        Note,
        "SReclaimable",
        Some(slab::reclaimable)
    ),
    log!("zfs-cache-large", Note, "arcstats of ZFS, and MemTotal"),
    row!("shared-memory-large", Note, "Shmem", Some(capacity::shared)),
    row!(
        "memory-locked",
        Note,
        "Unevictable and MemTotal",
        Some(capacity::locked)
    ),
    row!(
        "fragmented",
        Note,
        "/proc/buddyinfo",
        Some(reserve::fragmented)
    ),
    row!(
        "watermark-boost",
        Note,
        "/proc/zoneinfo",
        Some(reserve::boosted)
    ),
    row!("ksm-idle", Note, "KSM's counters", Some(merging::idle)),
    row!(
        "ksm-at-loss",
        Note,
        "KSM's general_profit",
        Some(merging::at_a_loss)
    ),
];

/// The row of a name.
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// The place of a row: what weighs the same is shown in this order.
pub(super) fn place(name: &str) -> usize {
    let at = ROWS.iter().position(|row| row.name == name);
    at.map_or(ROWS.len(), |at| at)
}

impl Row {
    /// Its page.
    pub(crate) fn entry(&self) -> Entry {
        Entry {
            name: self.name,
            severity: self.severity.word(),
            page: self.page,
            needs: Some(self.needs),
        }
    }
}

/// The pages of all findings.
pub fn pages() -> Pages {
    Pages {
        what: "finding",
        list: "plimsoll inspect --explain",
        entries: ROWS.iter().map(Row::entry).collect(),
    }
}
