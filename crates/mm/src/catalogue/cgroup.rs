//! The limits and protections of a control group, which each group has for itself.

use super::table::{SWITCH, action, from_to, row};
use super::tunable::{Risk, Tunable};
use super::{Unit, Values};

macro_rules! memory {
    ($name:literal, $values:expr) => {
        row(
            concat!("memory.", $name),
            concat!("sys/fs/cgroup/GROUP/memory.", $name),
            $values,
        )
    };
}

const NONE: &str = "max";

pub(super) const TABLE: &[Tunable] = &[
    memory!("min", Values::Limit)
        .unit(Unit::Bytes)
        .fixed("0")
        .since(4, 18)
        .risk(Risk::High)
        .effect(
            "Never reclaims the group below this size; what it protects is lost to all others, \
             which can end in OOM kills there.",
        ),
    memory!("low", Values::Limit)
        .unit(Unit::Bytes)
        .fixed("0")
        .since(4, 2)
        .effect(
            "Reclaims the group below this size only when nothing unprotected is left; each group \
             above it must grant as much.",
        ),
    memory!("high", Values::Limit)
        .unit(Unit::Bytes)
        .fixed(NONE)
        .since(4, 2)
        .risk(Risk::Medium)
        .effect(
            "Reclaims the group above this size and slows its tasks down; it never kills, so a \
             group that needs more crawls.",
        ),
    memory!("max", Values::Limit)
        .unit(Unit::Bytes)
        .fixed(NONE)
        .since(4, 2)
        .risk(Risk::High)
        .effect(
            "Limits the group's memory, page cache included; what cannot be reclaimed above it \
             ends in an OOM kill within the group.",
        ),
    memory!("swap.max", Values::Limit)
        .unit(Unit::Bytes)
        .fixed(NONE)
        .since(4, 5)
        .risk(Risk::Medium)
        .effect("Limits the group's swap; at 0 its anonymous memory stays in RAM."),
    memory!("swap.high", Values::Limit)
        .unit(Unit::Bytes)
        .fixed(NONE)
        .since(5, 8)
        .risk(Risk::Medium)
        .effect("Slows the group's tasks down once it has swapped this much."),
    memory!("zswap.max", Values::Limit)
        .unit(Unit::Bytes)
        .fixed(NONE)
        .since(5, 19)
        .effect("Limits what the group may hold compressed in zswap; at 0 it goes to the device."),
    memory!("zswap.writeback", SWITCH)
        .fixed("1")
        .since(6, 8)
        .effect("Lets zswap write the group's compressed pages to the swap device."),
    memory!("oom.group", SWITCH)
        .fixed("0")
        .since(4, 19)
        .risk(Risk::Medium)
        .effect("Kills the whole group where one of its processes would be killed."),
    action(memory!("reclaim", from_to(0, u64::MAX)))
        .unit(Unit::Bytes)
        .since(5, 19)
        .effect("Reclaims this much from the group once; with swappiness= since 6.11."),
];
