//! CPU time that a process uses for itself: a loop whose speed was measured.

use std::hint::black_box;

use mm::units::Nanos;

use crate::clock::Stopwatch;

/// Rounds that are measured: 0.3 ms in virtual time.
const MEASURED: u64 = 100_000;

/// A loop that takes as long as it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compute {
    /// Rounds in 2^20 nanoseconds.
    rounds: u64,
}

impl Compute {
    /// Measures how fast the loop goes. The best of three: a tick may come between.
    pub(crate) fn measure(stopwatch: Stopwatch) -> Self {
        let measure = |_| {
            let start = stopwatch.read();
            turn(MEASURED);
            stopwatch.span(start, stopwatch.read()).0
        };
        let took = (0..3).map(measure).min().unwrap_or(0).max(1);
        Self {
            rounds: (MEASURED << 20) / took,
        }
    }

    /// Uses that much CPU time.
    pub(crate) fn spend(self, time: Nanos) {
        let rounds = (u128::from(time.0) * u128::from(self.rounds)) >> 20;
        turn(u64::try_from(rounds).unwrap_or(u64::MAX));
    }
}

fn turn(rounds: u64) {
    for round in 0..rounds {
        black_box(round);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_at_least_as_long_as_it_is_told_and_twice_as_long_for_twice_as_much() {
        let compute = Compute { rounds: 1 << 20 };
        let start = std::time::Instant::now();
        compute.spend(Nanos(2_000_000));
        assert!(start.elapsed().as_nanos() > 100_000, "two million rounds");
    }
}
