//! The timer wheel (`kernel/time/timer.c`): a timer goes off at a tick, the later the coarser.

pub(crate) use mm::formula::throttle::HZ;
use mm::timer_list::INITIAL_JIFFIES;
pub(crate) use mm::timer_list::TICK;
use mm::units::Nanos;

/// Ticks from which on a timer is kept to eight, 64, 512 of them (`LVL_START`).
const LEVELS: [(u64, u64); 3] = [(4032, 512), (504, 64), (63, 8)];

/// The kernel's ticks, which were there before the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// How long before it.
    before: Nanos,
}

impl Clock {
    /// That of a machine that was up for so long when the run began, and whose ticks began before.
    pub(crate) fn after(uptime: Nanos, ticks: Nanos) -> Self {
        Self {
            before: uptime.saturating_sub(ticks),
        }
    }

    /// Time since the ticks began, at a time of the run.
    pub(crate) fn ticking(self, now: Nanos) -> Nanos {
        self.before + now
    }

    /// `jiffies` at a time of the run.
    pub(crate) fn jiffies(self, now: Nanos) -> u64 {
        INITIAL_JIFFIES + self.ticking(now).0 / TICK.0
    }

    /// The first time after `now` that is this many times `period` after the first tick.
    pub(crate) fn next(self, now: Nanos, period: Nanos) -> Nanos {
        let ticking = self.before + now;
        Nanos(now.0 + period.0 - ticking.0 % period.0)
    }

    /// When a timer that is kept to whole seconds goes off (`round_jiffies_up`).
    pub(crate) fn expiry_by_seconds(self, now: Nanos, ticks: u64) -> Nanos {
        let over = (self.jiffies(now) + ticks) % HZ;
        self.expiry(now, ticks + HZ - over)
    }

    /// When a timer of this many ticks that is set at `now` goes off (`calc_wheel_index`): never
    /// early, so up to one step of its level late.
    pub(crate) fn expiry(self, now: Nanos, ticks: u64) -> Nanos {
        let level = LEVELS.iter().find(|(start, _)| ticks >= *start);
        let step = level.map_or(1, |(_, step)| *step);
        let jiffies = self.jiffies(now);
        let at = (jiffies + ticks + step) / step * step;
        self.next(now, TICK) + Nanos((at - jiffies - 1) * TICK.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_never_goes_off_early_and_a_long_one_keeps_to_steps() {
        let clock = Clock::default();
        assert_eq!(clock.expiry(Nanos(0), 10), Nanos(11 * TICK.0));
        assert_eq!(clock.expiry(Nanos(TICK.0 - 1), 10), Nanos(11 * TICK.0));
        assert_eq!(clock.expiry(Nanos(0), 500), Nanos(504 * TICK.0));
        assert_eq!(clock.expiry(Nanos(0), 1250), Nanos(1272 * TICK.0));
        assert_eq!(INITIAL_JIFFIES % HZ, 46);
        assert_eq!(
            clock.jiffies(clock.expiry_by_seconds(Nanos(0), 1250)) % 64,
            0
        );
        let booted = Clock::after(Nanos(780_000_000), Nanos(101_000_000));
        assert_eq!(booted.jiffies(Nanos(0)) % 64, 8 + 169 % 64);
        assert_eq!(booted.next(Nanos(0), TICK), Nanos(1_000_000));
        assert_eq!(booted.expiry(Nanos(0), 1), Nanos(1_000_000 + TICK.0));
    }
}
