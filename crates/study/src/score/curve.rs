//! Curves over time: how far the model's lies from the kernel's.

use super::{CURVE, Gap, MERGING, Score};
use crate::measure::{Curve, Kind};

/// The score of a curve: the mean of the model's runs against the mean of the kernel's. `None`
/// where neither has one. A distance of at most `floor`, in the measure's unit, is none.
#[must_use]
pub fn score(kind: Kind, floor: f64, model: &[Curve], kernel: &[Curve]) -> Option<Score> {
    let tolerance = match kind {
        Kind::Merging => MERGING,
        _ => CURVE,
    };
    let (model, mean) = match (Curve::mean_of(model), Curve::mean_of(kernel)) {
        (None, None) => return None,
        (Some(model), Some(kernel)) => (model, kernel),
        _ => return Some(Score::ONE_SIDED),
    };
    let distance = model.distance(&mean)?;
    let own = kernel.iter().filter_map(|run| run.distance(&mean));
    let allowed = own.fold(tolerance * mean.peak(), f64::max);
    let (gap, excess) = match distance <= floor {
        true => (0.0, 0.0),
        false => (distance / mean.peak(), distance / allowed),
    };
    Some(Score {
        gap: Gap::Apart(gap),
        excess,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(height: f64) -> Curve {
        Curve(vec![(0.0, height), (30.0, height)])
    }

    fn rising(to: f64) -> Curve {
        Curve(vec![(0.0, 0.0), (30.0, to)])
    }

    #[track_caller]
    fn holds(model: &[Curve], kernel: &[Curve], expected: bool) {
        let score = score(Kind::Curve, 1.0, model, kernel).unwrap();
        assert_eq!(score.holds(), expected, "{score:?}");
    }

    #[test]
    fn a_tenth_of_the_kernels_highest_holds_and_more_misses() {
        holds(&[flat(109.0)], &[flat(100.0)], true);
        holds(&[flat(111.0)], &[flat(100.0)], false);
        // The same mean over time, at other times.
        holds(&[flat(50.0)], &[rising(100.0)], false);
        let said = score(Kind::Curve, 1.0, &[flat(111.0)], &[flat(100.0)])
            .unwrap()
            .gap
            .show();
        assert_eq!(said, "11.0 % apart over time");
    }

    #[test]
    fn merged_pages_are_held_to_half_of_that() {
        let excess = |kind, height| {
            score(kind, 1.0, &[flat(height)], &[flat(100.0)])
                .unwrap()
                .excess
        };
        assert!(excess(Kind::Merging, 104.0) < 1.0 && excess(Kind::Merging, 106.0) > 1.0);
        assert!(excess(Kind::Curve, 106.0) < 1.0);
    }

    #[test]
    fn what_the_kernels_own_seeds_lie_apart_is_allowed() {
        let kernel = [flat(80.0), flat(120.0)];
        holds(&[flat(119.0)], &kernel, true);
        holds(&[flat(121.0)], &kernel, false);
        let around = [flat(60.0), flat(140.0)];
        holds(&around, &[flat(100.0)], true);
    }

    #[test]
    fn a_curve_on_one_side_only_misses_and_next_to_nothing_is_equal() {
        holds(&[flat(1.0)], &[], false);
        holds(&[], &[flat(1.0)], false);
        assert_eq!(score(Kind::Curve, 1.0, &[], &[]), None);
        holds(&[flat(0.9)], &[flat(0.0)], true);
    }
}
