//! The names of findings: what can be said of a machine's memory, one name for one thing.
//!
//! `inspect` gives each finding one of these names, and the lab of causes judges by them. A name
//! says what is the case and never how it was found: a control group at its limit is `group-limit`
//! by a kernel log and by the group's files.

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// What happened once: a kill, a refusal, a dump.
    Event,
    /// Why: it has to be concluded, and may be concluded wrongly.
    Cause,
    /// How things stand: one number against a line.
    State,
    /// What the evidence cannot tell.
    Limit,
}

/// A name in kebab-case, and what is the case.
pub type Named = (&'static str, &'static str);

/// Every name, by kind.
pub const NAMES: &[(Kind, &[Named])] = &[
    (Kind::Event, EVENTS),
    (Kind::Cause, CAUSES),
    (Kind::State, STATES),
    (Kind::Limit, LIMITS),
];

/// The kind of a name.
#[must_use]
pub fn kind(name: &str) -> Option<Kind> {
    let has = |rows: &[Named]| rows.iter().any(|row| row.0 == name);
    let rows = NAMES.iter().find(|(_, rows)| has(rows))?;
    Some(rows.0)
}

/// Kills and refusals, by what refused.
const EVENTS: &[Named] = &[
    (
        "oom-machine",
        "killed: no zone that the request may use had enough",
    ),
    (
        "oom-fragmented",
        "killed: enough pages were free, and no block of the order",
    ),
    (
        "oom-low-zone",
        "killed: only lower zones may serve the request, and they were short",
    ),
    (
        "oom-lowmem-reserve",
        "killed: a lower zone keeps what is free from this request",
    ),
    (
        "oom-cma",
        "killed: what is free is CMA, which the request may not use",
    ),
    (
        "oom-highatomic",
        "killed: what is free is kept for atomic requests",
    ),
    (
        "oom-boost",
        "killed: a watermark boost raised the mark above what is free",
    ),
    ("oom-cpuset", "killed: the nodes of a cpuset had none"),
    (
        "oom-policy",
        "killed: the nodes of a memory policy had none",
    ),
    ("oom-min-ttl", "killed for lru_gen/min_ttl_ms"),
    ("oom-sysrq", "killed because SysRq f asked for it"),
    (
        "oom-page-fault",
        "killed at the end of a page fault; what refused is not told",
    ),
    (
        "oom-unexplained",
        "killed, and the report does not show what refused",
    ),
    (
        "group-limit",
        "a control group is at memory.max: charges are refused, or killed for",
    ),
    (
        "group-oom-together",
        "memory.oom.group: all of a group was killed at once",
    ),
    (
        "group-pids-limit",
        "fork is refused at a control group's pids.max",
    ),
    (
        "group-kernel-limit",
        "a control group's limit of kernel memory (v1) refused",
    ),
    (
        "group-charge-refused",
        "a charge was refused at a group's limit, nothing was killed",
    ),
    (
        "allocation-failed-atomic",
        "a request that may not wait found no page above its mark",
    ),
    (
        "allocation-failed-order",
        "a request for pages in one piece found no such block",
    ),
    (
        "allocation-failed",
        "a request was refused and nothing was killed",
    ),
    (
        "allocation-stall",
        "a request waited long in reclaim, nothing was killed",
    ),
    ("cma-failed", "CMA found no run of pages"),
    ("vmalloc-failed", "vmalloc got no pages or no address space"),
    ("slab-failed", "a slab cache could not grow"),
    (
        "overcommit-refused",
        "the kernel refused to promise memory (vm.overcommit_memory)",
    ),
    (
        "program-memory-refused",
        "a program says that a mapping or a fork was refused for memory",
    ),
    (
        "program-tasks-refused",
        "a program says that a fork or a thread was refused, EAGAIN",
    ),
    (
        "program-own-limit",
        "a program reached a limit of its own, and not the kernel's",
    ),
    (
        "program-advice",
        "a program warns of a setting, and nothing was refused",
    ),
    (
        "address-space-limit",
        "a process ran into its own limit (ulimit -v, RLIMIT_AS)",
    ),
    (
        "kill-by-user-space",
        "systemd-oomd, earlyoom, the kubelet or the like killed",
    ),
    (
        "kill-of-container",
        "a runtime says OOMKilled; whose limit is not told",
    ),
    (
        "signal-unexplained",
        "ended by SIGKILL; nothing tells that it was for memory",
    ),
    (
        "task-stuck",
        "a task waits too long or a CPU is stuck; that alone is not memory",
    ),
    (
        "memory-dump",
        "memory was dumped, and nothing was killed for it",
    ),
];

/// Why memory is short, or held, or slow.
const CAUSES: &[Named] = &[
    (
        "swap-absent",
        "anonymous memory fills the machine and there is no swap",
    ),
    ("swap-full", "swap is full: anonymous memory stays"),
    (
        "swap-not-used",
        "swap is free and anonymous memory may not go there",
    ),
    (
        "zram-full",
        "swap on zram is full, and what it holds is in memory",
    ),
    ("zram-holds", "zram or zswap holds a large part of memory"),
    (
        "group-holds-anonymous",
        "what fills the group is anonymous memory",
    ),
    (
        "group-holds-shared",
        "what fills the group is tmpfs and shared memory",
    ),
    (
        "group-holds-dirty",
        "what fills the group is page cache, dirty or being written",
    ),
    (
        "group-holds-kernel",
        "what fills the group is kernel memory: slab, sockets, stacks",
    ),
    (
        "group-throttled",
        "a control group is above memory.high: its tasks sleep",
    ),
    (
        "group-protection-starves",
        "memory.low or memory.min of some leaves others little",
    ),
    (
        "protection-taken",
        "a group's protection does not hold: an ancestor lacks it",
    ),
    (
        "huge-pages-idle",
        "the pool of huge pages holds much and nobody uses it",
    ),
    (
        "huge-pages-short",
        "the pool of huge pages got fewer than were asked for",
    ),
    (
        "shared-memory-large",
        "tmpfs or shared memory holds much, and cannot be dropped",
    ),
    (
        "slab-reclaimable-large",
        "slab that can be reclaimed (dentries, inodes) holds much",
    ),
    (
        "slab-unreclaimable-large",
        "slab that stays holds much: a leak looks like this",
    ),
    (
        "slab-cache-large",
        "one slab cache holds most of slab, and much of memory",
    ),
    ("vmalloc-large", "vmalloc holds much"),
    ("page-tables-large", "page tables hold much"),
    ("kernel-stacks-large", "stacks of tasks hold much"),
    ("sockets-large", "buffers of sockets or pipes hold much"),
    (
        "memory-locked",
        "mlock or the like holds much: it is not reclaimed",
    ),
    (
        "anonymous-not-mapped",
        "anonymous pages that nobody maps hold much",
    ),
    (
        "memory-in-no-line",
        "much is in no line of meminfo: a balloon or a driver",
    ),
    ("balloon-inflated", "a balloon of the hypervisor holds much"),
    (
        "free-is-cma",
        "most of what is free is CMA, for movable requests only",
    ),
    (
        "thrashing-file-pages",
        "page cache in use is evicted and read again",
    ),
    (
        "thrashing-anonymous-pages",
        "anonymous pages in use are swapped out and in again",
    ),
    (
        "writers-throttled",
        "writers wait because too much is dirty for the device",
    ),
    (
        "flush-backlog",
        "so much is dirty that writing it takes long",
    ),
    (
        "writeback-stall",
        "tasks wait for the disk to write: fsync, the journal",
    ),
    ("kswapd-endless", "kswapd runs without end and frees little"),
    (
        "direct-reclaim",
        "most reclaim is done by the tasks that ask",
    ),
    (
        "compaction-storm",
        "tasks compact memory again and again, mostly in vain",
    ),
    ("fragmented", "memory is free in small pieces only"),
    (
        "min-free-raised",
        "vm.min_free_kbytes holds back much more than the kernel would",
    ),
    ("watermark-boost", "a watermark boost holds memory free"),
    (
        "commit-limit",
        "vm.overcommit_memory = 2 and nearly all is promised",
    ),
    (
        "node-imbalance",
        "one node is short while another has memory free",
    ),
    (
        "zone-reclaim",
        "nodes reclaim for themselves (vm.zone_reclaim_mode)",
    ),
    ("ksm-idle", "ksmd runs and finds nothing that it may merge"),
    (
        "ksm-at-loss",
        "samepage merging costs more memory than it saves",
    ),
    (
        "memory-hot-added",
        "memory was added while running, and few requests may use it",
    ),
];

/// How things stand.
const STATES: &[Named] = &[
    ("available-low", "MemAvailable is a small part of MemTotal"),
    ("memory-pressure", "tasks stall for memory (PSI)"),
    ("io-pressure", "tasks stall for input and output (PSI)"),
    (
        "group-pressure",
        "tasks of a control group stall for memory (its own PSI)",
    ),
    (
        "oom-kills-counted",
        "processes were killed since boot (vmstat)",
    ),
    (
        "group-kills-counted",
        "processes of a group were killed (memory.events)",
    ),
    (
        "node-below-low",
        "no zone of a node is above low: its kswapd reclaims",
    ),
    (
        "node-below-min",
        "every zone of a node is below min: allocations reclaim",
    ),
    (
        "cache-large",
        "little is free because page cache is much, and it can be dropped",
    ),
    (
        "zfs-cache-large",
        "ZFS' cache holds much, and no line of meminfo counts it",
    ),
    ("swap-used-quiet", "swap is used and nothing moves"),
    (
        "huge-pages-in-use",
        "the pool of huge pages holds much and is used",
    ),
    ("ksm-pays", "samepage merging saves more than it costs"),
];

/// What cannot be told.
const LIMITS: &[Named] = &[
    (
        "evidence-cut",
        "the evidence is cut off before what tells the cause",
    ),
    ("evidence-contradicts", "the evidence contradicts itself"),
    (
        "not-in-evidence",
        "what would tell the cause is not in this evidence",
    ),
    ("nothing-found", "nothing of what was looked at is wrong"),
];

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_name_is_in_kebab_case_and_there_once() {
        let mut seen = BTreeSet::new();
        for (name, meaning) in NAMES.iter().flat_map(|(_, rows)| rows.iter()) {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(name.chars().all(plain), "{name}");
            assert!(seen.insert(name), "{name} is there twice");
            assert!(!meaning.ends_with('.'), "{meaning}");
        }
    }

    #[test]
    fn a_name_has_its_kind() {
        assert_eq!(kind("group-limit"), Some(Kind::Event));
        assert_eq!(kind("swap-full"), Some(Kind::Cause));
        assert_eq!(kind("swap"), None);
    }
}
