//! What a daemon looks at, and how it says what it writes.

use alloc::format;

use mm::meminfo::Meminfo;
use mm::settings::Setting;
use mm::units::{Kib, Nanos};
use mm::vmstat::Vmstat;
use mm::zoneinfo::Zoneinfo;

pub(super) const SCALE_FACTOR: &str = "vm.watermark_scale_factor";

/// What a daemon looks at.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// When, since any moment before the first decision.
    pub at: Nanos,
    /// `/proc/meminfo`.
    pub meminfo: Meminfo,
    /// `/proc/vmstat`.
    pub vmstat: Vmstat,
    /// `/proc/zoneinfo`.
    pub zoneinfo: Zoneinfo,
    /// `vm.watermark_scale_factor`.
    pub scale_factor: u64,
    /// Resident memory of all guests, merged pages counted for each.
    pub guests: Kib,
}

/// A number for a tunable.
pub(super) fn setting(tunable: &str, value: u64) -> Setting {
    Setting {
        tunable: tunable.into(),
        value: format!("{value}"),
    }
}
