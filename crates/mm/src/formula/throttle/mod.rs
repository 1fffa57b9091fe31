//! How the kernel slows tasks that dirty pages: it lets them write as fast as the device does, in
//! pauses that keep the dirty pages at a set point between both thresholds.
//!
//! `mm/page-writeback.c` of 6.1 and 6.12 (Wu Fengguang's "IO-less dirty throttling", Linux 3.2).
//! All of it is integers, as the kernel has them: pages, pages a second, ticks of [`HZ`], and
//! ratios with ten binary digits ([`ONE`]). `crates/mm/tests/throttle.rs` holds it against the
//! writeback tracepoints of both kernels, which print what each step takes in and gives out.
//!
//! In the order in which `balance_dirty_pages` asks:
//!
//! 1. [`Cpu::asks`]: whether this task is to be looked at again;
//! 2. [`Domain`] with [`share::Share`]: what is dirty, and the thresholds of machine and device;
//!    up to [`Domain::is_free`] the task goes on, until [`poll_interval`] more pages are dirty;
//! 3. [`position::ratio`]: how far off the set point that is;
//! 4. [`Pace::balance`], five times a second: the device's [`bandwidth::Bandwidth`] and the
//!    [`ratelimit::Ratelimit`] of one task that follow from what was dirtied and written;
//! 5. [`Writer::throttle`]: the pause.
//!
//! A control group with its own dirtyable memory is a second [`Domain`] with a share of its own for
//! the same device; the smaller position ratio of both rules, with that domain's device.

pub mod bandwidth;
pub mod counter;
mod domain;
mod pause;
pub mod position;
pub mod ratelimit;
pub mod share;

use crate::units::Pages;
use bandwidth::Bandwidth;
use ratelimit::Ratelimit;

pub use domain::{Device, Domain, HZ, INTERVAL, ONE, poll_interval};
pub use pause::{Cpu, Outlook, POLL, Pause, Writer, max_pause, min_pause};

/// Pages of 4 KiB in the least that the flusher writes of a file in a turn
/// (`MIN_WRITEBACK_PAGES`): 4 MiB.
pub const LEAST_CHUNK: Pages = Pages(1024);

/// The dirty threshold as the controller sees it: it follows a rising one at once, and comes down
/// slowly behind a falling one, so that writers that were within it are not stopped short
/// (`dirty_limit` of `struct wb_domain`, printed by `global_dirty_state` as `limit`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// Where it is.
    pub pages: Pages,
    /// The tick of its last update.
    pub stamp: u64,
}

/// What the kernel keeps of a device for its writers (`struct bdi_writeback`): two estimates, and
/// the counts at their last update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How fast the device writes.
    pub bandwidth: Bandwidth,
    /// How fast one task may dirty it.
    pub ratelimit: Ratelimit,
    /// The tick of the last update (`bw_time_stamp`).
    pub stamp: u64,
    /// Pages ever dirtied and written at that time.
    pub counts: Counts,
}

/// Pages of a device since it was there (`WB_DIRTIED`, `WB_WRITTEN`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// That were made dirty.
    pub dirtied: Pages,
    /// Whose writing ended.
    pub written: Pages,
}

impl Limit {
    /// As the kernel sets it up when a dirty tunable is written, and at boot
    /// (`writeback_set_ratelimit`): to the threshold of that moment, down too. The stamp stays.
    pub fn reset(&mut self, threshold: Pages) {
        self.pages = threshold;
    }

    /// Up to the threshold at once; down by 1/32 of the way to the threshold or the dirty pages,
    /// whichever is more. Does nothing within [`INTERVAL`] of the last update
    /// (`domain_update_dirty_limit`).
    pub fn update(&mut self, now: u64, threshold: Pages, dirty: Pages) {
        if now < self.stamp.saturating_add(INTERVAL) {
            return;
        }
        self.stamp = now;
        let floor = threshold.max(dirty);
        if self.pages < threshold {
            self.pages = threshold;
        } else {
            self.pages = Pages(self.pages.0 - self.pages.saturating_sub(floor).0 / 32);
        }
    }
}

impl Pace {
    /// Of a device that appears now: 100 MB/s each.
    #[must_use]
    pub fn new(now: u64) -> Self {
        Self {
            bandwidth: Bandwidth::default(),
            ratelimit: Ratelimit::default(),
            stamp: now,
            counts: Counts::default(),
        }
    }

    /// Whether more than [`INTERVAL`] has passed since the last update.
    #[must_use]
    pub fn is_due(&self, now: u64) -> bool {
        now > self.stamp.saturating_add(INTERVAL)
    }

    /// The flusher begins with a file (`wb_bandwidth_estimate_start`, since 5.16): where the device
    /// had nothing to write for more than a second, that time does not count. `is_idle`: no file of
    /// it has pages under writeback.
    pub fn start(&mut self, now: u64, counts: Counts, is_idle: bool) {
        if is_idle && now.saturating_sub(self.stamp) > HZ {
            self.stamp = now;
            self.counts = counts;
        }
    }

    /// The flusher has handed over pages while an update is due, or the last page under writeback
    /// was written an [`INTERVAL`] ago (`wb_update_bandwidth`): the bandwidth alone is renewed.
    pub fn write(&mut self, now: u64, counts: Counts) {
        let elapsed = self.elapsed(now);
        let written = counts.written.saturating_sub(self.counts.written);
        self.bandwidth.update(written, elapsed);
        self.stamp = now;
        self.counts = counts;
    }

    /// A task is to be slowed while an update is due (`__wb_update_bandwidth`): first the rate, by
    /// the bandwidth as it was, then the bandwidth. The caller updates the domain's [`Limit`] just
    /// before. Of a control group's device: [`Self::rate`] for the machine, again for the group,
    /// then [`Self::write`].
    pub fn balance(
        &mut self,
        now: u64,
        counts: Counts,
        domain: &Domain,
        device: &Device,
        position: u64,
    ) {
        self.rate(now, counts, domain, device, position);
        self.write(now, counts);
    }

    /// The rate of such an update alone, for one domain. `position` is the ratio of this domain and
    /// device.
    pub fn rate(
        &mut self,
        now: u64,
        counts: Counts,
        domain: &Domain,
        device: &Device,
        position: u64,
    ) {
        let dirtied = counts.dirtied.saturating_sub(self.counts.dirtied);
        let rate = bandwidth::per_second(dirtied, self.elapsed(now));
        let task = self.ratelimit.task(position).saturating_add(1);
        let below = ratelimit::is_below(domain, device);
        self.ratelimit
            .update(below, task, rate, self.bandwidth.average);
    }

    /// Ticks since the last update, at least one.
    fn elapsed(&self, now: u64) -> u64 {
        now.saturating_sub(self.stamp).max(1)
    }
}

/// Pages that all tasks of a CPU may dirty together before the one that dirties the next is looked
/// at (`ratelimit_pages`): a 32nd of the threshold, divided by the CPUs, at least 16. The kernel
/// sets it at boot and when a dirty tunable is written, not as the threshold moves.
#[must_use]
pub fn ratelimit_pages(threshold: Pages, cpus: u64) -> Pages {
    Pages((threshold.0 / cpus.saturating_mul(32).max(1)).max(16))
}

/// Pages that the flusher writes of one file before it turns to the next
/// (`writeback_chunk_size`): half a second at the average bandwidth, at most an eighth of the
/// machine's slow limit and what is `left` of the work, plus 4 MiB, rounded down to 4 MiB. Sync
/// takes all of a file at once and asks for none.
#[must_use]
pub fn chunk_size(bandwidth: u64, limit: Pages, left: Pages) -> Pages {
    let pages = (bandwidth / 2).min(limit.0 / 8).min(left.0);
    let chunks = pages.saturating_add(LEAST_CHUNK.0) / LEAST_CHUNK.0;
    Pages(chunks.saturating_mul(LEAST_CHUNK.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::dirty::Thresholds;

    #[test]
    fn the_limit_jumps_up_and_creeps_down_a_32nd_at_a_time() {
        let mut limit = Limit::default();
        limit.update(100, Pages(3200), Pages(0));
        assert_eq!(limit.pages, Pages(3200));
        limit.update(100 + INTERVAL - 1, Pages(0), Pages(0));
        assert_eq!(limit.pages, Pages(3200), "not yet");
        limit.update(100 + INTERVAL, Pages(0), Pages(1600));
        assert_eq!(limit.pages, Pages(3150), "not below what is dirty");
        limit.reset(Pages(7));
        assert_eq!(limit.pages, Pages(7));
    }

    #[test]
    fn a_strict_device_is_judged_by_its_own_share() {
        let thresholds = |background, dirty| Thresholds {
            background: Pages(background),
            dirty: Pages(dirty),
        };
        let domain = Domain {
            thresholds: thresholds(1000, 2000),
            dirty: Pages(1500),
            limit: Pages(2000),
        };
        let mut device = Device {
            thresholds: thresholds(10, 20),
            dirty: Pages(21),
            bandwidth: 25_600,
            is_strict: false,
        };
        assert!(domain.is_free(&device) && !domain.is_exceeded(&device));
        assert_eq!(domain.poll_interval(&device), Pages(16));
        device.is_strict = true;
        assert!(!domain.is_free(&device) && domain.is_exceeded(&device));
        assert_eq!(domain.poll_interval(&device), Pages(1));
    }

    #[test]
    fn an_idle_second_does_not_count_as_slowness() {
        let counts = Counts {
            dirtied: Pages(50),
            written: Pages(0),
        };
        let mut pace = Pace::new(0);
        pace.start(HZ, counts, true);
        assert_eq!(pace.stamp, 0, "not more than a second");
        pace.start(1000, counts, false);
        assert_eq!(pace.stamp, 0, "pages are under writeback");
        pace.start(1000, counts, true);
        assert_eq!((pace.stamp, pace.counts), (1000, counts));
        assert!(!pace.is_due(1000 + INTERVAL) && pace.is_due(1001 + INTERVAL));
    }

    #[test]
    fn a_chunk_is_whole_4_mib_and_never_none() {
        let all = Pages(u64::MAX);
        assert_eq!(chunk_size(25_600, Pages(1 << 20), all), Pages(13 * 1024));
        assert_eq!(chunk_size(25_600, Pages(16_384), all), Pages(3072));
        assert_eq!(chunk_size(1, Pages(1), all), LEAST_CHUNK);
        assert_eq!(chunk_size(25_600, Pages(1 << 20), Pages(5)), LEAST_CHUNK);
    }

    #[test]
    fn a_cpu_has_a_32nd_of_the_threshold_and_at_least_16_pages() {
        assert_eq!(ratelimit_pages(Pages(179_902), 1), Pages(5621));
        assert_eq!(ratelimit_pages(Pages(179_902), 4), Pages(1405));
        assert_eq!(ratelimit_pages(Pages(100), 1), Pages(16));
    }
}
