//! Kernel samepage merging.

use super::table::{SWITCH, TRUTH, from_to, row};
use super::tunable::{Risk, Tunable};
use super::{Unit, Values};

macro_rules! ksm {
    ($name:literal, $values:expr) => {
        row(
            concat!("ksm.", $name),
            concat!("sys/kernel/mm/ksm/", $name),
            $values,
        )
    };
}

const UINT: Values = from_to(0, u32::MAX as u64);

const MERGED: &str = "pages that were merged stay merged";

pub(super) const TABLE: &[Tunable] = &[
    ksm!("run", from_to(0, 2))
        .fixed("0")
        .risk(Risk::Medium)
        .outlives(MERGED)
        .effect(
            "Starts ksmd (1), stops it (0), or stops it and unmerges everything (2), which needs \
             the memory that merging saved.",
        ),
    ksm!("pages_to_scan", UINT)
        .unit(Unit::Pages)
        .fixed("100")
        .effect(
            "Sets how many pages ksmd scans before it sleeps: the speed of merging and the CPU \
             time it costs.",
        ),
    ksm!("sleep_millisecs", UINT)
        .unit(Unit::Milliseconds)
        .fixed("20")
        .effect("Sets how long ksmd sleeps between two scans."),
    ksm!("smart_scan", TRUTH)
        .fixed("1")
        .since(6, 7)
        .effect("Scans pages that found no twin less and less often."),
    ksm!("merge_across_nodes", SWITCH)
        .fixed("1")
        .since(3, 9)
        .outlives(MERGED)
        .effect(
            "Merges pages of different NUMA nodes, which saves more and makes some accesses \
             remote; it can be changed only while nothing is merged.",
        ),
    ksm!("use_zero_pages", TRUTH)
        .fixed("0")
        .since(4, 12)
        .outlives(MERGED)
        .effect("Merges empty pages with the kernel's zero page instead of with each other."),
    ksm!("max_page_sharing", from_to(2, i32::MAX as u64))
        .fixed("256")
        .since(4, 13)
        .outlives(MERGED)
        .effect(
            "Limits how many mappings share one merged page, so that reclaim and migration of it \
             stay short.",
        ),
    ksm!("stable_node_chains_prune_millisecs", UINT)
        .unit(Unit::Milliseconds)
        .fixed("2000")
        .since(4, 13)
        .effect("Sets how often ksmd looks for copies of one page that can be joined."),
    ksm!("advisor_mode", Values::Words(&["none", "scan-time"]))
        .fixed("none")
        .touches(&["ksm.pages_to_scan"])
        .since(6, 8)
        .effect(
            "Lets the kernel set pages_to_scan so that all candidates are scanned within the \
             target time.",
        ),
    ksm!("advisor_target_scan_time", from_to(1, u64::MAX))
        .unit(Unit::Seconds)
        .fixed("200")
        .since(6, 8)
        .effect("Sets the time that the advisor aims at for one scan of all candidates."),
    ksm!("advisor_max_cpu", from_to(0, 100))
        .unit(Unit::Percent)
        .fixed("70")
        .since(6, 8)
        .effect("Limits the share of one CPU that the advisor lets ksmd take."),
    ksm!("advisor_min_pages_to_scan", from_to(0, u64::MAX))
        .unit(Unit::Pages)
        .fixed("500")
        .since(6, 8)
        .effect("Sets the smallest pages_to_scan that the advisor chooses."),
    ksm!("advisor_max_pages_to_scan", from_to(0, u64::MAX))
        .unit(Unit::Pages)
        .fixed("30000")
        .since(6, 8)
        .effect("Sets the largest pages_to_scan that the advisor chooses."),
];
