//! Kendall's rank correlation, over chosen pairs.

use std::cmp::Ordering;

/// Counts of pairs that two orders agree on, disagree on, or of which the second says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Concordance {
    /// Pairs in the same order.
    pub agree: usize,
    /// Pairs the other way round.
    pub disagree: usize,
    /// Pairs that are equal in one of the orders.
    pub tied: usize,
}

impl Concordance {
    /// Counts a pair, by how it is ordered in each of the two.
    pub fn count(&mut self, one: Ordering, other: Ordering) {
        match (one, other) {
            (Ordering::Equal, _) | (_, Ordering::Equal) => self.tied += 1,
            _ if one == other => self.agree += 1,
            _ => self.disagree += 1,
        }
    }

    /// Adds the pairs of another count.
    pub fn add(&mut self, other: Self) {
        self.agree += other.agree;
        self.disagree += other.disagree;
        self.tied += other.tied;
    }

    /// All pairs.
    #[must_use]
    pub fn pairs(self) -> usize {
        self.agree + self.disagree + self.tied
    }

    /// Agreeing less disagreeing pairs over all of them, from -1 to 1 (Kendall's tau-a: a tie
    /// counts as neither); `None` of no pair.
    #[must_use]
    pub fn tau(self) -> Option<f64> {
        let pairs = self.pairs();
        let net = self.agree as f64 - self.disagree as f64;
        (pairs > 0).then(|| net / pairs as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(left: &[f64], right: &[f64]) -> Concordance {
        let mut all = Concordance::default();
        for i in 0..left.len() {
            for j in 0..i {
                all.count(left[i].total_cmp(&left[j]), right[i].total_cmp(&right[j]));
            }
        }
        all
    }

    /// `scipy.stats.kendalltau([1, 2, 3, 4, 5], [3, 4, 1, 2, 5])`: 0.2.
    #[test]
    fn tau_is_that_of_scipy() {
        let found = of(&[1.0, 2.0, 3.0, 4.0, 5.0], &[3.0, 4.0, 1.0, 2.0, 5.0]);
        assert_eq!(found.tau(), Some(0.2));
        assert_eq!(of(&[1.0, 2.0], &[2.0, 1.0]).tau(), Some(-1.0));
    }

    #[test]
    fn a_tie_lowers_it_and_nothing_has_none() {
        assert_eq!(
            of(&[1.0, 2.0, 3.0], &[1.0, 1.0, 2.0]).tau(),
            Some(2.0 / 3.0)
        );
        assert_eq!(Concordance::default().tau(), None);
    }
}
