//! `/proc/sys/vm`: reserves, reclaim, dirty throttling, overcommit, huge pages.

use super::table::{INT_MAX, SWITCH, action, from_to, row};
use super::tunable::{DefaultRule, Risk, Tunable};
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

const INT: Values = from_to(0, INT_MAX);
const LONG: Values = from_to(0, u64::MAX);
const PERCENT: Values = from_to(0, 100);
const HUGE_PAGES: &[&str] = &["vm.nr_hugepages", "vm.nr_hugepages_mempolicy"];
/// Memory that became fragmented gives fewer pages the next time.
pub(super) const POOL: &str = "the pool cannot be sure to get its pages again";
const LE9UO: &str = "le9uo";
const SUSE: &str = "SUSE page-cache limit";

pub(super) const TABLE: &[Tunable] = &[
    // Reserves and watermarks.
    vm!("min_free_kbytes", INT)
        .unit(Unit::Kib)
        .rule(
            "the root of 16 times the low memory in kB, from 128 to 262144; with transparent huge \
             pages at least 11 pageblocks a zone (67584 for three zones)",
        )
        .risk(Risk::High)
        .effect(
            "Sets the min watermarks, shared among the zones by size; low and high lie a quarter \
             and a half above, so MemAvailable falls by 1.5 times the value.",
        ),
    vm!("watermark_scale_factor", from_to(1, 3000))
        .unit(Unit::Permyriad)
        .fixed("10")
        .since(4, 6)
        .risk(Risk::Medium)
        .effect(
            "Sets the distance between the watermarks as a share of each zone, where that is more \
             than a quarter of min: kswapd starts earlier and frees more at a time.",
        ),
    vm!("watermark_boost_factor", INT)
        .unit(Unit::Permyriad)
        .fixed("15000")
        .since(5, 0)
        .effect(
            "Limits how far the watermarks are raised, as a share of high, after a pageblock was \
             mixed; 0 turns the raise off.",
        ),
    vm!("lowmem_reserve_ratio", Values::Integers)
        .rule("256 for DMA and DMA32, 32 for the zones above, 0 for the last")
        .risk(Risk::High)
        .effect(
            "Sets what each zone keeps back from requests that could use a higher zone: the pages \
             above it divided by this number; 0 keeps nothing back.",
        ),
    vm!("percpu_pagelist_high_fraction", INT)
        .fixed("0")
        .since(5, 14)
        .effect(
            "Limits the per-CPU page lists to 1/n of each zone (n at least 8); 0 leaves their size \
             to the kernel.",
        ),
    vm!("admin_reserve_kbytes", LONG)
        .unit(Unit::Kib)
        .rule("3 % of free memory at boot, at most 8192")
        .since(3, 10)
        .effect(
            "Keeps this much of the commit limit for processes of the administrator; counts under \
             overcommit mode 2, and before 5.2 under 0 too.",
        ),
    vm!("user_reserve_kbytes", LONG)
        .unit(Unit::Kib)
        .rule("3 % of free memory at boot, at most 131072")
        .since(3, 10)
        .effect(
            "Under overcommit mode 2 keeps this much (at most 3 % of the asking process) for \
             others, so that one process cannot take all.",
        ),
    // Reclaim.
    vm!("swappiness", from_to(0, 200))
        .fixed("60")
        .risk(Risk::Medium)
        .effect(
            "Weighs anonymous pages against file pages in reclaim: 100 is even, 0 swaps only when \
             file pages run out; without swap it does nothing.",
        ),
    vm!("vfs_cache_pressure", INT)
        .unit(Unit::Percent)
        .fixed("100")
        .risk(Risk::Medium)
        .effect(
            "Weighs the caches of directory entries and inodes against pages in reclaim; at 0 they \
             are never reclaimed, which can end in an OOM kill.",
        ),
    vm!("vfs_cache_pressure_denom", from_to(100, INT_MAX))
        .fixed("100")
        .since(6, 16)
        .effect("Is what vfs_cache_pressure is divided by: a larger one allows finer steps."),
    vm!("page-cluster", from_to(0, 31)).fixed("3").effect(
        "Sets how many pages a swap-in reads at most, as a power of two; 0 reads one, which \
             suits zram and solid-state disks.",
    ),
    vm!("zone_reclaim_mode", from_to(0, 7))
        .fixed("0")
        .risk(Risk::Medium)
        .effect(
            "Lets a node reclaim its own pages before it takes memory of another node: 1 on, 2 \
             also writes dirty pages, 4 also swaps.",
        ),
    vm!("min_unmapped_ratio", PERCENT)
        .unit(Unit::Percent)
        .fixed("1")
        .effect(
            "With zone_reclaim_mode, reclaims file pages of a node only while its unmapped ones \
             are above this share of it.",
        ),
    vm!("min_slab_ratio", PERCENT)
        .unit(Unit::Percent)
        .fixed("5")
        .effect(
            "With zone_reclaim_mode, reclaims slab of a node only while it is above this share of \
             it.",
        ),
    action(vm!("drop_caches", from_to(1, 4)))
        .risk(Risk::Medium)
        .effect(
            "Drops clean page cache (1), reclaimable slab (2) or both (3) once; everything dropped \
             must be read again, and dirty pages stay.",
        ),
    action(vm!("compact_memory", from_to(1, 1)))
        .since(2, 6)
        .effect("Compacts every zone once, so that large blocks can be had; it takes CPU time."),
    action(vm!("stat_refresh", from_to(0, 1)))
        .since(4, 7)
        .effect("Adds up the per-CPU counters of /proc/vmstat once; a read does it too."),
    vm!("stat_interval", from_to(1, INT_MAX))
        .unit(Unit::Seconds)
        .fixed("1")
        .effect("Sets how often the per-CPU counters of /proc/vmstat are added up."),
    // Working-set protection by patch.
    vm!("workingset_protection", SWITCH)
        .fixed("1")
        .patched(LE9UO)
        .effect("Switches the three ratios of the patch on or off together."),
    vm!("anon_min_ratio", PERCENT)
        .unit(Unit::Percent)
        .fixed("15")
        .patched(LE9UO)
        .risk(Risk::High)
        .effect(
            "Never reclaims anonymous pages while they are below this share of the node; too high \
             a value leads to OOM kills.",
        ),
    vm!("clean_low_ratio", PERCENT)
        .unit(Unit::Percent)
        .fixed("0")
        .patched(LE9UO)
        .risk(Risk::Medium)
        .effect(
            "Reclaims clean file pages below this share of the node only when anonymous ones \
             cannot be had.",
        ),
    vm!("clean_min_ratio", PERCENT)
        .unit(Unit::Percent)
        .fixed("15")
        .patched(LE9UO)
        .risk(Risk::High)
        .effect(
            "Never reclaims clean file pages while they are below this share of the node, so that \
             the OOM killer comes before thrashing.",
        ),
    // A limit of the page cache by patch.
    vm!("pagecache_limit_mb", INT)
        .unit(Unit::Mib)
        .fixed("0")
        .patched(SUSE)
        .risk(Risk::Medium)
        .effect(
            "Reclaims page cache above this size as soon as free memory is low, by the task that \
             grows it; 0 sets no limit.",
        ),
    vm!("pagecache_limit_ignore_dirty", INT)
        .fixed("1")
        .patched(SUSE)
        .effect("Leaves dirty pages out of the page cache that is limited; 0 counts them in."),
    // Dirty throttling.
    vm!("dirty_background_ratio", PERCENT)
        .unit(Unit::Percent)
        .fixed("10")
        .partner("vm.dirty_background_bytes")
        .risk(Risk::Medium)
        .effect(
            "Starts writeback when this share of the dirtyable memory (free and file pages, not \
             RAM) is dirty; not below dirty_ratio it counts as half of that.",
        ),
    vm!("dirty_background_bytes", from_to(1, u64::MAX))
        .unit(Unit::Bytes)
        .default(DefaultRule::Partner)
        .partner("vm.dirty_background_ratio")
        .risk(Risk::Medium)
        .effect("Starts writeback when that many bytes are dirty."),
    vm!("dirty_ratio", PERCENT)
        .unit(Unit::Percent)
        .fixed("20")
        .partner("vm.dirty_bytes")
        .risk(Risk::Medium)
        .effect(
            "Makes writers wait when this share of the dirtyable memory (free and file pages, not \
             RAM) is dirty; they are slowed from halfway between the two thresholds.",
        ),
    vm!("dirty_bytes", from_to(8192, u64::MAX))
        .unit(Unit::Bytes)
        .default(DefaultRule::Partner)
        .partner("vm.dirty_ratio")
        .risk(Risk::Medium)
        .effect(
            "Makes writers wait when that many bytes are dirty; the kernel refuses less than two \
             pages.",
        ),
    vm!("dirty_expire_centisecs", INT)
        .unit(Unit::Centiseconds)
        .fixed("3000")
        .effect(
            "Writes a file back once its first dirty page is this old, at the next turn of the \
             flusher; also bounds what a crash loses.",
        ),
    vm!("dirty_writeback_centisecs", INT)
        .unit(Unit::Centiseconds)
        .fixed("500")
        .effect(
            "Sets how often the flusher wakes to write what has expired; 0 leaves old dirty pages \
             until a threshold or a sync.",
        ),
    vm!("dirtytime_expire_seconds", INT)
        .unit(Unit::Seconds)
        .fixed("43200")
        .since(4, 0)
        .effect("Writes inodes of which only times changed (lazytime) once they are this old."),
    vm!("laptop_mode", INT)
        .unit(Unit::Seconds)
        .fixed("0")
        .ignored(7, 0)
        .effect(
            "Writes everything dirty this long after the disk was read anyway, so that it can \
             rest; 0 is off.",
        ),
    // Overcommit and OOM.
    vm!("overcommit_memory", from_to(0, 2))
        .fixed("0")
        .risk(Risk::High)
        .effect(
            "Decides which address space is promised: 0 refuses obvious excess, 1 promises \
             everything, 2 refuses beyond the commit limit.",
        ),
    vm!("overcommit_ratio", INT)
        .unit(Unit::Percent)
        .fixed("50")
        .partner("vm.overcommit_kbytes")
        .risk(Risk::High)
        .effect("Under mode 2, sets the commit limit to swap plus this share of RAM."),
    vm!("overcommit_kbytes", LONG)
        .unit(Unit::Kib)
        .default(DefaultRule::Partner)
        .partner("vm.overcommit_ratio")
        .since(3, 14)
        .risk(Risk::High)
        .effect("Under mode 2, sets the commit limit to swap plus this amount."),
    vm!("panic_on_oom", from_to(0, 2))
        .fixed("0")
        .risk(Risk::High)
        .effect(
            "Panics instead of killing a process when memory runs out: 1 unless a limit of nodes \
             or groups was the cause, 2 always.",
        ),
    vm!("oom_kill_allocating_task", SWITCH)
        .fixed("0")
        .risk(Risk::Medium)
        .effect("Kills the task that asked for memory instead of the one that holds most."),
    vm!("oom_dump_tasks", SWITCH).fixed("1").effect(
        "Lists every process in the kernel log at an OOM kill; with very many that takes time.",
    ),
    // Fragmentation.
    vm!("compaction_proactiveness", PERCENT)
        .fixed("20")
        .since(5, 9)
        .effect(
            "Sets how eagerly the kernel compacts in the background to have huge pages ready; it \
             costs CPU time, and 0 is off.",
        ),
    vm!("compact_unevictable_allowed", SWITCH)
        .fixed("1")
        .since(4, 1)
        .effect("Lets compaction move locked pages; their owners may see minor faults."),
    vm!("extfrag_threshold", from_to(0, 1000))
        .fixed("500")
        .effect(
            "Compacts for a large block only where fragmentation rather than lack of memory is the \
             cause, by this index (0 lack, 1000 fragmentation).",
        ),
    vm!("defrag_mode", SWITCH).fixed("0").since(6, 15).effect(
        "Reclaims and compacts before pages of different mobility are mixed in a block; huge \
             pages stay possible, allocations may wait longer.",
    ),
    // Huge pages set aside.
    vm!("nr_hugepages", LONG)
        .unit(Unit::HugePages)
        .fixed("0")
        .views(HUGE_PAGES)
        .risk(Risk::High)
        .outlives(POOL)
        .effect(
            "Sets huge pages aside that only hugetlb users can have; they leave free memory at \
             once and are never reclaimed.",
        ),
    vm!("nr_hugepages_mempolicy", LONG)
        .unit(Unit::HugePages)
        .fixed("0")
        .views(HUGE_PAGES)
        .risk(Risk::High)
        .outlives(POOL)
        .effect(
            "Sets the same pool, with pages from the nodes that the writing task's memory policy \
             names.",
        ),
    vm!("hugetlb_optimize_vmemmap", SWITCH)
        .rule("0, unless the kernel was built or booted otherwise")
        .since(5, 19)
        .effect(
            "Frees most of the memory that describes a huge page of the pool, 7 of 8 pages for one \
             of 2 MiB; setting one aside takes longer.",
        ),
    vm!("hugetlb_shm_group", INT)
        .fixed("0")
        .effect("Names the group of users that may have shared memory of huge pages (shmget)."),
    vm!("movable_gigantic_pages", SWITCH)
        .fixed("0")
        .since(7, 0)
        .effect("Lets gigantic pages of the pool lie in the movable zone, so that it is used too."),
    vm!("nr_overcommit_hugepages", LONG)
        .unit(Unit::HugePages)
        .fixed("0")
        .risk(Risk::Medium)
        .effect("Lets the hugetlb pool grow by up to n huge pages while they are in use."),
];
