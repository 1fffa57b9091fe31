//! The lines by which the kinds of [`super::kind`] are known. A line has no blanks around it.

use core::str::FromStr;

use mm::zoneinfo::ZoneKind;

/// Items that only `/proc/meminfo` has, by which a part of it is known.
const MEMINFO: &[&str] = &[
    "MemTotal",
    "MemFree",
    "MemAvailable",
    "Buffers",
    "Cached",
    "SwapCached",
    "Active",
    "Inactive",
    "Active(anon)",
    "Inactive(anon)",
    "Active(file)",
    "Inactive(file)",
    "Unevictable",
    "Mlocked",
    "HighTotal",
    "HighFree",
    "LowTotal",
    "LowFree",
    "SwapTotal",
    "SwapFree",
    "Dirty",
    "Writeback",
    "AnonPages",
    "Mapped",
    "Shmem",
    "KReclaimable",
    "Slab",
    "SReclaimable",
    "SUnreclaim",
    "KernelStack",
    "PageTables",
    "CommitLimit",
    "Committed_AS",
    "VmallocTotal",
    "VmallocUsed",
    "Percpu",
    "HugePages_Total",
    "HugePages_Free",
    "CmaTotal",
    "CmaFree",
    "Hugetlb",
    "Zswap",
    "Zswapped",
    "DirectMap4k",
    "DirectMap2M",
];

/// How the names of `/proc/vmstat` that no control group has begin.
const VMSTAT: &[&str] = &[
    "nr_",
    "pgpg",
    "pswp",
    "pgalloc_",
    "pgskip_",
    "allocstall",
    "numa_",
    "kswapd_",
    "pageoutrun",
    "pgscan_kswapd",
    "pgscan_direct",
    "pgsteal_kswapd",
    "pgsteal_direct",
    "drop_",
    "compact_",
    "slabs_scanned",
    "balloon_",
    "pgfree",
    "pgrotated",
    "htlb_",
    "unevictable_pgs_",
    "oom_kill",
    "workingset_nodes",
    "pginodesteal",
];

/// What begins a zone's own lines.
const ZONE_WORDS: &[&str] = &[
    "pages",
    "min",
    "low",
    "high",
    "boost",
    "promo",
    "scanned",
    "spanned",
    "present",
    "managed",
    "cma",
    "protection:",
    "pagesets",
    "cpu:",
    "count:",
    "high:",
    "batch:",
    "vm",
    "start_pfn:",
    "all_unreclaimable:",
    "node_unreclaimable:",
    "inactive_ratio:",
    "node_inactive_ratio:",
    "high_min:",
    "high_max:",
    "per-node",
    "reserved_highatomic",
    "prev_priority:",
    "temp_priority:",
    "cluster",
    "reclaim_in_progress:",
    "free",
    "active",
    "inactive",
];

/// No line.
pub(super) fn nothing(_: &str) -> bool {
    false
}

/// A number without sign.
pub(super) fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The node, the kind and what follows of `Node 0, zone   Normal …`.
fn node_zone(line: &str) -> Option<(&str, &str)> {
    let (node, rest) = line.strip_prefix("Node ")?.split_once(", zone")?;
    let rest = rest.trim_start();
    let (zone, rest) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
    let known = is_number(node.trim()) && ZoneKind::from_str(zone).is_ok();
    known.then(|| (zone, rest.trim()))
}

/// `Node 0, zone   Normal`.
pub(super) fn zone(line: &str) -> bool {
    node_zone(line).is_some_and(|(_, rest)| rest.is_empty())
}

/// A line within a zone: its items, its pagesets, and the number without a name of 4.17 to 4.19.
pub(super) fn zone_line(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    let known = ZONE_WORDS.contains(&first) || ZONE_WORDS.contains(&line);
    let numbers = || line.bytes().any(|byte| byte.is_ascii_digit());
    let titles = ["per-node stats", "pagesets"].contains(&line);
    zone(line) || titles || (known && numbers()) || item(line) || is_number(line) || line == "--"
}

/// `Node 0, zone   Normal    356    154 …`.
pub(super) fn buddy(line: &str) -> bool {
    let Some((_, rest)) = node_zone(line) else {
        return false;
    };
    !rest.is_empty() && rest.split_ascii_whitespace().all(is_number)
}

/// The head of `/proc/pagetypeinfo`, or a row of it.
pub(super) fn page_types(line: &str) -> bool {
    line.starts_with("Page block order:")
        || node_zone(line)
            .is_some_and(|(zone, rest)| rest.starts_with("type") || zone.ends_with(','))
        || line
            .strip_prefix("Node ")
            .is_some_and(|rest| rest.contains(", type "))
}

/// A line within `/proc/pagetypeinfo`.
pub(super) fn page_types_line(line: &str) -> bool {
    let heads = [
        "Pages per block:",
        "Free pages count per",
        "Number of blocks",
        "Number of mixed",
    ];
    page_types(line) || heads.iter().any(|head| line.starts_with(head)) || buddy(line)
}

/// `Node 0 MemTotal:  8164548 kB`.
pub(super) fn node_item(line: &str) -> bool {
    let rest = line
        .strip_prefix("Node ")
        .and_then(|rest| rest.split_once(' '));
    rest.is_some_and(|(node, item)| is_number(node) && meminfo_line(item))
}

/// An address range and its rights, as `smaps` and `maps` have them.
pub(super) fn mapping(line: &str) -> bool {
    let Some((range, rest)) = line.split_once(' ') else {
        return false;
    };
    let hex = |word: &str| word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let range = range
        .split_once('-')
        .is_some_and(|(from, to)| hex(from) && hex(to));
    range && rest.bytes().take(4).all(|byte| b"rwxps-".contains(&byte))
}

/// A line within `smaps`.
pub(super) fn mapping_line(line: &str) -> bool {
    mapping(line) || meminfo_line(line) || line.starts_with("VmFlags:") || key_number(line)
}

/// The first line of a process's status.
pub(super) fn status(line: &str) -> bool {
    line.starts_with("Name:\t")
        || (line.starts_with("Vm") && meminfo_line(line) && !line.starts_with("Vmalloc"))
}

/// A line of a process's status.
pub(super) fn status_line(line: &str) -> bool {
    line.split_once(':').is_some_and(|(key, _)| {
        !key.is_empty()
            && key
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// An item by which `/proc/meminfo` is known.
pub(super) fn meminfo(line: &str) -> bool {
    let name = line.split_once(':').map_or("", |(name, _)| name);
    meminfo_line(line) && MEMINFO.contains(&name)
}

/// `NAME: NUMBER kB`, or a count of huge pages.
pub(super) fn meminfo_line(line: &str) -> bool {
    let Some((name, value)) = line.split_once(':') else {
        return false;
    };
    let value = value.trim();
    let named = !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_()".contains(&b));
    let count = name.starts_with("HugePages_") && is_number(value);
    let amount = value
        .strip_suffix("kB")
        .is_some_and(|kib| is_number(kib.trim_end()));
    named && (amount || count)
}

/// `Name: 12`.
fn key_number(line: &str) -> bool {
    line.split_once(':')
        .is_some_and(|(_, value)| is_number(value.trim()))
}

/// The head of `/proc/swaps`.
pub(super) fn swaps(line: &str) -> bool {
    line.split_ascii_whitespace()
        .eq(["Filename", "Type", "Size", "Used", "Priority"])
}

/// A row of `/proc/swaps`.
pub(super) fn swap(line: &str) -> bool {
    let words = line.split_ascii_whitespace().rev();
    let mut numbers = words
        .take(3)
        .map(|word| word.strip_prefix('-').unwrap_or(word));
    line.starts_with('/') && numbers.by_ref().all(is_number)
}

/// The sum over all CPUs of `/proc/stat`.
pub(super) fn cpu_times(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    words.next() == Some("cpu") && line.split_ascii_whitespace().count() > 4 && words.all(is_number)
}

/// A line of `/proc/stat`.
pub(super) fn cpu_times_line(line: &str) -> bool {
    let first = line.split_ascii_whitespace().next().unwrap_or_default();
    let names = [
        "intr",
        "ctxt",
        "btime",
        "processes",
        "procs_running",
        "procs_blocked",
        "softirq",
    ];
    names.contains(&first)
        || (first.starts_with("cpu") && line.split_ascii_whitespace().skip(1).all(is_number))
}

/// A row of `/proc/diskstats`.
pub(super) fn disk(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let numbers = words.next().is_some_and(is_number) && words.next().is_some_and(is_number);
    let name = words
        .next()
        .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
    numbers && name && line.split_ascii_whitespace().count() >= 14 && words.all(is_number)
}

/// The head of `/proc/slabinfo`.
pub(super) fn slabinfo(line: &str) -> bool {
    line.starts_with("slabinfo - version")
}

/// A line of `/proc/slabinfo`.
pub(super) fn slabinfo_line(line: &str) -> bool {
    line.starts_with("# name") || line.contains(" : tunables ")
}

/// An item by which a control group's `memory.stat` is known.
pub(super) fn group_stat(line: &str) -> bool {
    let name = line.split_once(' ').map_or("", |(name, _)| name);
    item(line) && ["anon", "cache", "file", "rss"].contains(&name)
}

/// An item by which `/proc/vmstat` is known.
pub(super) fn vmstat(line: &str) -> bool {
    item(line) && VMSTAT.iter().any(|start| line.starts_with(start))
}

/// `name 12`, or the number without a name of 4.17 to 4.19.
pub(super) fn item(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some(name), Some(value), None) => {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && is_number(value)
        }
        (Some(value), None, None) => is_number(value),
        _ => false,
    }
}

/// The first line of a file of pressure.
pub(super) fn pressure(line: &str) -> bool {
    line.starts_with("some avg10=")
}

/// A line of a file of pressure.
pub(super) fn pressure_line(line: &str) -> bool {
    line.starts_with("full avg10=")
}

/// A group's line of the generations in debugfs.
pub(super) fn generations(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    words.next() == Some("memcg") && words.next().is_some_and(is_number)
}

/// A line of the generations in debugfs.
pub(super) fn generations_line(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    generations(line) || ((first == "node" || is_number(first)) && words.next().is_some())
}

/// The head of `free`.
pub(super) fn free(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    words.by_ref().take(3).eq(["total", "used", "free"]) && words.next().is_some()
}

/// A row of `free`.
pub(super) fn free_line(line: &str) -> bool {
    let rows = [
        "Mem:",
        "Swap:",
        "-/+ buffers/cache:",
        "Low:",
        "High:",
        "Total:",
    ];
    rows.iter().any(|row| line.starts_with(row))
}

/// The first line of a report of `sar`.
pub(super) fn sar(line: &str) -> bool {
    line.starts_with("Linux ") && line.contains(" CPU)") && line.contains("_\t")
        || line.starts_with("Linux ") && line.contains(" CPU)") && line.contains('(')
        || sar_head(line)
}

/// The names of the columns that `sar -r -B -W -S` prints behind a time.
fn sar_head(line: &str) -> bool {
    let names = ["kbmemfree", "pgpgin/s", "pswpin/s", "kbswpfree"];
    let has = line
        .split_ascii_whitespace()
        .any(|word| names.contains(&word));
    let timed = line.starts_with(|c: char| c.is_ascii_digit() || c == '#');
    // Without times the table begins with one of these columns.
    has && (timed || names.iter().any(|name| line.starts_with(name)))
}

/// A line within a report of `sar`.
pub(super) fn sar_line(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit() || c == '#')
        || line.starts_with("Average:")
        || sar(line)
}

/// The head of the table that the tool `vmstat` prints.
pub(super) fn vmstat_table(line: &str) -> bool {
    (line.starts_with("procs ") && line.contains("memory") && line.contains("--"))
        || line
            .split_ascii_whitespace()
            .take(4)
            .eq(["r", "b", "swpd", "free"])
}

/// A line of that table: a head again, or numbers and a time.
pub(super) fn vmstat_table_line(line: &str) -> bool {
    vmstat_table(line) || line.split_ascii_whitespace().take(6).all(is_number)
}

/// A line of metrics about a node.
pub(super) fn metrics(line: &str) -> bool {
    [
        "# HELP node_",
        "# TYPE node_",
        "node_memory_",
        "node_vmstat_",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

/// A line within metrics.
pub(super) fn metrics_line(line: &str) -> bool {
    line.starts_with("# HELP ") || line.starts_with("# TYPE ") || {
        let value = line.rsplit_once(' ').map_or("", |(_, value)| value);
        line.starts_with(|c: char| c.is_ascii_lowercase()) && value.parse::<f64>().is_ok()
    }
}

/// The head of `slabtop`.
pub(super) fn slabtop(line: &str) -> bool {
    line.starts_with("Active / Total Objects") || line.starts_with("OBJS ACTIVE ")
}

/// The head of `top`, or of its table.
pub(super) fn top(line: &str) -> bool {
    let has = |name| line.split_ascii_whitespace().any(|word| word == name);
    let tasks = line.starts_with("Tasks:") && line.contains(" total,") && line.contains("running");
    let cpus = line.starts_with("%Cpu(s):") || line.starts_with("Cpu(s):");
    tasks || cpus || line.starts_with("top - ") || (has("PID") && has("VIRT") && has("RES"))
}

/// The head of `ps` with a size.
pub(super) fn ps(line: &str) -> bool {
    let has = |name| line.split_ascii_whitespace().any(|word| word == name);
    has("PID") && (has("RSS") || has("%MEM") || has("VSZ") || has("SZ"))
}

/// The head of `swapon --show`.
pub(super) fn swapon(line: &str) -> bool {
    line.split_ascii_whitespace()
        .take(3)
        .eq(["NAME", "TYPE", "SIZE"])
}

/// What `uptime` prints, which `w` and an old `top` begin with.
pub(super) fn uptime(line: &str) -> bool {
    line.contains(" up ") && line.contains("load average:") && !line.starts_with("top - ")
}

/// The head of `zramctl`.
pub(super) fn zramctl(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    words.next() == Some("NAME") && words.any(|word| word == "COMPR")
}

/// The head of `df`.
pub(super) fn df(line: &str) -> bool {
    line.starts_with("Filesystem ") && line.ends_with("Mounted on")
}

/// Whether a line has these words: a head of a tool.
pub(super) fn has(line: &str, names: &[&str]) -> bool {
    let has = |name: &&str| line.split_ascii_whitespace().any(|word| word == *name);
    names.iter().all(has)
}
