//! How fast one task may dirty a device's pages, as the kernel finds it without counting tasks.

use super::domain::{Device, Domain, ONE};
use crate::formula::mul_div;
use crate::formula::throttle::bandwidth;
use crate::units::Pages;

/// Both rates, pages a second (`struct bdi_writeback`; `bdi_dirty_ratelimit` prints them as
/// kilobytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratelimit {
    /// What a task may dirty at the set point (`dirty_ratelimit`). At least 1.
    pub base: u64,
    /// What it came to at the last update alone (`balanced_dirty_ratelimit`): the base follows it
    /// in small steps.
    pub balanced: u64,
}

impl Default for Ratelimit {
    fn default() -> Self {
        Self {
            base: bandwidth::INITIAL,
            balanced: bandwidth::INITIAL,
        }
    }
}

impl Ratelimit {
    /// What a task may dirty at this position ratio (`task_ratelimit`).
    #[must_use]
    pub fn task(self, position: u64) -> u64 {
        mul_div(self.base, position, ONE)
    }

    /// One update (`wb_update_dirty_ratelimit`). N tasks that were let `task` pages a second (1 or
    /// more) dirtied `rate` in all; were each let task * bandwidth / rate, they would dirty as much
    /// as the device writes. The base goes that way, in a step of an eighth of the least of three
    /// distances or less, and not at all where pages are `below` the set point and should rise, or
    /// above it and should fall, and the step would do the opposite.
    pub fn update(&mut self, below: bool, task: u64, rate: u64, bandwidth: u64) {
        let balanced = mul_div(task, bandwidth, rate | 1).min(bandwidth);
        let distance = match below {
            true => self.balanced.min(balanced).min(task).checked_sub(self.base),
            false => (self.base).checked_sub(self.balanced.max(balanced).max(task)),
        };
        let step = calmed(distance.unwrap_or(0), self.base);
        self.base = match self.base < balanced {
            true => self.base.saturating_add(step),
            false => self.base.saturating_sub(step),
        };
        self.base = self.base.max(1);
        self.balanced = balanced;
    }
}

/// A distance as a step: an eighth, rounded up, of what is left after halving it as often as twice
/// the distance fits into the rate, so that a steady rate does not tremble.
fn calmed(distance: u64, rate: u64) -> u64 {
    let halvings = rate / distance.saturating_mul(2).saturating_add(1);
    let distance = u32::try_from(halvings)
        .ok()
        .and_then(|n| distance.checked_shr(n));
    distance.unwrap_or(0).div_ceil(8)
}

/// Whether the dirty pages are below the set point, for the step's direction: those of the domain,
/// or of a strict device, which with fewer than eight always is.
#[must_use]
pub fn is_below(domain: &Domain, device: &Device) -> bool {
    match device.is_strict {
        false => domain.dirty < domain.setpoint(),
        true => device.dirty < Pages(8) || device.dirty < device.thresholds.freerun(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the base comes to with this many tasks that dirty what they may, at the position ratio
    /// that holds the pages where they are.
    fn settle(tasks: u64, bandwidth: u64) -> Ratelimit {
        let mut limit = Ratelimit::default();
        for _ in 0..200 {
            let position = ONE * bandwidth / tasks / limit.base;
            let task = limit.task(position) + 1;
            limit.update(position > ONE, task, tasks * task, bandwidth);
        }
        limit
    }

    #[test]
    fn tasks_share_the_bandwidth_without_being_counted() {
        for tasks in [1, 2, 10, 100] {
            let base = settle(tasks, 20_000).base;
            let fair = 20_000 / tasks;
            assert!(base.abs_diff(fair) * 8 <= fair, "{tasks} tasks: {base}");
        }
    }

    #[test]
    fn the_balanced_rate_never_exceeds_the_bandwidth() {
        let mut limit = Ratelimit::default();
        limit.update(true, 50_000, 0, 10_000);
        assert_eq!(limit.balanced, 10_000);
        assert_eq!(limit.base, bandwidth::INITIAL, "below: it does not fall");
    }

    #[test]
    fn a_small_distance_makes_a_smaller_step() {
        assert_eq!(calmed(0, 25_600), 0);
        assert_eq!(calmed(25_600, 25_600), 3200);
        assert_eq!(calmed(6400, 25_600), 400, "25600 / 12801: halved once");
        assert_eq!(calmed(100, 25_600), 0, "127 halvings leave nothing");
    }
}
