//! `[[measure]]`: where a number is read, its unit, and what was published.

use std::collections::{BTreeMap, BTreeSet};

use mm::ksm;
use scenario::machine::Disk;

use super::kernel_names::{check_meminfo, check_vmstat, check_zone};
use super::names::{Kind, Names};
use super::node::Node;
use super::settings::{tunable_file, unit_of};
use super::source::StudyError;
use super::table::Table;
use crate::measure::{
    Against, Better, DiskCounter, Item, Measure, Over, Published, Source, Span, Take, Unit,
};
use mm::quantity;
use mm::suggest;

/// What says which figure of an outcome is taken.
const TAKES: [&str; 18] = [
    "snapshot",
    "between",
    "during",
    "step",
    "per",
    "share-with",
    "meminfo",
    "vmstat",
    "zoneinfo",
    "pressure",
    "tunable",
    "diskstats",
    "progress",
    "file",
    "field",
    "take",
    "over",
    "share-of",
];

pub(super) const MEASURE: &[&str] = &joined::<24>(
    &["name"],
    &["unit", "better", "noise-floor", "published", "why"],
);

/// The keys of a table that takes a figure: some of its own, those of the figure, and more.
pub(super) const fn joined<const ALL: usize>(
    before: &[&'static str],
    after: &[&'static str],
) -> [&'static str; ALL] {
    let mut all = [""; ALL];
    let mut at = 0;
    while at < ALL {
        all[at] = match at {
            at if at < before.len() => before[at],
            at if at < before.len() + TAKES.len() => TAKES[at - before.len()],
            at => after[at - before.len() - TAKES.len()],
        };
        at += 1;
    }
    all
}

const ITEMS: &[&str] = &[
    "meminfo",
    "vmstat",
    "zoneinfo",
    "pressure",
    "tunable",
    "diskstats",
    "progress",
    "file",
];
const DURING: &[&str] = &["step", "from", "to"];

const TAKE: &[(&str, Take)] = &[
    ("duration", Take::Duration),
    ("lifetime", Take::Lifetime),
    ("first kill", Take::FirstKill),
    ("throughput", Take::Throughput),
    ("rate", Take::Rate),
    ("operations", Take::Operations),
    ("bytes", Take::Bytes),
    ("latency p50", Take::LatencyP50),
    ("latency p90", Take::LatencyP90),
    ("latency p99", Take::LatencyP99),
    ("latency max", Take::LatencyMax),
    ("survivors", Take::Survivors),
    ("killed", Take::Killed),
    ("failed", Take::Failed),
];

/// What the samples of a span become: one number, or a curve.
const OVER_SAMPLES: &[(&str, Over)] = &[
    ("minimum", Over::Minimum),
    ("mean", Over::Mean),
    ("median", Over::Median),
    ("p90", Over::P90),
    ("p99", Over::P99),
    ("maximum", Over::Maximum),
    ("time", Over::Time),
    ("time to 90 %", Over::TimeTo(90)),
];
/// Around the share of the last number in [`Over::TimeTo`].
const TIME_TO: (&str, &str) = ("time to ", " %");
/// What several numbers become: one, without the two that a time stands for.
const OVER: &[(&str, Over)] = OVER_SAMPLES.split_at(OVER_SAMPLES.len() - 2).0;

/// Reads the measures; `labels` holds the labels and snapshots of all arms.
pub(super) fn measures(
    root: &Table<'_>,
    arms: &BTreeSet<&str>,
    labels: &Names,
    disks: &[Disk],
) -> Result<Vec<Measure>, StudyError> {
    let mut measures: Vec<Measure> = Vec::new();
    for table in root.tables("measure", "[[measure]]", MEASURE)? {
        let measure = measure(&table, arms, labels, disks)?;
        if measures.iter().any(|other| other.name == measure.name) {
            let what = format!("there are two measures called `{}`", measure.name);
            return Err(table
                .need("name")?
                .error(what, "give one of them another name"));
        }
        measures.push(measure);
    }
    Ok(measures)
}

fn measure(
    table: &Table<'_>,
    arms: &BTreeSet<&str>,
    labels: &Names,
    disks: &[Disk],
) -> Result<Measure, StudyError> {
    let (source, usual) = source(table, labels, disks)?;
    let unit = match (table.maybe("unit", |n| n.choice(&Unit::WORDS))?, usual) {
        (Some(unit), Some(usual)) if unit.class() != usual.class() => {
            let node = table.need("unit")?;
            return Err(node.error(
                format!("{} does not fit what is measured", node.place()),
                format!("write a unit like \"{}\", or drop it", usual.word()),
            ));
        }
        (unit, usual) => unit.or(usual).unwrap_or(Unit::Count),
    };
    Ok(Measure {
        name: table.need("name")?.name()?,
        source,
        unit,
        better: table.maybe("better", |n| {
            n.choice(&[("lower", Better::Lower), ("higher", Better::Higher)])
        })?,
        noise_floor: table
            .maybe("noise-floor", |n| n.percent())?
            .map(|p| f64::from(p) / 100.0),
        published: table.or("published", BTreeMap::new(), |n| published(n, unit, arms))?,
        why: table.maybe("why", |n| n.text().map(str::to_owned))?,
    })
}

/// The source, and the unit that its numbers usually have; `None` where only the author knows.
pub(super) fn source(
    table: &Table<'_>,
    labels: &Names,
    disks: &[Disk],
) -> Result<(Source, Option<Unit>), StudyError> {
    let (key, node) = table.one_of(&["snapshot", "between", "during", "step"])?;
    if key != "between" {
        refuse(table, &["per", "share-with"], key)?;
    }
    if key == "step" {
        return step(table, &node, labels);
    }
    if key != "during" {
        refuse(table, &["take", "over", "share-of"], key)?;
    } else {
        refuse(table, &["take", "share-of"], key)?;
    }
    let (item, unit) = item(table, labels, disks)?;
    let source = match key {
        "snapshot" => Source::Snapshot {
            label: labels.known(Kind::Snapshot, &node)?,
            item,
        },
        "between" => {
            let (from, to) = pair(&node, labels)?;
            let against = against(table, disks)?;
            Source::Between {
                from,
                to,
                item,
                against,
            }
        }
        _ => Source::During {
            span: span(&node, labels)?,
            item,
            over: table.or("over", Over::Mean, over_samples)?,
        },
    };
    let unit = own_unit(&source).or(unit);
    Ok((source, unit))
}

/// One of [`OVER_SAMPLES`], or `"time to 90 %"` with any whole share from 1 to 99.
fn over_samples(node: &Node<'_>) -> Result<Over, StudyError> {
    let text = node.text()?;
    let Some(share) = text.strip_prefix(TIME_TO.0) else {
        return node.choice(OVER_SAMPLES);
    };
    let percent = share.strip_suffix(TIME_TO.1).and_then(|percent| {
        let is_plain = percent.bytes().all(|byte| byte.is_ascii_digit());
        percent.parse().ok().filter(|_| is_plain)
    });
    match percent {
        Some(percent @ 1..=99) => Ok(Over::TimeTo(percent)),
        _ => Err(node.expected("a whole share from 1 to 99, as in \"time to 90 %\"")),
    }
}

/// What the growth is divided by, or a share with.
fn against(table: &Table<'_>, disks: &[Disk]) -> Result<Option<Against>, StudyError> {
    if let Some(node) = table.get("share-with")? {
        refuse(table, &["per"], "share-with")?;
        let file = path(&node)?;
        let unit = ksm_unit(&file);
        return Ok(Some(Against::ShareWith(Item::Number { file, unit })));
    }
    table.maybe("per", |n| {
        of_disk(n, disks).map(|(item, _)| Against::Per(item))
    })
}

/// The unit of what is no number of the item's any more.
fn own_unit(source: &Source) -> Option<Unit> {
    match source {
        Source::Between {
            against: Some(Against::ShareWith(_)),
            ..
        } => Some(Unit::Percent),
        Source::During {
            over: Over::TimeTo(_),
            ..
        } => Some(Unit::Seconds),
        _ => None,
    }
}

/// What the counters of samepage merging count: pages, where they say so.
fn ksm_unit(file: &str) -> Option<Unit> {
    let name = file.strip_prefix(ksm::DIR)?.trim_start_matches('/');
    (name.starts_with("pages_") || name == "ksm_zero_pages").then_some(Unit::Pages)
}

/// A file's path without the leading slash.
fn path(node: &Node<'_>) -> Result<String, StudyError> {
    Ok(node.text()?.trim_start_matches('/').to_owned())
}

fn refuse(table: &Table<'_>, keys: &[&'static str], with: &str) -> Result<(), StudyError> {
    for key in keys {
        if let Some(node) = table.get(key)? {
            return Err(node.error(format!("`{key}` does not go with `{with}`"), "drop it"));
        }
    }
    Ok(())
}

fn step(
    table: &Table<'_>,
    node: &Node<'_>,
    labels: &Names,
) -> Result<(Source, Option<Unit>), StudyError> {
    refuse(table, ITEMS, "step")?;
    let take = table.need("take")?.choice(TAKE)?;
    let unit = match take {
        Take::Duration | Take::Lifetime | Take::FirstKill => Unit::Seconds,
        Take::Throughput => Unit::MibPerSecond,
        Take::Rate => Unit::PerSecond,
        Take::Bytes => Unit::Mib,
        Take::LatencyP50 | Take::LatencyP90 | Take::LatencyP99 | Take::LatencyMax => Unit::Millis,
        Take::Operations | Take::Survivors | Take::Killed | Take::Failed => Unit::Count,
    };
    let share_of = table.maybe("share-of", |n| labels.known(Kind::Label, n))?;
    let unit = share_of.as_ref().map_or(unit, |_| Unit::Percent);
    let source = Source::Step {
        label: labels.known(Kind::Label, node)?,
        take,
        over: table.or("over", Over::Median, |n| n.choice(OVER))?,
        share_of,
    };
    Ok((source, Some(unit)))
}

fn pair(node: &Node<'_>, labels: &Names) -> Result<(String, String), StudyError> {
    match node.list()?.as_slice() {
        [from, to] => Ok((
            labels.known(Kind::Snapshot, from)?,
            labels.known(Kind::Snapshot, to)?,
        )),
        _ => Err(node.expected("two snapshots, as in [\"before\", \"after\"]")),
    }
}

/// `"run"`, `{ step = "…" }` or `{ from = "…", to = "…" }`.
fn span(node: &Node<'_>, labels: &Names) -> Result<Span, StudyError> {
    if node.text() == Ok("run") {
        return Ok(Span::Run);
    }
    let table = node.table(DURING)?;
    match table.get("step")? {
        Some(step) => labels.known(Kind::Label, &step).map(Span::Step),
        None => Ok(Span::Snapshots(
            labels.known(Kind::Snapshot, &table.need("from")?)?,
            labels.known(Kind::Snapshot, &table.need("to")?)?,
        )),
    }
}

fn item(
    table: &Table<'_>,
    labels: &Names,
    disks: &[Disk],
) -> Result<(Item, Option<Unit>), StudyError> {
    let (key, node) = table.one_of(ITEMS)?;
    if key == "progress" {
        let process = labels.known(Kind::Process, &node)?;
        return Ok((Item::Progress { process }, Some(Unit::Count)));
    }
    let text = node.text()?;
    let field = |file: &str| Item::Field {
        file: file.to_owned(),
        field: text.to_owned(),
    };
    if key != "file" {
        refuse(table, &["field"], key)?;
    }
    match key {
        "meminfo" => {
            check_meminfo(&node, text)?;
            Ok((field("proc/meminfo"), Some(Unit::Mib)))
        }
        "vmstat" => {
            check_vmstat(&node, text)?;
            Ok((field("proc/vmstat"), None))
        }
        "zoneinfo" => Ok((zone(&node, text)?, Some(Unit::Mib))),
        "pressure" => pressure(&node),
        "diskstats" => of_disk(&node, disks),
        "tunable" => {
            let (file, unit) = tunable_file(&node)?;
            Ok((Item::Number { file, unit }, unit))
        }
        _ => {
            let file = path(&node)?;
            let field = table.maybe("field", |n| n.text().map(str::to_owned))?;
            if let Some(field) = field {
                return Ok((Item::Field { file, field }, None));
            }
            let unit = ksm_unit(&file).or_else(|| unit_of(&file));
            Ok((Item::Number { file, unit }, unit))
        }
    }
}

/// `"stick.written"`: a disk of the machine, and one of its counters.
fn of_disk(node: &Node<'_>, disks: &[Disk]) -> Result<(Item, Option<Unit>), StudyError> {
    let Some((disk, word)) = node.text()?.rsplit_once('.') else {
        return Err(node.expected("disk and counter, as in \"disk.written\""));
    };
    let Some(index) = disks.iter().position(|known| known.name == disk) else {
        let names = disks.iter().map(|disk| disk.name.as_str());
        let what = format!("unknown disk `{disk}`");
        return Err(node.error(what, suggest::way_out(disk, names)));
    };
    let words = DiskCounter::WORDS.iter();
    let Some((_, counter)) = words.clone().find(|(known, _)| *known == word) else {
        let what = format!("a disk has no counter `{word}`");
        return Err(node.error(what, suggest::way_out(word, words.map(|(word, _)| *word))));
    };
    let (disk, counter) = (disk.to_owned(), *counter);
    let unit = counter.unit();
    let item = Item::Disk {
        disk,
        index,
        counter,
    };
    Ok((item, Some(unit)))
}

/// `"low"` or `"DMA32.low"`.
fn zone(node: &Node<'_>, text: &str) -> Result<Item, StudyError> {
    let (zone, field) = match text.split_once('.') {
        Some((zone, field)) => (Some(zone.to_owned()), field),
        None => (None, text),
    };
    check_zone(node, zone.as_deref(), field)?;
    Ok(Item::Zone {
        zone,
        field: field.to_owned(),
    })
}

/// `"memory.some.total"`.
fn pressure(node: &Node<'_>) -> Result<(Item, Option<Unit>), StudyError> {
    let parts: Vec<&str> = node.text()?.split('.').collect();
    let [resource, line, field] = parts[..] else {
        return Err(node.expected("resource, line and field, as in \"memory.some.total\""));
    };
    let known = ["memory", "io", "cpu"].contains(&resource)
        && ["some", "full"].contains(&line)
        && ["avg10", "avg60", "avg300", "total"].contains(&field);
    if !known {
        return Err(node.expected("a figure of PSI, as in \"memory.some.total\""));
    }
    let unit = if field == "total" {
        Unit::Millis
    } else {
        Unit::Percent
    };
    let (resource, line, field) = (resource.to_owned(), line.to_owned(), field.to_owned());
    Ok((
        Item::Pressure {
            resource,
            line,
            field,
        },
        Some(unit),
    ))
}

fn published(
    node: &Node<'_>,
    unit: Unit,
    arms: &BTreeSet<&str>,
) -> Result<BTreeMap<String, Published>, StudyError> {
    let mut published = BTreeMap::new();
    for (arm, value) in node.entries()? {
        if !arms.contains(arm.as_str()) {
            let what = format!("a value is published for an unknown arm `{arm}`");
            return Err(value.error(what, suggest::way_out(&arm, arms.iter().copied())));
        }
        published.insert(arm, reported(&value, unit)?);
    }
    Ok(published)
}

/// A published value: a plain number in the measure's unit, or a text with its own unit.
fn reported(node: &Node<'_>, unit: Unit) -> Result<Published, StudyError> {
    let Some(text) = node.text().ok() else {
        let amount: f64 = node.decimal()?;
        return Ok(Published {
            text: unit.show(amount),
            amount,
        });
    };
    let base = match unit {
        Unit::Kib | Unit::Mib | Unit::Gib => quantity::size(text).ok().map(|size| size.0 as f64),
        Unit::Seconds | Unit::Millis | Unit::Micros => {
            quantity::duration(text).ok().map(|span| span.0 as f64)
        }
        Unit::MibPerSecond => quantity::bandwidth(text).ok().map(|rate| rate.0 as f64),
        _ => text
            .trim_end_matches(unit.word())
            .trim()
            .parse()
            .ok()
            .map(|n: f64| n * unit.worth()),
    };
    match base {
        Some(base) => Ok(Published {
            text: text.to_owned(),
            amount: base / unit.worth(),
        }),
        None => Err(node.expected(&format!("an amount, as in \"{}\"", unit.show(1.0)))),
    }
}
