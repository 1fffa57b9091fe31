//! `/proc/sys/vm`: what bounds and lays out address spaces, page locks, NUMA counters and what is
//! done about broken memory. None of it reclaims.

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

pub(super) const TABLE: &[Tunable] = &[
    vm!("max_map_count", from_to(0, INT_MAX))
        .fixed("65530")
        .risk(Risk::Medium)
        .effect(
            "Limits the mappings of one process; with too few, mmap fails with ENOMEM however much \
             memory is free.",
        ),
    vm!("mmap_min_addr", from_to(0, u64::MAX))
        .unit(Unit::Bytes)
        .rule("as the kernel was built: 4096 or 65536")
        .effect(
            "Keeps processes from mapping the lowest addresses, so that a null pointer of the \
             kernel points at nothing.",
        ),
    vm!("mmap_rnd_bits", from_to(0, 64))
        .rule("as the kernel was built: 28 on x86 of 64 bits")
        .since(4, 5)
        .effect("Sets how many bits of an address are random."),
    vm!("mmap_rnd_compat_bits", from_to(0, 64))
        .rule("as the kernel was built: 8 on x86")
        .since(4, 5)
        .effect("Sets how many bits of an address are random in programs of 32 bits."),
    vm!("legacy_va_layout", SWITCH)
        .fixed("0")
        .effect("Lays mappings out from the bottom up, as kernels before 2.6.9 did."),
    vm!("memfd_noexec", from_to(0, 2))
        .fixed("0")
        .since(6, 3)
        .effect(
            "Makes memory of memfd_create not executable unless asked for (1) or always (2); each \
             namespace of processes has its own.",
        ),
    vm!("unprivileged_userfaultfd", SWITCH)
        .rule("0 since 5.11, 1 before")
        .since(5, 2)
        .effect("Lets users without privileges handle faults of the kernel with userfaultfd."),
    vm!("page_lock_unfairness", from_to(0, INT_MAX))
        .fixed("5")
        .since(5, 9)
        .effect(
            "Sets how often a page lock may be taken from a waiting task before it has its turn.",
        ),
    vm!("numa_stat", SWITCH)
        .fixed("1")
        .since(4, 16)
        .effect("Counts NUMA hits and misses on each allocation; 0 saves a little time."),
    vm!("mem_profiling", SWITCH)
        .rule("as the kernel was built: 1 or 0")
        .since(6, 10)
        .effect(
            "Counts memory by the line of code that asked for it, in /proc/allocinfo; only where \
             the kernel was built with it (CONFIG_MEM_ALLOC_PROFILING).",
        ),
    vm!("numa_zonelist_order", Values::Word)
        .rule("Node")
        .ignored(4, 14)
        .effect("Chose whether zones were tried node by node; since 4.14 they always are."),
    vm!("memory_failure_early_kill", SWITCH)
        .fixed("0")
        .effect("Kills processes that have broken memory mapped at once, not when they touch it."),
    vm!("memory_failure_recovery", SWITCH)
        .fixed("1")
        .risk(Risk::High)
        .effect("Goes on after an uncorrectable memory error where it can; 0 panics."),
    vm!("enable_soft_offline", SWITCH)
        .fixed("1")
        .since(6, 11)
        .effect(
            "Moves data away from memory that had corrected errors, which can split huge pages.",
        ),
];
