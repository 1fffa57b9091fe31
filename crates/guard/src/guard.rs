//! All policies of a configuration.

use alloc::vec::Vec;

use mm::units::Nanos;

use crate::action::{Decision, Policy};
use crate::ceiling::Ceiling;
use crate::config::Config;
use crate::floor::Floor;
use crate::sample::{Sample, TICK};

/// The policies of a configuration, with what they remember.
#[derive(Clone, Debug)]
pub struct Guard {
    floor: Option<Floor>,
    ceiling: Option<Ceiling>,
}

impl Guard {
    /// Nothing is remembered yet.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self {
            floor: config.floor.as_ref().map(Floor::new),
            ceiling: config.ceiling.clone().map(Ceiling::new),
        }
    }

    /// The policies that are on, and whether each stands down because somebody else wrote a
    /// tunable of its.
    pub fn policies(&self) -> impl Iterator<Item = (Policy, bool)> {
        let floor = self.floor.as_ref();
        let floor = floor.map(|floor| (Policy::Floor, floor.stands_down()));
        let ceiling = self.ceiling.as_ref().map(|_| (Policy::Ceiling, false));
        floor.into_iter().chain(ceiling)
    }

    /// What is to be done now, in order, added to `decisions`. Returns how long after this sample
    /// the next one is due: 10 to 200 ms, or 0 where something is to be looked at first.
    pub fn decide(&mut self, sample: &Sample<'_>, decisions: &mut Vec<Decision>) -> Nanos {
        let mut next = TICK;
        if let Some(ceiling) = &mut self.ceiling {
            next = next.min(ceiling.decide(sample, decisions));
        }
        if let Some(floor) = &mut self.floor {
            next = next.min(floor.decide(sample, decisions));
        }
        next
    }
}
