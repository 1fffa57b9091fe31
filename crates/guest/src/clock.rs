//! The run's clock: CLOCK_MONOTONIC, counted from the run's beginning.

use mm::units::Nanos;
use rustix::thread::{clock_nanosleep_absolute, clock_nanosleep_relative};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Time since the run began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunClock {
    began: Nanos,
}

impl RunClock {
    /// A run that begins now.
    pub(crate) fn begin() -> Self {
        Self { began: monotonic() }
    }

    /// Since the run began. A read of the vDSO, no system call.
    pub(crate) fn now(self) -> Nanos {
        monotonic().saturating_sub(self.began)
    }

    /// Sleeps until that long after the run's beginning; not at all where that has passed.
    pub(crate) fn sleep_until(self, at: Nanos) {
        let at = timespec(self.began + at);
        while clock_nanosleep_absolute(ClockId::Monotonic, &at).is_err() {}
    }
}

/// Sleeps for that long.
pub(crate) fn sleep(span: Nanos) {
    if span > Nanos::ZERO {
        // No signal handler runs in a process of the workload, so a sleep is never cut short.
        let _ = clock_nanosleep_relative(ClockId::Monotonic, &timespec(span));
    }
}

/// A span in the kernel's form.
pub(crate) fn timespec(span: Nanos) -> Timespec {
    let part = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    Timespec {
        tv_sec: part(span.0 / Nanos::SECOND.0),
        tv_nsec: part(span.0 % Nanos::SECOND.0),
    }
}

fn monotonic() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos(time.tv_sec.unsigned_abs() * Nanos::SECOND.0 + time.tv_nsec.unsigned_abs())
}
