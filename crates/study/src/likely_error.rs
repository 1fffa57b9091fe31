//! How far a prediction is likely to lie from what a kernel does: the gaps of studies that were
//! drawn at random, by kind of measure, and where two or more of files and swap share a slow disk.
//!
//! Computing them takes the records and the model; the answer is small. So it is kept as a table of
//! text, `records/errors.tsv`, which a test of the example `truth` holds against the records.

mod doubt;

use mm::stock::Stock;
use mm::units::Bytes;
use scenario::Scenario;
use scenario::machine::{FileSystem, Machine, SwapBacking};
use scenario::workload::{Action, Huge};

use crate::measure::{Item, Kind, Measure, Source};
use crate::{BUILT_IN, Study};

pub use doubt::doubted;

/// The table that is kept with the records.
pub const TABLE: &str = include_str!("../../../records/errors.tsv");

/// The memory of the smallest and of the largest drawn machine.
const MEMORY: [Bytes; 2] = [Bytes(256 << 20), Bytes(4 << 30)];

/// The kernels on which drawn studies were run, by their lines of releases.
const KERNELS: [&str; 2] = ["6.1", "6.12"];

/// A disk that takes no more requests at a time is shallow: who waits for a request decides there
/// who goes on.
const SHALLOW: u32 = 8;

/// What a line of the table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    /// The figure of an arm.
    Figure(Place),
    /// A difference of an arm from the first one.
    Effect,
}

impl Of {
    /// The word of the table.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Figure(Place::SharedShallowDisk) => "figure, shared shallow disk",
            Self::Figure(Place::Elsewhere) => "figure, elsewhere",
            Self::Effect => "effect",
        }
    }
}

/// The kind of machine that a line of the table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Two or more of files and swap share a disk of queue depth 8 or less.
    SharedShallowDisk,
    /// All others.
    Elsewhere,
}

impl Place {
    /// That of a machine.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let swaps = |disk: &str| {
            let on_it =
                |backing: &SwapBacking| matches!(backing, SwapBacking::Disk(name) if name == disk);
            machine
                .swaps
                .iter()
                .filter(|swap| on_it(&swap.backing))
                .count()
        };
        let files = |disk: &str| {
            machine
                .files
                .iter()
                .filter(|file| file.disk == disk)
                .count()
        };
        let mut shallow = machine
            .disks
            .iter()
            .filter(|disk| disk.queue_depth <= SHALLOW);
        match shallow.any(|disk| files(&disk.name) + swaps(&disk.name) >= 2) {
            true => Self::SharedShallowDisk,
            false => Self::Elsewhere,
        }
    }
}

/// Between which multiples of the prediction nine of ten figures came out on the kernel.
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

/// The kept intervals of figures on such machines.
#[must_use]
pub fn kept(place: Place) -> Vec<Interval> {
    let begin = format!("{}\t", Of::Figure(place).word());
    let lines = TABLE.lines().filter_map(|line| line.strip_prefix(&begin));
    lines.filter_map(line).collect()
}

/// The rest of a line: kind, figures, and three quantiles of the model over the kernel.
fn line(line: &str) -> Option<Interval> {
    let mut fields = line.split('\t');
    let kind = fields.next()?.to_owned();
    let figures = fields.next()?.parse().ok()?;
    let quantiles: Vec<f64> = fields.filter_map(|field| field.parse().ok()).collect();
    let [low, _, high, _] = quantiles[..] else {
        return None;
    };
    Some(Interval {
        kind,
        figures,
        least: 1.0 / high,
        most: 1.0 / low,
    })
}

/// Whether this is what is known of a study's error: those that are built in have records, and the
/// report their own error; that of recordings is by the programs that were recorded.
#[must_use]
pub fn is_of(study: &Study) -> bool {
    let is_built_in = BUILT_IN.iter().any(|(name, _)| *name == study.name);
    !is_built_in && study.recorded.sha256.is_none()
}

/// Where a kernel is likely to come out beside a study's predictions of a measure; `None` where no
/// study that this is known from is like it.
#[must_use]
pub fn interval(study: &Study, measure: &Measure) -> Option<Interval> {
    let (scenarios, kind) = (known(study)?, word(measure)?);
    let mut kept = kept(place(&scenarios)).into_iter();
    kept.find(|it| it.kind == kind)
}

/// The least effect on a measure that is sure, as the larger figure over the other: nine of ten of
/// those that the model shows had its sign on a kernel. `None` as for [`interval`].
fn least_effect(study: &Study, measure: &Measure) -> Option<f64> {
    known(study)?;
    let begin = format!("{}\t{}\t", Of::Effect.word(), word(measure)?);
    let line = TABLE.lines().find_map(|line| line.strip_prefix(&begin))?;
    line.split('\t').nth(1)?.parse().ok()
}

/// A study's arms, where drawn studies are like all of them.
fn known(study: &Study) -> Option<Vec<Scenario>> {
    let scenarios = study.arms.iter().map(|arm| study.scenario(&arm.name, 1));
    let scenarios: Vec<Scenario> = scenarios.collect::<Result<_, _>>().ok()?;
    let are_like = scenarios.iter().all(|it| outside(it).is_none());
    are_like.then_some(scenarios)
}

/// The place of a study's arms: where one lies on a shared shallow disk, all do.
fn place(scenarios: &[Scenario]) -> Place {
    let places = scenarios.iter().map(|it| Place::of(&it.machine));
    places.min().unwrap_or(Place::Elsewhere)
}

/// Whether drawn studies were run on a kernel of this release.
#[must_use]
pub fn is_of_kernel(release: &str) -> bool {
    let has = |line: &str| Stock::named(line).is_some_and(|stock| stock.has(release));
    KERNELS.into_iter().any(has)
}

/// What a reader of a prediction for a kernel of `release` is told of its error, in one line.
#[must_use]
pub fn note(study: &Study, scenarios: &[Scenario], release: &str) -> String {
    let outside = || scenarios.iter().find_map(outside);
    let kernel = || (!is_of_kernel(release)).then(|| format!("Linux {release}"));
    if let Some(what) = outside().or_else(kernel) {
        return format!("likely error: not known; no study that it is known from has {what}");
    }
    let measured = |it: &Interval| {
        let mut words = study.measures.iter().filter_map(word);
        words.any(|word| word == it.kind)
    };
    let kept = kept(place(scenarios)).into_iter();
    let mut intervals: Vec<Interval> = kept.filter(measured).collect();
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
        note_on(machine, "6.1.0-57-cloud-amd64")
    }

    fn note_on(machine: &str, release: &str) -> String {
        let text = include_str!("../../../studies/usb-copy.toml");
        let study = Study::parse(text, "a study").expect("it is well-formed");
        let arm = study.arms[0].name.clone();
        let mut scenario = study.scenario(&arm, 1).expect("the arm");
        match machine {
            "large" => scenario.machine.memory = Bytes(64 << 30),
            "two CPUs" => scenario.machine.cpus = 2,
            _ => {}
        }
        note(&study, &[scenario], release)
    }

    #[test]
    fn each_kind_of_figure_has_an_interval_around_the_prediction() {
        let places = [Place::SharedShallowDisk, Place::Elsewhere];
        let all: Vec<Interval> = places.into_iter().flat_map(kept).collect();
        let lines = TABLE.lines().filter(|line| line.starts_with("figure"));
        assert_eq!(all.len(), lines.count(), "every line is read");
        assert!(!all.is_empty());
        for interval in all {
            assert!(
                interval.least <= 1.0 && interval.most >= 1.0,
                "{interval:?}"
            );
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
    fn a_shallow_disk_that_two_files_or_a_file_and_swap_share_is_a_place_of_its_own() {
        let text = include_str!("../../../studies/usb-copy.toml");
        let study = Study::parse(text, "a study").expect("it is well-formed");
        let mut machine = study.arms[0].machine.clone();
        assert_eq!(Place::of(&machine), Place::Elsewhere);
        let disk = &mut machine.disks[0];
        disk.queue_depth = SHALLOW;
        let files = |machine: &Machine| {
            let on_it = |file: &&scenario::machine::File| file.disk == machine.disks[0].name;
            machine.files.iter().filter(on_it).count()
        };
        while files(&machine) < 2 {
            let mut file = machine.files[0].clone();
            file.disk.clone_from(&machine.disks[0].name);
            machine.files.push(file);
        }
        assert_eq!(Place::of(&machine), Place::SharedShallowDisk);
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
        assert!(note_on("as it is", "5.10.0-46").ends_with("has Linux 5.10.0-46"));
    }
}
