//! What decides which pages go, and the tunables that only act.

use super::note::{Note, myth};

pub(super) const NOTES: &[Note] = &[
    Note {
        of: &["vm.swappiness"],
        with: &[
            (
                "lru_gen.enabled",
                "with the multi-generation LRU it weighs kinds of one age; the older kind goes \
                 first whatever it says",
            ),
            (
                "vm.min_free_kbytes",
                "decides when reclaim begins; swappiness decides what it takes",
            ),
            (
                "zswap.enabled",
                "swap in memory costs little to read back: higher values pay there",
            ),
        ],
        costs: &[
            "Lower values evict page cache first: programs' own files and libraries are read \
             again.",
            "At 0 anonymous memory stays until file pages are all but gone, which ends in OOM \
             kills with swap free.",
        ],
        does_not: &[
            myth(
                "60 does not mean that swapping begins at 60 or 40 % of memory: it is a weight.",
                "vm.rst; dimagi/commcare-cloud#701",
            ),
            myth("0 does not switch swap off.", "kernel commit fe35004f, 3.5"),
            myth(
                "Above 100 it does not swap more in all; it takes anonymous pages before file \
                 pages, which kept 2.5 GiB of log cache while programs thrashed.",
                "bottlerocket-os/bottlerocket#4924",
            ),
            myth(
                "A group of cgroup v2 has none of its own.",
                "systemd/systemd#9276",
            ),
        ],
    },
    Note {
        of: &["vm.vfs_cache_pressure"],
        with: &[(
            "vm.vfs_cache_pressure_denom",
            "is what it is divided by, since 6.16",
        )],
        costs: &["Low values let inodes and directory entries push out programs and page cache."],
        does_not: &[myth(
            "It is no weight of the page cache: a backup with 10 was OOM-killed, and with 100 not.",
            "flyingcircusio/fc-nixos#1820",
        )],
    },
    Note {
        of: &["vm.page-cluster"],
        with: &[(
            "swap.vma_ra_enabled",
            "chooses neighbours in memory on solid-state swap",
        )],
        costs: &["Pages that are read and not used take memory when it is short."],
        does_not: &[myth("0 is not off: one page is read.", "vm.rst")],
    },
    Note {
        of: &["vm.zone_reclaim_mode"],
        with: &[
            (
                "vm.min_unmapped_ratio",
                "how much page cache a node keeps from it",
            ),
            ("vm.min_slab_ratio", "how much slab"),
        ],
        costs: &[
            "A node reclaims its page cache while others have memory free: databases and file \
             servers read from disk what would fit.",
        ],
        does_not: &[myth(
            "It makes no access local that was not: it spares the other nodes' memory, and costs \
             this one's cache.",
            "vm.rst",
        )],
    },
    Note {
        of: &["vm.drop_caches"],
        with: &[(
            "vm.vfs_cache_pressure",
            "weighs directory entries and inodes all the time",
        )],
        costs: &[
            "What is dropped is read again from disk when it is used; meanwhile the machine is \
             slower, not faster.",
        ],
        does_not: &[
            myth("It frees no dirty page and no tmpfs.", "vm.rst"),
            myth(
                "It makes no memory available that was not: MemAvailable counts page cache \
                 already.",
                "si_mem_available",
            ),
        ],
    },
    Note {
        of: &["vm.compact_memory"],
        with: &[(
            "vm.compaction_proactiveness",
            "compacts in the background all the time",
        )],
        costs: &["CPU time of the task that writes, which waits until it is done."],
        does_not: &[myth(
            "It does not free memory: it moves pages so that free ones lie together.",
            "vm.rst",
        )],
    },
    Note {
        of: &["lru_gen.min_ttl_ms"],
        with: &[("lru_gen.enabled", "without it this does nothing")],
        costs: &[
            "Where what was used within this time does not fit, the OOM killer comes at once \
             instead of a machine that crawls.",
        ],
        does_not: &[myth(
            "It does not protect a program: it protects what anyone used of late, and kills for \
             it.",
            "multigen_lru.rst; zen-kernel/zen-kernel#288",
        )],
    },
    Note {
        of: &["lru_gen.enabled"],
        with: &[
            ("lru_gen.min_ttl_ms", "works with it alone"),
            (
                "vm.swappiness",
                "weighs kinds of one age then; the older kind goes first whatever it says",
            ),
        ],
        costs: &["What was learned about pages is lost when it is switched."],
        does_not: &[myth(
            "It does not ignore swappiness: that weighs the refaults of kinds of one age; 0 takes \
             page cache alone, and 1 and 200 choose between kinds of one age.",
            "working-set study",
        )],
    },
    Note {
        of: &[
            "zswap.enabled",
            "zswap.max_pool_percent",
            "zswap.shrinker_enabled",
        ],
        with: &[("vm.swappiness", "what goes to swap goes to zswap first")],
        costs: &[
            "CPU time for each page that is swapped out, and memory for those that do not \
             compress.",
        ],
        does_not: &[
            myth(
                "It takes the place of no swap device: without one it stores nothing.",
                "zswap.rst",
            ),
            myth(
                "Switched off, it does not give back what it holds.",
                "zswap.rst",
            ),
        ],
    },
    Note {
        of: &["memory.high", "memory.max"],
        with: &[
            (
                "memory.low",
                "protects the group where memory.high bounds it",
            ),
            (
                "memory.swap.max",
                "decides whether its anonymous memory can go at all",
            ),
        ],
        costs: &["The group's own page cache counts: a group that reads much is reclaimed for it."],
        does_not: &[
            myth(
                "memory.high does not kill and is not a limit: a group that cannot be reclaimed is \
                 slowed down without end.",
                "systemd/systemd#31660",
            ),
            myth(
                "Written into the file of a unit's group, it lasts until systemd writes it again: \
                 set the unit's property.",
                "systemd.io/CONTROL_GROUP_INTERFACE",
            ),
        ],
    },
    Note {
        of: &["memory.low", "memory.min"],
        with: &[("memory.high", "bounds the group from above")],
        costs: &["What is protected here must come from others."],
        does_not: &[myth(
            "Without the same in each group above it protects nothing, unless the mount says \
             memory_recursiveprot.",
            "systemd/systemd#16559",
        )],
    },
];
