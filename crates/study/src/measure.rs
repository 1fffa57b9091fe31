//! Measures: where a number is read in an outcome, in which unit it is shown, what was published.

use std::collections::BTreeMap;

use mm::units::{Bytes, Nanos};

mod curve;
mod kind;
mod read;

pub use curve::Curve;
pub use kind::Kind;
pub use read::ReadError;

/// A number that a study asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// Unique within the study.
    pub name: String,
    /// Where it is read.
    pub source: Source,
    /// What it counts and how it is shown.
    pub unit: Unit,
    /// Which direction is an improvement, where there is one.
    pub better: Option<Better>,
    /// A relative difference below this says nothing; `None` for the verdict's own floor.
    pub noise_floor: Option<f64>,
    /// What others reported, by arm.
    pub published: BTreeMap<String, Published>,
    /// Why it comes out as it does, with placeholders (see [`crate::template`]).
    pub why: Option<String>,
}

/// Where a number is read in an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// An item of a snapshot.
    Snapshot {
        /// The snapshot's label.
        label: String,
        /// What is read in it.
        item: Item,
    },
    /// An item's growth from one snapshot to another; meant for counters.
    Between {
        /// The earlier snapshot.
        from: String,
        /// The later one.
        to: String,
        /// What is read in both.
        item: Item,
        /// What the growth is set against, where the number is not the growth itself.
        against: Option<Against>,
    },
    /// An item over all samples within a span.
    During {
        /// The span.
        span: Span,
        /// What is read in each sample.
        item: Item,
        /// How many samples become one number.
        over: Over,
    },
    /// A figure of a labelled step.
    Step {
        /// The step's label.
        label: String,
        /// Which figure.
        take: Take,
        /// How several instances or rounds of the step become one number.
        over: Over,
        /// The label of another step, where the number is its share of that one's, in percent.
        share_of: Option<String>,
    },
}

/// What an item's growth is set against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Against {
    /// The growth of this item, which divides it, as bytes by requests.
    Per(Item),
    /// Its own growth and that of this item together, of which it is a share, in percent.
    ShareWith(Item),
}

/// A span of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    /// From the beginning of a labelled step to its last instance's end.
    Step(String),
    /// From one snapshot to another.
    Snapshots(String, String),
    /// The whole run.
    Run,
}

/// An item of the kernel's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A number after a word in a file of lines "WORD NUMBER …", with a colon or without one, by
    /// the file's path: `/proc/meminfo`, `/proc/vmstat`, `memory.stat`.
    Field {
        /// The file, without the leading slash.
        file: String,
        /// The word.
        field: String,
    },
    /// The first number in a file: a tunable, a counter of `/sys/kernel/mm/ksm`.
    Number {
        /// The file, without the leading slash.
        file: String,
        /// What it counts; `None` for the measure's own unit.
        unit: Option<Unit>,
    },
    /// A zone's number in `/proc/zoneinfo`, in pages, added up over nodes (and zones).
    Zone {
        /// The zone; `None` for all of them.
        zone: Option<String>,
        /// `free`, `min`, `low`, `high`, `managed`, `nr_inactive_file`, …
        field: String,
    },
    /// A figure of `/proc/pressure/RESOURCE`.
    Pressure {
        /// `memory`, `io` or `cpu`.
        resource: String,
        /// `some` or `full`.
        line: String,
        /// `avg10`, `avg60`, `avg300` or `total`.
        field: String,
    },
    /// A counter of one disk in `/proc/diskstats`.
    Disk {
        /// The study's name of the disk.
        disk: String,
        /// Its place among the machine's disks, which is the last letter of the device's name.
        index: usize,
        /// Which counter.
        counter: DiskCounter,
    },
    /// The operations that all instances of a process have done so far.
    Progress {
        /// The process.
        process: String,
    },
}

/// A counter of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskCounter {
    /// Requests that read.
    Reads,
    /// Bytes read.
    Read,
    /// Requests that wrote.
    Writes,
    /// Bytes written.
    Written,
    /// Time in which at least one request was under way.
    Busy,
}

/// A figure of a labelled step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// How long it took; instances that did not finish have none.
    Duration,
    /// How long it went on, however it ended.
    Lifetime,
    /// The time from the first start of an instance to the first kill of one.
    FirstKill,
    /// Bytes per second of all instances together.
    Throughput,
    /// Operations per second of all instances together.
    Rate,
    /// Operations of all instances together.
    Operations,
    /// Bytes of all instances together.
    Bytes,
    /// The median latency of an operation.
    LatencyP50,
    /// The 90th percentile of the latency.
    LatencyP90,
    /// The 99th percentile of the latency.
    LatencyP99,
    /// The largest latency.
    LatencyMax,
    /// How many instances ended as intended.
    Survivors,
    /// How many instances were killed.
    Killed,
    /// How many instances ended with an error.
    Failed,
}

/// How several numbers become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The smallest.
    Minimum,
    /// The arithmetic mean.
    Mean,
    /// The middle.
    Median,
    /// The 90th percentile.
    P90,
    /// The 99th percentile.
    P99,
    /// The largest.
    Maximum,
    /// The mean over time; prediction and measurement are compared at every moment.
    Time,
    /// How long it takes until this share of the last number is reached, from the span's begin, in
    /// percent (1 to 99).
    TimeTo(u8),
}

/// Which direction is an improvement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

/// What a unit counts: amounts of one class can be added and shown in each other's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Bytes.
    Size,
    /// Seconds, or something per second.
    Time,
    /// Events or things.
    Count,
}

/// The unit of a measure. Amounts are kept in it: 67584 with [`Unit::Kib`] is 67584 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// KiB, which the kernel writes "kB".
    Kib,
    /// MiB.
    Mib,
    /// GiB.
    Gib,
    /// Base pages of 4 KiB.
    Pages,
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// MiB a second.
    MibPerSecond,
    /// Events a second.
    PerSecond,
    /// Percent.
    Percent,
    /// A plain number.
    Count,
}

/// What others reported: their words, and the amount in the measure's unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// As it was printed.
    pub text: String,
    /// In the measure's unit.
    pub amount: f64,
}

impl DiskCounter {
    /// Every counter by the word that a study uses for it.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("reads", Self::Reads),
        ("read", Self::Read),
        ("writes", Self::Writes),
        ("written", Self::Written),
        ("busy", Self::Busy),
    ];

    /// What it counts.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Reads | Self::Writes => Unit::Count,
            Self::Read | Self::Written => Unit::Mib,
            Self::Busy => Unit::Millis,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        let named = Self::WORDS.iter().find(|(_, counter)| *counter == self);
        named.map_or("", |(word, _)| word)
    }
}

impl Unit {
    /// Every unit by the word that a study uses for it.
    pub const WORDS: [(&'static str, Self); 11] = [
        ("kB", Self::Kib),
        ("MiB", Self::Mib),
        ("GiB", Self::Gib),
        ("pages", Self::Pages),
        ("s", Self::Seconds),
        ("ms", Self::Millis),
        ("us", Self::Micros),
        ("MiB/s", Self::MibPerSecond),
        ("/s", Self::PerSecond),
        ("%", Self::Percent),
        ("count", Self::Count),
    ];

    /// The word beside the number; empty for a plain count.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Count => "",
            _ => Self::WORDS
                .iter()
                .find(|(_, unit)| *unit == self)
                .map_or("", |(word, _)| word),
        }
    }

    /// What it counts.
    #[must_use]
    pub fn class(self) -> Class {
        match self {
            Self::Kib | Self::Mib | Self::Gib | Self::Pages => Class::Size,
            Self::Seconds
            | Self::Millis
            | Self::Micros
            | Self::MibPerSecond
            | Self::PerSecond
            | Self::Percent => Class::Time,
            Self::Count => Class::Count,
        }
    }

    /// How many base units (bytes, nanoseconds, bytes or events a second, things) it is worth.
    #[must_use]
    pub fn worth(self) -> f64 {
        match self {
            Self::Kib => 1024.0,
            Self::Mib | Self::MibPerSecond => Bytes::MIB.0 as f64,
            Self::Gib => Bytes::GIB.0 as f64,
            Self::Pages => 4096.0,
            Self::Seconds => Nanos::SECOND.0 as f64,
            Self::Millis => Nanos::MILLI.0 as f64,
            Self::Micros => Nanos::MICRO.0 as f64,
            Self::PerSecond | Self::Percent | Self::Count => 1.0,
        }
    }

    /// An amount as people read it: "67584 kB", "1422 MiB", "0.364 s".
    #[must_use]
    pub fn show(self, amount: f64) -> String {
        let (number, word) = (self.number(amount), self.word());
        let gap = if word.is_empty() { "" } else { " " };
        format!("{number}{gap}{word}")
    }

    /// The same without the unit's word.
    #[must_use]
    pub fn number(self, amount: f64) -> String {
        match self {
            Self::Kib | Self::Pages | Self::Count => whole(amount),
            _ => four_digits(amount),
        }
    }
}

/// Half a page or a process says something only where there are few.
fn whole(amount: f64) -> String {
    if amount.fract().abs() < 1e-9 || amount.abs() >= 100.0 {
        format!("{amount:.0}")
    } else {
        format!("{amount:.1}")
    }
}

/// Three or four significant digits.
fn four_digits(amount: f64) -> String {
    match amount.abs() {
        size if size >= 99.95 => format!("{amount:.0}"),
        size if size >= 9.995 => format!("{amount:.1}"),
        size if size >= 0.9995 => format!("{amount:.2}"),
        0.0 => "0".to_owned(),
        size if size >= 0.001 => format!("{amount:.3}"),
        _ => format!("{amount:.6}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_as_people_read_them() {
        assert_eq!(Unit::Kib.show(67584.0), "67584 kB");
        assert_eq!(Unit::Mib.show(1422.4), "1422 MiB");
        assert_eq!(Unit::Seconds.show(0.364), "0.364 s");
        assert_eq!(Unit::Seconds.show(22.36), "22.4 s");
        assert_eq!(Unit::Count.show(3.0), "3");
        assert_eq!(Unit::Count.show(2.5), "2.5");
        assert_eq!(Unit::Count.show(154.5), "154");
        let shown = [100.02, 99.96, 9.996, 0.9996].map(|share| Unit::Percent.number(share));
        assert_eq!(shown, ["100", "100", "10.0", "1.00"]);
    }

    #[test]
    fn every_unit_has_its_own_word() {
        let words: std::collections::BTreeSet<_> = Unit::WORDS.map(|(word, _)| word).into();
        assert_eq!(words.len(), Unit::WORDS.len());
    }
}
