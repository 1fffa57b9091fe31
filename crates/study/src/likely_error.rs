//! How far a prediction is likely to lie from what a kernel does: the gaps of studies that were
//! drawn at random, by kind of measure.
//!
//! Computing them takes the records and the model; the answer is small. So it is kept as a table of
//! text, `records/errors.tsv`, which a test of the example `truth` holds against the records.

use mm::units::Bytes;
use scenario::Scenario;
use scenario::machine::FileSystem;
use scenario::workload::{Action, Huge};

use crate::Study;
use crate::measure::{Item, Kind, Measure, Source};

/// The table that is kept with the records.
pub const TABLE: &str = include_str!("../../../records/errors.tsv");

/// The memory of the smallest and of the largest drawn machine.
const MEMORY: [Bytes; 2] = [Bytes(256 << 20), Bytes(4 << 30)];

/// Between which multiples of the prediction nine of ten figures of a kind came out on the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The kind, in the plural.
    pub kind: String,
    /// Figures that it rests on.
    pub figures: u64,
    /// The least multiple.
    pub least: f64,
    /// The most.
    pub most: f64,
}

/// What kind of figure a measure is; survivors have no ratio.
#[must_use]
pub fn word(measure: &Measure) -> Option<&'static str> {
    let item = match &measure.source {
        Source::Between { item, .. } => Some(item),
        _ => None,
    };
    match (&measure.source, item, measure.kind()) {
        (_, _, Kind::Fate) => None,
        (Source::Step { .. }, ..) | (_, Some(Item::Progress { .. }), _) => Some("throughput"),
        (_, Some(Item::Pressure { .. }), _) => Some("pressure"),
        (.., kind) => Some(kind.word()),
    }
}

/// The kept intervals.
#[must_use]
pub fn kept() -> Vec<Interval> {
    TABLE.lines().skip(1).filter_map(line).collect()
}

/// A line of the table: kind, figures, and three quantiles of the model over the kernel.
fn line(line: &str) -> Option<Interval> {
    let mut fields = line.split('\t');
    let kind = fields.next()?.to_owned();
    let figures = fields.next()?.parse().ok()?;
    let quantiles: Vec<f64> = fields.filter_map(|field| field.parse().ok()).collect();
    let [low, _, high] = quantiles[..] else {
        return None;
    };
    Some(Interval {
        kind,
        figures,
        least: 1.0 / high,
        most: 1.0 / low,
    })
}

/// Where a kernel is likely to come out beside a study's predictions of a measure; `None` where no
/// study that this is known from is like it.
#[must_use]
pub fn interval(study: &Study, measure: &Measure) -> Option<Interval> {
    let kind = word(measure)?;
    let scenarios = study.arms.iter().map(|arm| study.scenario(&arm.name, 1));
    let is_inside = |scenario: Result<Scenario, _>| scenario.is_ok_and(|it| outside(&it).is_none());
    let mut kept = kept().into_iter().filter(|it| it.kind == kind);
    kept.next().filter(|_| scenarios.into_iter().all(is_inside))
}

/// What a reader of a prediction is told of its error, in one line.
#[must_use]
pub fn note(study: &Study, scenarios: &[Scenario]) -> String {
    if let Some(what) = scenarios.iter().find_map(outside) {
        return format!("likely error: not known; no study that it is known from has {what}");
    }
    let measured = |it: &Interval| {
        let mut words = study.measures.iter().filter_map(word);
        words.any(|word| word == it.kind)
    };
    let mut intervals: Vec<Interval> = kept().into_iter().filter(measured).collect();
    intervals.sort_by(|one, other| (one.most / one.least).total_cmp(&(other.most / other.least)));
    let Some((first, others)) = intervals.split_first() else {
        return "likely error: not known for what this study measures".to_owned();
    };
    let mut note = format!(
        "likely error: in nine of ten figures of random studies a kernel had {:.2} to {:.2} times \
         the predicted {}",
        first.least, first.most, first.kind
    );
    for other in others {
        note += &format!(", {} {:.2} to {:.2}", other.kind, other.least, other.most);
    }
    note
}

/// What a scenario has that no drawn study has.
fn outside(scenario: &Scenario) -> Option<String> {
    let machine = &scenario.machine;
    let [least, most] = MEMORY;
    let hugetlb = |action: &Action| matches!(action, Action::Map(map) if map.huge == Huge::Hugetlb);
    if !(least..=most).contains(&machine.memory) {
        return Some(format!("{} of memory", machine.memory));
    }
    if machine.cpus > 1 {
        return Some(format!("{} CPUs", machine.cpus));
    }
    if machine.nodes > 1 {
        return Some(format!("{} NUMA nodes", machine.nodes));
    }
    if machine.file_system != FileSystem::Ext4 {
        return Some("another file system than ext4".to_owned());
    }
    let pool = scenario.workload.any_action(hugetlb);
    pool.then(|| "hugetlb pages".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note_of(machine: &str) -> String {
        let text = include_str!("../../../studies/usb-copy.toml");
        let study = Study::parse(text, "a study").expect("it is well-formed");
        let arm = study.arms[0].name.clone();
        let mut scenario = study.scenario(&arm, 1).expect("the arm");
        match machine {
            "large" => scenario.machine.memory = Bytes(64 << 30),
            "two CPUs" => scenario.machine.cpus = 2,
            _ => {}
        }
        note(&study, &[scenario])
    }

    #[test]
    fn each_kind_of_figure_has_an_interval_around_the_prediction() {
        let all = kept();
        assert_eq!(all.len(), TABLE.lines().count() - 1, "every line is read");
        for interval in all {
            assert!(interval.least < 1.0 && interval.most > 1.0, "{interval:?}");
            assert!(interval.figures >= 100, "{interval:?}");
        }
    }

    #[test]
    fn a_measure_has_the_interval_of_its_kind_on_a_machine_like_those_it_is_from() {
        let text = include_str!("../../../studies/usb-copy.toml");
        let mut study = Study::parse(text, "a study").expect("it is well-formed");
        let served = study.measures.iter().find(|it| it.name == "log p50");
        let served = served.expect("the measure").clone();
        let known = interval(&study, &served).expect("it is known");
        assert_eq!(Some(known.kind.as_str()), word(&served));
        study.arms[0].machine.memory = Bytes(64 << 30);
        assert_eq!(interval(&study, &served), None);
    }

    #[test]
    fn a_prediction_says_its_likely_error_or_that_it_is_not_known() {
        let known = note_of("as it is");
        assert!(
            known.contains("times the predicted throughput, "),
            "{known}"
        );
        assert!(note_of("large").ends_with("has 64 GiB of memory"));
        assert!(note_of("two CPUs").ends_with("has 2 CPUs"));
    }
}
