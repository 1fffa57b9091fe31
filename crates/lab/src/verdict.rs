//! Is one arm better than another? A verdict needs three thresholds to be passed at once: chance
//! cannot explain the difference, it is consistent over the runs, and it is large enough to matter.

use crate::measure::Better;
use crate::stats;

/// What must be passed before a difference counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The permutation test's p-value must not exceed this.
    pub p: f64,
    /// Cliff's delta must reach this, in either direction. 0.474 is the usual bound of "large"
    /// (Romano and others 2006).
    pub effect: f64,
    /// The shift, relative to the baseline's median, must reach this.
    pub noise_floor: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            p: 0.05,
            effect: 0.474,
            noise_floor: 0.02,
        }
    }
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
pub enum Finding {
    /// It is better.
    Better,
    /// It is worse.
    Worse,
    /// It differs, and the measure does not say which direction is better.
    Differs,
    /// No difference was shown, which does not mean that there is none.
    NoDifferenceShown,
    /// With so few runs no difference, however large, could be told from chance.
    TooFewRuns,
}

/// A finding and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// What can be said.
    pub finding: Finding,
    /// Why it can be said.
    pub basis: Basis,
    /// The shift from the baseline (Hodges and Lehmann), in the measure's unit.
    pub shift: f64,
    /// The shift over the baseline's median; infinite where the baseline is zero.
    pub relative: f64,
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

/// Judges `arm` against `baseline`; `None` if one of them has no number at all.
#[must_use]
pub fn verdict(
    baseline: &[f64],
    arm: &[f64],
    better: Option<Better>,
    repeatability: Repeatability,
    thresholds: Thresholds,
) -> Option<Verdict> {
    let shift = stats::hodges_lehmann(baseline, arm)?;
    let effect = stats::cliffs_delta(baseline, arm)?;
    let relative = relative(shift, stats::median(baseline)?);
    let runs = baseline.len().min(arm.len());
    let matters = relative.abs() >= thresholds.noise_floor && shift != 0.0;
    if repeatability == Repeatability::Exact && agree(baseline) && agree(arm) {
        let basis = Basis::Deterministic { runs };
        let finding = match matters {
            true => direction(shift, better),
            false => Finding::NoDifferenceShown,
        };
        return Some(Verdict {
            finding,
            basis,
            shift,
            relative,
        });
    }
    let p = stats::permutation_p(baseline, arm);
    let basis = Basis::Statistics { p, effect, runs };
    let finding = if stats::least_p(baseline.len(), arm.len()) > thresholds.p {
        Finding::TooFewRuns
    } else if p <= thresholds.p && effect.abs() >= thresholds.effect && matters {
        direction(shift, better)
    } else {
        Finding::NoDifferenceShown
    };
    Some(Verdict {
        finding,
        basis,
        shift,
        relative,
    })
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

fn direction(shift: f64, better: Option<Better>) -> Finding {
    match better {
        None => Finding::Differs,
        Some(Better::Lower) if shift < 0.0 => Finding::Better,
        Some(Better::Higher) if shift > 0.0 => Finding::Better,
        Some(_) => Finding::Worse,
    }
}

impl Verdict {
    /// In words: "differs by -59 % (deterministic bench, one run)".
    #[must_use]
    pub fn words(&self) -> String {
        let by = percent(self.relative);
        let finding = match self.finding {
            Finding::Better => format!("better: {by}"),
            Finding::Worse => format!("worse: {by}"),
            Finding::Differs => format!("differs: {by}"),
            Finding::NoDifferenceShown => "no difference shown".to_owned(),
            Finding::TooFewRuns => "too few runs".to_owned(),
        };
        format!("{finding} ({})", self.basis.words())
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

    fn judge(baseline: &[f64], arm: &[f64], repeatability: Repeatability) -> Verdict {
        let thresholds = Thresholds::default();
        verdict(
            baseline,
            arm,
            Some(Better::Lower),
            repeatability,
            thresholds,
        )
        .unwrap()
    }

    #[test]
    fn a_clear_gain_over_five_runs_is_better() {
        let found = judge(
            &[10.0, 10.1, 9.9, 10.2, 10.0],
            &[5.0, 5.1, 4.9, 5.2, 5.3],
            Repeatability::Noisy,
        );
        assert_eq!(found.finding, Finding::Better);
        assert_eq!(
            found.words(),
            "better: -49 % (p 0.008, effect -1.00, 5 runs an arm)"
        );
    }

    #[test]
    fn each_threshold_can_refuse_alone() {
        let (base, noisy) = ([10.0, 10.1, 10.2, 10.3, 10.4], Repeatability::Noisy);
        // Below the noise floor, though not by chance.
        let near = base.map(|n| n * 1.01 + 0.1);
        // By chance, though far apart in the mean.
        let wild = [9.0, 10.0, 30.0, 10.2, 10.3];
        for arm in [near, wild] {
            assert_eq!(
                judge(&base, &arm, noisy).finding,
                Finding::NoDifferenceShown,
                "{arm:?}"
            );
        }
    }

    #[test]
    fn three_runs_of_a_noisy_bench_are_too_few() {
        let found = judge(&[1.0, 1.1, 1.2], &[5.0, 5.1, 5.2], Repeatability::Noisy);
        assert_eq!(found.finding, Finding::TooFewRuns);
    }

    #[test]
    fn one_run_of_an_exact_bench_differs_and_says_so() {
        let found = judge(&[10.0], &[20.0], Repeatability::Exact);
        assert_eq!(found.finding, Finding::Worse);
        assert_eq!(
            found.words(),
            "worse: +100 % (deterministic bench, one run)"
        );
        let same = judge(&[10.0], &[10.0], Repeatability::Exact);
        assert_eq!(same.finding, Finding::NoDifferenceShown);
        let noisy = judge(&[10.0], &[20.0], Repeatability::Noisy);
        assert_eq!(noisy.finding, Finding::TooFewRuns);
    }

    #[test]
    fn seeds_that_spread_on_an_exact_bench_need_statistics() {
        let found = judge(&[10.0, 11.0], &[20.0, 21.0], Repeatability::Exact);
        assert_eq!(found.finding, Finding::TooFewRuns);
    }

    #[test]
    fn a_change_from_zero_is_no_division_by_it() {
        let found = judge(&[0.0], &[3.0], Repeatability::Exact);
        assert_eq!(
            found.words(),
            "worse: from zero (deterministic bench, one run)"
        );
        assert_eq!(judge(&[0.0], &[0.0], Repeatability::Exact).relative, 0.0);
    }

    #[test]
    fn without_a_direction_it_only_differs() {
        let exact = Repeatability::Exact;
        let found = verdict(&[1.0], &[2.0], None, exact, Thresholds::default()).unwrap();
        assert_eq!(found.finding, Finding::Differs);
        assert_eq!(
            verdict(&[], &[2.0], None, exact, Thresholds::default()),
            None
        );
    }
}
