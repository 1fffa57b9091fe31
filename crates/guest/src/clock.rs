//! The run's clock, CLOCK_MONOTONIC counted from the run's beginning, and the stopwatch, which is
//! cheap enough to be read around every operation.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use host::Root;
use mm::units::Nanos;
use rustix::io::Errno;
use rustix::thread::{clock_nanosleep_absolute, clock_nanosleep_relative};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

/// Time since the run began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunClock {
    began: Nanos,
}

impl RunClock {
    /// A run that begins at that time of CLOCK_MONOTONIC.
    pub(crate) fn begins(at: Nanos) -> Self {
        Self { began: at }
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

/// Becomes readable at a time of the run.
///
/// The timeout of poll will not do: the kernel lets it be late by a thousandth.
#[derive(Debug)]
pub(crate) struct Alarm(OwnedFd);

impl Alarm {
    /// One that is not set.
    pub(crate) fn new() -> Result<Self, Errno> {
        timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).map(Self)
    }

    /// Sets it; what it was set to before is forgotten.
    pub(crate) fn set(&self, clock: RunClock, at: Nanos) -> Result<(), Errno> {
        let setting = Itimerspec {
            it_interval: timespec(Nanos::ZERO),
            it_value: timespec(clock.began + at),
        };
        timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &setting).map(drop)
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Measures short spans.
///
/// A read of CLOCK_MONOTONIC costs about 140 instructions, more than touching a page. Where the
/// kernel itself keeps time by the processor's counter, reading that costs one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stopwatch {
    /// The processor's counter; nanoseconds a tick, times 2^32.
    Counter(u64),
    /// CLOCK_MONOTONIC.
    Kernel,
}

/// How long the counter is held against the clock: 2 ms give its rate to 0.01 %.
const CALIBRATION: Nanos = Nanos(2_000_000);

impl Stopwatch {
    /// The best that this machine has.
    pub(crate) fn new(root: &Root) -> Self {
        let source = "sys/devices/system/clocksource/clocksource0/current_clocksource";
        match (root.read(source), counter()) {
            (Ok(name), Some(_)) if name.starts_with("tsc") => Self::calibrate(),
            _ => Self::Kernel,
        }
    }

    fn calibrate() -> Self {
        let (time, ticks) = at_once();
        sleep(CALIBRATION);
        let (time_end, ticks_end) = at_once();
        let span = u128::from(time_end.saturating_sub(time).0) << 32;
        let rate = span.checked_div(u128::from(ticks_end.wrapping_sub(ticks)));
        rate.and_then(|rate| u64::try_from(rate).ok())
            .map_or(Self::Kernel, Self::Counter)
    }

    /// What it shows now, in its own unit.
    pub(crate) fn read(self) -> u64 {
        match self {
            Self::Counter(_) => counter().unwrap_or_default(),
            Self::Kernel => monotonic().0,
        }
    }

    /// The span between two readings.
    pub(crate) fn span(self, from: u64, to: u64) -> Nanos {
        let ticks = to.saturating_sub(from);
        Nanos(match self {
            Self::Counter(rate) => ((u128::from(ticks) * u128::from(rate)) >> 32) as u64,
            Self::Kernel => ticks,
        })
    }
}

/// The clock and the counter at the same moment: of some attempts the one in which least came
/// between.
fn at_once() -> (Nanos, u64) {
    let attempt = |_| {
        let before = counter().unwrap_or_default();
        let time = monotonic();
        let between = counter().unwrap_or_default().wrapping_sub(before);
        (between, (time, before.wrapping_add(between / 2)))
    };
    let attempts = (0..8).map(attempt);
    let best = attempts.min_by_key(|(between, _)| *between);
    best.map_or((Nanos::ZERO, 0), |(_, both)| both)
}

/// The processor's counter, where there is one that is known.
#[cfg(target_arch = "x86_64")]
fn counter() -> Option<u64> {
    #[expect(unsafe_code, reason = "the time stamp counter")]
    // SAFETY: every x86-64 processor has it, and no supported kernel forbids reading it.
    Some(unsafe { core::arch::x86_64::_rdtsc() })
}

/// The processor's counter, where there is one that is known.
#[cfg(not(target_arch = "x86_64"))]
fn counter() -> Option<u64> {
    None
}

/// CPU time that this thread has used.
pub(crate) fn cpu_time() -> Nanos {
    nanos(clock_gettime(ClockId::ThreadCPUTime))
}

/// Sleeps for that long.
pub(crate) fn sleep(span: Nanos) {
    if span > Nanos::ZERO {
        // No signal handler runs in a process of the workload, so a sleep is never cut short.
        let _ = clock_nanosleep_relative(ClockId::Monotonic, &timespec(span));
    }
}

/// A span in the kernel's form.
fn timespec(span: Nanos) -> Timespec {
    let part = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    Timespec {
        tv_sec: part(span.0 / Nanos::SECOND.0),
        tv_nsec: part(span.0 % Nanos::SECOND.0),
    }
}

/// CLOCK_MONOTONIC.
pub(crate) fn monotonic() -> Nanos {
    nanos(clock_gettime(ClockId::Monotonic))
}

fn nanos(time: Timespec) -> Nanos {
    Nanos(time.tv_sec.unsigned_abs() * Nanos::SECOND.0 + time.tv_nsec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stopwatch_agrees_with_the_clock() {
        for stopwatch in [Stopwatch::new(&Root::default()), Stopwatch::Kernel] {
            let (clock, start) = (RunClock::begins(monotonic()), stopwatch.read());
            sleep(Nanos(5_000_000));
            let (measured, end) = (stopwatch.span(start, stopwatch.read()), clock.now());
            assert!(measured >= Nanos(4_990_000), "{stopwatch:?}: {measured:?}");
            // A busy machine may come between the two readings, but only to one side.
            assert!(
                measured.0 <= end.0 + end.0 / 500,
                "{stopwatch:?}: {measured:?} {end:?}"
            );
        }
    }
}
