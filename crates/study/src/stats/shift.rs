//! How far apart two groups are.

use super::order::median;

/// What a standard normal number exceeds in one of ten cases, and in one of twenty.
const ONE_SIDED: f64 = 1.2816;
const TWO_SIDED: f64 = 1.6449;

/// The shift from `left` to `right`: the median of all differences between one of each (Hodges and
/// Lehmann 1963). One outlier does not move it; `None` if a group is empty.
#[must_use]
pub fn hodges_lehmann(left: &[f64], right: &[f64]) -> Option<f64> {
    let differences: Vec<f64> = pairs(left, right).map(|(l, r)| r - l).collect();
    median(&differences)
}

/// How consistently `right` exceeds `left`: the share of pairs in which it is larger minus the
/// share in which it is smaller, from -1 to 1 (Cliff 1993); `None` if a group is empty.
#[must_use]
pub fn cliffs_delta(left: &[f64], right: &[f64]) -> Option<f64> {
    let signs: Vec<f64> = pairs(left, right)
        .map(|(l, r)| f64::from(r.total_cmp(&l) as i8))
        .collect();
    super::mean(&signs)
}

/// Between which bounds the shift lies in nine of ten cases: the differences between one of each as
/// far from the least and the most as the rank test of Mann and Whitney allows (Lehmann 1963);
/// `None` if a group is empty.
#[must_use]
pub fn shift_bounds(left: &[f64], right: &[f64]) -> Option<(f64, f64)> {
    let mut differences: Vec<f64> = pairs(left, right).map(|(l, r)| r - l).collect();
    differences.sort_by(f64::total_cmp);
    let (of_left, of_right) = (left.len() as f64, right.len() as f64);
    let deviation = (of_left * of_right * (of_left + of_right + 1.0) / 12.0).sqrt();
    let passed_over = of_left * of_right / 2.0 - TWO_SIDED * deviation;
    let first = passed_over.max(0.0).floor() as usize;
    let last = differences.len().checked_sub(1)?.checked_sub(first)?;
    Some((*differences.get(first)?, *differences.get(last)?))
}

/// What Cliff's delta of two groups of these sizes stays below in nine of ten cases where nothing
/// tells the groups apart (the variance of Mann and Whitney's statistic, 1947).
#[must_use]
pub fn delta_by_chance(left: usize, right: usize) -> f64 {
    let (left, right) = (left as f64, right as f64);
    ONE_SIDED * ((left + right + 1.0) / (3.0 * left * right)).sqrt()
}

fn pairs<'a>(left: &'a [f64], right: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
    left.iter()
        .flat_map(|&l| right.iter().map(move |&r| (l, r)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_does_not_move_the_shift() {
        let (left, right) = ([1.0, 2.0, 3.0], [11.0, 12.0, 1000.0]);
        assert_eq!(hodges_lehmann(&left, &right), Some(10.0));
        assert_eq!(hodges_lehmann(&left, &[]), None);
    }

    /// R's `wilcox.test(1:5, 11:15, conf.int = TRUE, conf.level = 0.9)`: -14 to -6 is 95.2 %; the
    /// normal approximation takes one difference less at each end.
    #[test]
    fn the_bounds_of_a_shift_hold_it() {
        let (left, right) = ([1.0, 2.0, 3.0, 4.0, 5.0], [11.0, 12.0, 13.0, 14.0, 15.0]);
        assert_eq!(shift_bounds(&left, &right), Some((8.0, 12.0)));
        assert_eq!(shift_bounds(&[1.0], &[3.0]), Some((2.0, 2.0)));
        assert_eq!(shift_bounds(&left, &[]), None);
    }

    #[test]
    fn a_delta_by_chance_is_smaller_with_more_runs() {
        let by_chance = [5, 10, 20, 40].map(|runs| delta_by_chance(runs, runs));
        let expected = [0.491, 0.339, 0.237, 0.167];
        let far = by_chance
            .iter()
            .zip(expected)
            .any(|(a, b)| (a - b).abs() > 0.001);
        assert!(!far, "{by_chance:?}");
    }

    #[test]
    fn delta_is_one_when_the_groups_do_not_overlap() {
        assert_eq!(cliffs_delta(&[1.0, 2.0], &[3.0, 4.0]), Some(1.0));
        assert_eq!(cliffs_delta(&[3.0, 4.0], &[1.0, 2.0]), Some(-1.0));
        assert_eq!(cliffs_delta(&[1.0, 2.0], &[1.0, 2.0]), Some(0.0));
        assert_eq!(cliffs_delta(&[], &[1.0]), None);
    }
}
