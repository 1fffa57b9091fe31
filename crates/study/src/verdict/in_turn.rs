//! The verdict on a setting that was tried in turn with what was there before, block by block.

use super::{Verdict, direction, relative};
use crate::measure::Better;
use crate::stats;

/// The two blocks of a pair, in the measure's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Without the setting.
    pub as_is: f64,
    /// With it.
    pub setting: f64,
}

/// From which difference on it matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matters {
    /// As a share of what is measured without the setting.
    pub share: f64,
    /// In the measure's unit; a smaller difference matters to nobody, whatever its share.
    pub amount: f64,
}

/// What the pairs say so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InTurn {
    /// What can be said. [`Verdict::NotDecided`] until anything can.
    pub verdict: Verdict,
    /// The median without the setting, in the measure's unit.
    pub as_is: f64,
    /// The shift that the setting makes, in the measure's unit.
    pub shift: f64,
    /// Between which bounds the shift lies, with a probability of 95 % over all looks; infinite
    /// where so few pairs do not bound it.
    pub bounds: (f64, f64),
    /// How many pairs there are.
    pub pairs: usize,
}

impl InTurn {
    /// What these pairs say; `None` of nothing.
    #[must_use]
    pub fn of(pairs: &[Pair], better: Better, matters: Matters) -> Option<Self> {
        let differences = differences(pairs);
        let as_is = median_as_is(pairs)?;
        let shift = stats::paired_shift(&differences)?;
        let bounds = stats::sequential_bounds(&differences);
        let least = matters.least(as_is);
        let is_shown = bounds.0 > 0.0 || bounds.1 < 0.0;
        let verdict = if is_shown && shift.abs() >= least {
            direction(shift, Some(better))
        } else if -least <= bounds.0 && bounds.1 <= least && differences.iter().any(|it| *it != 0.0)
        {
            Verdict::NoDifferenceShown
        } else {
            Verdict::NotDecided
        };
        Some(Self {
            verdict,
            as_is,
            shift,
            bounds,
            pairs: pairs.len(),
        })
    }

    /// Whether more pairs would not change the answer.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.verdict != Verdict::NotDecided
    }

    /// The shift and its bounds over what is measured without the setting.
    #[must_use]
    pub fn relative(&self) -> [f64; 3] {
        [self.shift, self.bounds.0, self.bounds.1].map(|it| relative(it, self.as_is))
    }
}

impl Matters {
    /// The smallest difference that matters, in the measure's unit.
    fn least(&self, as_is: f64) -> f64 {
        (self.share * as_is.abs()).max(self.amount)
    }
}

/// A difference of this many times the smallest that matters is what a trial is to find.
pub const TO_FIND: f64 = 2.0;

/// How many pairs it will have taken until a difference of [`TO_FIND`] times the smallest that
/// matters is shown, by the noise of these pairs. `None`: they are too few to tell, or nothing was
/// counted. `Some(None)`: more than `most`.
#[must_use]
pub fn pairs_to_show(pairs: &[Pair], matters: Matters, most: usize) -> Option<Option<usize>> {
    let noise = stats::noise_at_most(&differences(pairs))?;
    let find = TO_FIND * matters.least(median_as_is(pairs)?);
    (find > 0.0).then(|| stats::pairs_until_shown(noise, find, most))
}

fn differences(pairs: &[Pair]) -> Vec<f64> {
    pairs.iter().map(|pair| pair.setting - pair.as_is).collect()
}

fn median_as_is(pairs: &[Pair]) -> Option<f64> {
    stats::median(&pairs.iter().map(|pair| pair.as_is).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mm::prng::Prng;

    const MATTERS: Matters = Matters {
        share: 0.05,
        amount: 0.0,
    };
    /// More pairs than any of these trials needs.
    const MOST: usize = 60;
    /// After how many pairs it is said how long it takes.
    const TOLD: usize = 6;

    /// A machine whose load drifts, swings, and remembers: the noise of a block is in part that of
    /// the block before.
    struct Synthetic {
        prng: Prng,
        noise: f64,
        block: usize,
    }

    impl Synthetic {
        fn new(seed: u64) -> Self {
            Self {
                prng: Prng::new(seed),
                noise: 0.0,
                block: 0,
            }
        }

        /// A uniform number with a standard deviation of 1.
        fn uniform(&mut self) -> f64 {
            let unit = self.prng.below(1 << 40) as f64 / (1_u64 << 40) as f64;
            (unit - 0.5) * 12.0_f64.sqrt()
        }

        fn block(&mut self) -> f64 {
            self.noise = 0.6 * self.noise + 6.0 * self.uniform();
            self.block += 1;
            let at = self.block as f64;
            100.0 + 0.2 * at + 8.0 * (at / 9.0).sin() + self.noise
        }

        fn pair(&mut self, effect: f64) -> Pair {
            let (first, second) = (self.block(), self.block());
            let (as_is, other) = match self.prng.below(2) {
                0 => (first, second),
                _ => (second, first),
            };
            Pair {
                as_is,
                setting: other * (1.0 + effect),
            }
        }
    }

    /// A whole trial: its verdict, the pairs that it took, and the pairs that it said.
    fn trial(seed: u64, effect: f64) -> (Verdict, usize, Option<usize>) {
        let mut machine = Synthetic::new(seed);
        let (mut pairs, mut said) = (vec![], None);
        while pairs.len() < MOST {
            pairs.push(machine.pair(effect));
            if pairs.len() == TOLD {
                said = pairs_to_show(&pairs, MATTERS, MOST).flatten();
            }
            let found = InTurn::of(&pairs, Better::Lower, MATTERS).unwrap();
            if found.is_settled() {
                return (found.verdict, pairs.len(), said);
            }
        }
        (Verdict::NotDecided, MOST, said)
    }

    /// Of 120 seeded trials with each effect at most one in twenty has a false verdict, and where
    /// it is 10 % nine of ten find it within the time that was said.
    #[test]
    fn trials_of_known_effects_have_few_false_verdicts_and_take_the_time_that_they_said() {
        for (effect, is_false) in [
            (0.0, &[Verdict::Better, Verdict::Worse][..]),
            (0.03, &[Verdict::Better]),
            (0.1, &[Verdict::Better, Verdict::NoDifferenceShown]),
            (0.3, &[Verdict::Better, Verdict::NoDifferenceShown]),
        ] {
            let trials: Vec<_> = (0..120).map(|seed| trial(seed, effect)).collect();
            let wrong = trials.iter().filter(|it| is_false.contains(&it.0)).count();
            assert!(wrong <= 6, "{effect}: {wrong} of 120 are false");
            // Where it says nothing, more than the most may be needed.
            let in_time = |it: &&(Verdict, usize, Option<usize>)| {
                it.0 == Verdict::Worse && it.1 <= it.2.unwrap_or(MOST).max(TOLD)
            };
            let found = trials.iter().filter(in_time).count();
            let taken: Vec<f64> = trials.iter().map(|it| it.1 as f64).collect();
            let said: Vec<f64> = trials
                .iter()
                .filter_map(|it| it.2.map(|n| n as f64))
                .collect();
            println!(
                "{effect}: false {wrong}, found in time {found}, pairs {:?}, said {:?} ({} of 120)",
                stats::median(&taken),
                stats::median(&said),
                said.len()
            );
            assert!(
                effect < 0.1 || found >= 108,
                "{effect}: found {found} of 120"
            );
        }
    }

    #[test]
    fn what_is_too_small_to_matter_is_no_difference_once_it_is_bounded() {
        let pair = |at: usize| Pair {
            as_is: 100.0,
            setting: 101.0 + (at % 3) as f64 * 0.1,
        };
        let pairs: Vec<Pair> = (0..20).map(pair).collect();
        let found = InTurn::of(&pairs, Better::Lower, MATTERS).unwrap();
        assert_eq!(found.verdict, Verdict::NoDifferenceShown);
        let finer = Matters {
            share: 0.001,
            amount: 0.0,
        };
        let found = InTurn::of(&pairs, Better::Lower, finer).unwrap();
        assert_eq!(found.verdict, Verdict::Worse);
        let found = InTurn::of(&pairs, Better::Higher, finer).unwrap();
        assert_eq!(found.verdict, Verdict::Better);
        let coarse = Matters {
            share: 0.001,
            amount: 50.0,
        };
        let found = InTurn::of(&pairs, Better::Higher, coarse).unwrap();
        assert_eq!(found.verdict, Verdict::NoDifferenceShown);
    }

    #[test]
    fn where_nothing_is_counted_nothing_is_decided() {
        let none = [Pair {
            as_is: 0.0,
            setting: 0.0,
        }; 30];
        let found = InTurn::of(&none, Better::Lower, MATTERS).unwrap();
        assert_eq!(found.verdict, Verdict::NotDecided);
        assert_eq!(pairs_to_show(&none, MATTERS, MOST), None);
        assert_eq!(InTurn::of(&[], Better::Lower, MATTERS), None);
    }
}
