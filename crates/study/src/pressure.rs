//! `[pressure]`: what has to happen in a run so that the study's question is asked at all. On
//! another machine it may not: then no arm is ranked.

use std::collections::BTreeMap;

use scenario::machine::Disk;

use super::measures;
use super::names::Names;
use super::node::Node;
use super::source::StudyError;
use crate::measure::{Item, Measure, Source, Unit};
use mm::suggest;

const PRESSURE: &[&str] = &measures::joined::<21>(&["what", "arm", "least"], &[]);

/// What has to happen.
#[derive(Clone, Debug, PartialEq)]
pub struct Pressure {
    /// In words: "kswapd reclaims pages while the file is read".
    pub what: String,
    /// On which arm.
    pub arm: String,
    /// Where it is read, by the name of the item.
    pub measure: Measure,
    /// From which number on it happens.
    pub least: Least,
}

/// The least number with which the pressure is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Least {
    /// This one.
    Number(f64),
    /// That of another line of the same file, at the same times.
    Line(Box<Measure>),
}

/// Reads the table, whose arm must be one of `arms` and is otherwise the first.
pub(super) fn pressure(
    node: &Node<'_>,
    arms: &[&str],
    labels: &Names,
    disks: &[Disk],
) -> Result<Pressure, StudyError> {
    let table = node.clone().placed("[pressure]").table(PRESSURE)?;
    let (source, unit) = measures::source(&table, labels, disks)?;
    let unit = unit.unwrap_or(Unit::Count);
    let arm = |node: &Node<'_>| {
        let name = node.text()?;
        match arms.contains(&name) {
            true => Ok(name.to_owned()),
            false => {
                let what = format!("{} names an unknown arm `{name}`", node.place());
                Err(node.error(what, suggest::way_out(name, arms.iter().copied())))
            }
        }
    };
    let first = arms.first().copied().unwrap_or_default().to_owned();
    let least = table.or("least", Least::Number(1.0), |node| {
        least(node, &source, unit)
    })?;
    Ok(Pressure {
        what: table.need("what")?.text()?.trim().to_owned(),
        arm: table.or("arm", first, arm)?,
        measure: measure(name_of(&source), source, unit),
        least,
    })
}

/// A number, or the name of a line of the file in which the item is one.
fn least(node: &Node<'_>, source: &Source, unit: Unit) -> Result<Least, StudyError> {
    let Ok(line) = node.text() else {
        return node.decimal().map(Least::Number);
    };
    let mut source = source.clone();
    match item_of(&mut source) {
        Some(Item::Field { field, .. }) => line.clone_into(field),
        _ => return Err(node.expected("a number: the item has no other lines beside it")),
    }
    Ok(Least::Line(Box::new(measure(
        line.to_owned(),
        source,
        unit,
    ))))
}

fn item_of(source: &mut Source) -> Option<&mut Item> {
    match source {
        Source::Snapshot { item, .. }
        | Source::Between { item, .. }
        | Source::During { item, .. } => Some(item),
        Source::Step { .. } => None,
    }
}

/// What people call the item: the line, the file, or the step.
fn name_of(source: &Source) -> String {
    match source {
        Source::Step { label, .. } => label.clone(),
        Source::Snapshot { item, .. }
        | Source::Between { item, .. }
        | Source::During { item, .. } => match item {
            Item::Field { field, .. } => field.clone(),
            Item::Number { file, .. } => file.rsplit('/').next().unwrap_or(file).to_owned(),
            Item::Zone { field, .. } => field.clone(),
            Item::Pressure { resource, .. } => format!("{resource} pressure"),
            Item::Disk { disk, counter, .. } => format!("{disk}.{}", counter.word()),
            Item::Progress { process } => process.clone(),
        },
    }
}

fn measure(name: String, source: Source, unit: Unit) -> Measure {
    Measure {
        name,
        source,
        unit,
        better: None,
        noise_floor: None,
        published: BTreeMap::new(),
        why: None,
    }
}
