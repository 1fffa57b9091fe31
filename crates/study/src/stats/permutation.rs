//! The permutation test: how often would dealing the same numbers into two groups at random set
//! the groups at least as far apart as they are?

use mm::prng::Prng;

/// Up to this many ways of dealing, each is tried; beyond, as many are drawn.
const EXACT: u64 = 20_000;
/// Fixes the draws: the same numbers always give the same p.
const SEED: u64 = 0x706c_696d_736f_6c6c;

/// The two-sided p-value of the difference of means; 1 if a group is empty.
#[must_use]
pub fn permutation_p(left: &[f64], right: &[f64]) -> f64 {
    if left.is_empty() || right.is_empty() {
        return 1.0;
    }
    let mut pool = Pool::new(left, right);
    match ways(left.len(), right.len()) {
        Some(ways) if ways <= EXACT => pool.exact(ways),
        _ => pool.drawn(),
    }
}

/// The smallest p-value that groups of these sizes can have, however far apart they are.
#[must_use]
pub fn least_p(left: usize, right: usize) -> f64 {
    if left == 0 || right == 0 {
        return 1.0;
    }
    // With groups of one size the mirror image is as extreme; else only the dealing itself is sure
    // to be.
    let extreme = if left == right { 2.0 } else { 1.0 };
    match ways(left, right) {
        Some(ways) if ways <= EXACT => extreme / ways as f64,
        _ => 1.0 / (EXACT + 1) as f64,
    }
}

/// The ways of dealing `left + right` numbers; `None` beyond 64 bits.
fn ways(left: usize, right: usize) -> Option<u64> {
    let (total, fewer) = ((left + right) as u64, left.min(right) as u64);
    (0..fewer).try_fold(1_u64, |ways, taken| {
        Some(ways.checked_mul(total - taken)? / (taken + 1))
    })
}

struct Pool {
    numbers: Vec<f64>,
    left: usize,
    total: f64,
    observed: f64,
}

impl Pool {
    fn new(left: &[f64], right: &[f64]) -> Self {
        let numbers: Vec<f64> = left.iter().chain(right).copied().collect();
        let mut pool = Self {
            total: numbers.iter().sum(),
            left: left.len(),
            numbers,
            observed: 0.0,
        };
        let distance = pool.distance(left.iter().sum());
        // Sums in another order differ in the last digits; such a dealing is as extreme, not less.
        let scale: f64 = pool.numbers.iter().map(|n| n.abs()).sum();
        pool.observed = distance - scale * 1e-12;
        pool
    }

    /// Between the groups' means, when the left group's numbers add up to `sum`.
    fn distance(&self, sum: f64) -> f64 {
        let (left, right) = (self.left as f64, (self.numbers.len() - self.left) as f64);
        (sum / left - (self.total - sum) / right).abs()
    }

    fn exact(&self, ways: u64) -> f64 {
        let mut chosen: Vec<usize> = (0..self.left).collect();
        let mut extreme = 0_u64;
        loop {
            let sum = chosen.iter().map(|&index| self.numbers[index]).sum();
            extreme += u64::from(self.distance(sum) >= self.observed);
            if !next_choice(&mut chosen, self.numbers.len()) {
                return extreme as f64 / ways as f64;
            }
        }
    }

    fn drawn(&mut self) -> f64 {
        let mut prng = Prng::new(SEED);
        let mut extreme = 0_u64;
        for _ in 0..EXACT {
            prng.shuffle(&mut self.numbers);
            let sum = self.numbers[..self.left].iter().sum();
            extreme += u64::from(self.distance(sum) >= self.observed);
        }
        // The dealing that was observed is one of the possible ones (Phipson and Smyth 2010).
        (extreme + 1) as f64 / (EXACT + 1) as f64
    }
}

/// The next choice of indices below `size` in lexicographic order; false after the last.
fn next_choice(chosen: &mut [usize], size: usize) -> bool {
    let count = chosen.len();
    let room = |&place: &usize| chosen[place] < size - count + place;
    let Some(place) = (0..count).rev().find(room) else {
        return false;
    };
    let start = chosen[place] + 1;
    for (offset, index) in chosen[place..].iter_mut().enumerate() {
        *index = start + offset;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }

    /// Counted by hand: of the 20 ways to deal 1..=6, only {1,2,3} and {4,5,6} are as far apart.
    #[test]
    fn small_groups_are_counted_exactly() {
        close(permutation_p(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 0.1);
        close(least_p(3, 3), 0.1);
        close(permutation_p(&[1.0, 2.0], &[1.0, 2.0]), 1.0);
        close(permutation_p(&[], &[1.0]), 1.0);
    }

    /// `scipy.stats.permutation_test((a, b), difference of means, n_resamples=inf)`: 0.0079365….
    #[test]
    fn five_against_five_apart_is_two_of_252() {
        let (a, b) = ([1.0, 1.1, 1.2, 1.3, 1.4], [2.0, 2.1, 2.2, 2.3, 2.4]);
        close(permutation_p(&a, &b), 2.0 / 252.0);
        close(least_p(5, 5), 2.0 / 252.0);
    }

    #[test]
    fn large_groups_are_drawn_and_repeat() {
        let left: Vec<f64> = (0..30).map(f64::from).collect();
        let right: Vec<f64> = left.iter().map(|n| n + 15.0).collect();
        let p = permutation_p(&left, &right);
        assert!(p < 0.001, "{p}");
        close(permutation_p(&left, &right), p);
        assert!(permutation_p(&left, &left) > 0.9);
    }

    #[test]
    fn ways_are_binomial_and_never_overflow() {
        assert_eq!(ways(5, 5), Some(252));
        assert_eq!(ways(3, 7), Some(120));
        assert_eq!(ways(500, 500), None);
    }

    proptest::proptest! {
        #[test]
        fn p_lies_between_its_least_and_one(
            left in proptest::collection::vec(-1e6_f64..1e6, 1..6),
            right in proptest::collection::vec(-1e6_f64..1e6, 1..6),
        ) {
            let p = permutation_p(&left, &right);
            proptest::prop_assert!(p <= 1.0 && p >= least_p(left.len(), right.len()) - 1e-12);
        }
    }
}
