//! A block device's part of the dirty limits, which each device has for itself.

use super::table::{SWITCH, from_to, row};
use super::tunable::{Risk, Tunable};
use super::{Unit, Values};

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
const PARTS: Values = from_to(0, 1_000_000);
const BYTES: Values = from_to(0, u64::MAX);
/// The kernel holds parts of a million; a percentage is rounded down from them, bytes are what they
/// come to at the present thresholds.
const LEAST: &[&str] = &[
    "bdi.DEVICE.min_ratio_fine",
    "bdi.DEVICE.min_ratio",
    "bdi.DEVICE.min_bytes",
];
const MOST: &[&str] = &[
    "bdi.DEVICE.max_ratio_fine",
    "bdi.DEVICE.max_ratio",
    "bdi.DEVICE.max_bytes",
];

pub(super) const TABLE: &[Tunable] = &[
    bdi!("min_ratio", PERCENT)
        .unit(Unit::Percent)
        .fixed("0")
        .views(LEAST)
        .effect(
            "Grants the device at least this share of the dirty threshold, however slowly it \
             writes; not above its max_ratio.",
        ),
    bdi!("max_ratio", PERCENT)
        .unit(Unit::Percent)
        .fixed("100")
        .views(MOST)
        .risk(Risk::Medium)
        .effect(
            "Allows the device at most this share of the dirty threshold, so that a slow one \
             cannot fill it; it is heeded once the machine's dirty pages pass halfway between the \
             two thresholds, or always with strict_limit.",
        ),
    bdi!("strict_limit", SWITCH)
        .fixed("0")
        .since(6, 2)
        .risk(Risk::Medium)
        .effect(
            "Makes the device's writers wait at its own part, however little is dirty elsewhere.",
        ),
    bdi!("min_ratio_fine", PARTS)
        .unit(Unit::PerMillion)
        .fixed("0")
        .views(LEAST)
        .since(6, 2)
        .effect("Sets min_ratio in parts of a million, as the kernel holds it."),
    bdi!("min_bytes", BYTES)
        .unit(Unit::Bytes)
        .fixed("0")
        .views(LEAST)
        .since(6, 2)
        .effect(
            "Sets min_ratio as bytes of the present dirty threshold; the share stays when the \
             threshold moves, so a read shows other bytes.",
        ),
    bdi!("max_ratio_fine", PARTS)
        .unit(Unit::PerMillion)
        .fixed("1000000")
        .views(MOST)
        .since(6, 2)
        .risk(Risk::Medium)
        .effect("Sets max_ratio in parts of a million, as the kernel holds it."),
    bdi!("max_bytes", BYTES)
        .unit(Unit::Bytes)
        .rule("the dirty threshold: max_ratio 100")
        .views(MOST)
        .since(6, 2)
        .risk(Risk::Medium)
        .effect(
            "Sets max_ratio as bytes of the present dirty threshold; the share stays when the \
             threshold moves, so a read shows other bytes.",
        ),
    bdi!("read_ahead_kb", from_to(0, u32::MAX as u64))
        .unit(Unit::Kib)
        .rule("128, or twice the device's best size of a request")
        .adjusted()
        .effect(
            "Sets how far a sequential read runs ahead; more speeds up streams and fills the page \
             cache with what random readers never use.",
        ),
];
