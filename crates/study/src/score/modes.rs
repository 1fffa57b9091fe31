//! Two modes in the numbers of some runs: a server that thrashes with one seed and not with the
//! next.

use crate::stats;

/// Two groups of runs, far apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Between the groups: numbers above it belong to the upper one.
    pub cut: f64,
}

/// With fewer runs no two groups can be told from scatter.
const LEAST_RUNS: usize = 4;
/// The gap between the groups over the wider of them.
const CLEAR: f64 = 2.0;

impl Modes {
    /// The two groups that sorted numbers fall into, when the smallest of the upper group is at
    /// least `ratio` times the largest of the lower one and the gap between them is twice as wide
    /// as either group. Numbers up to `floor` are as good as it.
    #[must_use]
    pub fn of(sorted: &[f64], ratio: f64, floor: f64) -> Option<Self> {
        if sorted.len() < LEAST_RUNS {
            return None;
        }
        let gap = |upper: &usize| sorted[*upper] - sorted[upper - 1];
        let upper = (1..sorted.len()).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
        let (below, above) = (sorted[upper - 1], sorted[upper]);
        let width = |group: &[f64]| stats::spread(group).map_or(0.0, |(min, max)| max - min);
        let widest = width(&sorted[..upper]).max(width(&sorted[upper..]));
        let far = above.max(floor) >= ratio * below.max(floor) && above > floor;
        let clear = gap(&upper) >= CLEAR * widest;
        (far && clear).then(|| Self {
            cut: f64::midpoint(below, above),
        })
    }

    /// The numbers of each group, of sorted ones.
    #[must_use]
    pub fn split<'a>(&self, sorted: &'a [f64]) -> [&'a [f64]; 2] {
        let (low, high) = sorted.split_at(sorted.partition_point(|value| *value <= self.cut));
        [low, high]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thrashing_or_not_is_two_modes() {
        let sorted = [40.0, 41.0, 100.0, 101.0, 103.0];
        let modes = Modes::of(&sorted, 1.5, 0.0).unwrap();
        assert_eq!(modes.split(&sorted), [&sorted[..2], &sorted[2..]]);
        assert!(Modes::of(&[0.0, 0.0, 0.0, 500.0, 600.0], 2.25, 64.0).is_some());
    }

    #[test]
    fn scatter_is_one_mode() {
        for sorted in [
            [96.0, 97.0, 98.0, 99.0, 130.0],
            [40.0, 55.0, 70.0, 100.0, 110.0],
            [40.0, 90.0, 100.0, 110.0, 120.0],
            [5.0, 5.0, 5.0, 5.0, 5.0],
            [0.0, 0.0, 1.0, 60.0, 64.0],
        ] {
            assert_eq!(
                Modes::of(&sorted, 1.5, 64.0_f64.min(sorted[4])),
                None,
                "{sorted:?}"
            );
        }
        assert_eq!(Modes::of(&[1.0, 1.0, 9.0], 1.5, 0.0), None, "three runs");
        assert_eq!(Modes::of(&[], 1.5, 0.0), None);
    }
}
