//! Where reclaim moves pages instead of dropping them, and how swap-ins read ahead.

use super::Values;
use super::table::row;
use super::tunable::{Risk, Tunable};

const TRUE_FALSE: Values = Values::Truth(["false", "true"]);

pub(super) const TABLE: &[Tunable] = &[
    row(
        "numa.demotion_enabled",
        "sys/kernel/mm/numa/demotion_enabled",
        TRUE_FALSE,
    )
    .fixed("false")
    .since(5, 15)
    .risk(Risk::Medium)
    .effect("Lets reclaim move cold pages to a node of slower memory before it drops or swaps."),
    row(
        "swap.vma_ra_enabled",
        "sys/kernel/mm/swap/vma_ra_enabled",
        TRUE_FALSE,
    )
    .fixed("true")
    .since(4, 14)
    .effect(
        "Reads ahead at a swap-in by the neighbours in memory instead of those on the device; only \
         where every swap device is solid-state.",
    ),
];
