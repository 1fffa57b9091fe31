//! What shares a dirty threshold, and a device's part of it.

use crate::formula::dirty::Thresholds;
use crate::units::Pages;

/// Ticks a second of the stock kernels (`CONFIG_HZ`).
pub const HZ: u64 = 250;

/// Estimates are renewed, and the limit comes down, at most once in this many ticks
/// (`BANDWIDTH_INTERVAL`): a fifth of a second.
pub const INTERVAL: u64 = HZ / 5;

/// A ratio of 1, ten binary digits (`RATELIMIT_CALC_SHIFT`).
pub const ONE: u64 = 1 << 10;

/// What shares a dirty threshold: the machine, or a control group that has dirtyable memory of its
/// own (`dirty_throttle_control`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Domain {
    /// The thresholds as they are at this moment ([`crate::formula::dirty::thresholds`]).
    pub thresholds: Thresholds,
    /// Pages that are dirty or under writeback (`nr_dirty` + `nr_writeback` of `/proc/vmstat`).
    pub dirty: Pages,
    /// The slow limit ([`super::Limit`]).
    pub limit: Pages,
}

/// A device's part of a domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Its share of both thresholds (`wb_thresh`, `wb_bg_thresh`;
    /// [`super::share::Share::thresholds`]).
    pub thresholds: Thresholds,
    /// Pages of it that are dirty or under writeback (`wb_dirty`).
    pub dirty: Pages,
    /// Its average write bandwidth, pages a second ([`super::bandwidth::Bandwidth::average`]).
    pub bandwidth: u64,
    /// Whether its own share rules, however little is dirty elsewhere (`bdi/strict_limit`; FUSE
    /// always).
    pub is_strict: bool,
}

impl Domain {
    /// The threshold or the slow limit, whichever is higher (`hard_dirty_limit`).
    #[must_use]
    pub fn hard_limit(&self) -> Pages {
        self.limit.max(self.thresholds.dirty)
    }

    /// Where the controller wants the dirty pages: half way from the end of the free run to the
    /// hard limit.
    #[must_use]
    pub fn setpoint(&self) -> Pages {
        let freerun = self.thresholds.freerun();
        Pages(freerun.saturating_add(self.hard_limit()).0 / 2)
    }

    /// Whether no task that writes to the device is slowed (`domain_dirty_freerun`, and for a
    /// strict device its own share).
    #[must_use]
    pub fn is_free(&self, device: &Device) -> bool {
        let (dirty, thresholds) = self.ruling(device);
        dirty <= thresholds.freerun()
    }

    /// The pages after which a task in the free run is looked at again.
    #[must_use]
    pub fn poll_interval(&self, device: &Device) -> Pages {
        let (dirty, thresholds) = self.ruling(device);
        poll_interval(dirty, thresholds.dirty)
    }

    /// Whether tasks are to be looked at every eight pages: the device is above its share while the
    /// domain is above its threshold, or while it is strict (`dirty_exceeded`).
    #[must_use]
    pub fn is_exceeded(&self, device: &Device) -> bool {
        device.dirty > device.thresholds.dirty
            && (device.is_strict || self.dirty > self.thresholds.dirty)
    }

    /// What is dirty and may be: of the domain, or of a strict device alone.
    fn ruling(&self, device: &Device) -> (Pages, Thresholds) {
        match device.is_strict {
            true => (device.dirty, device.thresholds),
            false => (self.dirty, self.thresholds),
        }
    }
}

/// Pages after which a task in the free run is looked at: the square root of the distance to the
/// threshold, as a power of two (`dirty_poll_interval`); 1 beyond it.
#[must_use]
pub fn poll_interval(dirty: Pages, threshold: Pages) -> Pages {
    let left = threshold.saturating_sub(dirty).0;
    Pages(1 << (left.checked_ilog2().unwrap_or(0) / 2))
}
