//! CPU time, which what else a machine does is not counted in, and how often it is taken.

/// Rounds where nothing else is asked for.
const ROUNDS: usize = 5;

use rustix::time::{ClockId, clock_gettime};

/// CPU seconds of this process so far.
pub(crate) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// How many rounds the first argument that is a number asks for.
pub(crate) fn rounds() -> usize {
    let asked = std::env::args().find_map(|argument| argument.parse().ok());
    asked.map_or(ROUNDS, |rounds: usize| rounds.max(1))
}
