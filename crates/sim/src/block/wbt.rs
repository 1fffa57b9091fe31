//! The throttling of a disk's writes, so that its reads stay quick (`block/blk-wbt.c`): its windows
//! and what is seen in them.

use mm::formula::wbt::{Limits, Throttle, Window};
use mm::units::Nanos;

use crate::sched::timer::{Clock, TICK};

/// What a read may take at most before writes are held back (`wbt_default_latency_nsec`).
const TARGET: Nanos = Nanos(2 * Nanos::MILLI.0);
const TARGET_ROTATIONAL: Nanos = Nanos(75 * Nanos::MILLI.0);

/// The throttling of one disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wbt {
    throttle: Throttle,
    window: Window,
    /// When the window ends; none while nothing is written and nothing was learned.
    ends: Option<Nanos>,
    /// More may be under way than when somebody last asked.
    has_grown: bool,
    clock: Clock,
}

/// What a disk has under way when a window ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnderWay {
    pub(crate) is_writing: bool,
    /// When the device took the oldest read that it has.
    pub(crate) oldest_read: Option<Nanos>,
    /// Requests of the scheduler.
    pub(crate) requests: u64,
    pub(crate) is_rotational: bool,
}

impl Wbt {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            ..Self::default()
        }
    }

    /// Requests that may be written at a time.
    pub(crate) fn limits(&self, requests: u64) -> Limits {
        self.throttle.limits(requests)
    }

    /// When the window ends, if there is one.
    pub(crate) fn ends(&self) -> Option<Nanos> {
        self.ends
    }

    /// Whether more may be under way since this was last asked.
    pub(crate) fn take_growth(&mut self) -> bool {
        core::mem::take(&mut self.has_grown)
    }

    /// A write comes: the first one begins a window.
    pub(crate) fn note_write(&mut self, now: Nanos) {
        if self.ends.is_none() {
            (self.window, self.ends) = (Window::default(), Some(self.end(now)));
        }
    }

    /// A write has ended.
    pub(crate) fn count_write(&mut self) {
        self.window.writes += 1;
    }

    /// A read has ended so long after the device took it.
    pub(crate) fn count_read(&mut self, took: Nanos) {
        let fastest = self.window.fastest_read.unwrap_or(took);
        self.window.fastest_read = Some(fastest.min(took));
    }

    /// Whether a window has ended that is to be judged.
    pub(crate) fn is_due(&self, now: Nanos) -> bool {
        self.ends.is_some_and(|ends| ends <= now)
    }

    /// Judges the windows that have ended, before anything else happens to the disk
    /// (`wb_timer_fn`).
    pub(crate) fn judge(&mut self, now: Nanos, under_way: UnderWay) {
        let target = match under_way.is_rotational {
            true => TARGET_ROTATIONAL,
            false => TARGET,
        };
        while let Some(ends) = self.ends.filter(|ends| *ends <= now) {
            let waiting_read = under_way
                .oldest_read
                .map(|taken| ends.saturating_sub(taken));
            let window = Window {
                waiting_read,
                is_writing: under_way.is_writing,
                ..core::mem::take(&mut self.window)
            };
            let status = window.status(self.throttle.window(), target);
            let before = self.throttle.step;
            self.has_grown |=
                self.throttle.step(status, under_way.requests) && self.throttle.step < before;
            let goes_on = self.throttle.step != 0 || under_way.is_writing;
            self.ends = goes_on.then(|| self.end(ends));
        }
    }

    fn end(&self, now: Nanos) -> Nanos {
        self.clock.expiry(now, self.throttle.window().0 / TICK.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITING: UnderWay = UnderWay {
        is_writing: true,
        oldest_read: None,
        requests: 64,
        is_rotational: false,
    };

    #[test]
    fn a_disk_that_only_writes_is_given_more_every_26_ticks() {
        let mut wbt = Wbt::default();
        wbt.note_write(Nanos(1));
        wbt.judge(Nanos(103_000_000), WRITING);
        assert_eq!(wbt.limits(64).most, 16);
        wbt.judge(Nanos(104_000_000), WRITING);
        assert_eq!(wbt.limits(64).most, 31);
        wbt.judge(Nanos(300_000_000), WRITING);
        assert_eq!(wbt.limits(64).most, 48);
    }

    #[test]
    fn a_read_that_waits_behind_writes_holds_them_back() {
        let mut wbt = Wbt::default();
        wbt.note_write(Nanos(0));
        let oldest_read = Some(Nanos(90_000_000));
        let under_way = UnderWay {
            oldest_read,
            ..WRITING
        };
        wbt.judge(Nanos(104_000_000), under_way);
        assert_eq!(wbt.limits(64).most, 8);
    }

    #[test]
    fn an_idle_disk_forgets_what_it_learned_and_rests() {
        let mut wbt = Wbt::default();
        wbt.note_write(Nanos(0));
        wbt.judge(Nanos(104_000_000), WRITING);
        let idle = UnderWay {
            is_writing: false,
            ..WRITING
        };
        wbt.judge(Nanos(2_000_000_000), idle);
        assert_eq!(wbt.limits(64).most, 16);
        assert!(!wbt.is_due(Nanos(u64::MAX)));
    }
}
