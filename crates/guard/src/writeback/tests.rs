//! Devices of several speeds, and what the policy allows them.

use super::*;
use crate::sample::{self, Memory};
use alloc::vec;
use mm::units::Nanos;

const THRESHOLD: u64 = 100 << 20;

/// Devices that take what is set.
struct Machine {
    policy: Writeback,
    disks: Vec<(Disk, u64)>,
    dirty_bytes: u64,
    dirty: Bytes,
    /// What is written counts when a request of this size ends; what is in the one that has not.
    request: u64,
    underway: Vec<u64>,
    at: u64,
}

impl Machine {
    /// Devices that write that many bytes a second.
    fn new(is_strict: Option<bool>, rates: &[u64]) -> Self {
        let disk = |(at, &rate): (usize, &u64)| {
            let disk = Disk {
                name: format!("sd{}", char::from(b'a' + at as u8)),
                written: Bytes::ZERO,
                busy: Nanos::ZERO,
                share: WHOLE,
                is_strict,
            };
            (disk, rate)
        };
        Self {
            policy: Writeback::new(&config::Writeback {
                flush_within: Nanos(2 * Nanos::SECOND.0),
            }),
            disks: rates.iter().enumerate().map(disk).collect(),
            dirty_bytes: 0,
            dirty: Bytes::ZERO,
            request: 1,
            underway: vec![0; rates.len()],
            at: 0,
        }
    }

    /// A tick in which all devices are busy; what was done.
    fn tick(&mut self) -> Vec<Action> {
        self.at += TICK.0;
        for ((disk, rate), underway) in self.disks.iter_mut().zip(&mut self.underway) {
            if *rate > 0 {
                disk.busy.0 += TICK.0;
            }
            *underway += *rate / 5;
            let rest = *underway % self.request;
            disk.written.0 += *underway - rest;
            *underway = rest;
        }
        let disks: Vec<Disk> = self.disks.iter().map(|(disk, _)| disk.clone()).collect();
        let sample = Sample {
            at: Nanos(self.at),
            memory: Memory {
                dirty: self.dirty,
                ..Memory::default()
            },
            writeback: Some(sample::Writeback {
                threshold: match self.dirty_bytes {
                    0 => Bytes(THRESHOLD),
                    bytes => Bytes(bytes),
                },
                dirty_bytes: self.dirty_bytes,
                disks: &disks,
            }),
            ..Sample::default()
        };
        let mut decisions = Vec::new();
        self.policy.decide(&sample, &mut decisions);
        let actions: Vec<Action> = decisions.into_iter().map(|one| one.action).collect();
        actions.iter().for_each(|action| self.take(action));
        actions
    }

    fn take(&mut self, action: &Action) {
        let (tunable, value) = match action {
            Action::Set(setting) => (&setting.tunable, setting.value.parse().ok()),
            Action::GiveBack(tunable) => (tunable, None),
            other => panic!("{other:?}"),
        };
        if tunable == DIRTY {
            self.dirty_bytes = value.unwrap_or(0);
        }
        for (disk, _) in &mut self.disks {
            if tunable.starts_with(&format!("bdi.{}.max_ratio", disk.name)) {
                let grain = if disk.is_strict.is_some() { 1 } else { PERCENT };
                disk.share = value.map_or(WHOLE, |value| value * grain);
            } else if *tunable == format!("bdi.{}.strict_limit", disk.name) {
                disk.is_strict = Some(value == Some(1));
            }
        }
    }

    fn seconds(&mut self, seconds: u64) -> usize {
        (0..seconds * 5).map(|_| self.tick().len()).sum()
    }

    fn may_have_dirty(&self, at: usize) -> u64 {
        THRESHOLD * self.disks[at].0.share / WHOLE
    }
}

#[test]
fn a_slow_device_may_have_dirty_what_it_writes_in_time_and_a_fast_one_is_free() {
    let mut machine = Machine::new(Some(false), &[8_000_000, 200_000_000]);
    machine.tick();
    for (disk, _) in &machine.disks {
        assert_eq!(
            (disk.share, disk.is_strict),
            (80_000, Some(true)),
            "8 MiB of 100"
        );
    }
    machine.seconds(5);
    let slow = machine.may_have_dirty(0);
    assert!((12_000_000..=16_000_000).contains(&slow), "{slow}");
    let (fast, _) = &machine.disks[1];
    assert_eq!((fast.share, fast.is_strict), (WHOLE, Some(false)));
    assert_eq!(
        machine.seconds(60),
        0,
        "a speed that stays is not set again"
    );
    assert_eq!(
        machine.dirty_bytes, 0,
        "the machine's limits are not needed"
    );
}

#[test]
fn a_device_of_large_requests_is_not_believed_faster_than_it_is() {
    for request in [100_000, 700_000, 1_300_000, 4_200_000] {
        for underway in [0, request / 2, request - 1] {
            let mut machine = Machine::new(Some(false), &[8_000_000]);
            (machine.request, machine.underway) = (request, vec![underway]);
            for tick in 0..200 {
                machine.tick();
                let held = machine.may_have_dirty(0);
                assert!(held <= 16_000_000, "{request} {underway} {tick}: {held}");
            }
            assert!(machine.may_have_dirty(0) >= 11_000_000, "{request}");
        }
    }
}

#[test]
fn without_strict_limits_the_machines_are_brought_down_while_a_slow_device_writes() {
    let mut machine = Machine::new(None, &[8_000_000, 200_000_000]);
    machine.dirty = Bytes(60 << 20);
    machine.seconds(5);
    assert_eq!(machine.disks[0].0.share, 30_000);
    assert_eq!(machine.dirty_bytes, 0, "everybody would wait for 60 MiB");
    machine.dirty = Bytes(10 << 20);
    machine.seconds(5);
    let dirty = machine.dirty_bytes;
    assert!((28_000_000..=36_000_000).contains(&dirty), "{dirty}");
    let shares = [0, 1].map(|at: usize| machine.disks[at].0.share);
    assert_eq!(shares, [30_000, WHOLE]);
    machine.disks[0].1 = 0;
    machine.seconds(15);
    assert_eq!(machine.dirty_bytes, 0, "the slow one is idle");
    assert_eq!(machine.disks[0].0.share, WHOLE);
}

#[test]
fn what_somebody_else_sets_stays() {
    let mut machine = Machine::new(Some(false), &[8_000_000]);
    machine.seconds(5);
    machine.disks[0].0.share = 123;
    let names = ["bdi.sda.max_ratio_fine", "bdi.sda.strict_limit"];
    let back = names.map(|name| Action::GiveBack(name.into()));
    let held = machine.disks[0].0.share;
    assert_eq!(machine.tick(), back);
    machine.disks[0].0.share = held;
    assert_eq!(machine.seconds(20), 0);
}

#[test]
fn another_device_of_the_name_is_measured_again() {
    let mut machine = Machine::new(Some(false), &[8_000_000]);
    machine.seconds(5);
    machine.disks[0].0.written = Bytes::ZERO;
    machine.disks[0].0.busy = Nanos::ZERO;
    machine.disks[0].1 = 30_000_000;
    machine.seconds(5);
    let now = machine.may_have_dirty(0);
    assert!((45_000_000..=60_000_000).contains(&now), "{now}");
}
