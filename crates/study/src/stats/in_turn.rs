//! Pairs of blocks that are measured in turn: evidence that may be looked at after each pair.
//!
//! Which of the two blocks of a pair has the setting is drawn by a fair coin. Where the setting
//! does nothing the blocks are what they would have been, and the coin alone gives each difference
//! its sign. So nothing is assumed of the noise: it may drift, depend on what was before, and have
//! any distribution. A bettor who knows the size of each difference and bets on its sign then never
//! has 1/a times the stake, however long the game and whenever it is looked at, but with
//! probability a (J. Ville, Etude critique de la notion de collectif, 1939; betting as a test and
//! the bounds by its inversion: I. Waudby-Smith and A. Ramdas, Estimating means of bounded random
//! variables by betting, JRSS B 86, 2024).

use mm::prng::Prng;

use super::order::median;

/// The probability of a mistake, over all looks together.
const MISTAKE: f64 = 0.05;
/// The stake times this is enough: each of the two directions has half of the mistake.
const ENOUGH: f64 = 2.0 / MISTAKE;
/// How steeply each part of the stake is bet, by a difference's size over the usual size: the
/// first suits small effects in much noise, the last those that noise does not hide.
const STEEP: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// Halvings until a bound is exact enough.
const HALVINGS: usize = 30;
/// Between the least difference and the shift this many are tried.
const STEPS: usize = 24;
/// Trials that are drawn to say how long one takes, and in which share of them it suffices.
const DRAWN: usize = 200;
const SUFFICES: f64 = 0.95;
/// How much larger noise may be than this many pairs show: in nine cases of ten it is less (the
/// chi-squared distribution, its tenth percentile by Wilson and Hilferty 1931).
const TENTH: f64 = -1.2816;

/// The bettor on one direction.
#[derive(Clone, Debug)]
struct Bettor {
    stakes: [f64; 4],
    squares: f64,
    pairs: f64,
}

impl Bettor {
    fn new() -> Self {
        Self {
            stakes: [1.0; 4],
            squares: 0.0,
            pairs: 0.0,
        }
    }

    fn see(&mut self, difference: f64) {
        self.squares += difference * difference;
        self.pairs += 1.0;
        let usual = (self.squares / self.pairs).sqrt();
        if usual > 0.0 {
            for (stake, steep) in self.stakes.iter_mut().zip(STEEP) {
                *stake *= 1.0 + (steep * difference / usual).tanh();
            }
        }
    }

    fn wealth(&self) -> f64 {
        self.stakes.iter().sum::<f64>() / STEEP.len() as f64
    }
}

/// The least number of pairs after which anything can be shown.
#[must_use]
pub fn least_pairs() -> usize {
    let mut bettor = Bettor::new();
    let mut pairs = 0;
    while bettor.wealth() < ENOUGH {
        bettor.see(1.0);
        pairs += 1;
    }
    pairs
}

/// The shift that paired differences show: the median of the means of each two (Hodges and Lehmann
/// 1963); `None` of nothing.
#[must_use]
pub fn paired_shift(differences: &[f64]) -> Option<f64> {
    let each = differences.iter().enumerate();
    let means =
        each.flat_map(|(at, a)| differences[at..].iter().map(move |b| f64::midpoint(*a, *b)));
    median(&means.collect::<Vec<_>>())
}

/// Between which bounds the shift lies, with a probability of 95 % at all looks together; infinite
/// where there are too few pairs to bound it.
#[must_use]
pub fn sequential_bounds(differences: &[f64]) -> (f64, f64) {
    let mirrored: Vec<f64> = differences.iter().map(|it| -it).collect();
    (lower_bound(differences), -lower_bound(&mirrored))
}

/// The largest shift of which it is shown that the true one is above, and above all less ones.
fn lower_bound(differences: &[f64]) -> f64 {
    let is_above = |shift: f64| is_shown(differences.iter().map(|it| it - shift));
    let (Some((least, most)), Some(middle)) =
        (super::spread(differences), paired_shift(differences))
    else {
        return f64::NEG_INFINITY;
    };
    let width = (most - least).max(middle.abs()).max(f64::MIN_POSITIVE);
    let (far, near) = (least - 1000.0 * width, least - width);
    if !is_above(far) {
        return f64::NEG_INFINITY;
    }
    if !is_above(near) {
        return between(far, near, is_above);
    }
    // Between the differences the evidence may rise and fall: the first fall counts.
    let step = (middle - near) / STEPS as f64;
    let steps = (1..=STEPS).map(|at| near + step * at as f64);
    let open = steps.into_iter().find(|shift| !is_above(*shift));
    let open = open.unwrap_or(middle);
    between(open - step, open, is_above)
}

/// Where it ends to be above, between two shifts.
fn between(mut shown: f64, mut open: f64, is_above: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(shown, open);
        if is_above(middle) {
            shown = middle;
        } else {
            open = middle;
        }
    }
    shown
}

/// Whether differences are shown to be above zero.
fn is_shown(differences: impl Iterator<Item = f64>) -> bool {
    let mut bettor = Bettor::new();
    differences.for_each(|it| bettor.see(it));
    bettor.wealth() >= ENOUGH
}

/// How many pairs show a shift of this size, where the differences have this spread, in 19 of 20
/// trials; `None` where `most` do not. Trials with normal noise are drawn.
#[must_use]
pub fn pairs_until_shown(noise: f64, shift: f64, most: usize) -> Option<usize> {
    let mut prng = Prng::for_part(0, "pairs until shown");
    let mut taken: Vec<usize> = (0..DRAWN)
        .map(|_| {
            let mut bettor = Bettor::new();
            let shown = (1..=most).find(|_| {
                bettor.see(shift + noise * normal(&mut prng));
                bettor.wealth() >= ENOUGH
            });
            shown.unwrap_or(usize::MAX)
        })
        .collect();
    taken.sort_unstable();
    let last = taken[(DRAWN as f64 * SUFFICES) as usize - 1];
    (last <= most).then_some(last)
}

/// The spread of the differences, as large as so few of them allow for; `None` of less than three.
#[must_use]
pub fn noise_at_most(differences: &[f64]) -> Option<f64> {
    let free = differences.len().checked_sub(1).filter(|free| *free > 1)? as f64;
    let mean = super::mean(differences)?;
    let squares: f64 = differences.iter().map(|it| (it - mean).powi(2)).sum();
    let part = 2.0 / (9.0 * free);
    let tenth = free * (1.0 - part + TENTH * part.sqrt()).powi(3);
    Some((squares / tenth).sqrt())
}

/// A standard normal number (Box and Muller 1958).
fn normal(prng: &mut Prng) -> f64 {
    let unit = |prng: &mut Prng| (prng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let (radius, angle) = (1.0 - unit(prng), unit(prng));
    (-2.0 * radius.ln()).sqrt() * (core::f64::consts::TAU * angle).cos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn six_pairs_can_show_something_and_five_cannot() {
        assert_eq!(least_pairs(), 6);
        assert_eq!(sequential_bounds(&[1.0; 5]).0, f64::NEG_INFINITY);
        let (low, high) = sequential_bounds(&[1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0]);
        assert!(low > 0.0 && low < 1.0 && high > 1.0, "{low} {high}");
    }

    #[test]
    fn nothing_and_zeros_show_nothing() {
        assert_eq!(sequential_bounds(&[]), (f64::NEG_INFINITY, f64::INFINITY));
        let (low, high) = sequential_bounds(&[0.0; 20]);
        assert!(low <= 0.0 && high >= 0.0, "{low} {high}");
        assert_eq!(paired_shift(&[1.0, 2.0, 30.0]), Some(8.75));
    }

    /// It is looked at after each pair of 40; the coin alone makes the differences.
    #[test]
    fn a_coin_is_seldom_taken_for_an_effect_at_any_look() {
        let mut prng = Prng::new(7);
        let shown = (0..4000).filter(|_| {
            let (mut up, mut down) = (Bettor::new(), Bettor::new());
            (0..40).any(|at| {
                let size = 1.0 + f64::from(at % 7) * 3.0;
                let difference = if prng.below(2) == 0 { size } else { -size };
                up.see(difference);
                down.see(-difference);
                up.wealth().max(down.wealth()) >= ENOUGH
            })
        });
        let shown = shown.count();
        assert!(shown <= 200, "{shown} of 4000");
    }

    /// What the bounds leave out is shown at zero too.
    #[test]
    fn bounds_leave_out_no_more_than_is_shown() {
        let mut prng = Prng::new(9);
        for _ in 0..300 {
            let seen: Vec<f64> = (0..12).map(|_| 0.7 + normal(&mut prng)).collect();
            let (low, _) = sequential_bounds(&seen);
            assert!(low <= 0.0 || is_shown(seen.iter().copied()), "{seen:?}");
        }
    }

    #[test]
    fn less_noise_takes_fewer_pairs() {
        let taken = [0.1, 1.0, 2.0, 50.0].map(|noise| pairs_until_shown(noise, 1.0, 200));
        assert_eq!(taken[0], Some(7));
        assert!(taken[1] < taken[2] && taken[3].is_none(), "{taken:?}");
    }

    #[test]
    fn few_pairs_leave_room_for_more_noise() {
        let of = |pairs: usize| {
            let each = (0..pairs).map(|at| if at % 2 == 0 { 1.0 } else { -1.0 });
            noise_at_most(&each.collect::<Vec<_>>())
        };
        assert_eq!(of(2), None);
        let (four, many) = (of(4).unwrap(), of(200).unwrap());
        assert!(four > 2.0 && many < 1.1, "{four} {many}");
    }

    proptest! {
        #[test]
        fn the_shift_lies_between_its_bounds(
            differences in proptest::collection::vec(-1e6_f64..1e6, 1..40),
            by in -1e3_f64..1e3,
        ) {
            let (low, high) = sequential_bounds(&differences);
            let shift = paired_shift(&differences).unwrap();
            prop_assert!(low <= shift && shift <= high, "{low} {shift} {high}");
            let mirrored: Vec<f64> = differences.iter().map(|it| -it).collect();
            prop_assert_eq!(sequential_bounds(&mirrored), (-high, -low));
            let moved: Vec<f64> = differences.iter().map(|it| it + by).collect();
            let moved = sequential_bounds(&moved).0;
            // A bound far below is looked for in a thousand times the width, which is halved.
            let near = 1001.0 * 2e6 / (1_u64 << HALVINGS) as f64 + 1e-2;
            prop_assert!(moved == low || (moved - low - by).abs() < near, "{moved} {low} {by}");
        }
    }
}
