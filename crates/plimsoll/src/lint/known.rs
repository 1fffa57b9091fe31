//! Which keys below `vm.` there are and were, beside those of the catalogue: names alone, from
//! Documentation/admin-guide/sysctl/vm.rst and the patches that distributions carry.

use mm::catalogue;
use mm::suggest;

/// Keys of kernels that run today and that are not in the catalogue.
const ALIVE: &[&str] = &[
    "vm.compact_memory",
    "vm.enable_soft_offline",
    "vm.highmem_is_dirtyable",
    "vm.hugetlb_optimize_vmemmap",
    "vm.hugetlb_shm_group",
    "vm.legacy_va_layout",
    "vm.max_map_count",
    "vm.mem_profiling",
    "vm.memfd_noexec",
    "vm.memory_failure_early_kill",
    "vm.memory_failure_recovery",
    "vm.mmap_min_addr",
    "vm.mmap_rnd_bits",
    "vm.mmap_rnd_compat_bits",
    "vm.movable_gigantic_pages",
    "vm.nr_hugepages_mempolicy",
    "vm.nr_trim_pages",
    "vm.numa_stat",
    "vm.numa_zonelist_order",
    "vm.oom_dump_tasks",
    "vm.page_lock_unfairness",
    "vm.stat_refresh",
    "vm.unprivileged_userfaultfd",
    "vm.vdso_enabled",
    "vm.vfs_cache_pressure_denom",
    // By patches.
    "vm.anon_min_kbytes",
    "vm.clean_low_kbytes",
    "vm.clean_min_kbytes",
    "vm.extra_free_kbytes",
    "vm.pagecache_limit_ratio",
];

/// A key that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone {
    /// The key.
    pub(crate) name: &'static str,
    /// The first release that is without it.
    pub(crate) since: (u32, u32),
    /// The key that does the same now, with the same values.
    pub(crate) renamed: Option<&'static str>,
    /// What became of it.
    pub(crate) why: &'static str,
}

const fn gone(name: &'static str, since: (u32, u32), why: &'static str) -> Gone {
    Gone {
        name,
        since,
        renamed: None,
        why,
    }
}

/// Keys that were, and what became of them.
pub(crate) const GONE: &[Gone] = &[
    gone(
        "vm.bdflush",
        (2, 6),
        "2.4 set its flush daemon with it; the dirty limits came in its place",
    ),
    gone("vm.buffermem", (2, 6), "a limit of buffers in 2.2"),
    gone(
        "vm.freepages",
        (2, 6),
        "the free-page marks of 2.2; vm.min_free_kbytes sets them now",
    ),
    gone("vm.inactive_clean_percent", (2, 6), "a vendor's 2.4"),
    gone(
        "vm.kswapd",
        (2, 6),
        "how much kswapd of 2.4 freed at a time",
    ),
    gone(
        "vm.max-readahead",
        (2, 6),
        "read-ahead is set for each device: /sys/block/DEVICE/queue/read_ahead_kb",
    ),
    gone(
        "vm.min-readahead",
        (2, 6),
        "read-ahead is set for each device: /sys/block/DEVICE/queue/read_ahead_kb",
    ),
    gone(
        "vm.pagecache",
        (2, 6),
        "a limit of the page cache in 2.2 and a vendor's 2.4",
    ),
    gone(
        "vm.pagetable_cache",
        (2, 6),
        "page tables kept for each CPU in 2.4",
    ),
    gone(
        "vm.lower_zone_protection",
        (2, 6),
        "vm.lowmem_reserve_ratio came in its place",
    ),
    gone(
        "vm.nr_pdflush_threads",
        (2, 6),
        "pdflush went in 2.6.32: each device has a flusher of its own",
    ),
    gone("vm.swap_token_timeout", (3, 5), "swap tokens went"),
    gone(
        "vm.scan_unevictable_pages",
        (3, 18),
        "it did nothing long before",
    ),
    gone(
        "vm.hugepages_treat_as_movable",
        (4, 16),
        "huge pages that can be migrated go to Movable zones by themselves",
    ),
    gone(
        "vm.block_dump",
        (5, 13),
        "tracepoints of the block layer came in its place",
    ),
    gone(
        "vm.percpu_pagelist_fraction",
        (5, 14),
        "vm.percpu_pagelist_high_fraction came in its place",
    ),
];

/// Files of `/sys/kernel/mm` and of modules that are gone, as [`GONE`].
pub(crate) const GONE_FILES: &[Gone] = &[gone(
    "/sys/module/zswap/parameters/zpool",
    (6, 18),
    "zsmalloc is the only allocator that zswap has",
)];

/// Whether some kernel of today has a key.
pub(crate) fn is_alive(name: &str) -> bool {
    catalogue::find(name).is_some() || ALIVE.contains(&name)
}

/// The key that may have been meant by one that no kernel has, and by how many edits they differ.
pub(crate) fn meant(name: &str) -> Option<(&'static str, usize)> {
    let names = || {
        let of_catalogue = catalogue::all().map(|tunable| tunable.name);
        let below_vm = of_catalogue.filter(|name| name.starts_with("vm."));
        below_vm.chain(ALIVE.iter().copied())
    };
    let bare = name.strip_prefix("vm.")?;
    let near = suggest::nearest(bare, names().filter_map(|name| name.strip_prefix("vm.")))?;
    let full = names().find(|name| name.strip_prefix("vm.") == Some(near))?;
    Some((full, suggest::distance(name, full)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_both_alive_and_gone_or_named_twice() {
        for gone in GONE {
            assert!(!is_alive(gone.name), "{}", gone.name);
        }
        for name in ALIVE {
            assert!(
                catalogue::find(name).is_none(),
                "{name} is in the catalogue"
            );
        }
    }

    #[test]
    fn a_slip_of_the_pen_is_near_a_key_and_another_vendors_key_is_not() {
        assert_eq!(meant("vm.swapiness"), Some(("vm.swappiness", 1)));
        assert_eq!(
            meant("vm.dirty_backgroud_ratio"),
            Some(("vm.dirty_background_ratio", 1))
        );
        assert_eq!(meant("vm.max_map_counts"), Some(("vm.max_map_count", 1)));
        assert_eq!(meant("vm.teapot"), None);
    }
}
