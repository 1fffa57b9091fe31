//! How much each device may have dirty: what it writes within a time.
//!
//! A slow device is bounded by its own limit, held strictly where the kernel can (Linux 6.2), so
//! that its writers wait and nobody else does. A device that nobody has measured yet may have
//! little until it has written some of it.
//!
//! Older kernels heed a device's part only once the machine's dirty pages pass halfway between the
//! two thresholds. There, while a slow device writes, the thresholds are set so that halfway is
//! what it may have, with the lower one near 0; and its part is a few percent, so that beyond
//! halfway it waits and the others go on. They come down when no more than that is dirty: otherwise
//! everybody would wait until the slow device has written the rest.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use mm::formula::mul_div;
use mm::settings::Setting;
use mm::units::{Bytes, Nanos};

use crate::action::{Action, Decision, Policy, Why};
use crate::config;
use crate::sample::{Disk, Sample, TICK};

const DIRTY: &str = "vm.dirty_bytes";
const BACKGROUND: &str = "vm.dirty_background_bytes";
/// The least that a device may have dirty.
const LEAST: Bytes = Bytes(4 << 20);
/// What a device may have dirty that was not measured yet.
pub const UNMEASURED: Bytes = Bytes(8 << 20);
/// So much is written before a measurement counts.
const MEASURED: Bytes = Bytes(2 << 20);
/// A whole measurement is so much work of the device. A shorter one is less exact, because bytes
/// count when a request ends: it is used only until the first whole one, and leaves out the last
/// request, so it is rather too low.
const WORKED: Nanos = Nanos(2 * Nanos::SECOND.0);
const WHOLE: u64 = Disk::WHOLE;
const PERCENT: u64 = Disk::PERCENT;
/// The part of a slow device where the kernel does not hold it strictly.
const SLOW: u64 = 3 * PERCENT;
/// A device that has written nothing for so long holds nobody.
const IDLE: Nanos = Nanos(10 * Nanos::SECOND.0);
/// Two changes of one limit are so far apart at least.
const PATIENCE: Nanos = Nanos::SECOND;

/// The policy, with what it remembers.
#[derive(Clone, Debug)]
pub(crate) struct Writeback {
    flush_within: Nanos,
    devices: BTreeMap<String, Device>,
    /// The machine's `dirty_bytes` that was asked for.
    asked: Option<u64>,
    /// The machine's threshold before.
    threshold: Bytes,
    stands_down: bool,
}

/// A device as it was seen.
#[derive(Clone, Debug, Default)]
struct Device {
    /// What it had written and how long it was busy when the measurement began.
    since: Option<(Bytes, Nanos)>,
    /// Bytes a second that it writes, and whether a whole measurement says so.
    rate: Option<u64>,
    is_measured: bool,
    written: Option<Bytes>,
    wrote_at: Nanos,
    /// The share that was asked for.
    share: Option<u64>,
    changed_at: Nanos,
    stands_down: bool,
}

impl Writeback {
    pub(crate) fn new(config: &config::Writeback) -> Self {
        Self {
            flush_within: config.flush_within,
            devices: BTreeMap::new(),
            asked: None,
            threshold: Bytes::ZERO,
            stands_down: false,
        }
    }

    /// Whether somebody else writes the machine's limits, or those of a device.
    pub(crate) fn stands_down(&self) -> bool {
        self.stands_down || self.devices.values().any(|device| device.stands_down)
    }

    pub(crate) fn decide(&mut self, sample: &Sample<'_>, to: &mut Vec<Decision>) {
        let Some(seen) = sample.writeback else {
            return;
        };
        // What was unplugged is forgotten; one of the same name may be another device.
        let names: Vec<&String> = seen.disks.iter().map(|disk| &disk.name).collect();
        self.devices.retain(|name, _| names.contains(&name));
        if self.asked.is_none() {
            self.threshold = seen.threshold;
        }
        let mut slowest = None;
        for disk in seen.disks {
            let device = self.devices.entry(disk.name.clone()).or_default();
            device.measure(sample.at, disk);
            // Where it is held to that strictly, less by what [`is_near`] leaves.
            let within = self.flush_within;
            let strictly = Nanos(within.0 - within.0 / 8);
            let within = disk.is_strict.map_or(within, |_| strictly);
            let (limit, why) = device.limit(within);
            let share = match disk.is_strict {
                Some(_) => Some(share(limit, seen.threshold)),
                None if device.writes_slowly(sample.at, limit, self.threshold) => {
                    slowest = slowest
                        .filter(|(least, _)| *least <= limit)
                        .or(Some((limit, why)));
                    Some(SLOW)
                }
                None => None,
            };
            // Most of the threshold is as good as all of it.
            let share = share.filter(|share| *share < WHOLE / 10 * 9);
            device.bound(sample.at, disk, share, why, to);
        }
        self.bound_machine(sample, seen.dirty_bytes, slowest, to);
    }

    /// Where no device can be held strictly: the thresholds of the machine.
    fn bound_machine(
        &mut self,
        sample: &Sample<'_>,
        held: u64,
        slowest: Option<(Bytes, Why)>,
        to: &mut Vec<Decision>,
    ) {
        if self.stands_down {
            return;
        }
        if self.asked.is_some_and(|asked| asked != held) {
            (self.stands_down, self.asked) = (true, None);
            return give_back(&[DIRTY, BACKGROUND], Why::Theirs, to);
        }
        let Some((limit, why)) = slowest else {
            if self.asked.take().is_some() {
                give_back(&[DIRTY, BACKGROUND], Why::Idle, to);
            }
            return;
        };
        let background = limit.0 / 16;
        let dirty = limit.0.saturating_mul(2) - background;
        let waits = self.asked.is_none() && sample.memory.dirty > limit;
        if waits || self.asked.is_some_and(|asked| is_near(asked, dirty)) {
            return;
        }
        self.asked = Some(dirty);
        set(DIRTY, dirty, why, to);
        set(BACKGROUND, background, why, to);
    }
}

impl Device {
    /// Takes in what was written since the measurement began, when a request has just ended.
    fn measure(&mut self, now: Nanos, disk: &Disk) {
        let before = self.written.replace(disk.written);
        let busy = self.since.map_or(Nanos::ZERO, |(_, busy)| busy);
        if before.is_some_and(|before| disk.written < before) || disk.busy < busy {
            // Another device of this name.
            *self = Self {
                written: Some(disk.written),
                share: self.share,
                ..Self::default()
            };
            return;
        }
        let Some(before) = before.filter(|before| *before < disk.written) else {
            return;
        };
        self.wrote_at = now;
        let (written, busy) = *self.since.get_or_insert((disk.written, disk.busy));
        let busy = disk.busy.0 - busy.0;
        let is_whole = busy >= WORKED.0;
        let until = if is_whole { disk.written } else { before };
        let written = until.saturating_sub(written);
        if written < MEASURED || busy < TICK.0 {
            return;
        }
        let rate = mul_div(written.0, Nanos::SECOND.0, busy);
        // A faster one is believed sooner: a flush of small writes says little.
        self.rate = Some(match self.rate.filter(|_| self.is_measured) {
            Some(before) if !is_whole => before,
            Some(before) if rate > before => before + (rate - before) / 2,
            Some(before) => before - (before - rate) / 8,
            None => rate,
        });
        if is_whole {
            (self.since, self.is_measured) = (Some((disk.written, disk.busy)), true);
        }
    }

    /// What it may have dirty, and why.
    fn limit(&self, flush_within: Nanos) -> (Bytes, Why) {
        let Some(rate) = self.rate else {
            return (UNMEASURED, Why::Unmeasured);
        };
        let limit = Bytes(mul_div(rate, flush_within.0, Nanos::SECOND.0)).max(LEAST);
        (limit, Why::Bandwidth(Bytes(rate)))
    }

    /// Whether it has written of late, and what it may have is less than half of what the machine
    /// may.
    fn writes_slowly(&self, now: Nanos, limit: Bytes, threshold: Bytes) -> bool {
        let is_idle = now.saturating_sub(self.wrote_at) >= IDLE;
        self.rate.is_some() && !is_idle && limit.0 < threshold.0 / 2
    }

    /// Sets its share, or gives it back where that is `None`.
    fn bound(
        &mut self,
        now: Nanos,
        disk: &Disk,
        share: Option<u64>,
        why: Why,
        to: &mut Vec<Decision>,
    ) {
        if self.stands_down {
            return;
        }
        let names = disk.tunables();
        if self.share.is_some_and(|asked| asked != disk.share) {
            (self.stands_down, self.share) = (true, None);
            return give_back(&names, Why::Theirs, to);
        }
        let Some(share) = share else {
            if self.share.take().is_some() {
                give_back(&names, why, to);
            }
            return;
        };
        let is_early = self.share.is_some() && now.saturating_sub(self.changed_at) < PATIENCE;
        if is_early || self.share.is_some_and(|asked| is_near(asked, share)) {
            return;
        }
        (self.share, self.changed_at) = (Some(share), now);
        let grain = if disk.is_strict.is_some() { 1 } else { PERCENT };
        set(&names[0], share / grain, why, to);
        if disk.is_strict == Some(false) {
            set(&names[1], 1, why, to);
        }
    }
}

impl Disk {
    /// The tunable of its share, and that of its strictness where it has one.
    fn tunables(&self) -> Vec<String> {
        let files: &[&str] = match self.is_strict {
            Some(_) => &["max_ratio_fine", "strict_limit"],
            None => &["max_ratio"],
        };
        files
            .iter()
            .map(|file| format!("bdi.{}.{file}", self.name))
            .collect()
    }
}

/// What part of the threshold a limit is.
fn share(limit: Bytes, threshold: Bytes) -> u64 {
    match threshold {
        Bytes::ZERO => WHOLE,
        threshold => mul_div(limit.0, WHOLE, threshold.0).max(1),
    }
}

/// Near enough to be left: no more than an eighth above what is wanted now.
fn is_near(asked: u64, wanted: u64) -> bool {
    asked.abs_diff(wanted) <= wanted / 8
}

fn set(tunable: &str, value: u64, why: Why, to: &mut Vec<Decision>) {
    let (tunable, value) = (tunable.into(), format!("{value}"));
    push(Action::Set(Setting { tunable, value }), why, to);
}

fn give_back(tunables: &[impl AsRef<str>], why: Why, to: &mut Vec<Decision>) {
    for tunable in tunables {
        push(Action::GiveBack(tunable.as_ref().into()), why, to);
    }
}

fn push(action: Action, why: Why, to: &mut Vec<Decision>) {
    to.push(Decision {
        policy: Policy::Writeback,
        action,
        why,
    });
}

#[cfg(test)]
mod tests;
