//! A block device's part of the dirty limits, which each device has for itself.

use super::table::{SWITCH, from_to, row};
use super::{Risk, Tunable, Unit, Values};

macro_rules! bdi {
    ($name:literal, $values:expr) => {
        row(
            concat!("bdi.DEVICE.", $name),
            concat!("sys/block/DEVICE/bdi/", $name),
            $values,
        )
    };
}

const PERCENT: Values = from_to(0, 100);

pub(super) const TABLE: &[Tunable] = &[
    bdi!("min_ratio", PERCENT)
        .unit(Unit::Percent)
        .fixed("0")
        .effect(
            "Grants the device at least so much of the dirty threshold, however slowly it writes; \
             not above its max_ratio.",
        ),
    bdi!("max_ratio", PERCENT)
        .unit(Unit::Percent)
        .fixed("100")
        .risk(Risk::Medium)
        .effect(
            "Allows the device at most so much of the dirty threshold, so that a slow one cannot \
             fill it; it is heeded once the machine's dirty pages pass halfway between the two \
             thresholds, or always with strict_limit.",
        ),
    bdi!("strict_limit", SWITCH)
        .fixed("0")
        .since(6, 2)
        .risk(Risk::Medium)
        .effect(
            "Makes the device's writers wait at its own part, however little is dirty elsewhere.",
        ),
];
