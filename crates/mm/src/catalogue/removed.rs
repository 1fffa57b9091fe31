//! `/proc/sys/vm`: what kernels had once, or have with an old patch only. Old advice still sets it.

use super::table::{INT_MAX, SWITCH, from_to, row};
use super::tunable::{Risk, Tunable};
use super::{Unit, Values};

macro_rules! vm {
    ($name:literal, $values:expr) => {
        row(
            concat!("vm.", $name),
            concat!("proc/sys/vm/", $name),
            $values,
        )
    };
}

const KIB: Values = from_to(0, u64::MAX);
const LE9: &str = "le9";

pub(super) const TABLE: &[Tunable] = &[
    vm!("percpu_pagelist_fraction", from_to(0, INT_MAX))
        .fixed("0")
        .until(5, 14)
        .effect(
            "Limited the per-CPU page lists to 1/n of each zone; vm.percpu_pagelist_high_fraction \
             took its place.",
        ),
    vm!("hugepages_treat_as_movable", SWITCH)
        .fixed("0")
        .until(4, 16)
        .effect("Let huge pages of the pool lie in the movable zone."),
    vm!("block_dump", SWITCH)
        .fixed("0")
        .until(5, 13)
        .effect("Wrote each block read or written to the kernel log; tracepoints took its place."),
    vm!("highmem_is_dirtyable", SWITCH)
        .fixed("0")
        .risk(Risk::Medium)
        .effect("Counts high memory to the dirtyable memory; only kernels of 32 bits have it."),
    vm!("extra_free_kbytes", from_to(0, INT_MAX))
        .unit(Unit::Kib)
        .fixed("0")
        .patched("Android")
        .risk(Risk::Medium)
        .effect("Raises the low and high watermarks by this much and leaves min as it is."),
    vm!("anon_min_kbytes", KIB)
        .unit(Unit::Kib)
        .rule("as the kernel was built")
        .patched(LE9)
        .risk(Risk::High)
        .effect("Never reclaims anonymous pages while they are below this size."),
    vm!("clean_low_kbytes", KIB)
        .unit(Unit::Kib)
        .rule("as the kernel was built")
        .patched(LE9)
        .risk(Risk::Medium)
        .effect(
            "Reclaims clean file pages below this size only when anonymous ones cannot be had.",
        ),
    vm!("clean_min_kbytes", KIB)
        .unit(Unit::Kib)
        .rule("as the kernel was built")
        .patched(LE9)
        .risk(Risk::High)
        .effect("Never reclaims clean file pages while they are below this size."),
];
