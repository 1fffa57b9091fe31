//! All policies of a configuration.

use alloc::vec::Vec;

use mm::units::Nanos;

use crate::action::{Decision, Policy};
use crate::ceiling::Ceiling;
use crate::config::Config;
use crate::floor::Floor;
use crate::ksm::Ksm;
use crate::sample::{Sample, TICK};
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
    /// the next one is due: 10 to 200 ms, or 0 where something is to be looked at first.
    pub fn decide(&mut self, sample: &Sample<'_>, decisions: &mut Vec<Decision>) -> Nanos {
        let mut next = TICK;
        if let Some(ceiling) = &mut self.ceiling {
            next = next.min(ceiling.decide(sample, decisions));
        }
        if self.is_due(sample.at) {
            self.due = sample.at.saturating_add(TICK);
            self.decide_each_tick(sample, decisions);
        }
        // Last: what it wants to have looked at comes back at once.
        if let Some(floor) = &mut self.floor {
            next = next.min(floor.decide(sample, decisions));
        }
        next
    }

    /// Whether the policies that count what happens between two ticks are due: those that look at
    /// [`Sample::watermarks`], [`Sample::writeback`] and [`Sample::merging`]. At other times a
    /// sample need not have these.
    #[must_use]
    pub fn is_due(&self, now: Nanos) -> bool {
        now >= self.due || self.due.saturating_sub(now) > TICK
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
    use crate::Action;
    use crate::config;
    use crate::sample::{self, Disk};
    use alloc::string::String;
    use mm::units::Bytes;

    /// What is set of a tunable within a minute of samples.
    fn set<'a>(config: &Config, tunable: &str, sample: impl Fn(u64) -> Sample<'a>) -> Vec<String> {
        let (mut guard, mut decisions) = (Guard::new(config), Vec::new());
        for at in 1..300 {
            let sample = Sample {
                at: Nanos(TICK.0 * at),
                ..sample(at)
            };
            guard.decide(&sample, &mut decisions);
        }
        let values = decisions
            .into_iter()
            .filter_map(|decision| match decision.action {
                Action::Set(setting) if setting.tunable == tunable => Some(setting.value),
                _ => None,
            });
        values.collect()
    }

    #[test]
    fn the_most_that_is_told_of_the_watermarks_is_the_most_that_is_set() {
        for most in [1, 5, 40, 333, 1000] {
            let watermarks = config::Watermarks { most };
            let config = Config {
                watermarks: Some(watermarks),
                ..Config::default()
            };
            let factor = watermarks.most_factor();
            // Just below it, so that the first raise goes as far as it may.
            let values = set(&config, "vm.watermark_scale_factor", |at| Sample {
                watermarks: Some(sample::Watermarks {
                    scale_factor: factor - 1,
                    stalls: at * 1000,
                    zones: &[],
                }),
                ..Sample::default()
            });
            let first = values.first().and_then(|value| value.parse().ok());
            assert!(first == Some(factor) || factor == 1, "{most}: {first:?}");
        }
    }

    #[test]
    fn what_is_told_of_a_device_that_was_not_measured_is_what_is_set() {
        let flush_within = Nanos::SECOND;
        let config = Config {
            writeback: Some(config::Writeback { flush_within }),
            ..Config::default()
        };
        let disks = [Disk {
            name: "sda".into(),
            written: Bytes::ZERO,
            busy: Nanos::ZERO,
            share: 1_000_000,
            is_strict: Some(false),
        }];
        let values = set(&config, "bdi.sda.max_ratio_fine", |_| Sample {
            writeback: Some(sample::Writeback {
                threshold: Bytes(80 << 20),
                dirty_bytes: 0,
                disks: &disks,
            }),
            ..Sample::default()
        });
        let share = config::Writeback::UNMEASURED.0 * 1_000_000 / (80 << 20);
        assert_eq!(values.first(), Some(&alloc::format!("{share}")));
    }
}
