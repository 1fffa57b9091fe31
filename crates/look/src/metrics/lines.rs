//! The lines: how far zones, nodes and dirty pages stand from theirs, in bytes, and for how many
//! seconds that lasts at the present rate.

use mm::lru_gen::Generation;
use mm::recompute::Above;
use mm::snapshot::Snapshot;
use mm::units::{Nanos, Pages};
use mm::zoneinfo::{Zone, Zoneinfo};

use super::facts::{Facts, Sample};

/// A mark by the kernel's name, and what stands above it.
type Mark = (&'static str, fn(Above) -> i64);

const MARKS: [Mark; 3] = [
    ("min", |above| above.min),
    ("low", |above| above.low),
    ("high", |above| above.high),
];

fn zones(snapshot: &Snapshot) -> impl Iterator<Item = &Zone> {
    let zones = snapshot.zoneinfo.iter().flat_map(Zoneinfo::populated);
    zones.filter(|zone| zone.is_usable())
}

fn of_zone(zone: &Zone) -> [(&'static str, String); 2] {
    [
        ("node", zone.node.to_string()),
        ("zone", zone.kind.name().to_owned()),
    ]
}

/// Each zone against each mark.
pub(super) fn of_zones(facts: &Facts) -> Vec<Sample> {
    let of = |zone| {
        let above = facts.now.above(zone);
        let [node, name] = of_zone(zone);
        MARKS.map(|(mark, of)| {
            let labels = [node.clone(), name.clone(), ("line", mark.to_owned())];
            Sample::new(labels, facts.bytes(of(above)))
        })
    };
    zones(&facts.now).flat_map(of).collect()
}

/// By how much the marks of each zone are raised.
pub(super) fn boosts(facts: &Facts) -> Vec<Sample> {
    let of = |zone: &Zone| {
        let Pages(boost) = zone.boost?;
        let boost = facts.bytes(i64::try_from(boost).ok()?);
        Some(Sample::new(of_zone(zone), boost))
    };
    zones(&facts.now).filter_map(of).collect()
}

/// Each node against each mark, after the reserve.
pub(super) fn of_nodes(facts: &Facts) -> Vec<Sample> {
    let of = |(node, above): (u32, Above)| {
        MARKS.map(|(mark, of)| Sample::new(of_mark(node, mark), facts.bytes(of(above))))
    };
    nodes(&facts.now).flat_map(of).collect()
}

/// When each node reaches each mark.
pub(super) fn seconds_of_nodes(facts: &Facts) -> Vec<Sample> {
    let Some((before, span)) = facts.moved() else {
        return Vec::new();
    };
    let of = |(node, above): (u32, Above)| {
        let earlier = nodes(before).find(|&(other, _)| other == node);
        let earlier = earlier.map(|(_, above)| above);
        MARKS.into_iter().filter_map(move |(mark, of)| {
            let seconds = until(of(earlier?) as f64, of(above) as f64, span)?;
            Some(Sample::new(of_mark(node, mark), seconds))
        })
    };
    nodes(&facts.now).flat_map(of).collect()
}

fn nodes(snapshot: &Snapshot) -> impl Iterator<Item = (u32, Above)> {
    let nodes = snapshot.nodes().into_iter();
    nodes.filter_map(|node| Some((node.node, node.above?)))
}

fn of_mark(node: u32, mark: &str) -> [(&'static str, String); 2] {
    [("node", node.to_string()), ("line", mark.to_owned())]
}

/// When MemAvailable is used up.
pub(super) fn seconds_of_available(facts: &Facts) -> Vec<Sample> {
    let available = |snapshot: &Snapshot| {
        let kernel = snapshot.meminfo.as_ref()?.mem_available;
        let kernel = kernel.map(|kib| kib.pages_floor(snapshot.page));
        let pages = kernel.or_else(|| Some(snapshot.available()?.total))?;
        Some(pages.0 as f64)
    };
    let seconds = || {
        let (before, span) = facts.moved()?;
        until(available(before)?, available(&facts.now)?, span)
    };
    let sample = |seconds| Sample::new([], seconds);
    seconds().map(sample).into_iter().collect()
}

/// The seconds until a distance that was `before` and is `now` is used up, where it falls; 0 where
/// it is used up already.
fn until(before: f64, now: f64, span: f64) -> Option<f64> {
    let in_a_second = (before - now) / span;
    (in_a_second > 0.0).then(|| now.max(0.0) / in_a_second)
}

/// What may be dirty: from where on flushers write, each write waits, and all writers stand.
fn dirty_lines(snapshot: &Snapshot) -> Option<[(&'static str, Pages); 3]> {
    let limits = snapshot.thresholds()?;
    Some([
        ("background", limits.background),
        ("throttled", limits.freerun()),
        ("limit", limits.dirty),
    ])
}

/// The dirty limits.
pub(super) fn dirty_limits(facts: &Facts) -> Vec<Sample> {
    of_dirty(facts, |Pages(line)| {
        Some(facts.bytes(line.try_into().ok()?))
    })
}

/// What may become dirty up to each limit.
pub(super) fn dirty_distances(facts: &Facts) -> Vec<Sample> {
    let unwritten = facts.now.unwritten();
    of_dirty(facts, |line| {
        Some(facts.bytes(line.0.checked_signed_diff(unwritten?.0)?))
    })
}

/// When each dirty limit is reached.
pub(super) fn seconds_of_dirty(facts: &Facts) -> Vec<Sample> {
    let held = |snapshot: &Snapshot| Some(snapshot.unwritten()?.0 as f64);
    of_dirty(facts, |line| {
        let (before, span) = facts.moved()?;
        let left = |held: f64| line.0 as f64 - held;
        until(left(held(before)?), left(held(&facts.now)?), span)
    })
}

fn of_dirty(facts: &Facts, value: impl Fn(Pages) -> Option<f64>) -> Vec<Sample> {
    let lines = dirty_lines(&facts.now).into_iter().flatten();
    let of = |(name, at): (&str, Pages)| Some(Sample::new([("line", name.to_owned())], value(at)?));
    lines.filter_map(of).collect()
}

/// The ages of the generations of each node that hold pages: of the youngest, and of the oldest.
pub(super) fn ages(facts: &Facts) -> Vec<Sample> {
    let table = &facts.now.lru_gen.generations;
    let holds = |row: &&Generation| row.anon.saturating_add(row.file) > Pages::ZERO;
    let held: Vec<&Generation> = table.iter().filter(holds).collect();
    let mut nodes: Vec<u32> = held.iter().map(|row| row.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let of = |node: u32| {
        let ages = || {
            held.iter()
                .filter(|row| row.node == node)
                .map(|row| row.age)
        };
        let ends = [("youngest", ages().min()), ("oldest", ages().max())];
        ends.into_iter().filter_map(move |(end, age)| {
            let labels = [("node", node.to_string()), ("generation", end.to_owned())];
            Some(Sample::new(labels, age?.seconds()))
        })
    };
    nodes.into_iter().flat_map(of).collect()
}

/// How long the working set is kept.
pub(super) fn min_ttl(facts: &Facts) -> Vec<Sample> {
    let ttl: Option<Nanos> = facts.now.lru_gen.min_ttl;
    let sample = |ttl: Nanos| Sample::new([], ttl.seconds());
    ttl.map(sample).into_iter().collect()
}
