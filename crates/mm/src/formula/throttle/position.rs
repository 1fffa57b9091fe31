//! How far the dirty pages are from where the controller wants them, as the factor by which it
//! speeds writers up or slows them.

use super::domain::{Device, Domain, ONE};
use crate::formula::mul_div;
use crate::units::Pages;

/// The factor, [`ONE`] at the set point (`wb_position_ratio`; 6.1 and 6.12, where the floor of a
/// device's share is part of it): 0, which stops writers, at the domain's limit; up to 2 far below;
/// then by the device's own dirty pages, up to 8 times that where it has hardly any.
#[must_use]
pub fn ratio(domain: &Domain, device: &Device) -> u64 {
    let limit = domain.hard_limit();
    if domain.dirty >= limit {
        return 0;
    }
    let global = cubic(domain.setpoint(), domain.dirty, limit);
    match device.is_strict {
        true => strict(global, device),
        false => shared(global, domain, device),
    }
}

/// A device's set point within its domain's, of the share that it is given at least: an eighth of
/// what the domain has left (`wb_setpoint`).
#[must_use]
pub fn device_setpoint(domain: &Domain, device: &Device) -> Pages {
    let part = part(domain, share(domain, device));
    Pages(scale(domain.setpoint().0, part))
}

/// 1 at the set point, 0 at the limit, 2 as far below; flat about the set point, where the pages
/// should be, and steep at the ends (`pos_ratio_polynom`).
fn cubic(setpoint: Pages, dirty: Pages, limit: Pages) -> u64 {
    let distance = i128::from(setpoint.0) - i128::from(dirty.0);
    let reach = i128::from(limit.saturating_sub(setpoint).0 | 1);
    // Beyond 4 the cube is far outside the clamp; the bound keeps it in range.
    let x = (distance * i128::from(ONE) / reach).clamp(-4 * i128::from(ONE), 4 * i128::from(ONE));
    let cube = (((x * x) >> 10) * x) >> 10;
    let ratio = (cube + i128::from(ONE)).clamp(0, 2 * i128::from(ONE));
    ratio.unsigned_abs() as u64
}

/// Of a strict device: the smaller of the domain's and its own, whose limit is its share. One with
/// fewer than eight dirty pages is helped along, one at its share is stopped.
fn strict(global: u64, device: &Device) -> u64 {
    let limit = device.thresholds.dirty;
    if device.dirty < Pages(8) {
        return (global * 2).min(2 * ONE);
    }
    let setpoint = device.thresholds.freerun();
    if device.dirty >= limit || setpoint == Pages::ZERO || setpoint == limit {
        return 0;
    }
    cubic(setpoint, device.dirty, limit).min(global)
}

/// A straight line through 1 at the device's set point, to 0 beyond it by a span that is wide for a
/// device with a small share and is eight seconds' writing for one that is alone; a quarter from
/// where that would fall below it; and more as less than half of its share is dirty, so that a
/// device does not run dry.
fn shared(global: u64, domain: &Domain, device: &Device) -> u64 {
    let share = share(domain, device);
    let part = part(domain, share);
    let setpoint = scale(domain.setpoint().0, part);
    let unshared = domain.thresholds.dirty.saturating_sub(share).0;
    let writing = device.bandwidth.saturating_mul(8);
    let span = scale(unshared.saturating_add(writing), part);
    let end = setpoint.saturating_add(span);
    let dirty = device.dirty.0;
    let ratio = match dirty < end - span / 4 {
        true => mul_div(global, end - dirty, span | 1),
        false => global / 4,
    };
    let reserve = share.0 / 2;
    match dirty {
        _ if dirty >= reserve => ratio,
        _ if dirty > reserve / 8 => mul_div(ratio, reserve, dirty),
        _ => ratio.saturating_mul(8),
    }
}

/// The device's share of the threshold, at least an eighth of what is left to the limit.
fn share(domain: &Domain, device: &Device) -> Pages {
    let left = domain.hard_limit().saturating_sub(domain.dirty).0 / 8;
    let share = device.thresholds.dirty.min(domain.thresholds.dirty);
    share.max(Pages(left))
}

/// That share as a part of the threshold, 16 binary digits.
fn part(domain: &Domain, share: Pages) -> u64 {
    mul_div(share.0, 1 << 16, domain.thresholds.dirty.0 | 1)
}

fn scale(value: u64, part: u64) -> u64 {
    mul_div(value, part, 1 << 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::dirty::Thresholds;

    fn domain(dirty: u64) -> Domain {
        Domain {
            thresholds: Thresholds {
                background: Pages(10_000),
                dirty: Pages(20_000),
            },
            dirty: Pages(dirty),
            limit: Pages(20_000),
        }
    }

    /// The only device that is written: all of the threshold is its share.
    fn alone(dirty: u64) -> Device {
        Device {
            thresholds: domain(0).thresholds,
            dirty: Pages(dirty),
            bandwidth: 25_600,
            is_strict: false,
        }
    }

    #[test]
    fn one_at_the_set_point_none_at_the_limit_double_at_the_end_of_the_free_run() {
        let global = |dirty| cubic(Pages(17_500), Pages(dirty), Pages(20_000));
        assert_eq!(global(17_500), ONE);
        assert_eq!(global(15_000), 2 * ONE - 3, "2500 of 2501, rounded thrice");
        assert_eq!(global(0), 2 * ONE);
        assert_eq!(global(18_750), ONE - 128, "an eighth less half way");
        assert_eq!(ratio(&domain(20_000), &alone(20_000)), 0);
    }

    #[test]
    fn a_device_that_is_alone_is_at_the_domains_set_point() {
        assert_eq!(device_setpoint(&domain(17_500), &alone(0)), Pages(17_498));
        let ratio = ratio(&domain(17_500), &alone(17_500));
        assert!((ONE - 2..=ONE).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_device_beyond_its_share_is_slowed_and_one_that_runs_dry_is_not() {
        let mut slow = alone(4000);
        slow.thresholds.dirty = Pages(2000);
        slow.bandwidth = 1000;
        let above = ratio(&domain(17_500), &slow);
        assert!(above < ONE, "{above}");
        slow.dirty = Pages(100_000);
        assert_eq!(ratio(&domain(17_500), &slow), ONE / 4);
        slow.dirty = Pages(10);
        let dry = ratio(&domain(17_500), &slow);
        assert!(dry > 8 * ONE, "{dry}");
    }

    #[test]
    fn a_strict_device_stops_at_its_share_though_the_machine_is_clean() {
        let mut device = alone(50);
        device.is_strict = true;
        device.thresholds = Thresholds {
            background: Pages(50),
            dirty: Pages(100),
        };
        assert!(ratio(&domain(60), &device) > ONE);
        device.dirty = Pages(99);
        assert!(ratio(&domain(99), &device) < ONE);
        device.dirty = Pages(100);
        assert_eq!(ratio(&domain(100), &device), 0);
        device.dirty = Pages(7);
        assert_eq!(ratio(&domain(7), &device), 2 * ONE);
    }

    #[test]
    fn no_share_at_all_still_gets_an_eighth_of_what_is_left() {
        let mut device = alone(0);
        device.thresholds = Thresholds::default();
        assert_eq!(share(&domain(4000), &device), Pages(2000));
    }
}
