//! The verdicts of a study: every arm against the first one, measure by measure.

mod spoken;

use crate::measure::{Measure, Unit};
use crate::record::Record;
use crate::verdict::{Difference, OfSeed, Repeatability, Thresholds, Verdict, difference, percent};
use crate::{Arm, Study};

pub use spoken::spoken;

/// A verdict on one measure of one arm.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmVerdict {
    /// The measure's name.
    pub measure: String,
    /// The arm that it is on.
    pub arm: String,
    /// The arm that it is held against.
    pub baseline: String,
    /// The unit of the shift.
    pub unit: Unit,
    /// What was found.
    pub difference: Difference,
}

/// The runs of an arm, of one kernel and bench.
#[derive(Debug)]
pub struct Ran<'a> {
    /// Its name.
    pub arm: &'a str,
    records: Vec<&'a Record>,
}

/// Compares every arm that was run with the first one that was, in the study's order; an arm that
/// the kernel lacks something for was not. Records of several kernels or benches must not be mixed.
///
/// `looks` is how often the runs may have been looked at to decide whether more are needed, 1 where
/// their number was fixed: the chance of a mistake is shared out among the looks.
#[must_use]
pub fn of_arms(study: &Study, records: &[Record], looks: u32) -> Vec<ArmVerdict> {
    let ran = ran(study, records);
    let Some((baseline, arms)) = ran.split_first() else {
        return Vec::new();
    };
    let headline = study.headline();
    let mut verdicts = Vec::new();
    for measure in &study.measures {
        let looks = if headline.contains(&measure) {
            looks
        } else {
            1
        };
        for arm in arms {
            let found = Compared::of(measure, baseline, arm, looks);
            verdicts.extend(found.map(|found| ArmVerdict {
                measure: measure.name.clone(),
                arm: arm.arm.to_owned(),
                baseline: baseline.arm.to_owned(),
                unit: measure.unit,
                difference: found.difference,
            }));
        }
    }
    verdicts
}

/// The arms that were run, in the study's order.
pub fn ran<'a>(study: &'a Study, records: &'a [Record]) -> Vec<Ran<'a>> {
    let of_arm = |arm: &'a Arm| {
        let is_its = |it: &&Record| it.provenance.arm == arm.name && it.outcome.is_available();
        Ran {
            arm: &arm.name,
            records: records.iter().filter(is_its).collect(),
        }
    };
    let arms = study.arms.iter().map(of_arm);
    arms.filter(|ran| !ran.records.is_empty()).collect()
}

/// Two arms' numbers for a measure, and how they differ.
#[derive(Debug)]
pub struct Compared {
    /// The baseline's numbers.
    pub baseline: Vec<OfSeed>,
    /// The arm's.
    pub arm: Vec<OfSeed>,
    /// How they differ.
    pub difference: Difference,
    /// By which thresholds that was decided.
    pub thresholds: Thresholds,
}

impl Compared {
    /// `None` where one of the arms has no number.
    pub fn of(measure: &Measure, baseline: &Ran<'_>, arm: &Ran<'_>, looks: u32) -> Option<Self> {
        let usual = Thresholds::of(measure.unit, measure.noise_floor);
        let thresholds = usual.shared_out(looks);
        let exact = repeatability(&baseline.records, &arm.records);
        let (baseline, arm) = (numbers(measure, baseline), numbers(measure, arm));
        let difference = difference(&baseline, &arm, measure.better, exact, thresholds)?;
        Some(Self {
            baseline,
            arm,
            difference,
            thresholds,
        })
    }
}

fn numbers(measure: &Measure, ran: &Ran<'_>) -> Vec<OfSeed> {
    let of_seed = |record: &&Record| {
        let seed = record.provenance.seed;
        let number = measure.read(&record.outcome).ok()?;
        Some(OfSeed { seed, number })
    };
    ran.records.iter().filter_map(of_seed).collect()
}

fn repeatability(left: &[&Record], right: &[&Record]) -> Repeatability {
    let mut both = left.iter().chain(right);
    match both.all(|record| record.provenance.repeatability() == Repeatability::Exact) {
        true => Repeatability::Exact,
        false => Repeatability::Noisy,
    }
}

impl ArmVerdict {
    /// How far the arm is from the baseline: "-59 %", or, where so small a part of a large machine
    /// counts, "-10.0 GiB (-1.9 %)".
    #[must_use]
    pub fn by(&self) -> String {
        let Difference {
            shift, relative, ..
        } = self.difference;
        let usual = Thresholds::default().noise_floor;
        let share = percent(relative);
        match relative.abs() < usual && shift != 0.0 {
            true => {
                let sign = if shift > 0.0 { "+" } else { "" };
                format!("{sign}{} ({share})", self.unit.show(shift))
            }
            false => share,
        }
    }

    /// In words: "better: -59 % (deterministic bench, one run)".
    #[must_use]
    pub fn words(&self) -> String {
        self.difference.words(&self.by())
    }
}

/// One line on an arm: "raised against default: better in 1, worse in 4, no difference shown in 6".
#[must_use]
pub fn sum_up(verdicts: &[ArmVerdict], arm: &str) -> Option<String> {
    let of_arm: Vec<&ArmVerdict> = verdicts.iter().filter(|it| it.arm == arm).collect();
    let first = of_arm.first()?;
    let verdicts = [
        (Verdict::Better, "better in"),
        (Verdict::Worse, "worse in"),
        (Verdict::Differs, "different in"),
        (Verdict::NotDecided, "not decided in"),
        (Verdict::NotSure, "not sure of"),
        (Verdict::NoDifferenceShown, "no difference shown in"),
        (Verdict::TooFewRuns, "too few runs for"),
    ];
    let counts = verdicts.iter().filter_map(|(verdict, words)| {
        let count = of_arm
            .iter()
            .filter(|it| it.difference.verdict == *verdict)
            .count();
        (count > 0).then(|| format!("{words} {count}"))
    });
    let counts: Vec<String> = counts.collect();
    let measures = of_arm.len();
    let basis = basis(&of_arm);
    Some(format!(
        "{arm} against {}: {} of {measures} measures ({basis})",
        first.baseline,
        counts.join(", ")
    ))
}

/// What the verdicts rest on: in words where it is the same for all of them.
fn basis(verdicts: &[&ArmVerdict]) -> String {
    use crate::verdict::Basis;
    let fewest = verdicts
        .iter()
        .map(|it| it.difference.basis.runs())
        .min()
        .unwrap_or(0);
    let exact = verdicts
        .iter()
        .all(|it| matches!(it.difference.basis, Basis::Deterministic { .. }));
    match (exact, fewest) {
        (true, 1) => "deterministic bench, one run an arm".to_owned(),
        (true, runs) => format!("deterministic bench, {runs} equal runs an arm"),
        (false, 1) => "one run an arm".to_owned(),
        (false, runs) => format!("permutation test, {runs} runs an arm"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{run, study};
    use scenario::outcome::UNAVAILABLE;

    #[test]
    fn an_arm_is_held_against_the_first_where_both_have_numbers() {
        let records = [run("raised", 1, 20), run("default", 1, 2)];
        let found = of_arms(&study(), &records, 1);
        assert_eq!(found.len(), 1, "only one measure has numbers");
        assert_eq!(
            (found[0].arm.as_str(), found[0].baseline.as_str()),
            ("raised", "default")
        );
        assert!((found[0].difference.shift - 18.0).abs() < 1e-9);
        let line = sum_up(&found, "raised").unwrap();
        assert!(line.starts_with("raised against default: "), "{line}");
        assert!(
            line.ends_with("1 of 1 measures (deterministic bench, one run an arm)"),
            "{line}"
        );
    }

    #[test]
    fn an_arm_that_is_not_available_has_no_verdict_and_none_is_against_it() {
        let study = Study::parse(
            &study().text.replace(
                "[[process]]\nname = \"administrator\"",
                "[[arm]]\nname = \"third\"\n\n[[process]]\nname = \"administrator\"",
            ),
            "test",
        );
        let lacking = |arm: &str| {
            let mut record = run(arm, 1, 9);
            let frame = &mut record.outcome.capture.frames[0];
            frame
                .files
                .insert(UNAVAILABLE.to_owned(), "vm.x\n".to_owned());
            record
        };
        let records = [
            lacking("default"),
            run("raised", 1, 20),
            run("third", 1, 10),
        ];
        let found = of_arms(&study.unwrap(), &records, 1);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].arm.as_str(), found[0].baseline.as_str()),
            ("third", "raised")
        );
    }

    #[test]
    fn a_noisy_bench_with_one_run_shows_nothing() {
        let mut records = [run("raised", 1, 20), run("default", 1, 2)];
        for record in &mut records {
            record.provenance.bench = "VM, Linux 6.1, wall-clock time, KVM".to_owned();
        }
        let found = of_arms(&study(), &records, 1);
        assert_eq!(found[0].difference.verdict, Verdict::TooFewRuns);
        assert_eq!(of_arms(&study(), &records[..1], 1), []);
        assert_eq!(sum_up(&[], "raised"), None);
    }
}
