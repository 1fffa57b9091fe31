//! How far a counter of a zone may be behind: each CPU adds up what it has changed, and tells the
//! zone once that is more than a threshold.

use crate::units::Pages;

/// 128 MiB in pages.
const STEP: u64 = 1 << 15;

/// The most that a CPU keeps to itself.
const MOST: u64 = 125;

/// What each of `cpus` CPUs may have changed without telling a zone with `managed` pages
/// (`vm stats threshold` in `/proc/zoneinfo`): `calculate_normal_threshold` in `mm/vmstat.c`,
/// compared with 6.1 and 6.12.
#[must_use]
pub fn threshold(managed: Pages, cpus: u64) -> u64 {
    let bits = |value: u64| u64::from(u64::BITS - value.leading_zeros());
    (2 * bits(cpus) * (1 + bits(managed.0 / STEP))).min(MOST)
}
