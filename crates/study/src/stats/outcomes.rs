//! Two outcomes in the numbers of some runs: a server that thrashes with one seed and not with the
//! next. A median of such runs is a coin toss.

use super::order::{median, spread};

/// Two groups of runs with nothing between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoOutcomes {
    /// The lower group.
    pub low: Group,
    /// The upper group.
    pub high: Group,
}

/// Some of the runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// How many.
    pub runs: usize,
    /// The middle of their numbers.
    pub median: f64,
}

/// With fewer runs no two groups can be told from scatter.
const LEAST_RUNS: usize = 4;
/// A group has at least this many runs: one that lies far out is an outlier, not an outcome.
const LEAST_GROUP: usize = 2;
/// A group has at least one run in this many.
const LEAST_SHARE: usize = 10;
/// The gap is wider than chance would leave it, with this probability of a mistake.
const P: f64 = 0.05;
/// The gap is at least this part of the upper group's median, else it is no other outcome.
const MATTERS: f64 = 0.05;
/// The runs of an arm differ widely from this part of their median on.
const WIDE: f64 = 0.1;

/// The two groups that numbers fall into at their largest gap; `None` where that gap is no wider
/// than it may be by chance, or a group has fewer than two runs or than one in ten.
///
/// By chance means: of numbers that are spread evenly from the least to the most, which among
/// distributions with one mode leaves the widest gaps but for tails (the dip test of Hartigan and
/// Hartigan, 1985, is held against it for that reason); tails make groups of one run.
#[must_use]
pub fn two_outcomes(numbers: &[f64]) -> Option<TwoOutcomes> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.len() < LEAST_RUNS {
        return None;
    }
    let gap = |upper: &usize| sorted[*upper] - sorted[upper - 1];
    let upper = (1..sorted.len()).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    let (low, high) = sorted.split_at(upper);
    let least = LEAST_GROUP.max(sorted.len().div_ceil(LEAST_SHARE));
    let group = |numbers: &[f64]| {
        let median = median(numbers)?;
        let runs = numbers.len();
        Some(Group { runs, median }).filter(|_| runs >= least)
    };
    let (low, high) = (group(low)?, group(high)?);
    let range = sorted.last()? - sorted.first()?;
    let matters = range > 0.0 && gap(&upper) >= MATTERS * high.median.abs();
    let by_chance = gap_p(gap(&upper) / range, sorted.len() - 1);
    (matters && by_chance <= P).then_some(TwoOutcomes { low, high })
}

/// Whether the runs differ by more than a tenth of their median, so that a few of them say little.
#[must_use]
pub fn is_wide(numbers: &[f64]) -> bool {
    let (Some((min, max)), Some(median)) = (spread(numbers), median(numbers)) else {
        return false;
    };
    max - min > WIDE * median.abs()
}

/// How often the largest of `gaps` gaps between evenly spread numbers is more than this `share` of
/// them all: `sum (-1)^(k+1) C(gaps, k) (1 - k share)^(gaps - 1)` over `k` from 1 while
/// `k share < 1` (Fisher 1929; of gaps: Darling 1953).
fn gap_p(share: f64, gaps: usize) -> f64 {
    let gaps = gaps as f64;
    let (mut p, mut choices, mut k) = (0.0, 1.0, 1.0);
    while k <= gaps && k * share < 1.0 {
        choices *= (gaps - k + 1.0) / k;
        let term = choices * (1.0 - k * share).powf(gaps - 1.0);
        p += if k % 2.0 == 1.0 { term } else { -term };
        // With many gaps the terms alternate at sizes that no sum resolves; so narrow a gap is
        // no outcome.
        if term > 1.0 {
            return 1.0;
        }
        k += 1.0;
    }
    p.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted by hand: of three gaps, from a half on, 3 (1 - x)^2.
    #[test]
    fn the_largest_gap_is_as_likely_as_fisher_has_it() {
        for (share, gaps, expected) in [(0.75, 3, 0.1875), (0.5, 3, 0.75), (1.0, 3, 0.0)] {
            let found = gap_p(share, gaps);
            assert!((found - expected).abs() < 1e-9, "{share}: {found}");
        }
        assert!((gap_p(0.01, 3) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn thrashing_or_not_is_two_outcomes() {
        let found = two_outcomes(&[92.0, 54.0, 91.0, 55.0, 90.0]).unwrap();
        let (low, high) = (found.low, found.high);
        assert_eq!((low.runs, high.runs), (2, 3));
        assert_eq!((low.median, high.median), (54.5, 91.0));
        // A process that is killed with some seeds only.
        let found = two_outcomes(&[0.0, 1.0, 0.0, 0.0, 1.0, 0.0]).unwrap();
        assert_eq!((found.low.runs, found.high.runs), (4, 2));
    }

    #[test]
    fn scatter_and_a_single_outlier_are_one_outcome() {
        let even: Vec<f64> = (0..20).map(f64::from).collect();
        for numbers in [
            &even[..],
            &[90.0, 91.0, 92.0, 93.0, 20.0],
            &[40.0, 55.0, 70.0, 100.0, 110.0],
            &[99.0, 99.1, 99.0, 99.1, 99.0],
            &[5.0; 8],
            &[1.0, 1.0, 9.0],
            &[],
        ] {
            assert_eq!(two_outcomes(numbers), None, "{numbers:?}");
        }
    }

    #[test]
    fn evenly_spread_numbers_pass_for_two_outcomes_in_one_of_twenty_cases_at_most() {
        let mut prng = mm::prng::Prng::new(7);
        let mut mistaken = 0;
        for _ in 0..400 {
            let numbers: Vec<f64> = (0..12).map(|_| prng.below(1_000_000) as f64).collect();
            mistaken += usize::from(two_outcomes(&numbers).is_some());
        }
        assert!(mistaken <= 30, "{mistaken} of 400");
    }

    #[test]
    fn a_tenth_of_the_median_is_wide() {
        assert!(is_wide(&[90.0, 101.0, 95.0]));
        assert!(!is_wide(&[99.0, 100.0, 101.0]));
        assert!(!is_wide(&[0.0, 0.0]) && !is_wide(&[]));
    }
}
