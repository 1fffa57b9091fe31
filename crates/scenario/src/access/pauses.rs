//! How long a process thinks after each operation: drawn in integers, so that every machine and
//! both benches draw the same.

use crate::workload::Think;
use mm::prng::Prng;
use mm::units::Nanos;

/// The natural logarithm of 2, in 2^-32.
const LN_2: u64 = 2_977_044_472;
/// Bits after the point of a logarithm.
const FRACTION: u32 = 20;

/// An endless stream of pauses.
#[derive(Clone, Debug)]
pub(super) struct Pauses {
    think: Think,
    prng: Prng,
}

impl Pauses {
    /// Beside the accesses that `accesses` draws: which blocks these take does not depend on how
    /// long the process thinks between them.
    pub(super) fn new(think: Think, accesses: &Prng) -> Self {
        let seed = accesses.clone().next_u64();
        let prng = Prng::for_part(seed, "think");
        Self { think, prng }
    }

    /// The pause after an operation.
    pub(super) fn next(&mut self) -> Nanos {
        match self.think {
            Think::Constant(pause) => pause,
            Think::Uniform { from, to } => {
                let range = to.saturating_sub(from).0.saturating_add(1);
                from.saturating_add(Nanos(self.prng.below(range)))
            }
            Think::Exponential { mean } => exponential(mean, self.prng.next_u64()),
        }
    }
}

/// The pause that is longer than `draw` of all 2^64 are: `-mean * ln(draw / 2^64)`.
fn exponential(mean: Nanos, draw: u64) -> Nanos {
    let bits = (u128::from(u64::BITS) << FRACTION) - u128::from(log_2(draw.max(1)));
    let means = bits * u128::from(LN_2);
    // The whole part first: a mean of 100 h leaves no room for both factors.
    let (whole, part) = (
        means >> (32 + FRACTION),
        means & ((1 << (32 + FRACTION)) - 1),
    );
    let mean = u128::from(mean.0);
    let pause = whole * mean + ((part * mean) >> (32 + FRACTION));
    Nanos(u64::try_from(pause).unwrap_or(u64::MAX))
}

/// The logarithm to base 2 of a number above zero, in 2^-20: a bit at a time, by squaring.
fn log_2(number: u64) -> u64 {
    let whole = number.ilog2();
    // From 1 to 2, in 2^-63.
    let mut rest = u128::from(number) << (63 - whole);
    let mut log = u64::from(whole);
    for _ in 0..FRACTION {
        rest = (rest * rest) >> 63;
        let bit = rest >> 64;
        rest >>= bit;
        log = log << 1 | bit as u64;
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn pauses(think: Think, seed: u64) -> Vec<u64> {
        let mut pauses = Pauses::new(think, &Prng::new(seed));
        (0..10_000).map(|_| pauses.next().0).collect()
    }

    #[test]
    fn logarithms_are_those_of_the_library() {
        for number in [1, 2, 3, 1000, 4097, u64::MAX / 3, u64::MAX] {
            let log = log_2(number) as f64 / f64::from(1 << FRACTION);
            let known = libm::log2(number as f64);
            assert!((log - known).abs() < 2e-6, "{number}: {log} and {known}");
        }
    }

    #[test]
    fn exponential_pauses_have_their_mean_and_forget() {
        let mean = Nanos(5_000_000);
        let drawn = pauses(Think::Exponential { mean }, 5);
        let sum: u64 = drawn.iter().sum();
        let found = sum / 10_000;
        assert!((4_900_000..5_100_000).contains(&found), "{found}");
        // A share of 1/e is longer than the mean, and of these again that share than twice.
        let longer = |than: u64| drawn.iter().filter(|&&pause| pause > than).count();
        assert!((3550..3810).contains(&longer(mean.0)), "{}", longer(mean.0));
        let twice = longer(2 * mean.0) * 1000 / longer(mean.0);
        assert!((345..390).contains(&twice), "{twice}");
    }

    #[test]
    fn the_longest_pauses_do_not_overflow() {
        let hours = Nanos(100 * 3600 * Nanos::SECOND.0);
        let most = exponential(hours, 0);
        assert!(most > Nanos(44 * hours.0) && most < Nanos(45 * hours.0));
        assert!(exponential(hours, u64::MAX).0 < hours.0 / 1_000_000);
    }

    #[test]
    fn uniform_pauses_reach_both_ends_and_constant_ones_stay() {
        let (from, to) = (Nanos(3), Nanos(7));
        let drawn = pauses(Think::Uniform { from, to }, 1);
        assert!(drawn.iter().all(|pause| (3..=7).contains(pause)));
        assert!((3..=7).all(|pause| drawn.contains(&pause)));
        assert!(
            pauses(Think::Constant(from), 1)
                .iter()
                .all(|&pause| pause == 3)
        );
    }

    #[test]
    fn the_pauses_of_a_seed_never_change() {
        let think = Think::Exponential { mean: Nanos::MILLI };
        assert_eq!(
            pauses(think, 7)[..4],
            [493_809, 2_180_778, 106_418, 1_296_419]
        );
    }
}
