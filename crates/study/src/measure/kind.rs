//! What a number is, by where it is taken: it decides by which rule prediction and measurement are
//! compared (see [`crate::score`]).

use mm::{catalogue, ksm};

use super::{Against, Class, DiskCounter, Item, Measure, Over, Source, Take, Unit};

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// What the kernel computes from constants: watermarks, the pages of a zone, tunables.
    Line,
    /// An amount of memory.
    Size,
    /// A time, a rate, a share of time, an amount of work done.
    Time,
    /// A counter of pages: scanned, stolen, refaulted, swapped.
    Pages,
    /// A counter of events: wakeups, stalls, compactions.
    Events,
    /// How many processes came through, or were killed.
    Fate,
    /// An amount at every moment of a span.
    Curve,
    /// A counter of samepage merging at every moment of a span.
    Merging,
    /// The time until an amount is nearly what it becomes.
    Reach,
    /// The share of one counter in two.
    Share,
    /// The CPU time of ksmd.
    Scan,
}

impl Kind {
    /// Every kind, in the order in which a score lists them.
    pub const ALL: [Self; 11] = [
        Self::Line,
        Self::Size,
        Self::Time,
        Self::Pages,
        Self::Events,
        Self::Fate,
        Self::Curve,
        Self::Merging,
        Self::Reach,
        Self::Share,
        Self::Scan,
    ];

    /// The word for figures of this kind.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Line => "watermarks",
            Self::Size => "sizes",
            Self::Time => "times",
            Self::Pages => "page counters",
            Self::Events => "event counters",
            Self::Fate => "survivors",
            Self::Curve => "curves",
            Self::Merging => "merged pages",
            Self::Reach => "times to reach",
            Self::Share => "shares of counters",
            Self::Scan => "ksmd's time",
        }
    }

    /// Whether it is compared at every moment.
    #[must_use]
    pub fn is_curve(self) -> bool {
        matches!(self, Self::Curve | Self::Merging)
    }
}

/// Fields of a zone that follow from its size and the settings.
const LINES: [&str; 9] = [
    "min", "low", "high", "promo", "boost", "spanned", "present", "managed", "cma",
];
/// Counters of `/proc/vmstat` among the words that begin as states do.
const NR_COUNTERS: [&str; 5] = [
    "nr_dirtied",
    "nr_written",
    "nr_throttled_written",
    "nr_vmscan_write",
    "nr_vmscan_immediate_reclaim",
];
/// Beginnings of the counters of `memory.stat`, all else in it being bytes.
const STAT_COUNTERS: [&str; 8] = [
    "pg",
    "pswp",
    "workingset_",
    "thp_",
    "zswpin",
    "zswpout",
    "zswpwb",
    "numa_",
];
/// Beginnings of counters that count events, not pages.
const EVENTS: [&str; 11] = [
    "allocstall",
    "pageoutrun",
    "kswapd_",
    "compact_",
    "thp_",
    "drop_",
    "balloon_",
    "htlb_",
    "numa_huge",
    "workingset_nodereclaim",
    "direct_map_",
];
/// Counters of processes that the OOM killer ended.
const KILLS: [&str; 2] = ["oom_kill", "oom_group_kill"];

/// The most pages that say nothing beside zero: a batch of a per-CPU list is 63.
const FEW_PAGES: f64 = 64.0;
/// The most events that say nothing beside zero.
const FEW_EVENTS: f64 = 4.0;
/// The longest stall, in nanoseconds, that says nothing beside none.
const SHORT_STALL: f64 = 1e6;
/// The largest average of PSI, in percent, that says nothing beside zero.
const LITTLE_PRESSURE: f64 = 0.1;

impl Measure {
    /// What its number is. It follows from what is taken, and from no study.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match &self.source {
            Source::Step { take, .. } => of_step(*take),
            Source::During {
                over: Over::Time,
                item,
                ..
            } => item.curve(),
            Source::During {
                over: Over::TimeTo(_),
                ..
            } => Kind::Reach,
            // A quotient of two counters is the size or the cost of one thing.
            Source::Between {
                against: Some(Against::Per(_)),
                ..
            } => Kind::Time,
            Source::Between {
                against: Some(Against::ShareWith(_)),
                ..
            } => Kind::Share,
            Source::Snapshot { item, .. }
            | Source::Between { item, .. }
            | Source::During { item, .. } => item.kind(self.unit),
        }
    }

    /// Numbers up to this, in the measure's unit, count as equal to zero.
    #[must_use]
    pub fn floor(&self) -> f64 {
        match self.kind() {
            Kind::Size | Kind::Pages | Kind::Curve | Kind::Merging
                if self.unit.class() == Class::Size =>
            {
                FEW_PAGES * Unit::Pages.worth() / self.unit.worth()
            }
            Kind::Size | Kind::Pages => FEW_PAGES,
            Kind::Curve | Kind::Merging | Kind::Events => FEW_EVENTS,
            Kind::Time => self.stall() / self.unit.worth(),
            Kind::Line | Kind::Fate | Kind::Reach | Kind::Share | Kind::Scan => 0.0,
        }
    }

    /// The stall that says nothing, in base units.
    fn stall(&self) -> f64 {
        let (Source::Snapshot { item, .. }
        | Source::Between { item, .. }
        | Source::During { item, .. }) = &self.source
        else {
            return 0.0;
        };
        match item {
            Item::Pressure { field, .. } if field == "total" => SHORT_STALL,
            Item::Pressure { .. } => LITTLE_PRESSURE,
            _ => 0.0,
        }
    }
}

fn of_step(take: Take) -> Kind {
    match take {
        Take::Survivors | Take::Killed | Take::Failed => Kind::Fate,
        Take::Duration
        | Take::Lifetime
        | Take::FirstKill
        | Take::Throughput
        | Take::Rate
        | Take::Operations
        | Take::Bytes
        | Take::LatencyP50
        | Take::LatencyP90
        | Take::LatencyP99
        | Take::LatencyMax => Kind::Time,
    }
}

impl Item {
    /// The kind of its curve.
    fn curve(&self) -> Kind {
        match self {
            Self::Number { file, .. } if file.starts_with(ksm::DIR) => Kind::Merging,
            _ => Kind::Curve,
        }
    }

    /// Whether the kernel counts it in bytes, whatever unit it is shown in: samepage merging's
    /// profit, the files of a control group and the amounts in its `memory.stat`.
    pub(super) fn is_in_bytes(&self) -> bool {
        let (Self::Number { file, .. } | Self::Field { file, .. }) = self else {
            return false;
        };
        let name = file.rsplit('/').next().unwrap_or(file);
        match self {
            Self::Field { field, .. } => {
                let counts = field == "workingset_nodes" || begins(field, &STAT_COUNTERS);
                name == "memory.stat" && !counts
            }
            _ => name == "general_profit" || name.starts_with("memory."),
        }
    }

    fn kind(&self, unit: Unit) -> Kind {
        match self {
            Self::Pressure { .. } => Kind::Time,
            Self::Zone { field, .. } if LINES.contains(&field.as_str()) => Kind::Line,
            Self::Zone { field, .. } => of_vmstat_or(field, Kind::Size),
            Self::Field { file, field } => of_field(file, field, unit),
            Self::Number { file, .. } => of_file(file, unit),
            Self::Disk { counter, .. } => match counter {
                DiskCounter::Reads | DiskCounter::Writes => Kind::Events,
                DiskCounter::Read | DiskCounter::Written => Kind::Pages,
                DiskCounter::Busy => Kind::Time,
            },
            Self::Progress { .. } => Kind::Time,
        }
    }
}

fn of_field(file: &str, field: &str, unit: Unit) -> Kind {
    let name = file.rsplit('/').next().unwrap_or(file);
    match name {
        "meminfo" => Kind::Size,
        "vmstat" => of_vmstat_or(field, of_counter(field)),
        "memory.stat" if field != "workingset_nodes" && begins(field, &STAT_COUNTERS) => {
            of_counter(field)
        }
        "memory.stat" => Kind::Size,
        "memory.events" | "memory.events.local" => match KILLS.contains(&field) {
            true => Kind::Fate,
            false => Kind::Events,
        },
        _ => of_unit(unit),
    }
}

fn begins(field: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|word| field.starts_with(word))
}

/// A state of `/proc/vmstat` is an amount of memory; `otherwise` it is what is said.
fn of_vmstat_or(field: &str, otherwise: Kind) -> Kind {
    match field {
        "workingset_nodes" => Kind::Size,
        _ if NR_COUNTERS.contains(&field) => Kind::Pages,
        _ if field.starts_with("nr_") => Kind::Size,
        _ => otherwise,
    }
}

fn of_counter(field: &str) -> Kind {
    match field {
        _ if KILLS.contains(&field) => Kind::Fate,
        _ if EVENTS.iter().any(|word| field.starts_with(word)) => Kind::Events,
        _ => Kind::Pages,
    }
}

/// A file of one number.
fn of_file(file: &str, unit: Unit) -> Kind {
    let name = file.rsplit('/').next().unwrap_or(file);
    let ksm = file.starts_with(ksm::DIR);
    match name {
        _ if catalogue::all().any(|tunable| tunable.path == file) => Kind::Line,
        // CPU time, in nanoseconds.
        "schedstat" if file.starts_with("proc/ksmd/") => Kind::Scan,
        "schedstat" => Kind::Time,
        "general_profit" if ksm => Kind::Size,
        "ksm_zero_pages" if ksm => Kind::Size,
        "pages_scanned" if ksm => Kind::Pages,
        _ if ksm && name.starts_with("pages_") => Kind::Size,
        _ if name.ends_with(".current") || name.ends_with(".peak") => Kind::Size,
        _ => of_unit(unit),
    }
}

fn of_unit(unit: Unit) -> Kind {
    match unit.class() {
        Class::Size => Kind::Size,
        Class::Time => Kind::Time,
        Class::Count => Kind::Events,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Study;

    fn measure(text: &str) -> Measure {
        let study = format!(
            "name = \"m\"\ntitle = \"m\"\nquestion = \"m\"\n[machine]\nmemory = \"1 GiB\"\n\
             [[machine.disk]]\nname = \"disk\"\nsize = \"1 GiB\"\nbandwidth = \"1 MB/s\"\n\
             [[arm]]\nname = \"a\"\n[[process]]\nname = \"p\"\nsteps = [{{ snapshot = \"at\" }}, \
             {{ label = \"serve\", sleep = \"1 s\" }}]\n[[measure]]\nname = \"m\"\n{text}\n"
        );
        Study::parse(&study, "test").unwrap().measures.remove(0)
    }

    fn at(item: &str) -> Kind {
        measure(&format!("snapshot = \"at\"\n{item}")).kind()
    }

    #[test]
    fn a_disks_requests_are_events_its_bytes_pages_and_their_quotient_a_rate() {
        let disk = |counter: &str| at(&format!("diskstats = \"disk.{counter}\""));
        assert_eq!(
            (disk("writes"), disk("written")),
            (Kind::Events, Kind::Pages)
        );
        assert_eq!((disk("read"), disk("busy")), (Kind::Pages, Kind::Time));
        let size =
            "between = [\"at\", \"at\"]\ndiskstats = \"disk.written\"\nper = \"disk.writes\"";
        assert_eq!(measure(size).kind(), Kind::Time);
    }

    #[test]
    fn what_is_taken_over_time_is_a_curve() {
        let curve = measure("during = \"run\"\nmeminfo = \"Dirty\"\nover = \"time\"");
        assert_eq!((curve.kind(), curve.floor()), (Kind::Curve, 0.25));
    }

    #[test]
    fn samepage_merging_has_kinds_of_its_own() {
        let file = "file = \"/sys/kernel/mm/ksm/pages_sharing\"";
        let during = |more: &str| measure(&format!("during = \"run\"\n{file}\n{more}"));
        let curve = during("unit = \"pages\"\nover = \"time\"");
        assert_eq!((curve.kind(), curve.floor()), (Kind::Merging, 64.0));
        let reach = during("over = \"time to 90 %\"");
        assert_eq!((reach.kind(), reach.unit), (Kind::Reach, Unit::Seconds));
        let share = "between = [\"at\", \"at\"]\nfile = \"sys/kernel/mm/ksm/pages_skipped\"\n\
                     share-with = \"sys/kernel/mm/ksm/pages_scanned\"";
        let share = measure(share);
        assert_eq!((share.kind(), share.unit), (Kind::Share, Unit::Percent));
        assert_eq!(at("file = \"proc/ksmd/schedstat\""), Kind::Scan);
        assert_eq!(
            at("file = \"sys/kernel/mm/ksm/general_profit\""),
            Kind::Size
        );
    }

    #[test]
    fn what_the_kernel_computes_from_constants_is_a_line() {
        for item in [
            "zoneinfo = \"low\"",
            "zoneinfo = \"DMA32.managed\"",
            "tunable = \"vm.min_free_kbytes\"",
            "file = \"/proc/sys/vm/min_free_kbytes\"",
        ] {
            assert_eq!(at(item), Kind::Line, "{item}");
        }
    }

    #[test]
    fn states_are_sizes_and_counters_are_not() {
        for item in [
            "meminfo = \"MemFree\"",
            "zoneinfo = \"free\"",
            "vmstat = \"nr_inactive_anon\"",
            "vmstat = \"workingset_nodes\"",
            "file = \"sys/fs/cgroup/a/memory.stat\"\nfield = \"anon_thp\"",
            "file = \"sys/fs/cgroup/a/memory.current\"",
            "file = \"sys/kernel/mm/ksm/pages_sharing\"",
        ] {
            assert_eq!(at(item), Kind::Size, "{item}");
        }
        for item in [
            "vmstat = \"pswpin\"",
            "vmstat = \"pgscan_direct\"",
            "vmstat = \"workingset_refault_anon\"",
            "vmstat = \"nr_written\"",
            "file = \"sys/fs/cgroup/a/memory.stat\"\nfield = \"pgsteal\"",
            "file = \"sys/kernel/mm/ksm/pages_scanned\"",
        ] {
            assert_eq!(at(item), Kind::Pages, "{item}");
        }
        for item in [
            "vmstat = \"allocstall_normal\"",
            "vmstat = \"kswapd_low_wmark_hit_quickly\"",
            "vmstat = \"thp_fault_alloc\"",
            "file = \"sys/fs/cgroup/a/memory.events\"\nfield = \"high\"",
        ] {
            assert_eq!(at(item), Kind::Events, "{item}");
        }
    }

    #[test]
    fn kills_are_fates_and_work_and_stalls_are_times() {
        let take = |take: &str| measure(&format!("step = \"serve\"\ntake = \"{take}\"")).kind();
        for word in ["survivors", "killed", "failed"] {
            assert_eq!(take(word), Kind::Fate, "{word}");
        }
        assert_eq!(at("vmstat = \"oom_kill\""), Kind::Fate);
        for word in [
            "duration",
            "rate",
            "throughput",
            "operations",
            "bytes",
            "latency p99",
        ] {
            assert_eq!(take(word), Kind::Time, "{word}");
        }
        assert_eq!(at("pressure = \"memory.full.total\""), Kind::Time);
        assert_eq!(at("file = \"proc/kswapd0/schedstat\""), Kind::Time);
    }

    #[test]
    fn what_says_nothing_beside_zero_is_in_the_measures_unit() {
        let floor = |item: &str| measure(&format!("snapshot = \"at\"\n{item}")).floor();
        assert_eq!(floor("vmstat = \"pswpin\""), 64.0);
        assert_eq!(floor("vmstat = \"pswpin\"\nunit = \"pages\""), 64.0);
        assert_eq!(floor("vmstat = \"nr_inactive_anon\""), 64.0);
        assert_eq!(floor("meminfo = \"MemFree\""), 0.25);
        assert_eq!(floor("meminfo = \"MemFree\"\nunit = \"kB\""), 256.0);
        assert_eq!(floor("vmstat = \"allocstall_normal\""), 4.0);
        assert_eq!(floor("pressure = \"memory.some.total\""), 1.0);
        assert_eq!(floor("tunable = \"vm.min_free_kbytes\""), 0.0);
    }
}
