//! zswap: compressed pages in RAM, in front of a swap device.

use super::table::{from_to, row};
use super::tunable::{Risk, Tunable};
use super::{Unit, Values};

const YES_NO: Values = Values::Truth(["N", "Y"]);

macro_rules! zswap {
    ($name:literal, $values:expr) => {
        row(
            concat!("zswap.", $name),
            concat!("sys/module/zswap/parameters/", $name),
            $values,
        )
    };
}

const STORED: &str = "pages that were compressed stay where they are";

pub(super) const TABLE: &[Tunable] = &[
    zswap!("enabled", YES_NO)
        .rule("as the kernel was built: mostly N")
        .since(3, 11)
        .risk(Risk::Medium)
        .outlives(STORED)
        .effect(
            "Compresses pages that are swapped out and keeps them in RAM first; it needs a swap \
             device.",
        ),
    zswap!("compressor", Values::Word)
        .rule("as the kernel was built: lzo, lz4 or zstd")
        .since(3, 11)
        .outlives(STORED)
        .effect("Names the compression; pages compressed before keep theirs."),
    zswap!("max_pool_percent", from_to(0, 100))
        .unit(Unit::Percent)
        .fixed("20")
        .since(3, 11)
        .risk(Risk::Medium)
        .outlives(STORED)
        .effect("Limits the compressed pages to this share of RAM; then pages go to the device."),
    zswap!("accept_threshold_percent", from_to(0, 100))
        .unit(Unit::Percent)
        .fixed("90")
        .since(5, 6)
        .effect("After the limit was hit, accepts pages again below this share of it."),
    zswap!("shrinker_enabled", YES_NO)
        .rule("as the kernel was built: mostly N")
        .since(6, 8)
        .effect("Lets reclaim write cold compressed pages to the device before the limit is hit."),
    zswap!("zpool", Values::Word)
        .rule("as the kernel was built: zbud or zsmalloc")
        .since(3, 17)
        .until(6, 18)
        .outlives(STORED)
        .effect("Names the allocator of the compressed pages; since 6.18 it is zsmalloc."),
    zswap!("same_filled_pages_enabled", YES_NO)
        .fixed("Y")
        .since(4, 16)
        .until(6, 10)
        .effect("Keeps pages of one repeated word as that word; since 6.10 it always does."),
    zswap!("non_same_filled_pages_enabled", YES_NO)
        .fixed("Y")
        .since(5, 18)
        .until(6, 10)
        .effect("Accepts pages of other contents too; since 6.10 it always does."),
    zswap!("exclusive_loads", YES_NO)
        .rule("as the kernel was built: mostly N")
        .since(6, 5)
        .until(6, 9)
        .effect("Drops the compressed page when it is read back; since 6.9 it always does."),
];
