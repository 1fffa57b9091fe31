//! What a text is, by its lines: one table.
//!
//! A row is a kernel file, or what a tool prints. Its text begins with a line by which it is known
//! and goes on while lines fit. A path below [`super::TOOLS`] is kept as it is; an empty one is
//! of a text that says nothing of memory.

use super::{containers, groups, log, merging, numa, tables};
use mm::programs;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name in the summary.
    pub what: &'static str,
    /// Its path in a frame where no heading says another; `None` where only a heading can say.
    pub path: Option<&'static str>,
    /// Whether a line, without blanks around it, is one by which the text is known.
    pub begins: fn(&str) -> bool,
    /// Which lines go on with it; `None` where every line does that begins no other.
    goes_on: Option<fn(&str) -> bool>,
    /// What an empty line does.
    pub blank: Blank,
}

impl Kind {
    /// Whether its lines can be told from those of other texts.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.goes_on.is_some()
    }

    /// Whether a line goes on with it.
    #[must_use]
    pub fn goes_on(&self, line: &str) -> bool {
        self.goes_on.is_none_or(|goes_on| goes_on(line.trim()))
    }
}

/// What an empty line does to a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blank {
    /// It ends the text.
    Ends,
    /// It belongs to it.
    Belongs,
}

const fn kernel_file(
    what: &'static str,
    path: &'static str,
    begins: fn(&str) -> bool,
    goes_on: fn(&str) -> bool,
) -> Kind {
    Kind {
        what,
        path: Some(path),
        begins,
        goes_on: Some(goes_on),
        blank: Blank::Belongs,
    }
}

const fn tool(
    what: &'static str,
    path: &'static str,
    begins: fn(&str) -> bool,
    blank: Blank,
) -> Kind {
    Kind {
        what,
        path: Some(path),
        begins,
        goes_on: None,
        blank,
    }
}

/// The kinds, in the order in which they are asked.
pub const KINDS: &[Kind] = &[
    kernel_file("zoneinfo", "proc/zoneinfo", tables::zone, tables::zone_line),
    kernel_file("buddyinfo", "proc/buddyinfo", tables::buddy, tables::buddy),
    kernel_file(
        "pagetypeinfo",
        "proc/pagetypeinfo",
        tables::page_types,
        tables::page_types_line,
    ),
    Kind {
        what: "meminfo of a node",
        path: Some(NODE_MEMINFO),
        begins: tables::node_item,
        goes_on: Some(tables::node_item),
        blank: Blank::Belongs,
    },
    Kind {
        what: "stats of containers",
        path: Some("plimsoll/tools/docker"),
        begins: containers::head,
        goes_on: Some(containers::row),
        blank: Blank::Ends,
    },
    tool(
        "zramctl",
        "plimsoll/tools/zramctl",
        tables::zramctl,
        Blank::Ends,
    ),
    Kind {
        what: "numactl",
        path: Some("plimsoll/tools/numactl"),
        begins: numa::numactl,
        goes_on: Some(numa::numactl_line),
        blank: Blank::Ends,
    },
    Kind {
        what: "numastat",
        path: Some("plimsoll/tools/numastat"),
        begins: numa::numastat,
        goes_on: Some(numa::numastat_line),
        blank: Blank::Ends,
    },
    Kind {
        what: "smaps",
        path: Some("plimsoll/tools/smaps"),
        begins: tables::mapping,
        goes_on: Some(tables::mapping_line),
        blank: Blank::Ends,
    },
    Kind {
        what: "status of a process",
        path: Some("plimsoll/tools/status"),
        begins: tables::status,
        goes_on: Some(tables::status_line),
        blank: Blank::Ends,
    },
    kernel_file(
        "limits of a process",
        "plimsoll/tools/limits",
        programs::is_limit,
        programs::is_limit,
    ),
    kernel_file(
        "meminfo",
        "proc/meminfo",
        tables::meminfo,
        tables::meminfo_line,
    ),
    kernel_file("swaps", "proc/swaps", tables::swaps, tables::swap),
    kernel_file(
        "stat",
        "proc/stat",
        tables::cpu_times,
        tables::cpu_times_line,
    ),
    kernel_file("diskstats", "proc/diskstats", tables::disk, tables::disk),
    kernel_file(
        "slabinfo",
        "proc/slabinfo",
        tables::slabinfo,
        tables::slabinfo_line,
    ),
    Kind {
        what: "memory.stat",
        path: Some("sys/fs/cgroup/unnamed/memory.stat"),
        begins: tables::group_stat,
        goes_on: Some(tables::item),
        blank: Blank::Belongs,
    },
    Kind {
        what: "events of a group",
        path: None,
        begins: tables::nothing,
        goes_on: Some(tables::item),
        blank: Blank::Ends,
    },
    Kind {
        what: "ksm",
        path: Some("plimsoll/tools/ksm"),
        begins: merging::begins,
        goes_on: Some(merging::line),
        blank: Blank::Ends,
    },
    kernel_file("vmstat", "proc/vmstat", tables::vmstat, tables::item),
    Kind {
        what: "pressure",
        path: None,
        begins: tables::pressure,
        goes_on: Some(tables::pressure_line),
        blank: Blank::Belongs,
    },
    kernel_file(
        "cmdline",
        "proc/cmdline",
        |line| line.starts_with("BOOT_IMAGE="),
        tables::nothing,
    ),
    kernel_file(
        "lru_gen",
        "sys/kernel/debug/lru_gen",
        tables::generations,
        tables::generations_line,
    ),
    Kind {
        what: "free",
        path: Some("plimsoll/tools/free"),
        begins: tables::free,
        goes_on: Some(tables::free_line),
        blank: Blank::Ends,
    },
    tool(
        "sadf",
        "plimsoll/tools/sadf",
        |line| line.starts_with("{\"sysstat\""),
        Blank::Belongs,
    ),
    Kind {
        what: "sar",
        path: Some("plimsoll/tools/sar"),
        begins: tables::sar,
        goes_on: Some(tables::sar_line),
        blank: Blank::Belongs,
    },
    Kind {
        what: "vmstat's table",
        path: Some("plimsoll/tools/vmstat"),
        begins: tables::vmstat_table,
        goes_on: Some(tables::vmstat_table_line),
        blank: Blank::Ends,
    },
    Kind {
        what: "node_exporter",
        path: Some("plimsoll/tools/node_exporter"),
        begins: tables::metrics,
        goes_on: Some(tables::metrics_line),
        blank: Blank::Belongs,
    },
    tool(
        "slabtop",
        "plimsoll/tools/slabtop",
        tables::slabtop,
        Blank::Belongs,
    ),
    tool(
        "systemd-cgtop",
        "plimsoll/tools/systemd-cgtop",
        |line| tables::has(line, &["Tasks", "%CPU", "Memory", "Input/s"]),
        Blank::Ends,
    ),
    tool(
        "pmap",
        "plimsoll/tools/pmap",
        |line| tables::has(line, &["Address", "Kbytes", "RSS", "Mapping"]),
        Blank::Ends,
    ),
    tool(
        "ipcs",
        "plimsoll/tools/ipcs",
        |line| tables::has(line, &["shmid", "bytes", "nattch"]),
        Blank::Ends,
    ),
    tool(
        "iostat",
        "plimsoll/tools/iostat",
        |line| tables::has(line, &["avg-cpu:", "%iowait"]),
        Blank::Belongs,
    ),
    tool(
        "atop",
        "plimsoll/tools/atop",
        |line| line.starts_with("ATOP - ") || line.starts_with("MEM | tot"),
        Blank::Ends,
    ),
    kernel_file(
        "arcstats",
        "proc/spl/kstat/zfs/arcstats",
        |line| tables::has(line, &["name", "type", "data"]),
        |line| line.split_ascii_whitespace().skip(1).all(tables::is_number),
    ),
    tool("top", "plimsoll/tools/top", tables::top, Blank::Belongs),
    tool("ps", "plimsoll/tools/ps", tables::ps, Blank::Ends),
    tool(
        "swapon",
        "plimsoll/tools/swapon",
        tables::swapon,
        Blank::Ends,
    ),
    tool(
        "lscpu",
        "plimsoll/tools/lscpu",
        |line| line.starts_with("Architecture:  "),
        Blank::Ends,
    ),
    tool("df", "", tables::df, Blank::Ends),
    Kind {
        what: "uptime",
        path: Some(""),
        begins: tables::uptime,
        goes_on: Some(tables::nothing),
        blank: Blank::Ends,
    },
    Kind {
        what: "kernel log",
        path: Some(log::PATH),
        begins: log::begins,
        goes_on: None,
        blank: Blank::Belongs,
    },
];

/// The path of a node's meminfo; `N` stands for its number.
pub const NODE_MEMINFO: &str = "sys/devices/system/node/nodeN/meminfo";

/// The kind that begins with this line.
#[must_use]
pub fn of(line: &str) -> Option<&'static Kind> {
    let line = line.trim();
    KINDS.iter().find(|kind| (kind.begins)(line))
}

/// The kind whose file has this path, whatever it is of: `proc/pressure/io` is a pressure.
#[must_use]
pub fn at(path: &str) -> Option<&'static Kind> {
    let named = |what| KINDS.iter().find(|kind: &&Kind| kind.what == what);
    match path {
        _ if path.starts_with("proc/pressure/") => named("pressure"),
        _ if path.ends_with("/memory.pressure") => named("pressure"),
        _ if groups::is_events(path) => named("events of a group"),
        _ if path.ends_with("/smaps") || path.ends_with("/smaps_rollup") => named("smaps"),
        _ if path.starts_with("proc/") && path.ends_with("/status") => named("status of a process"),
        _ if path.starts_with("proc/") && path.ends_with("/limits") => named("limits of a process"),
        _ if path.ends_with("/memory.stat") => named("memory.stat"),
        _ if path.starts_with("sys/devices/system/node/node") && path.ends_with("/meminfo") => {
            named("meminfo of a node")
        }
        _ => KINDS.iter().find(|kind| kind.path == Some(path)),
    }
}

/// Whether a line is one by which a kernel file is known, a log apart.
#[must_use]
pub fn is_kernel_file(line: &str) -> bool {
    of(line).is_some_and(|kind| kind.path != Some(log::PATH))
}
