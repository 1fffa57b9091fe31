//! All policies of a configuration.

use alloc::vec::Vec;

use mm::units::Nanos;

use crate::action::{Decision, Policy};
use crate::ceiling::Ceiling;
use crate::config::Config;
use crate::floor::Floor;
use crate::ksm::Ksm;
use crate::sample::{LONGEST, Sample};
use crate::watermarks::Watermarks;
use crate::writeback::Writeback;

/// The policies of a configuration, with what they remember.
#[derive(Clone, Debug)]
pub struct Guard {
    floor: Option<Floor>,
    ceiling: Option<Ceiling>,
    watermarks: Option<Watermarks>,
    writeback: Option<Writeback>,
    ksm: Option<Ksm>,
    /// When the last three are due.
    due: Nanos,
}

impl Guard {
    /// Nothing is remembered yet.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self {
            floor: config.floor.as_ref().map(Floor::new),
            ceiling: config.ceiling.clone().map(Ceiling::new),
            watermarks: config.watermarks.as_ref().map(Watermarks::new),
            writeback: config.writeback.as_ref().map(Writeback::new),
            ksm: config.ksm.as_ref().map(Ksm::new),
            due: Nanos::ZERO,
        }
    }

    /// The policies that are on, and whether each stands down because somebody else wrote a
    /// tunable of its.
    pub fn policies(&self) -> impl Iterator<Item = (Policy, bool)> {
        let on = [
            (Policy::Floor, self.floor.as_ref().map(Floor::stands_down)),
            (Policy::Ceiling, self.ceiling.as_ref().map(|_| false)),
            (
                Policy::Watermarks,
                self.watermarks.as_ref().map(Watermarks::stands_down),
            ),
            (
                Policy::Writeback,
                self.writeback.as_ref().map(Writeback::stands_down),
            ),
            (Policy::Ksm, self.ksm.as_ref().map(Ksm::stands_down)),
        ];
        on.into_iter()
            .filter_map(|(policy, stands_down)| Some((policy, stands_down?)))
    }

    /// What is to be done now, in order, added to `decisions`. Returns how long after this sample
    /// the next one is due: 10 ms to a second, or 0 where something is to be looked at first.
    pub fn decide(&mut self, sample: &Sample<'_>, decisions: &mut Vec<Decision>) -> Nanos {
        let mut next = LONGEST;
        if let Some(ceiling) = &mut self.ceiling {
            let floor = self.floor.as_ref();
            let keeps = |file| floor.is_some_and(|floor| floor.keeps(file));
            next = next.min(ceiling.decide(sample, keeps, decisions));
        }
        if self.is_due(sample.at) {
            self.due = sample.at.saturating_add(sample.memory.tick());
            self.decide_each_tick(sample, decisions);
        }
        if self.counts() {
            next = next.min(self.due.saturating_sub(sample.at));
        }
        // Last: what it wants to have looked at comes back at once.
        if let Some(floor) = &mut self.floor {
            next = next.min(floor.decide(sample, decisions));
        }
        next
    }

    /// Whether the policies that count what happens between two ticks are due: those that look at
    /// [`Sample::watermarks`], [`Sample::writeback`] and [`Sample::merging`]. At other times a
    /// sample need not have these; where none of them is on, never.
    #[must_use]
    pub fn is_due(&self, now: Nanos) -> bool {
        self.counts() && (now >= self.due || self.due.saturating_sub(now) > LONGEST)
    }

    fn counts(&self) -> bool {
        self.watermarks.is_some() || self.writeback.is_some() || self.ksm.is_some()
    }

    fn decide_each_tick(&mut self, sample: &Sample<'_>, decisions: &mut Vec<Decision>) {
        if let Some(watermarks) = &mut self.watermarks {
            watermarks.decide(sample, decisions);
        }
        if let Some(writeback) = &mut self.writeback {
            writeback.decide(sample, decisions);
        }
        if let Some(ksm) = &mut self.ksm {
            ksm.decide(sample, decisions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::sample::{Memory, TICK};
    use mm::units::Bytes;

    #[test]
    fn a_machine_with_memory_to_spare_is_sampled_once_a_second() {
        let config = Config {
            watermarks: Some(config::Watermarks { most: 40 }),
            ..Config::default()
        };
        let mut guard = Guard::new(&config);
        for (total, available, next) in [(16, 12, LONGEST), (16, 3, TICK), (1, 1, TICK)] {
            let memory = Memory {
                total: Bytes(total << 30),
                available: Bytes(available << 30),
                ..Memory::default()
            };
            let at = guard.due;
            let sample = Sample {
                at,
                memory,
                ..Sample::default()
            };
            assert_eq!(guard.decide(&sample, &mut Vec::new()), next, "{available}");
            assert!(!guard.is_due(at) && guard.is_due(at.saturating_add(next)));
        }
    }
}
