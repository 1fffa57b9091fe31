//! `vm.watermark_scale_factor`, raised while allocations have to wait for reclaim.
//!
//! kswapd is woken at the low watermark, and an allocation waits where it finds a zone below min.
//! What is between has to last until kswapd frees as fast as memory is taken. So the gap is made
//! as large as what was taken within that time, zone by zone. Where allocations stall it is made
//! larger by what they had to reclaim, and by a quarter at least. It shrinks by a quarter when
//! nothing has stalled for a minute.
//!
//! The kernel makes the gap a quarter of min where that is more than the factor's part of a zone:
//! then a factor changes nothing until it is more than that quarter.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use mm::formula::mul_div;
use mm::settings::Setting;
use mm::units::{Nanos, Pages};

use crate::action::{Action, Decision, Policy, Why};
use crate::config;
use crate::sample::{Sample, Stalls, TICK, Zone};

const TUNABLE: &str = "vm.watermark_scale_factor";
/// What a factor is a part of.
const WHOLE: u64 = 10_000;
/// The most that the kernel takes up to Linux 6.0; 3000 since.
const MOST: u64 = 1_000;
/// Two changes are so far apart at least.
const PATIENCE: Nanos = Nanos::SECOND;
/// Those that are no further apart follow on each other: samples are up to a second apart.
const IN_A_ROW: Nanos = Nanos(2 * PATIENCE.0);
/// So long nothing must have stalled before the factor is lowered, by a quarter.
const CALM: Nanos = Nanos(60 * Nanos::SECOND.0);
/// After that many seconds in a row, each with more stalls than any before since the first raise,
/// the policy goes back, for [`REST`].
const VAIN: u32 = 4;
const REST: Nanos = Nanos(600 * Nanos::SECOND.0);

/// The policy, with what it remembers.
#[derive(Clone, Debug)]
pub(crate) struct Watermarks {
    most: u64,
    /// The last sample: when, the stalls, and each zone's free pages.
    before: Option<(Nanos, Stalls, Vec<Pages>)>,
    /// The gap before the first raise, as a factor, and the factor that was asked for last.
    raised: Option<(u64, u64)>,
    /// When it was changed, or its bound was in the way.
    changed_at: Nanos,
    stalled_at: Nanos,
    /// Stalls since then, and the most between two such moments, where there were two.
    stalls: u64,
    most_stalls: Option<u64>,
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
            stalls: 0,
            most_stalls: None,
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
        let reclaimed = seen.stalls.reclaimed.saturating_sub(stalls.reclaimed);
        let stalls = seen.stalls.count.saturating_sub(stalls.count);
        self.stalls = match self.raised {
            Some(_) => self.stalls.saturating_add(stalls),
            None => stalls,
        };
        let held = factor.max(gap(seen.zones));
        let lost = needed(seen.zones, &free, sample.at.saturating_sub(then));
        let needed = match stalls {
            0 => lost,
            _ => lost.max(held.saturating_add(missing(held, reclaimed, seen.zones))),
        };
        if needed > held {
            self.stalled_at = sample.at;
            self.raise(sample.at, held, needed, to);
        } else if sample.at.saturating_sub(self.stalled_at) >= CALM {
            self.lower(sample.at, to);
        }
    }

    fn raise(&mut self, now: Nanos, held: u64, needed: u64, to: &mut Vec<Decision>) {
        let since_change = now.saturating_sub(self.changed_at);
        let is_early = self.raised.is_some() && since_change < PATIENCE;
        if is_early || now < self.rests_until {
            return;
        }
        let since = core::mem::take(&mut self.stalls);
        let is_in_a_row = self.raised.is_some() && since_change < IN_A_ROW;
        self.vain = match is_in_a_row && self.most_stalls.is_some_and(|most| since > most) {
            true => self.vain + 1,
            false => 0,
        };
        // Before the first raise it was a tick, and no second.
        self.most_stalls = self.raised.map(|_| since).max(self.most_stalls);
        if self.vain >= VAIN {
            (self.vain, self.raised, self.most_stalls) = (0, None, None);
            self.rests_until = now.saturating_add(REST);
            to.push(decision(
                Action::GiveBack(TUNABLE.into()),
                Why::InVain(since),
            ));
            return;
        }
        match needed.min(self.most) {
            wanted if wanted > held => self.set(now, held, wanted, Why::Stalls(since), to),
            _ => self.changed_at = now,
        }
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
            (self.raised, self.most_stalls) = (None, None);
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

/// The factor that would make the gap what it is, in the zone where that is most.
fn gap(zones: &[Zone]) -> u64 {
    let gap = |zone: &Zone| mul_div(zone.low.saturating_sub(zone.min).0, WHOLE, zone.managed.0);
    zones.iter().map(gap).max().unwrap_or(0)
}

/// What allocations that stalled had to reclaim, as a part of all zones, and a quarter of what is
/// held at least.
fn missing(held: u64, reclaimed: Pages, zones: &[Zone]) -> u64 {
    let managed = zones.iter().map(|zone| zone.managed.0);
    let managed = managed.fold(0, u64::saturating_add);
    mul_div(reclaimed.0, WHOLE, managed).max(held.div_ceil(4))
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

    /// A machine with a zone of 1 GiB and the kernel's own watermarks, which takes what is set.
    struct Machine {
        policy: Watermarks,
        factor: u64,
        before: u64,
        at: u64,
        stalls: u64,
        min: u64,
        low: u64,
    }

    impl Machine {
        fn new() -> Self {
            Self {
                policy: Watermarks::new(&config::Watermarks { most: 40 }),
                factor: 10,
                before: 10,
                at: 0,
                stalls: 0,
                min: 1_000,
                low: 1_262,
            }
        }

        /// A tick in which that many allocations stall; what was set, if anything was.
        fn tick(&mut self, stalls: u64, free: u64) -> Option<u64> {
            (self.at, self.stalls) = (self.at + TICK.0, self.stalls + stalls);
            let zones = [Zone {
                managed: Pages(262_144),
                free: Pages(free),
                min: Pages(self.min),
                low: Pages(self.low),
            }];
            let sample = Sample {
                at: Nanos(self.at),
                watermarks: Some(sample::Watermarks {
                    scale_factor: self.factor,
                    stalls: Stalls {
                        count: self.stalls,
                        reclaimed: Pages(32 * self.stalls),
                    },
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
    fn stalls_raise_the_factor_by_a_quarter_a_second_up_to_the_bound_where_it_stays() {
        let mut machine = Machine::new();
        let set: Vec<u64> = (0..400).filter_map(|_| machine.tick(1, 5_000)).collect();
        assert_eq!(
            set,
            [13, 17, 22, 28, 35, 44, 55, 69, 87, 109, 137, 172, 200]
        );
    }

    #[test]
    fn what_stalled_allocations_had_to_reclaim_is_added_at_once() {
        let mut machine = Machine::new();
        machine.tick(0, 5_000);
        assert_eq!(machine.tick(100, 5_000), Some(132), "3200 pages of 262144");
    }

    #[test]
    fn a_gap_that_min_makes_larger_than_the_factor_is_what_is_raised() {
        let mut machine = Machine::new();
        machine.min = 4_000;
        machine.low = 5_000;
        machine.tick(0, 6_000);
        assert_eq!(machine.tick(1, 6_000), Some(48), "1000 pages are 38");
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
            machine.tick(50, 5_000);
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
    fn raises_in_vain_are_taken_back_and_tried_again_after_a_rest() {
        let mut machine = Machine::new();
        for _ in 0..2 {
            let mut grows = 1;
            let set: Vec<u64> = (0..100)
                .filter_map(|_| {
                    grows += grows / 4 + 1;
                    machine.tick(grows, 5_000)
                })
                .collect();
            assert!(set.len() > 1 && set.last() == Some(&10), "{set:?}");
            for _ in 0..REST.0 / TICK.0 - 100 {
                assert_eq!(machine.tick(1 << 40, 5_000), None);
            }
        }
    }

    #[test]
    fn stalls_that_grow_with_pauses_between_them_are_not_in_vain() {
        let mut machine = Machine::new();
        for burst in 0..30 {
            machine.tick(1 + burst, 5_000);
            (0..10).for_each(|_| assert_eq!(machine.tick(0, 5_000), None));
        }
        assert_eq!(machine.factor, 200);
    }

    #[test]
    fn an_administrators_own_value_stays() {
        let mut machine = Machine::new();
        machine.tick(0, 5_000);
        assert_eq!(machine.tick(1, 5_000), Some(13));
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
