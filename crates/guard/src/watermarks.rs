//! `vm.watermark_scale_factor`, raised while allocations have to wait for reclaim.
//!
//! kswapd is woken at the low watermark, and an allocation waits where it finds a zone below min.
//! What is between has to last until kswapd frees as fast as memory is taken. So the gap is made
//! as large as what was taken within that time, zone by zone, and doubled where allocations stall
//! all the same. It shrinks again when nothing has stalled for a minute.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use mm::formula::mul_div;
use mm::settings::Setting;
use mm::units::{Nanos, Pages};

use crate::action::{Action, Decision, Policy, Why};
use crate::config;
use crate::sample::{Sample, TICK, Zone};

const TUNABLE: &str = "vm.watermark_scale_factor";
/// What a factor is a part of.
const WHOLE: u64 = 10_000;
/// The most that the kernel takes up to Linux 6.0; 3000 since.
const MOST: u64 = 1_000;
/// Two changes are so far apart at least.
const PATIENCE: Nanos = Nanos::SECOND;
/// So long nothing must have stalled before the factor is lowered, by a quarter.
const CALM: Nanos = Nanos(60 * Nanos::SECOND.0);
/// After that many raises that did not lessen the stalls the policy goes back, for [`REST`].
const VAIN: u32 = 4;
const REST: Nanos = Nanos(600 * Nanos::SECOND.0);

/// The policy, with what it remembers.
#[derive(Clone, Debug)]
pub(crate) struct Watermarks {
    most: u64,
    /// The last sample: when, how many stalls, and each zone's free pages.
    before: Option<(Nanos, u64, Vec<Pages>)>,
    /// The factor before the first raise, and the one that was asked for last.
    raised: Option<(u64, u64)>,
    changed_at: Nanos,
    stalled_at: Nanos,
    /// Stalls since the last raise, and between that and the raise before.
    stalls: [u64; 2],
    vain: u32,
    rests_until: Nanos,
    stands_down: bool,
}

impl Watermarks {
    pub(crate) fn new(config: &config::Watermarks) -> Self {
        Self {
            most: most_scale_factor(config),
            before: None,
            raised: None,
            changed_at: Nanos::ZERO,
            stalled_at: Nanos::ZERO,
            stalls: [0; 2],
            vain: 0,
            rests_until: Nanos::ZERO,
            stands_down: false,
        }
    }

    /// Whether somebody else writes the factor.
    pub(crate) fn stands_down(&self) -> bool {
        self.stands_down
    }

    pub(crate) fn decide(&mut self, sample: &Sample<'_>, to: &mut Vec<Decision>) {
        let Some(seen) = sample.watermarks.filter(|_| !self.stands_down) else {
            return;
        };
        let factor = seen.scale_factor;
        if self.raised.is_some_and(|(_, asked)| asked != factor) {
            (self.stands_down, self.raised) = (true, None);
            to.push(decision(Action::GiveBack(TUNABLE.into()), Why::Theirs));
            return;
        }
        let free = seen.zones.iter().map(|zone| zone.free).collect();
        let before = self.before.replace((sample.at, seen.stalls, free));
        let Some((then, stalls, free)) = before else {
            return;
        };
        let stalls = seen.stalls.saturating_sub(stalls);
        self.stalls[0] = self.stalls[0].saturating_add(stalls);
        let needed = needed(seen.zones, &free, sample.at.saturating_sub(then));
        if stalls > 0 || needed > factor {
            self.stalled_at = sample.at;
            self.raise(sample.at, factor, stalls, needed, to);
        } else if sample.at.saturating_sub(self.stalled_at) >= CALM {
            self.lower(sample.at, to);
        }
    }

    fn raise(&mut self, now: Nanos, factor: u64, stalls: u64, needed: u64, to: &mut Vec<Decision>) {
        let is_early = self.raised.is_some() && now.saturating_sub(self.changed_at) < PATIENCE;
        if is_early || now < self.rests_until {
            return;
        }
        let doubled = if stalls > 0 {
            factor.saturating_mul(2)
        } else {
            0
        };
        let wanted = needed.max(doubled).min(self.most);
        if wanted <= factor {
            return;
        }
        let [since, before] = self.stalls;
        self.vain = match self.raised.is_some() && since >= before && since > 0 {
            true => self.vain + 1,
            false => 0,
        };
        if self.vain >= VAIN {
            (self.vain, self.raised) = (0, None);
            self.rests_until = now.saturating_add(REST);
            to.push(decision(
                Action::GiveBack(TUNABLE.into()),
                Why::InVain(since),
            ));
            return;
        }
        self.stalls = [0, since];
        self.set(now, factor, wanted, Why::Stalls(since), to);
    }

    /// By a quarter, down to the value of before.
    fn lower(&mut self, now: Nanos, to: &mut Vec<Decision>) {
        let Some((before, asked)) = self.raised else {
            return;
        };
        if now.saturating_sub(self.changed_at) < CALM {
            return;
        }
        let wanted = asked - asked.div_ceil(4);
        if wanted <= before {
            self.raised = None;
            to.push(decision(Action::GiveBack(TUNABLE.into()), Why::Calm(CALM)));
            return;
        }
        self.set(now, before, wanted, Why::Calm(CALM), to);
    }

    fn set(&mut self, now: Nanos, held: u64, wanted: u64, why: Why, to: &mut Vec<Decision>) {
        let before = self.raised.map_or(held, |(before, _)| before);
        self.raised = Some((before, wanted));
        self.changed_at = now;
        let setting = Setting {
            tunable: String::from(TUNABLE),
            value: format!("{wanted}"),
        };
        to.push(decision(Action::Set(setting), why));
    }
}

/// The largest factor that a configuration allows: from min to high there are two gaps.
#[must_use]
pub fn most_scale_factor(config: &config::Watermarks) -> u64 {
    (u64::from(config.most) * WHOLE / 1000 / 2).clamp(1, MOST)
}

/// The factor whose gap holds what a zone lost within a tick while kswapd was awake: the largest
/// of all zones. A zone that had more than its low watermark was free to lose it.
fn needed(zones: &[Zone], before: &[Pages], span: Nanos) -> u64 {
    let of_zone = |(zone, before): (&Zone, &Pages)| {
        if zone.free >= zone.low {
            return 0;
        }
        let lost = before.0.min(zone.low.0).saturating_sub(zone.free.0);
        let lost = mul_div(lost, TICK.0, span.0.max(TICK.0));
        mul_div(lost, WHOLE, zone.managed.0)
    };
    let all = zones.iter().zip(before).map(of_zone);
    all.max().unwrap_or(0)
}

fn decision(action: Action, why: Why) -> Decision {
    Decision {
        policy: Policy::Watermarks,
        action,
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// A zone of 1 GiB with the kernel's own watermarks.
    fn zone(free: u64) -> Zone {
        Zone {
            managed: Pages(262_144),
            free: Pages(free),
            min: Pages(1_000),
            low: Pages(1_262),
        }
    }

    /// A machine that takes what is set.
    struct Machine {
        policy: Watermarks,
        factor: u64,
        before: u64,
        at: u64,
        stalls: u64,
    }

    impl Machine {
        fn new() -> Self {
            Self {
                policy: Watermarks::new(&config::Watermarks { most: 40 }),
                factor: 10,
                before: 10,
                at: 0,
                stalls: 0,
            }
        }

        /// A tick in which that many allocations stall; what was set, if anything was.
        fn tick(&mut self, stalls: u64, free: u64) -> Option<u64> {
            (self.at, self.stalls) = (self.at + TICK.0, self.stalls + stalls);
            let zones = [zone(free)];
            let sample = Sample {
                at: Nanos(self.at),
                watermarks: Some(sample::Watermarks {
                    scale_factor: self.factor,
                    stalls: self.stalls,
                    zones: &zones,
                }),
                ..Sample::default()
            };
            let mut decisions = Vec::new();
            self.policy.decide(&sample, &mut decisions);
            let [decision] = &decisions[..] else {
                assert_eq!(decisions, []);
                return None;
            };
            self.factor = match &decision.action {
                Action::Set(setting) => setting.value.parse().expect("a number"),
                Action::GiveBack(_) => self.before,
                other => panic!("{other:?}"),
            };
            Some(self.factor)
        }
    }

    #[test]
    fn stalls_double_the_factor_once_a_second_up_to_the_bound() {
        let mut machine = Machine::new();
        let set: Vec<u64> = (0..40)
            .filter_map(|at| machine.tick(100 / (at + 1), 5_000))
            .collect();
        assert_eq!(set, [20, 40, 80, 160, 200]);
    }

    #[test]
    fn a_zone_that_falls_fast_below_its_low_watermark_is_seen_before_anything_stalls() {
        let mut machine = Machine::new();
        assert_eq!(machine.tick(0, 20_000), None);
        assert_eq!(machine.tick(0, 100), Some(44), "1162 pages of 262144");
    }

    #[test]
    fn calm_lowers_it_by_a_quarter_a_minute_and_gives_it_back_in_the_end() {
        let mut machine = Machine::new();
        for _ in 0..20 {
            machine.tick(1, 5_000);
        }
        let raised = machine.factor;
        let set: Vec<u64> = (0..6_000).filter_map(|_| machine.tick(0, 5_000)).collect();
        assert!(
            set.len() > 3 && set.windows(2).all(|two| two[1] < two[0]),
            "{set:?}"
        );
        assert_eq!((raised > 100, set.last()), (true, Some(&10)));
    }

    #[test]
    fn raises_in_vain_are_taken_back() {
        let mut machine = Machine::new();
        let mut grows = 1;
        let set: Vec<u64> = (0..100)
            .filter_map(|_| {
                grows += grows / 4 + 1;
                machine.tick(grows, 5_000)
            })
            .collect();
        assert_eq!(set.last(), Some(&10), "{set:?}");
    }

    #[test]
    fn an_administrators_own_value_stays() {
        let mut machine = Machine::new();
        machine.tick(0, 5_000);
        assert_eq!(machine.tick(1, 5_000), Some(20));
        (machine.factor, machine.before) = (30, 30);
        assert_eq!(
            machine.tick(1, 5_000),
            Some(30),
            "what is not ours is let go"
        );
        for _ in 0..100 {
            assert_eq!(machine.tick(5, 5_000), None);
        }
    }
}
