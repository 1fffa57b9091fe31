//! Draws of the shapes that a distribution is written in, all from one stream.

use mm::prng::Prng;

/// A stream of draws.
pub(super) struct Dice(Prng);

impl Dice {
    /// The stream of a seed for the part called `part`.
    pub(super) fn of(seed: u64, part: &str) -> Self {
        Self(Prng::for_part(seed, part))
    }

    /// A number from `low` to `high`, all equally likely.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high.saturating_sub(low) + 1)
    }

    /// A number from `low` to `high` whose octave is drawn first: 100 to 200 is as likely as 1000
    /// to 2000.
    pub(super) fn octave(&mut self, low: u64, high: u64) -> u64 {
        let octaves = u64::from((high / low.max(1)).max(1).ilog2()) + 1;
        let from = (low << self.0.below(octaves)).min(high);
        self.between(from, (from * 2).min(high))
    }

    /// True in `percent` of a hundred draws.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.0.below(100) < percent
    }

    /// One of some.
    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.0.below(of.len() as u64) as usize]
    }

    /// The first `count` of some, shuffled, in the order in which they stood.
    pub(super) fn some<T: Copy>(&mut self, of: &[T], count: usize) -> Vec<T> {
        let mut places: Vec<usize> = (0..of.len()).collect();
        self.0.shuffle(&mut places);
        places.truncate(count);
        places.sort_unstable();
        places.into_iter().map(|place| of[place]).collect()
    }
}
