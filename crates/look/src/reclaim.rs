//! Reclaim at work: scans, refaults, swapping and stalls, since boot and over an interval.

use mm::snapshot::Snapshot;
use schemars::JsonSchema;
use serde::Serialize;

use super::interval::Interval;
use super::page::Page;

/// Counters of /proc/vmstat, summed where the kernel splits them.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Reclaim {
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    counters: Vec<Counter>,
}

/// One counter or sum of counters.
#[derive(Debug, JsonSchema, Serialize)]
struct Counter {
    name: &'static str,
    since_boot: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_second: Option<f64>,
    #[serde(skip)]
    title: &'static str,
}

/// Name in JSON, words, and the items that are summed (a star ends a prefix).
type Row = (&'static str, &'static str, &'static [&'static str]);

const ROWS: [Row; 14] = [
    ("pgscan_kswapd", "scanned by kswapd", &["pgscan_kswapd*"]),
    ("pgscan_direct", "scanned directly", &["pgscan_direct*"]),
    (
        "pgsteal_kswapd",
        "reclaimed by kswapd",
        &["pgsteal_kswapd*"],
    ),
    ("pgsteal_direct", "reclaimed directly", &["pgsteal_direct*"]),
    ("allocstall", "allocation stalls", &["allocstall*"]),
    (
        "refault_file",
        "page cache refaults",
        &["workingset_refault_file", "workingset_refault"],
    ),
    (
        "refault_anon",
        "anonymous refaults",
        &["workingset_refault_anon"],
    ),
    (
        "workingset_restore",
        "of the working set",
        &["workingset_restore*"],
    ),
    ("pswpin", "swapped in", &["pswpin"]),
    ("pswpout", "swapped out", &["pswpout"]),
    ("pgmajfault", "major faults", &["pgmajfault"]),
    ("compact_stall", "compaction stalls", &["compact_stall"]),
    (
        "nr_vmscan_write",
        "written by reclaim",
        &["nr_vmscan_write"],
    ),
    ("oom_kill", "OOM kills", &["oom_kill"]),
];

impl Reclaim {
    /// The counters now, and how fast they went.
    pub(crate) fn of(snapshot: &Snapshot, interval: Option<&Interval<'_>>) -> Option<Self> {
        let vmstat = snapshot.vmstat.as_ref()?;
        let counter = |&(name, title, items): &Row| {
            let since_boot = sum(vmstat.iter(), items)?;
            let grown = interval.map(|interval| {
                match sum(interval.vmstat.iter(), items) {
                    Some(grown) => interval.per_second(grown),
                    // What did not move is not in the difference.
                    None => 0.0,
                }
            });
            Some(Counter {
                name,
                since_boot,
                per_second: grown,
                title,
            })
        };
        Some(Self {
            seconds: interval.map(|interval| interval.span.seconds()),
            counters: ROWS.iter().filter_map(counter).collect(),
        })
    }

    /// What moved over the interval, in pages or times a second, by its words; `None` where there
    /// is no interval.
    pub(crate) fn moving(&self) -> Option<Vec<(&'static str, f64)>> {
        self.seconds?;
        let moved = self.counters.iter().filter_map(|counter| {
            let rate = counter.per_second.filter(|&rate| rate > 0.0)?;
            Some((counter.title, rate))
        });
        Some(moved.collect())
    }

    /// Writes the section; counters that never moved are named in one line.
    pub(crate) fn write(&self, page: &mut Page) {
        let title = match self.seconds {
            Some(seconds) => {
                format!("Reclaim in pages: since boot, and a second over the last {seconds:.1} s")
            }
            None => "Reclaim in pages, since boot".to_owned(),
        };
        page.heading(&title);
        let moved = |counter: &&Counter| counter.since_boot > 0;
        for counter in self.counters.iter().filter(moved) {
            let rate = counter
                .per_second
                .map(|rate| format!("{:>12} /s", rounded(rate)));
            page.row(
                counter.title,
                counter.since_boot,
                rate.as_deref().unwrap_or(""),
            );
        }
        let never = self.counters.iter().filter(|counter| !moved(counter));
        let never: Vec<&str> = never.map(|counter| counter.title).collect();
        if !never.is_empty() {
            page.paragraph(2, &format!("None since boot: {}.", never.join(", ")));
        }
    }
}

/// The sum of the items that match, those of the zones of kernels before 4.8 among them; `None`
/// where this kernel has none of them. How often writers were throttled is no page.
pub(super) fn sum<'a>(all: impl Iterator<Item = (&'a str, u64)>, wanted: &[&str]) -> Option<u64> {
    let matches = |item: &str| {
        wanted.iter().any(|name| match name.strip_suffix('*') {
            Some(prefix) => item.starts_with(prefix),
            None => item == *name,
        })
    };
    let found = all
        .filter(|(item, _)| matches(item) && !item.ends_with("_throttle"))
        .map(|(_, count)| count);
    found.reduce(u64::saturating_add)
}

/// A rate as it is written.
pub(crate) fn rounded(rate: f64) -> String {
    match rate {
        0.0 => "0".to_owned(),
        rate if rate < 10.0 => format!("{rate:.1}"),
        rate => format!("{rate:.0}"),
    }
}
