//! Whether further runs could change what a verdict says. Where they could not, none are made.

use super::{BOTH, Basis, BySeed, Difference, OfSeed, Thresholds, Verdict};
use super::{is_scattered, numbers};
use crate::stats;

/// Both outcomes are sure to occur where as many seeds of either would be less likely than this if
/// only one in [`BOTH`] had it.
const SURE: f64 = 0.1;

/// Whether the verdict `found` on these runs is open.
///
/// Settled is a difference that is shown, and two outcomes that are sure to occur. Settled is "no
/// difference" too where the shift is below the noise floor whatever its true size is, where the
/// arms overlap so much that no large effect is left to be found, and where neither arm's runs
/// differ widely: what such arms may differ by is no more than what they scatter by.
pub fn is_open(
    baseline: &[OfSeed],
    arm: &[OfSeed],
    found: &Difference,
    thresholds: Thresholds,
) -> bool {
    let (baseline, arm) = (numbers(baseline), numbers(arm));
    let could_matter = || could_matter(&baseline, &arm, thresholds);
    match (found.basis, found.verdict) {
        (Basis::Deterministic { .. }, _) => false,
        (_, Verdict::Better | Verdict::Worse | Verdict::Differs | Verdict::NotSure) => false,
        (_, Verdict::NotDecided) => !found.by_seed.is_sure(),
        (_, Verdict::TooFewRuns) => could_matter(),
        (Basis::Statistics { effect, .. }, Verdict::NoDifferenceShown) => {
            let by_chance = stats::delta_by_chance(baseline.len(), arm.len());
            let is_in_reach = effect.abs() + by_chance >= thresholds.effect;
            let is_wide = is_scattered(&baseline) || is_scattered(&arm);
            is_wide && is_in_reach && could_matter()
        }
    }
}

/// Whether the shift may be one that matters, by the bounds that the runs give it.
fn could_matter(baseline: &[f64], arm: &[f64], thresholds: Thresholds) -> bool {
    let bounds = stats::shift_bounds(baseline, arm).zip(stats::median(baseline));
    bounds.is_some_and(|((least, most), middle)| {
        thresholds.matters(least, middle) || thresholds.matters(most, middle)
    })
}

impl BySeed {
    /// Whether the outcome that fewer seeds have is sure to be one of the arm's, and no accident of
    /// these seeds.
    fn is_sure(&self) -> bool {
        let fewer = self.lower.min(self.higher);
        at_least(fewer, self.seeds, 1.0 / BOTH as f64) <= SURE
    }
}

/// How likely `runs` runs have an outcome `times` times or more that each has with this
/// `probability`.
fn at_least(times: usize, runs: usize, probability: f64) -> f64 {
    let (mut fewer, mut term) = (0.0, (1.0 - probability).powf(runs as f64));
    for count in 0..times.min(runs) {
        fewer += term;
        term *= (runs - count) as f64 / (count + 1) as f64 * probability / (1.0 - probability);
    }
    1.0 - fewer
}

#[cfg(test)]
mod tests {
    use super::super::{Repeatability, difference};
    use super::*;
    use crate::measure::Better;

    fn runs(numbers: &[f64]) -> Vec<OfSeed> {
        let runs = (1..).zip(numbers);
        runs.map(|(seed, &number)| OfSeed { seed, number })
            .collect()
    }

    fn open(baseline: &[f64], arm: &[f64]) -> bool {
        let (baseline, arm) = (runs(baseline), runs(arm));
        let thresholds = Thresholds::default();
        let exact = Repeatability::Exact;
        let found = difference(&baseline, &arm, Some(Better::Lower), exact, thresholds);
        is_open(&baseline, &arm, &found.unwrap(), thresholds)
    }

    #[test]
    fn what_is_shown_or_exact_is_settled() {
        assert!(!open(
            &[1.0, 1.1, 1.2, 1.3, 1.4],
            &[2.0, 2.1, 2.2, 2.3, 2.4]
        ));
        assert!(!open(&[3.0; 5], &[0.0, 1.0, 2.0, 1.0, 1.0]), "survivors");
        assert!(!open(&[1.0], &[2.0]));
    }

    #[test]
    fn a_difference_that_could_only_be_noise_is_settled() {
        let near = [100.0, 100.2, 100.4, 100.1, 100.3];
        assert!(!open(&near, &[100.3, 100.0, 100.2, 100.4, 100.1]));
        let scatter = [100.0, 103.0, 101.0, 104.0, 102.0];
        let narrow = [102.5, 99.0, 105.0, 101.5, 100.5];
        assert!(!open(&scatter, &narrow), "neither is wide");
    }

    #[test]
    fn wide_arms_are_open_until_no_large_effect_is_left() {
        let wide = [10.0, 20.0, 30.0, 40.0, 50.0];
        let other = [12.0, 24.0, 33.0, 41.0, 60.0];
        assert!(open(&wide, &other));
        let many: Vec<f64> = (0..40).map(|n| f64::from(n % 20)).collect();
        assert!(!open(
            &many,
            &many.iter().map(|n| n + 0.5).collect::<Vec<_>>()
        ));
    }

    #[test]
    fn both_outcomes_are_open_with_one_seed_of_five_and_settled_with_two() {
        let baseline = [90.0, 54.0, 91.0, 53.0, 92.0];
        assert!(!open(&baseline, &[54.0, 91.0, 54.0, 91.0, 54.0]));
        assert!(open(&baseline, &[54.0, 91.0, 54.0, 52.0, 50.0]));
    }

    #[test]
    fn too_few_runs_are_open_where_they_differ_by_more_than_noise() {
        assert!(open(&[10.0, 11.0], &[20.0, 21.0]));
        assert!(!open(&[10.0, 10.01], &[10.02, 10.0]));
    }

    /// Counted by hand: 1 - 0.95^5 = 0.2262, and 0.0226 for two.
    #[test]
    fn an_outcome_is_as_likely_as_the_binomial_has_it() {
        for (times, expected) in [(0, 1.0), (1, 0.2262), (2, 0.0226)] {
            assert!(
                (at_least(times, 5, 0.05) - expected).abs() < 1e-4,
                "{times}"
            );
        }
    }
}
