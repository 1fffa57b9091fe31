//! How far apart two groups are.

use super::order::median;

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

    #[test]
    fn delta_is_one_when_the_groups_do_not_overlap() {
        assert_eq!(cliffs_delta(&[1.0, 2.0], &[3.0, 4.0]), Some(1.0));
        assert_eq!(cliffs_delta(&[3.0, 4.0], &[1.0, 2.0]), Some(-1.0));
        assert_eq!(cliffs_delta(&[1.0, 2.0], &[1.0, 2.0]), Some(0.0));
        assert_eq!(cliffs_delta(&[], &[1.0]), None);
    }
}
