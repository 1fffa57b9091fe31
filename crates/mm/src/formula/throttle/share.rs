//! A device's share of the dirty thresholds: as much as it has lately written of all that was
//! written.
//!
//! The kernel's flexible proportions (`lib/flex_proportions.c`) with the period of
//! `mm/page-writeback.c`, as on 6.1 and 6.12. The kernel counts on each CPU in batches, so that
//! what it reads lags by up to 8 pages a device and 32 a domain: a device that writes little has no
//! share at all after some periods.

use super::domain::HZ;
use crate::formula::dirty::Thresholds;
use crate::formula::mul_div;
use crate::formula::throttle::counter::Counter;
use crate::units::Pages;

/// Ticks after which all counts halve (`VM_COMPLETIONS_PERIOD_LEN`): three seconds.
pub const PERIOD: u64 = 3 * HZ;

/// Ticks of a slot of the timer wheel at that distance.
const SLOT: u64 = 64;

/// The whole of a bound of [`Bounds`]: ratios are in millionths, since 6.2 the kernel's own unit
/// too (`min_ratio_fine`, `max_ratio_fine`).
pub const WHOLE: u64 = 1_000_000;

/// Ten binary digits of a largest fraction (`FPROP_FRAC_BASE`).
const FRACTION: u64 = 1 << 10;

/// The batches of a machine with one CPU: of a domain's count (`percpu_counter_batch`) and of a
/// device's (`PROP_BATCH`).
const ALL_BATCH: u64 = 32;
const DEVICE_BATCH: u64 = 8;

/// Pages that were written in a domain, recent ones counting more (`struct fprop_global` and the
/// timer of `struct wb_domain`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completions {
    /// All of them and one more, halved at the end of each period.
    pub events: Counter,
    /// Periods that have ended.
    pub period: u64,
    /// The tick at which this one ends; 0 while nothing is written.
    pub ends: u64,
    /// CPUs of the machine, which decide how large the batches are; at least 1.
    pub cpus: u64,
}

/// A device's part of them (`struct fprop_local_percpu`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completed {
    /// As of `period`.
    pub events: Counter,
    /// The last period that the events were halved for.
    pub period: u64,
}

/// A device's share of all completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its own, not more than `of`.
    pub part: u64,
    /// All; never 0.
    pub of: u64,
}

/// What an administrator allows a device (`bdi/min_ratio`, `bdi/max_ratio`), in millionths of the
/// threshold ([`WHOLE`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// At least; those of all devices are not more than [`WHOLE`] together.
    pub min: u64,
    /// At most.
    pub max: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { min: 0, max: WHOLE }
    }
}

impl Bounds {
    /// From whole percents, as the files hold them.
    #[must_use]
    pub fn percent(min: u64, max: u64) -> Self {
        let millionths = |percent: u64| percent.min(100) * (WHOLE / 100);
        Self {
            min: millionths(min),
            max: millionths(max),
        }
    }

    /// Of one of several control groups that write to the device: its part by bandwidth, of which
    /// `all` is the device's sum (`wb_min_max_ratio`).
    #[must_use]
    pub fn of_bandwidth(self, bandwidth: u64, all: u64) -> Self {
        if bandwidth >= all {
            return self;
        }
        let max = match self.max < WHOLE {
            true => mul_div(self.max, bandwidth, all),
            false => WHOLE,
        };
        Self {
            min: mul_div(self.min, bandwidth, all),
            max,
        }
    }
}

impl Default for Completions {
    fn default() -> Self {
        Self {
            events: Counter::of(1),
            period: 0,
            ends: 0,
            cpus: 1,
        }
    }
}

impl Completions {
    /// Of a machine with this many CPUs, of which nothing was written yet.
    #[must_use]
    pub fn new(cpus: u64) -> Self {
        Self {
            cpus: cpus.max(1),
            ..Self::default()
        }
    }

    /// Takes in that writing of that many `pages` of a device ended (`wb_domain_writeout_add`). A
    /// device with a `max` below all is not counted beyond it, so that its share leaves room.
    pub fn add(&mut self, device: &mut Completed, pages: Pages, bounds: Bounds, now: u64) {
        let share = self.share(device);
        let pages = share.allowed(pages.0, bounds.max);
        let events = i64::try_from(pages).unwrap_or(i64::MAX);
        device.events.add(events, self.device_batch());
        self.events.add(events, self.all_batch());
        if self.ends == 0 {
            self.ends = now.saturating_add(PERIOD);
        }
    }

    /// Whether the timer that ends the period is due. The timer wheel takes a timeout of two
    /// seconds or more in slots of 64 ticks: it comes at the next multiple of 64 of the kernel's
    /// ticks, which begin at -75000. It is deferrable: on an idle CPU it waits for the next wakeup.
    #[must_use]
    pub fn is_due(&self, now: u64) -> bool {
        self.ends != 0 && now / SLOT > self.ends / SLOT
    }

    /// The timer: ends the periods that are over (`writeout_period`); once hardly anything is left,
    /// counting sleeps until the next page is written.
    pub fn tick(&mut self, now: u64) {
        if !self.is_due(now) {
            return;
        }
        let periods = (now - self.ends) / PERIOD + 1;
        let events = self.events.sum();
        if events <= 1 {
            self.ends = 0;
            return;
        }
        self.events
            .add(halved(events, periods) - events, self.all_batch());
        self.period += periods;
        self.ends += periods * PERIOD;
    }

    /// A device's share as it is now (`fprop_fraction_percpu`).
    pub fn share(&self, device: &mut Completed) -> Share {
        self.age(device);
        let part = device.events.read();
        Share {
            part,
            of: self.events.read().max(part).max(1),
        }
    }

    /// Halves a device's events for the periods that ended since it was last looked at
    /// (`fprop_reflect_period_percpu`).
    fn age(&self, device: &mut Completed) {
        let periods = self.period.saturating_sub(device.period);
        device.period = self.period;
        if periods == 0 {
            return;
        }
        let batch = self.device_batch();
        let events = match i64::try_from(device.events.read()) {
            Ok(read) if device.events.read() >= self.cpus.saturating_mul(batch) => read,
            _ => device.events.sum(),
        };
        device.events.add(halved(events, periods) - events, batch);
    }

    fn device_batch(&self) -> u64 {
        DEVICE_BATCH * u64::from(1 + self.cpus.max(1).ilog2())
    }

    fn all_batch(&self) -> u64 {
        ALL_BATCH.max(self.cpus.saturating_mul(2))
    }
}

impl Share {
    /// All of it: of the only device that is written to.
    pub const ALL: Self = Self { part: 1, of: 1 };

    /// How many of the pages that were written may count where the share is to be `max` at most, in
    /// millionths: as many as it takes to get there.
    fn allowed(self, pages: u64, max: u64) -> u64 {
        let max = mul_div(FRACTION, max, WHOLE);
        if max >= FRACTION {
            return pages;
        }
        let most = self.of.saturating_mul(max);
        let room = most.saturating_sub(self.part.saturating_mul(FRACTION));
        pages.min(room.div_ceil(FRACTION - max))
    }

    /// Its part of a threshold (`__wb_calc_thresh`). What devices have as their `min` is taken off
    /// first: `reserved` is the sum of all, in millionths.
    #[must_use]
    pub fn threshold(self, threshold: Pages, bounds: Bounds, reserved: u64) -> Pages {
        let open = mul_div(threshold.0, WHOLE.saturating_sub(reserved), WHOLE);
        let own = mul_div(open, self.part, self.of);
        let least = mul_div(threshold.0, bounds.min, WHOLE);
        let most = mul_div(threshold.0, bounds.max, WHOLE);
        Pages(own.saturating_add(least).min(most))
    }

    /// Its part of both (`wb_dirty_limits`): the background in the proportion of the other. The
    /// flusher's own test, whether the device is above its background, takes
    /// [`Self::threshold`] of the background threshold instead (`wb_over_bg_thresh`).
    #[must_use]
    pub fn thresholds(self, of: Thresholds, bounds: Bounds, reserved: u64) -> Thresholds {
        let dirty = self.threshold(of.dirty, bounds, reserved);
        Thresholds {
            background: Pages(mul_div(dirty.0, of.background.0, of.dirty.0)),
            dirty,
        }
    }
}

fn halved(events: i64, times: u64) -> i64 {
    let shifted = u32::try_from(times)
        .ok()
        .and_then(|n| events.checked_shr(n));
    shifted.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Two devices that write in this proportion a second, for this many seconds.
    fn write(fast: u64, slow: u64, seconds: u64, max: u64) -> (Completions, [Completed; 2]) {
        let mut all = Completions::default();
        let mut devices = [Completed::default(); 2];
        for second in 0..seconds {
            let now = 1 + second * HZ;
            all.tick(now);
            for (device, pages) in devices.iter_mut().zip([fast, slow]) {
                let bounds = Bounds::percent(0, if pages == slow { max } else { 100 });
                all.add(device, Pages(pages), bounds, now);
            }
        }
        (all, devices)
    }

    #[test]
    fn shares_are_as_the_devices_write() {
        let (all, [mut fast, mut slow]) = write(900, 100, 60, 100);
        let part = |device: &mut Completed| {
            all.share(device)
                .threshold(Pages(10_000), Bounds::default(), 0)
        };
        assert_eq!(part(&mut fast), Pages(8999), "halving rounds down");
        assert_eq!(part(&mut slow), Pages(998));
    }

    #[test]
    fn half_is_forgotten_each_period_and_a_device_catches_up_when_looked_at() {
        let (mut all, [mut fast, _]) = write(1000, 0, 1, 100);
        assert_eq!(all.ends, 1 + PERIOD);
        all.tick(767);
        assert_eq!(
            all.share(&mut fast).part,
            1000,
            "not before the slot of 64 ticks is over"
        );
        assert!(all.is_due(768));
        all.tick(768 + PERIOD);
        assert_eq!((all.events.sum(), all.period), (250, 2));
        assert_eq!(all.share(&mut fast), Share { part: 250, of: 250 });
        all.tick(1 << 20);
        all.tick(1 << 21);
        assert_eq!(all.ends, 0, "nothing is left, the timer sleeps");
    }

    #[test]
    fn a_device_of_few_pages_has_no_share_after_some_periods() {
        let mut all = Completions::default();
        let mut few = Completed::default();
        let mut many = Completed::default();
        let mut parts = Vec::new();
        for period in 0..9 {
            let now = 1 + period * PERIOD;
            all.tick(now + SLOT);
            let pages = if period == 0 { 512 } else { 0 };
            all.add(&mut few, Pages(pages), Bounds::default(), now);
            all.add(&mut many, Pages(1000), Bounds::default(), now);
            parts.push(all.share(&mut few).part);
        }
        assert_eq!(parts, [512, 256, 128, 64, 32, 16, 8, 8, 0]);
    }

    #[test]
    fn a_largest_ratio_bounds_what_is_counted() {
        let (all, [_, mut slow]) = write(100, 900, 60, 25);
        let share = all.share(&mut slow);
        assert!(
            share.part * 4 <= share.of + 4 && share.part * 5 > share.of,
            "{share:?}"
        );
    }

    #[test]
    fn a_smallest_ratio_is_taken_off_before_the_rest_is_shared() {
        let bounds = Bounds::percent(10, 100);
        let none = Share { part: 0, of: 1 };
        let threshold = Pages(10_000);
        assert_eq!(none.threshold(threshold, bounds, bounds.min), Pages(1000));
        assert_eq!(
            Share::ALL.threshold(threshold, Bounds::default(), bounds.min),
            Pages(9000)
        );
        let capped = Share::ALL.threshold(threshold, Bounds::percent(0, 30), 0);
        assert_eq!(capped, Pages(3000));
        assert_eq!(bounds.of_bandwidth(1, 4).min, 25_000);
    }

    #[test]
    fn the_background_share_is_in_the_same_proportion() {
        let half = Share { part: 1, of: 2 };
        let of = Thresholds {
            background: Pages(1000),
            dirty: Pages(3001),
        };
        let share = half.thresholds(of, Bounds::default(), 0);
        assert_eq!((share.dirty, share.background), (Pages(1500), Pages(499)));
        let none = half.thresholds(Thresholds::default(), Bounds::default(), 0);
        assert_eq!(none, Thresholds::default());
    }
}
