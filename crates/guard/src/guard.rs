//! All policies of a configuration.

use alloc::collections::BTreeMap;
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

/// A policy whose tunable could not be set leaves all of its alone for this time.
const REST: Nanos = Nanos(60 * Nanos::SECOND.0);

/// The policies of a configuration, with what they remember.
#[derive(Clone, Debug)]
pub struct Guard {
    config: Config,
    /// Until when policies rest.
    rests: BTreeMap<Policy, Nanos>,
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
            config: config.clone(),
            rests: BTreeMap::new(),
            floor: config.floor.as_ref().map(Floor::new),
            ceiling: config.ceiling.clone().map(Ceiling::new),
            watermarks: config.watermarks.as_ref().map(Watermarks::new),
            writeback: config.writeback.as_ref().map(Writeback::new),
            ksm: config.ksm.as_ref().map(Ksm::new),
            due: Nanos::ZERO,
        }
    }

    /// A tunable of a policy could not be set, and what it had set besides is given back: it
    /// forgets what it asked for, and asks for nothing for a minute. It would take what is there
    /// for somebody else's.
    pub fn rest(&mut self, policy: Policy, now: Nanos) {
        let (config, until) = (&self.config, now.saturating_add(REST));
        match policy {
            Policy::Floor => self.floor.iter_mut().for_each(|floor| floor.rest(until)),
            Policy::Watermarks => {
                self.watermarks = config.watermarks.as_ref().map(Watermarks::new);
            }
            Policy::Writeback => self.writeback = config.writeback.as_ref().map(Writeback::new),
            Policy::Ksm => self.ksm = config.ksm.as_ref().map(Ksm::new),
            Policy::Ceiling => {}
        }
        self.rests.insert(policy, until);
    }

    fn rests(&self, policy: Policy, now: Nanos) -> bool {
        let until = self.rests.get(&policy);
        until.is_some_and(|until| now < *until)
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
        let of = [Policy::Watermarks, Policy::Writeback, Policy::Ksm];
        let [watermarks, writeback, ksm] = of.map(|policy| !self.rests(policy, sample.at));
        if let Some(policy) = self.watermarks.as_mut().filter(|_| watermarks) {
            policy.decide(sample, decisions);
        }
        if let Some(policy) = self.writeback.as_mut().filter(|_| writeback) {
            policy.decide(sample, decisions);
        }
        if let Some(policy) = self.ksm.as_mut().filter(|_| ksm) {
            policy.decide(sample, decisions);
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

    #[test]
    fn a_policy_whose_tunable_cannot_be_set_rests_and_takes_it_for_nobody_elses() {
        let config = Config::read([("floor.anon_min", "50 %")]).expect("a configuration");
        let mut guard = Guard::new(&config);
        let decide = |guard: &mut Guard, seconds: u64| {
            let (at, total) = (Nanos(seconds * Nanos::SECOND.0), Bytes(1 << 30));
            let memory = Memory {
                total,
                ..Memory::default()
            };
            let sample = Sample {
                at,
                memory,
                swappiness: 60,
                ..Sample::default()
            };
            let mut decisions = Vec::new();
            guard.decide(&sample, &mut decisions);
            decisions.len()
        };
        assert_eq!(decide(&mut guard, 1), 1);
        guard.rest(Policy::Floor, Nanos::SECOND);
        let set: Vec<usize> = [2, 60, 61].map(|at| decide(&mut guard, at)).into();
        assert_eq!(set, [0, 0, 1]);
        assert!(guard.policies().all(|(_, stands_down)| !stands_down));
        assert_eq!(decide(&mut guard, 62), 0);
        assert!(
            guard.policies().all(|(_, stands_down)| stands_down),
            "not ours"
        );
    }
}
