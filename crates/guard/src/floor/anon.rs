//! The floor of anonymous memory: below it `vm.swappiness` is 0.

use alloc::format;
use alloc::vec::Vec;

use mm::settings::Setting;
use mm::units::{Bytes, Nanos};

use crate::action::{Action, Decision, Policy, Why};
use crate::config::Amount;
use crate::sample::Sample;

/// `vm.swappiness` is set back when there is so much more than the floor, in percent of it.
const HYSTERESIS_PERCENT: u64 = 10;

/// The floor, and the value that was there before.
#[derive(Clone, Debug)]
pub(super) struct Anon {
    floor: Amount,
    /// The value of `vm.swappiness` before it was set to 0.
    before: Option<u64>,
    /// Somebody else wrote `vm.swappiness`: it is left alone.
    stands_down: bool,
    /// Until then, too.
    rests_until: Nanos,
}

impl Anon {
    pub(super) fn new(floor: Amount) -> Self {
        Self {
            floor,
            before: None,
            stands_down: false,
            rests_until: Nanos::ZERO,
        }
    }

    /// It could not be set: what is there is what was there.
    pub(super) fn rest(&mut self, until: Nanos) {
        (self.before, self.rests_until) = (None, until);
    }

    pub(super) fn stands_down(&self) -> bool {
        self.stands_down
    }

    pub(super) fn decide(&mut self, sample: &Sample<'_>, to: &mut Vec<Decision>) {
        let floor = self.floor.of(sample.memory.total);
        let rests = sample.at < self.rests_until;
        if self.stands_down || rests || floor == Bytes::ZERO {
            return;
        }
        let size = sample.memory.anon;
        let enough = Bytes(floor.0 + floor.0 / 100 * HYSTERESIS_PERCENT);
        let value = match self.before {
            Some(_) if sample.swappiness != 0 => {
                self.stands_down = true;
                self.before = None;
                return;
            }
            Some(before) if size >= enough => {
                self.before = None;
                before
            }
            None if size < floor && sample.swappiness != 0 => {
                self.before = Some(sample.swappiness);
                0
            }
            _ => return,
        };
        to.push(Decision {
            policy: Policy::Floor,
            action: Action::Set(Setting {
                tunable: "vm.swappiness".into(),
                value: format!("{value}"),
            }),
            why: Why::Anon { size, floor },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Memory, Sample};

    /// What is written at each amount of anonymous memory, in percent of the floor, with what
    /// `vm.swappiness` then is.
    fn written(steps: &[(u64, u64)]) -> Vec<Option<alloc::string::String>> {
        let floor = Bytes(100 << 20);
        let mut policy = Anon::new(Amount::Bytes(floor));
        let mut decisions = Vec::new();
        let one = |&(percent, swappiness): &(u64, u64)| {
            let memory = Memory {
                total: Bytes(1 << 30),
                anon: Bytes(floor.0 / 100 * percent),
                ..Memory::default()
            };
            let sample = Sample {
                memory,
                swappiness,
                ..Sample::default()
            };
            policy.decide(&sample, &mut decisions);
            let last = decisions.pop().map(|decision| match decision.action {
                Action::Set(setting) => setting.value,
                other => panic!("{other:?}"),
            });
            assert!(decisions.is_empty());
            last
        };
        steps.iter().map(one).collect()
    }

    #[test]
    fn swappiness_is_0_below_the_floor_and_what_it_was_a_tenth_above_it() {
        let steps = [(120, 60), (99, 60), (50, 0), (105, 0), (110, 0), (105, 60)];
        let expected = [None, Some("0"), None, None, Some("60"), None];
        assert_eq!(written(&steps), expected.map(|value| value.map(Into::into)));
    }

    #[test]
    fn it_stands_down_where_somebody_else_writes() {
        let steps = [(99, 60), (99, 10), (120, 10), (50, 10)];
        let expected = [Some("0"), None, None, None];
        assert_eq!(written(&steps), expected.map(|value| value.map(Into::into)));
    }
}
