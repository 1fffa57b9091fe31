//! How long `memory.high` holds up a task.
//!
//! `calculate_high_delay` in `mm/memcontrol.c` (6.1 to 7.2). The kernel reckons in ticks of its
//! clock, `hz` a second.

use crate::units::Pages;

/// Seconds beyond which no task is held up at a time.
const LONGEST: u64 = 2;

/// Binary digits behind the point of an overage, and those that its square loses besides.
const PRECISION: u32 = 20;
const SCALING: u32 = 14;

/// The pages for which a delay is reckoned.
const PER: u64 = 64;

/// A counter and its limit (`memory.high` or `memory.swap.high`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    /// Pages in use.
    pub usage: Pages,
    /// The limit.
    pub high: Pages,
}

impl Excess {
    /// The share of the limit by which the usage exceeds it, in 2^-20.
    #[must_use]
    pub fn overage(self) -> u64 {
        let over = self.usage.saturating_sub(self.high).0;
        let share = (u128::from(over) << PRECISION) / u128::from(self.high.0.max(1));
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

/// The ticks for which a task sleeps that charged `pages` pages above the limit; 0 where the kernel
/// thinks it not worth a sleep (up to a hundredth of a second).
///
/// `memory` and `swap` are the worst overages of the group and its ancestors. The delay grows with
/// their square: a little costs nothing, much stops the task.
#[must_use]
pub fn ticks(memory: u64, swap: u64, pages: Pages, hz: u64) -> u64 {
    let both = delay(memory, pages, hz).saturating_add(delay(swap, pages, hz));
    match both.min(LONGEST * hz) {
        short if short <= hz / 100 => 0,
        long => long,
    }
}

fn delay(overage: u64, pages: Pages, hz: u64) -> u64 {
    let squared = u128::from(overage) * u128::from(overage);
    let ticks = (squared.saturating_mul(u128::from(hz)) >> PRECISION) >> SCALING;
    let ticks = u64::try_from(ticks).unwrap_or(u64::MAX);
    ticks.saturating_mul(pages.0) / PER
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(usage: u64) -> u64 {
        let (usage, high) = (Pages(usage), Pages(16384));
        Excess { usage, high }.overage()
    }

    #[test]
    fn the_delay_grows_with_the_square_of_the_overage() {
        let ticks = |usage| ticks(over(usage), 0, Pages(64), 250);
        assert_eq!(ticks(17 << 10), 62, "a sixteenth above: 64 s / 256");
        assert_eq!(ticks(18 << 10), 250, "twice that: four times as long");
        assert_eq!(ticks(32 << 10), 500, "never more than two seconds");
    }

    #[test]
    fn it_grows_with_what_was_charged_and_both_counters_add_up() {
        assert_eq!(ticks(over(17 << 10), 0, Pages(128), 250), 124);
        assert_eq!(ticks(over(17 << 10), over(17 << 10), Pages(64), 250), 124);
    }

    #[test]
    fn little_is_forgiven() {
        let ticks = |usage| ticks(over(usage), 0, Pages(64), 250);
        assert_eq!(ticks(16 << 10), 0);
        assert_eq!(ticks(15 << 10), 0);
        // An overage of 1 % would cost 6 ms: less than the kernel's three ticks.
        assert_eq!(ticks((16 << 10) + 164), 0);
        assert_eq!(ticks((16 << 10) + 260), 4);
    }

    #[test]
    fn a_limit_of_nothing_stops_the_task_and_no_overflow_the_kernel() {
        let all = Excess {
            usage: Pages(u64::MAX),
            high: Pages(0),
        };
        assert_eq!(ticks(all.overage(), 0, Pages(64), 250), 500);
    }
}
