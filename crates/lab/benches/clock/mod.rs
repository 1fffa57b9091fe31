//! CPU time, which what else a machine does is not counted in.

use rustix::time::{ClockId, clock_gettime};

/// CPU seconds of this process so far.
pub(crate) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
