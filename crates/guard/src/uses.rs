//! How often a file is used: each use counts half after a minute.

use mm::units::Nanos;

/// After this time a use counts half.
const HALF_LIFE: Nanos = Nanos(60_000_000_000);

/// The uses of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uses {
    /// The binary logarithm of the uses as they would count at time 0. All fade alike, so it orders
    /// the files at any time.
    level: f64,
}

impl Uses {
    pub(crate) const NONE: Self = Self {
        level: f64::NEG_INFINITY,
    };

    /// Counts a use.
    pub(crate) fn add(&mut self, now: Nanos) {
        self.level = libm::log2(self.score(now) + 1.0) + half_lives(now);
    }

    /// Uses, each halved after a minute.
    pub(crate) fn score(&self, now: Nanos) -> f64 {
        libm::exp2(self.level - half_lives(now))
    }

    /// What they are compared with others by: the binary logarithm of the uses, up to a constant.
    pub(crate) fn rank(&self) -> f64 {
        self.level
    }
}

fn half_lives(now: Nanos) -> f64 {
    now.seconds() / HALF_LIFE.seconds()
}
