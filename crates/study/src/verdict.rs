//! Is one arm better than another? A verdict needs three thresholds to be passed at once: chance
//! cannot explain the difference, it is consistent over the runs, and it is large enough to matter.
//! Where both outcomes occur, better with one seed and worse with the next, nothing is decided.

mod in_turn;
mod open;

use crate::measure::{Better, Class, Unit};
use crate::stats;

pub use in_turn::{InTurn, Matters, Pair, TO_FIND, pairs_to_show};
pub use open::is_open;

/// What must be passed before a difference counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The permutation test's p-value must not exceed this.
    pub p: f64,
    /// Cliff's delta must reach this, in either direction. 0.474 is the usual bound of "large"
    /// (Romano and others 2006).
    pub effect: f64,
    /// The shift, relative to the baseline's median, must reach this, or else [`Self::amount`].
    pub noise_floor: f64,
    /// The shift that matters whatever the baseline is, in the measure's unit: 10 GiB lost are no
    /// noise on a machine where they are 2 %.
    pub amount: f64,
}

/// A size that matters on any machine.
const SIZE: f64 = (1_u64 << 30) as f64;
/// Both outcomes occur from one seed in this many on.
const BOTH: usize = 20;

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            p: 0.05,
            effect: 0.474,
            noise_floor: 0.02,
            amount: f64::INFINITY,
        }
    }
}

impl Thresholds {
    /// For a measure in this unit: of sizes, 1 GiB matters on any machine.
    #[must_use]
    pub fn of(unit: Unit, noise_floor: Option<f64>) -> Self {
        let usual = Self::default();
        let amount = match unit.class() {
            Class::Size => SIZE / unit.worth(),
            Class::Time | Class::Count => usual.amount,
        };
        Self {
            noise_floor: noise_floor.unwrap_or(usual.noise_floor),
            amount,
            ..usual
        }
    }

    /// The same where the runs are looked at this often, each time to see whether they suffice:
    /// each look has an equal part of the chance of a mistake, so that all together have no more
    /// than one has (Bonferroni), however the looks hang together.
    #[must_use]
    pub fn shared_out(self, looks: u32) -> Self {
        Self {
            p: self.p / f64::from(looks.max(1)),
            ..self
        }
    }

    /// Whether a difference from `baseline` is large enough.
    fn matters(&self, shift: f64, baseline: f64) -> bool {
        let large = shift.abs() >= self.amount;
        shift != 0.0 && (large || relative(shift, baseline).abs() >= self.noise_floor)
    }
}

/// The number of one run of an arm, and its seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfSeed {
    /// The seed; two arms' runs with one seed draw the same.
    pub seed: u64,
    /// The measure's number.
    pub number: f64,
}

/// How the runs of two arms with the same seeds compare, one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BySeed {
    /// Seeds with which the arm's number is lower, by more than the thresholds ask.
    pub lower: usize,
    /// Seeds with which it is higher.
    pub higher: usize,
    /// Seeds that both arms were run with.
    pub seeds: usize,
}

/// Whether the same run on the bench gives the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeatability {
    /// It does: the model, or a kernel in virtual time. Only seeds make a difference.
    Exact,
    /// It does not: wall-clock time.
    Noisy,
}

/// What can be said of an arm against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is better.
    Better,
    /// It is worse.
    Worse,
    /// It differs, and the measure does not say which direction is better.
    Differs,
    /// Both outcomes occur: with some seeds it is better, with others worse, or lower and higher.
    NotDecided,
    /// No difference was shown, which does not mean that there is none.
    NoDifferenceShown,
    /// The model shows a difference that is within its likely error of none.
    NotSure,
    /// With so few runs no difference, however large, could be told from chance.
    TooFewRuns,
}

/// How an arm differs from the baseline, the verdict on it, and what this rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// What can be said.
    pub verdict: Verdict,
    /// Why it can be said.
    pub basis: Basis,
    /// The shift from the baseline (Hodges and Lehmann), in the measure's unit.
    pub shift: f64,
    /// The shift over the baseline's median; infinite where the baseline is zero.
    pub relative: f64,
    /// The runs one by one.
    pub by_seed: BySeed,
    /// Which direction is an improvement, where there is one.
    pub better: Option<Better>,
}

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Basis {
    /// The bench repeats exactly and the runs of each arm agree: a difference is no accident of
    /// measurement, but only the seeds that were run are known.
    Deterministic {
        /// Runs of the smaller arm.
        runs: usize,
    },
    /// A permutation test over the runs.
    Statistics {
        /// Its p-value.
        p: f64,
        /// Cliff's delta.
        effect: f64,
        /// Runs of the smaller arm.
        runs: usize,
    },
}

/// How `arm` differs from `baseline`; `None` if one of them has no number at all.
#[must_use]
pub fn difference(
    baseline: &[OfSeed],
    arm: &[OfSeed],
    better: Option<Better>,
    repeatability: Repeatability,
    thresholds: Thresholds,
) -> Option<Difference> {
    let by_seed = BySeed::of(baseline, arm, thresholds);
    let (baseline, arm) = (numbers(baseline), numbers(arm));
    let shift = stats::hodges_lehmann(&baseline, &arm)?;
    let effect = stats::cliffs_delta(&baseline, &arm)?;
    let middle = stats::median(&baseline)?;
    let runs = baseline.len().min(arm.len());
    let matters = thresholds.matters(shift, middle);
    let exact = repeatability == Repeatability::Exact && agree(&baseline) && agree(&arm);
    let (basis, verdict) = if exact {
        let verdict = match matters {
            true => direction(shift, better),
            false => Verdict::NoDifferenceShown,
        };
        (Basis::Deterministic { runs }, verdict)
    } else {
        let p = stats::permutation_p(&baseline, &arm);
        let shown = p <= thresholds.p && effect.abs() >= thresholds.effect && matters;
        let verdict = if stats::least_p(baseline.len(), arm.len()) > thresholds.p {
            Verdict::TooFewRuns
        } else if by_seed.are_both() && (shown || is_scattered(&baseline) || is_scattered(&arm)) {
            Verdict::NotDecided
        } else if shown {
            direction(shift, better)
        } else {
            Verdict::NoDifferenceShown
        };
        (Basis::Statistics { p, effect, runs }, verdict)
    };
    Some(Difference {
        verdict,
        basis,
        shift,
        relative: relative(shift, middle),
        by_seed,
        better,
    })
}

impl BySeed {
    fn of(baseline: &[OfSeed], arm: &[OfSeed], thresholds: Thresholds) -> Self {
        let mut counts = Self::default();
        for run in arm {
            let Some(other) = baseline.iter().find(|other| other.seed == run.seed) else {
                continue;
            };
            counts.seeds += 1;
            let shift = run.number - other.number;
            let matters = thresholds.matters(shift, other.number);
            counts.lower += usize::from(matters && shift < 0.0);
            counts.higher += usize::from(matters && shift > 0.0);
        }
        counts
    }

    /// Whether both outcomes occur, each with one seed in twenty at least.
    fn are_both(&self) -> bool {
        let fewer = self.lower.min(self.higher);
        fewer > 0 && fewer * BOTH >= self.seeds
    }

    /// "both outcomes occur: lower with 6 of 20 seeds, higher with 14", in the words of a measure
    /// that says which is better where it does.
    fn words(&self, better: Option<Better>) -> String {
        let (less, more) = match better {
            None => ("lower", "higher"),
            Some(Better::Lower) => ("better", "worse"),
            Some(Better::Higher) => ("worse", "better"),
        };
        let Self {
            lower,
            higher,
            seeds,
        } = self;
        format!("both outcomes occur: {less} with {lower} of {seeds} seeds, {more} with {higher}")
    }
}

fn numbers(runs: &[OfSeed]) -> Vec<f64> {
    runs.iter().map(|run| run.number).collect()
}

/// Whether a median of these says little: they have two outcomes, or differ widely.
fn is_scattered(numbers: &[f64]) -> bool {
    stats::is_wide(numbers) || stats::two_outcomes(numbers).is_some()
}

fn relative(shift: f64, baseline: f64) -> f64 {
    if shift == 0.0 {
        0.0
    } else {
        shift / baseline.abs()
    }
}

fn agree(numbers: &[f64]) -> bool {
    stats::spread(numbers).is_some_and(|(min, max)| min.total_cmp(&max).is_eq())
}

fn direction(shift: f64, better: Option<Better>) -> Verdict {
    match better {
        None => Verdict::Differs,
        Some(Better::Lower) if shift < 0.0 => Verdict::Better,
        Some(Better::Higher) if shift > 0.0 => Verdict::Better,
        Some(_) => Verdict::Worse,
    }
}

impl Difference {
    /// In words, with how far it is from the baseline: "differs: -59 % (deterministic bench, one
    /// run)".
    #[must_use]
    pub fn words(&self, by: &str) -> String {
        let verdict = match self.verdict {
            Verdict::Better => format!("better: {by}"),
            Verdict::Worse => format!("worse: {by}"),
            Verdict::Differs => format!("differs: {by}"),
            Verdict::NotDecided => format!("not decided, {}", self.by_seed.words(self.better)),
            Verdict::NoDifferenceShown => "no difference shown".to_owned(),
            Verdict::NotSure => format!("not sure: {by}"),
            Verdict::TooFewRuns => "too few runs".to_owned(),
        };
        format!("{verdict} ({})", self.basis.words())
    }
}

impl Basis {
    /// Runs of the smaller arm.
    #[must_use]
    pub fn runs(&self) -> usize {
        match self {
            Self::Deterministic { runs } | Self::Statistics { runs, .. } => *runs,
        }
    }

    /// In words, for brackets.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Deterministic { runs: 1 } => "deterministic bench, one run".to_owned(),
            Self::Deterministic { runs } => format!("deterministic bench, {runs} equal runs"),
            Self::Statistics { p, effect, runs } => {
                format!("p {p:.3}, effect {effect:+.2}, {runs} runs an arm")
            }
        }
    }
}

/// A relative change as people say it: "-59 %", "+1.2 %", "34 times as much", "from zero".
#[must_use]
pub fn percent(relative: f64) -> String {
    match relative {
        r if r.is_infinite() => "from zero".to_owned(),
        r if r >= 2.0 => format!("{:.1} times as much", r + 1.0),
        r if r.abs() < 0.095 => format!("{:+.1} %", r * 100.0),
        r => format!("{:+.0} %", r * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(numbers: &[f64]) -> Vec<OfSeed> {
        let runs = (1..).zip(numbers);
        let runs = runs.map(|(seed, &number)| OfSeed { seed, number });
        runs.collect()
    }

    fn compared(baseline: &[f64], arm: &[f64], repeatability: Repeatability) -> Difference {
        let (baseline, arm) = (runs(baseline), runs(arm));
        let thresholds = Thresholds::default();
        let better = Some(Better::Lower);
        difference(&baseline, &arm, better, repeatability, thresholds).unwrap()
    }

    fn words(difference: Difference) -> String {
        difference.words(&percent(difference.relative))
    }

    #[test]
    fn a_clear_gain_over_five_runs_is_better() {
        let found = compared(
            &[10.0, 10.1, 9.9, 10.2, 10.0],
            &[5.0, 5.1, 4.9, 5.2, 5.3],
            Repeatability::Noisy,
        );
        assert_eq!(found.verdict, Verdict::Better);
        assert_eq!(
            words(found),
            "better: -49 % (p 0.008, effect -1.00, 5 runs an arm)"
        );
    }

    #[test]
    fn each_threshold_can_refuse_alone() {
        let (base, noisy) = ([10.0, 10.1, 10.2, 10.3, 10.4], Repeatability::Noisy);
        // Below the noise floor, though not by chance.
        let near = base.map(|n| n * 1.01 + 0.1);
        // By chance, though far apart on average.
        let wild = [10.0, 10.1, 10.9, 10.2, 10.3];
        for arm in [near, wild] {
            assert_eq!(
                compared(&base, &arm, noisy).verdict,
                Verdict::NoDifferenceShown,
                "{arm:?}"
            );
        }
    }

    #[test]
    fn three_runs_of_a_noisy_bench_are_too_few() {
        let found = compared(&[1.0, 1.1, 1.2], &[5.0, 5.1, 5.2], Repeatability::Noisy);
        assert_eq!(found.verdict, Verdict::TooFewRuns);
    }

    #[test]
    fn one_run_of_an_exact_bench_differs_and_says_so() {
        let found = compared(&[10.0], &[20.0], Repeatability::Exact);
        assert_eq!(found.verdict, Verdict::Worse);
        assert_eq!(words(found), "worse: +100 % (deterministic bench, one run)");
        let same = compared(&[10.0], &[10.0], Repeatability::Exact);
        assert_eq!(same.verdict, Verdict::NoDifferenceShown);
        let noisy = compared(&[10.0], &[20.0], Repeatability::Noisy);
        assert_eq!(noisy.verdict, Verdict::TooFewRuns);
    }

    #[test]
    fn seeds_that_spread_on_an_exact_bench_need_statistics() {
        let found = compared(&[10.0, 11.0], &[20.0, 21.0], Repeatability::Exact);
        assert_eq!(found.verdict, Verdict::TooFewRuns);
    }

    #[test]
    fn a_change_from_zero_is_no_division_by_it() {
        let found = compared(&[0.0], &[3.0], Repeatability::Exact);
        assert_eq!(
            words(found),
            "worse: from zero (deterministic bench, one run)"
        );
        assert_eq!(compared(&[0.0], &[0.0], Repeatability::Exact).relative, 0.0);
    }

    #[test]
    fn without_a_direction_it_only_differs() {
        let exact = Repeatability::Exact;
        let found = difference(
            &runs(&[1.0]),
            &runs(&[2.0]),
            None,
            exact,
            Thresholds::default(),
        )
        .unwrap();
        assert_eq!(found.verdict, Verdict::Differs);
        assert_eq!(
            difference(&[], &runs(&[2.0]), None, exact, Thresholds::default()),
            None
        );
    }

    #[test]
    fn an_arm_that_is_better_with_one_seed_and_worse_with_another_is_not_decided() {
        let thrashes = [90.0, 54.0, 91.0, 53.0, 92.0, 55.0, 90.0, 54.0];
        let mostly = [54.0, 91.0, 91.0, 90.0, 92.0, 91.0, 92.0, 93.0];
        let found = compared(&thrashes, &mostly, Repeatability::Exact);
        assert_eq!(found.verdict, Verdict::NotDecided);
        let words = words(found);
        let said = "not decided, both outcomes occur: better with 1 of 8 seeds, worse with 5";
        assert!(words.starts_with(said), "{words}");
    }

    /// Every seed of the arm is better than the same seed of the baseline, though the ranges
    /// overlap.
    #[test]
    fn an_arm_that_no_seed_speaks_against_is_decided() {
        let baseline = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0];
        let arm = baseline.map(|number| number * 0.3);
        let found = compared(&baseline, &arm, Repeatability::Exact);
        assert_eq!(found.verdict, Verdict::Better);
    }

    #[test]
    fn ten_gibibytes_matter_on_a_machine_where_they_are_one_percent() {
        let (baseline, arm) = (runs(&[1000.0]), runs(&[990.0]));
        let of = |unit| {
            let thresholds = Thresholds::of(unit, None);
            difference(&baseline, &arm, None, Repeatability::Exact, thresholds).unwrap()
        };
        assert_eq!(of(Unit::Gib).verdict, Verdict::Differs);
        assert_eq!(of(Unit::Mib).verdict, Verdict::NoDifferenceShown);
        assert_eq!(of(Unit::Seconds).verdict, Verdict::NoDifferenceShown);
    }
}
