//! Every family: its name, its kind and unit, what it says, of which evidence it is made, and how.

use mm::lru_gen::{MIN_TTL_MS, TABLE};

use super::facts::{Facts, Sample};
use super::{groups, lines, ours};

/// What begins every name.
const PREFIX: &str = "plimsoll_";

/// What a figure does over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It goes up and down.
    Gauge,
    /// It only grows.
    Counter,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// Things, or 1 for yes.
    None,
}

/// A row of the table.
#[derive(Debug)]
pub struct Family {
    /// What it is of; see [`Family::name`].
    stem: &'static str,
    /// What it does over time.
    pub kind: Kind,
    /// What it counts.
    pub unit: Unit,
    /// The names of its labels, beside each other.
    pub labels: &'static str,
    /// What it says, as a sentence.
    pub help: &'static str,
    /// What has to be in the evidence.
    pub from: &'static str,
    /// Its samples.
    pub(super) samples: fn(&Facts) -> Vec<Sample>,
}

impl Kind {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
        }
    }
}

impl Unit {
    /// Its word; empty where it has none.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Seconds => "seconds",
            Self::None => "",
        }
    }
}

impl Family {
    /// Its name, with its unit.
    #[must_use]
    pub fn name(&self) -> String {
        match self.unit.word() {
            "" => format!("{PREFIX}{}", self.stem),
            unit => format!("{PREFIX}{}_{unit}", self.stem),
        }
    }

    /// The name of its samples: a counter's ends in `_total`.
    #[must_use]
    pub fn sample_name(&self) -> String {
        match self.kind {
            Kind::Gauge => self.name(),
            Kind::Counter => self.name() + "_total",
        }
    }
}

/// All families, in the order of the text.
pub const FAMILIES: &[Family] = &[
    Family {
        stem: "zone_distance",
        kind: Kind::Gauge,
        unit: Unit::Bytes,
        labels: "node, zone, line",
        help: "How far the free pages of a zone that count are above its min, low and high mark, \
               boost included; negative below.",
        from: "/proc/zoneinfo",
        samples: lines::of_zones,
    },
    Family {
        stem: "zone_boost",
        kind: Kind::Gauge,
        unit: Unit::Bytes,
        labels: "node, zone",
        help: "By how much the marks of a zone are raised for now.",
        from: "/proc/zoneinfo, where it prints boost",
        samples: lines::boosts,
    },
    Family {
        stem: "node_distance",
        kind: Kind::Gauge,
        unit: Unit::Bytes,
        labels: "node, line",
        help: "How far the best zone of a node is above each mark and what it keeps back from \
               requests that could use a higher zone. Below low, kswapd reclaims; below min, tasks \
               do.",
        from: "/proc/zoneinfo",
        samples: lines::of_nodes,
    },
    Family {
        stem: "node_line",
        kind: Kind::Gauge,
        unit: Unit::Seconds,
        labels: "node, line",
        help: "Until a node's distance is used up at the present rate; no sample while it grows.",
        from: "/proc/zoneinfo twice",
        samples: lines::seconds_of_nodes,
    },
    Family {
        stem: "available_line",
        kind: Kind::Gauge,
        unit: Unit::Seconds,
        labels: "",
        help: "Until MemAvailable is used up at the present rate; no sample while it grows.",
        from: "/proc/meminfo twice",
        samples: lines::seconds_of_available,
    },
    Family {
        stem: "dirty_limit",
        kind: Kind::Gauge,
        unit: Unit::Bytes,
        labels: "line",
        help: "From where on flushers write (background), each write waits (throttled), and \
               writers stand (limit).",
        from: "/proc/vmstat, /proc/zoneinfo and vm.dirty_*",
        samples: lines::dirty_limits,
    },
    Family {
        stem: "dirty_distance",
        kind: Kind::Gauge,
        unit: Unit::Bytes,
        labels: "line",
        help: "What may become dirty up to each limit; negative above.",
        from: "/proc/vmstat, /proc/zoneinfo and vm.dirty_*",
        samples: lines::dirty_distances,
    },
    Family {
        stem: "dirty_line",
        kind: Kind::Gauge,
        unit: Unit::Seconds,
        labels: "line",
        help: "Until each dirty limit is reached at the present rate; no sample while what is \
               dirty becomes less.",
        from: "the same, twice",
        samples: lines::seconds_of_dirty,
    },
    Family {
        stem: "lru_gen_age",
        kind: Kind::Gauge,
        unit: Unit::Seconds,
        labels: "node, generation",
        help: "The age of the youngest and of the oldest generation of a node that holds pages; \
               reclaim takes the oldest first.",
        from: TABLE,
        samples: lines::ages,
    },
    Family {
        stem: "lru_gen_min_ttl",
        kind: Kind::Gauge,
        unit: Unit::Seconds,
        labels: "",
        help: "Pages used within this time are kept, else the OOM killer runs; 0 keeps none.",
        from: MIN_TTL_MS,
        samples: lines::min_ttl,
    },
    Family {
        stem: "group_memory",
        kind: Kind::Gauge,
        unit: Unit::Bytes,
        labels: "group",
        help: "What a control group and those below it use, of the 20 that use most.",
        from: "memory.current, or memory.usage_in_bytes",
        samples: groups::used,
    },
    Family {
        stem: "group_refaulted",
        kind: Kind::Counter,
        unit: Unit::Bytes,
        labels: "group, type",
        help: "What was evicted from a group and needed again.",
        from: "memory.stat",
        samples: groups::refaulted,
    },
    Family {
        stem: "group_scanned",
        kind: Kind::Counter,
        unit: Unit::Bytes,
        labels: "group",
        help: "What reclaim looked at in a group.",
        from: "memory.stat",
        samples: groups::scanned,
    },
    Family {
        stem: "group_reclaimed",
        kind: Kind::Counter,
        unit: Unit::Bytes,
        labels: "group",
        help: "What reclaim took from a group.",
        from: "memory.stat",
        samples: groups::reclaimed,
    },
    Family {
        stem: "group_memory_pressure",
        kind: Kind::Counter,
        unit: Unit::Seconds,
        labels: "group, tasks",
        help: "How long some or all tasks of a group waited for memory.",
        from: "memory.pressure",
        samples: groups::stalled,
    },
    Family {
        stem: "group_events",
        kind: Kind::Counter,
        unit: Unit::None,
        labels: "group, event",
        help: "How often a group was held at memory.high, reached memory.max, or lost a process to \
               the OOM killer.",
        from: "memory.events",
        samples: groups::events,
    },
    Family {
        stem: "lint_findings",
        kind: Kind::Gauge,
        unit: Unit::None,
        labels: "severity",
        help: "What plimsoll lint finds in the settings that stand and the files that set them.",
        from: "the machine's settings and configuration",
        samples: ours::findings,
    },
    Family {
        stem: "lint_rule_findings",
        kind: Kind::Gauge,
        unit: Unit::None,
        labels: "rule, severity",
        help: "The same by rule, of those that find something; plimsoll lint --explain RULE says \
               more.",
        from: "the machine's settings and configuration",
        samples: ours::by_rule,
    },
    Family {
        stem: "applied_drifted",
        kind: Kind::Gauge,
        unit: Unit::None,
        labels: "tunable",
        help: "1 where a value that plimsoll apply set is another one by now, 0 where it stands.",
        from: "the journal of changes",
        samples: ours::drift,
    },
    Family {
        stem: "guard_up",
        kind: Kind::Gauge,
        unit: Unit::None,
        labels: "",
        help: "1 where the guard runs, 0 where it is configured and does not.",
        from: "the guard's files",
        samples: ours::guard_runs,
    },
    Family {
        stem: "guard_left_behind",
        kind: Kind::Gauge,
        unit: Unit::None,
        labels: "",
        help: "1 where a guard that was killed left tunables set: plimsoll-guard --restore writes \
               them back.",
        from: "the guard's files",
        samples: ours::guard_left,
    },
];
