//! What a live screen shows of a moment: where memory stands against each line, who waits, who
//! holds memory and to whom it comes back, and what is found. Plain data of what the sections of
//! [`crate::view`] say; what the evidence lacks is `None` or not there.

use std::sync::Arc;

use mm::capture::Frame;
use mm::memcg::{Memcg, MemoryStat};
use mm::notes::UNREADABLE;
use mm::snapshot::Snapshot;
use mm::units::{Bytes, Nanos, Pages};

use crate::dirty::Dirty;
use crate::findings::{Findings, Looked};
use crate::interval::Interval;
pub use crate::load_line::Level;
use crate::machine::Machine;
use crate::metrics::groups;
pub use crate::pressure::Waited;
use crate::reclaim::{self, Reclaim};
use crate::{pressure, tools, zones};

/// Processes and groups that are shown, the largest.
pub const HOLDERS: usize = 10;

/// The state of a machine at one moment, and what became of an earlier one.
#[derive(Clone, Debug)]
pub struct Moment {
    /// When, since boot.
    pub at: Nanos,
    /// Kernel, page size, time since boot, and the name of the moment where it has one.
    pub machine: String,
    /// The zones against their watermarks.
    pub zones: Vec<Level>,
    /// What kswapd of each node does.
    pub kswapd: Vec<String>,
    /// What waits to be written against the limits, and of each device against its part.
    pub dirty: Vec<Level>,
    /// Why the devices' parts are not known.
    pub hidden: Option<String>,
    /// Who waited.
    pub pressure: Vec<Waited>,
    /// What reclaim did in a second; `None` without an earlier moment.
    pub moving: Option<Vec<String>>,
    /// The groups that use most; a group holds what those below it hold. `None` where none is told.
    pub groups: Option<Vec<Holder>>,
    /// The processes that use most; `None` where nobody lists them.
    pub processes: Option<Vec<Holder>>,
    /// The groups to which most comes back in a second; `None` without two moments that tell it.
    pub refaults: Option<Vec<Holder>>,
    /// What is wrong.
    pub diagnosis: Arc<Diagnosis>,
}

/// Somebody who holds memory, or to whom it comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// A group, or a process with its number.
    pub name: String,
    /// How much, or how much in a second.
    pub bytes: Bytes,
}

/// The findings of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// Worst first.
    pub findings: Vec<Told>,
    /// How many were looked for and not found.
    pub absent: usize,
    /// Facts that are missing, for which others were not looked for.
    pub lacks: Vec<&'static str>,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// "critical", "warning" or "note".
    pub severity: &'static str,
    /// What is the case, with its number.
    pub what: String,
    /// The name of its page.
    pub name: &'static str,
}

impl Moment {
    /// What a frame says, which is parsed, and what became of an earlier one; with a diagnosis that
    /// may be of another reading.
    #[must_use]
    pub fn of(
        before: Option<&Snapshot>,
        (frame, now): (&Frame, &Snapshot),
        diagnosis: Arc<Diagnosis>,
    ) -> Self {
        let first = before.unwrap_or(now);
        let interval = Interval::between(first, now);
        let dirty = Dirty::of(first, now, frame.file(UNREADABLE).unwrap_or(""));
        let (zones, kswapd) = zones::levels(&zones::zones(now));
        let reclaim = Reclaim::of(now, interval.as_ref());
        let moving = reclaim.as_ref().and_then(Reclaim::moving);
        Self {
            at: now.at,
            machine: Machine::of(now, frame).title(", "),
            zones,
            kswapd,
            dirty: dirty.iter().flat_map(Dirty::levels).collect(),
            hidden: dirty.as_ref().and_then(Dirty::hidden),
            pressure: pressure::rows(&pressure::pressures(first, now)),
            moving: moving.map(|moving| moving.into_iter().map(rate).collect()),
            groups: holding(now),
            processes: processes(frame),
            refaults: refaults(first, now),
            diagnosis,
        }
    }
}

impl Diagnosis {
    /// What the rules say of a frame, which is parsed, and of what became of an earlier one.
    #[must_use]
    pub fn of(before: Option<&Snapshot>, (frame, now): (&Frame, &Snapshot)) -> Self {
        let interval = before.and_then(|before| Interval::between(before, now));
        let found = Findings::of(&Looked::new(frame, now, interval.as_ref()));
        let told = found.all().iter().map(|finding| Told {
            severity: finding.severity().word(),
            what: finding.what().to_owned(),
            name: finding.name(),
        });
        Self {
            findings: told.collect(),
            absent: found.absent(),
            lacks: found.lacks().collect(),
        }
    }
}

fn rate((what, rate): (&str, f64)) -> String {
    format!("{what} {}/s", reclaim::rounded(rate))
}

fn holding(now: &Snapshot) -> Option<Vec<Holder>> {
    let groups = groups::by_use(now).into_iter().take(HOLDERS);
    let holder = |(name, group): (&String, &Memcg)| {
        let name = groups::path(name);
        Some(Holder {
            name,
            bytes: group.current?,
        })
    };
    let groups: Vec<Holder> = groups.filter_map(holder).collect();
    (!groups.is_empty()).then_some(groups)
}

fn processes(frame: &Frame) -> Option<Vec<Holder>> {
    let listed = tools::largest_processes(frame)?;
    let holders = listed.iter().filter_map(|row| {
        let (pid, name, bytes) = row.process()?;
        let name = format!("{name} {pid}");
        Some(Holder { name, bytes })
    });
    Some(holders.take(HOLDERS).collect())
}

/// The groups to which pages came back, most first.
fn refaults(first: &Snapshot, now: &Snapshot) -> Option<Vec<Holder>> {
    let span = now.at.saturating_sub(first.at);
    let groups = groups::by_use(now).into_iter();
    let came_back = |(name, group): (&String, &Memcg)| {
        let before = refaulted(first.memcgs.get(name)?.stat.as_ref()?)?;
        let pages = refaulted(group.stat.as_ref()?)?.saturating_sub(before);
        let bytes = Pages(pages).bytes(now.page).0 as f64 / span.seconds();
        Some(Holder {
            name: groups::path(name),
            bytes: Bytes(bytes as u64),
        })
    };
    let known: Vec<Holder> = groups.filter_map(came_back).collect();
    let mut moved: Vec<Holder> = known.clone();
    moved.retain(|it| it.bytes > Bytes::ZERO);
    moved.sort_by_key(|it| std::cmp::Reverse(it.bytes));
    (span > Nanos::ZERO && !known.is_empty()).then_some(moved)
}

/// Before 5.9 one counter has both kinds, and is read as that of files.
fn refaulted(stat: &MemoryStat) -> Option<u64> {
    let file = stat.workingset_refault_file?;
    let anon = stat.workingset_refault_anon;
    Some(anon.map_or(file, |anon| file.saturating_add(anon)))
}

#[cfg(test)]
mod tests;
