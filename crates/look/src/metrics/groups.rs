//! The control groups that use most memory: what was reclaimed from them, what of it came back, and
//! how long their tasks waited.

use std::cmp::Reverse;

use mm::memcg::{Memcg, MemoryStat};
use mm::psi::Psi;
use mm::snapshot::Snapshot;

use super::facts::{Facts, Sample};

/// Groups that are shown, the largest.
pub const MOST: usize = 20;

/// A figure of a group, with the value of a further label.
type Figure = (&'static str, Option<f64>);

/// The largest groups whose use is known, the largest first.
pub(crate) fn by_use(snapshot: &Snapshot) -> Vec<(&String, &Memcg)> {
    let groups = snapshot.memcgs.iter();
    let mut groups: Vec<_> = groups
        .filter(|(_, group)| group.current.is_some())
        .collect();
    groups.sort_by_key(|(_, group)| Reverse(group.current));
    groups.truncate(MOST);
    groups
}

/// The same by name.
fn largest(facts: &Facts) -> Vec<(&String, &Memcg)> {
    let mut groups = by_use(&facts.now);
    groups.sort_by_key(|(name, _)| *name);
    groups
}

fn each(facts: &Facts, figure: impl Fn(&Memcg) -> Option<f64>) -> Vec<Sample> {
    let groups = largest(facts).into_iter();
    let of = |(name, group): (&String, &Memcg)| {
        Some(Sample::new([("group", path(name))], figure(group)?))
    };
    groups.filter_map(of).collect()
}

fn each_by<const N: usize>(
    facts: &Facts,
    label: &'static str,
    figures: impl Fn(&Memcg) -> [Figure; N],
) -> Vec<Sample> {
    let groups = largest(facts).into_iter();
    let of = |(name, group): (&String, &Memcg)| {
        let figures = figures(group).into_iter();
        let name = path(name);
        figures.filter_map(move |(value, figure)| {
            let labels = [("group", name.clone()), (label, value.to_owned())];
            Some(Sample::new(labels, figure?))
        })
    };
    groups.flat_map(of).collect()
}

/// A group as `/proc/PID/cgroup` names it.
pub(crate) fn path(name: &str) -> String {
    format!("/{name}")
}

/// What groups use.
pub(super) fn used(facts: &Facts) -> Vec<Sample> {
    each(facts, |group| Some(group.current?.0 as f64))
}

/// What came back after it was reclaimed.
pub(super) fn refaulted(facts: &Facts) -> Vec<Sample> {
    each_by(facts, "type", |group| {
        let of = |pages: fn(&MemoryStat) -> Option<u64>| of_pages(facts, group, pages);
        [
            ("anon", of(|stat| stat.workingset_refault_anon)),
            ("file", of(|stat| stat.workingset_refault_file)),
        ]
    })
}

/// What reclaim looked at.
pub(super) fn scanned(facts: &Facts) -> Vec<Sample> {
    each(facts, |group| of_pages(facts, group, |stat| stat.pgscan))
}

/// What reclaim took.
pub(super) fn reclaimed(facts: &Facts) -> Vec<Sample> {
    each(facts, |group| of_pages(facts, group, |stat| stat.pgsteal))
}

fn of_pages(
    facts: &Facts,
    group: &Memcg,
    pages: impl Fn(&MemoryStat) -> Option<u64>,
) -> Option<f64> {
    let pages = pages(group.stat.as_ref()?)?;
    Some(facts.bytes(i64::try_from(pages).ok()?))
}

/// How long tasks waited for memory.
pub(super) fn stalled(facts: &Facts) -> Vec<Sample> {
    each_by(facts, "tasks", |group| {
        let total = |stall: fn(Psi) -> Option<mm::psi::Stall>| {
            Some(stall(group.pressure?)?.total.seconds())
        };
        [
            ("some", total(|psi| psi.some)),
            ("full", total(|psi| psi.full)),
        ]
    })
}

/// What happened at limits.
pub(super) fn events(facts: &Facts) -> Vec<Sample> {
    each_by(facts, "event", |group| {
        let count = |name| Some(group.event(name)? as f64);
        ["high", "max", "oom_kill"].map(|name| (name, count(name)))
    })
}
