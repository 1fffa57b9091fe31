//! Transparent huge pages, and the thread that makes them out of base pages.

use super::table::{SWITCH, TRUTH, from_to, row};
use super::tunable::{Risk, Tunable};
use super::{Unit, Values};

macro_rules! thp {
    ($name:literal, $values:expr) => {
        row(
            concat!("thp.", $name),
            concat!("sys/kernel/mm/transparent_hugepage/", $name),
            $values,
        )
    };
}

macro_rules! khugepaged {
    ($name:literal, $values:expr) => {
        row(
            concat!("khugepaged.", $name),
            concat!("sys/kernel/mm/transparent_hugepage/khugepaged/", $name),
            $values,
        )
    };
}

const UINT: Values = from_to(0, u32::MAX as u64);
/// khugepaged asks for memory that is kept free when it starts; when it stops, the kernel's own
/// choice comes back (`set_recommended_min_free_kbytes`).
const MIN_FREE: &[&str] = &["vm.min_free_kbytes"];
/// Up to the pages of a huge page less one: 1023 where it has 4 MiB, on x86 of 32 bits without PAE.
const PTES: Values = from_to(0, 1023);

const HUGE: &str = "huge pages that were made stay";

pub(super) const TABLE: &[Tunable] = &[
    thp!("enabled", Values::Words(&["always", "madvise", "never"]))
        .rule("as the kernel was built, always or madvise; never on machines below 512 MB")
        .touches(MIN_FREE)
        .risk(Risk::Medium)
        .outlives(HUGE)
        .effect(
            "Decides which anonymous memory gets huge pages on a fault; unless it is never, \
             min_free_kbytes is raised.",
        ),
    thp!(
        "defrag",
        Values::Words(&["always", "defer", "defer+madvise", "madvise", "never"])
    )
    .rule("madvise; never on machines below 512 MB")
    .risk(Risk::Medium)
    .effect(
        "Decides which faults wait for reclaim and compaction when no huge page is free: always \
         stalls every fault, never stalls none.",
    ),
    thp!(
        "shmem_enabled",
        Values::Words(&["always", "within_size", "advise", "never", "deny", "force"])
    )
    .rule("never, unless the kernel was built or booted otherwise")
    .touches(MIN_FREE)
    .since(4, 8)
    .risk(Risk::Medium)
    .outlives(HUGE)
    .effect("Decides which shared memory that is not a mounted tmpfs gets huge pages."),
    thp!("use_zero_page", SWITCH)
        .rule("1; 0 on machines below 512 MB")
        .since(3, 8)
        .effect("Maps one huge page of zeros for reads of memory that was never written."),
    thp!("shrink_underused", TRUTH)
        .fixed("1")
        .since(6, 12)
        .effect(
            "Lets reclaim split huge pages that are mostly zero and free what was never used of \
             them.",
        ),
];

pub(super) const KHUGEPAGED: &[Tunable] = &[
    khugepaged!("defrag", SWITCH)
        .rule("1; 0 on machines below 512 MB")
        .effect("Lets khugepaged reclaim and compact to get a huge page."),
    khugepaged!("pages_to_scan", from_to(1, u32::MAX as u64))
        .unit(Unit::Pages)
        .rule("8 times the pages of a huge page: 4096")
        .effect("Sets how many pages khugepaged looks at before it sleeps."),
    khugepaged!("scan_sleep_millisecs", UINT)
        .unit(Unit::Milliseconds)
        .fixed("10000")
        .effect("Sets how long khugepaged sleeps between two scans."),
    khugepaged!("alloc_sleep_millisecs", UINT)
        .unit(Unit::Milliseconds)
        .fixed("60000")
        .effect("Sets how long khugepaged waits after it could not get a huge page."),
    khugepaged!("max_ptes_none", PTES)
        .unit(Unit::Pages)
        .fixed("511")
        .risk(Risk::Medium)
        .effect(
            "Allows n pages of a future huge page to be unused; they are filled with zeros, \
             so memory use grows.",
        ),
    khugepaged!("max_ptes_swap", PTES)
        .unit(Unit::Pages)
        .fixed("64")
        .since(4, 8)
        .effect("Allows n pages of a future huge page to be swapped out; they are read back."),
    khugepaged!("max_ptes_shared", PTES)
        .unit(Unit::Pages)
        .fixed("256")
        .since(5, 8)
        .effect(
            "Allows n pages of a future huge page to be shared with other processes; they \
             are copied.",
        ),
];

/// What each size of huge pages has for itself: transparent ones, then those set aside.
pub(super) const SIZES: &[Tunable] = &[
    row(
        "thp.SIZE.enabled",
        "sys/kernel/mm/transparent_hugepage/SIZE/enabled",
        Values::Words(&["always", "inherit", "madvise", "never"]),
    )
    .rule("never; inherit for the largest size, which follows thp.enabled")
    .touches(MIN_FREE)
    .since(6, 8)
    .risk(Risk::Medium)
    .outlives(HUGE)
    .effect("Decides which anonymous memory gets huge pages of this size on a fault."),
    row(
        "thp.SIZE.shmem_enabled",
        "sys/kernel/mm/transparent_hugepage/SIZE/shmem_enabled",
        Values::Words(&["always", "inherit", "within_size", "advise", "never"]),
    )
    .rule("never; inherit for the largest size, which follows thp.shmem_enabled")
    .since(6, 11)
    .risk(Risk::Medium)
    .outlives(HUGE)
    .effect("Decides which shared memory gets huge pages of this size."),
    row(
        "hugetlb.SIZE.nr_hugepages",
        "sys/kernel/mm/hugepages/SIZE/nr_hugepages",
        from_to(0, u64::MAX),
    )
    .fixed("0")
    .adjusted()
    .risk(Risk::High)
    .outlives(super::vm::POOL)
    .effect(
        "Sets huge pages of this size aside that only hugetlb users can have; they leave free \
         memory at once and are never reclaimed.",
    ),
    row(
        "hugetlb.SIZE.nr_overcommit_hugepages",
        "sys/kernel/mm/hugepages/SIZE/nr_overcommit_hugepages",
        from_to(0, u64::MAX),
    )
    .fixed("0")
    .risk(Risk::Medium)
    .effect("Lets the pool of this size grow by this number of pages while they are in use."),
];
