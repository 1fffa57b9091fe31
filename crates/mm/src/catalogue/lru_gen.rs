//! The multi-generation LRU.

use super::table::{from_to, row};
use super::tunable::{Risk, Tunable};
use super::{Unit, Values};

pub(super) const TABLE: &[Tunable] = &[
    row(
        "lru_gen.enabled",
        "sys/kernel/mm/lru_gen/enabled",
        Values::Bits { all: 7 },
    )
    .rule("as the kernel was built: all bits or none")
    .since(6, 1)
    .risk(Risk::Medium)
    .outlives("the ages of all pages are lost each time")
    .effect(
        "Keeps pages in generations instead of two lists (bit 1), with faster ways to find \
         accessed ones (bits 2 and 4); swappiness then weighs kinds that are equally old.",
    ),
    row(
        "lru_gen.min_ttl_ms",
        "sys/kernel/mm/lru_gen/min_ttl_ms",
        from_to(0, u32::MAX as u64),
    )
    .adjusted()
    .unit(Unit::Milliseconds)
    .fixed("0")
    .since(6, 1)
    .risk(Risk::High)
    .effect(
        "Keeps what was used within this time; where that leaves nothing to reclaim, the OOM \
         killer is called instead of thrashing.",
    ),
];
