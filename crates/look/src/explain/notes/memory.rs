//! Reserves, overcommit, huge pages and merging.

use super::note::{Note, myth};

pub(super) const NOTES: &[Note] = &[
    Note {
        of: &["vm.min_free_kbytes"],
        with: &[
            (
                "vm.watermark_scale_factor",
                "low and high lie above min by min/4 or by its share of the zone, whichever is \
                 more",
            ),
            (
                "vm.percpu_pagelist_high_fraction",
                "at 0 the per-CPU lists may grow to the low mark divided by the CPUs",
            ),
        ],
        costs: &[
            "MemAvailable falls by 1.5 times the raise, and the page cache by as much.",
            "Reclaim and the OOM killer come earlier by that much: what lies below min is for \
             requests that cannot wait.",
        ],
        does_not: &[
            myth(
                "It does not keep memory for the page cache or for an application; what it keeps \
                 stays free.",
                "min-free-kbytes study",
            ),
            myth(
                "It is not read once: khugepaged raises it when huge pages are switched on, so a \
                 lower value of a file does not last.",
                "redhat-performance/tuned#752",
            ),
            myth(
                "A percentage of memory is no rule for it: 5 to 10 % as an old guide says ended in \
                 OOM kills.",
                "vm.rst: too high and the machine runs out of memory at once",
            ),
        ],
    },
    Note {
        of: &["vm.watermark_scale_factor"],
        with: &[(
            "vm.min_free_kbytes",
            "a quarter of min is the least distance: below that the factor does nothing",
        )],
        costs: &[
            "Memory between low and high is kept free more often; min, and what atomic requests \
             have, stays as it is.",
        ],
        does_not: &[myth(
            "Its unit is not percent and not pages: 10 is 0.1 % of a zone, and 1000 is 10 %.",
            "vm.rst; unix.stackexchange 512378",
        )],
    },
    Note {
        of: &["vm.lowmem_reserve_ratio"],
        with: &[(
            "vm.min_free_kbytes",
            "a zone is closed to a request below a mark plus the reserve",
        )],
        costs: &["MemAvailable and the dirty thresholds leave the reserve out too."],
        does_not: &[myth(
            "Reading it is not harmless: the kernel makes the reserves again from the zones of \
             now.",
            "lowmem_reserve_ratio_sysctl_handler",
        )],
    },
    Note {
        of: &[
            "vm.overcommit_memory",
            "vm.overcommit_ratio",
            "vm.overcommit_kbytes",
        ],
        with: &[
            (
                "vm.admin_reserve_kbytes",
                "is kept for root under mode 2, before 5.2 under 0 too",
            ),
            (
                "vm.user_reserve_kbytes",
                "is kept for other processes under mode 2",
            ),
        ],
        costs: &[
            "Mode 2 refuses address space and not memory: programs that reserve much and use \
             little (Go, Java, containers) fail with memory free and without a line in the kernel \
             log.",
        ],
        does_not: &[
            myth(
                "Without mode 2 the ratio and the kbytes do nothing.",
                "vm.rst",
            ),
            myth(
                "Mode 2 does not prevent OOM kills by the limit of a control group.",
                "cgroup-v2.rst: memory.max",
            ),
        ],
    },
    Note {
        of: &["vm.nr_hugepages", "vm.nr_overcommit_hugepages"],
        with: &[(
            "hugetlb.SIZE.nr_hugepages",
            "of the default size it is the same pool",
        )],
        costs: &[
            "What is set aside is gone for everything else at once, used or not, and is never \
             swapped or reclaimed.",
            "On a machine that runs for long, fewer pages may be had than asked for: read it back.",
        ],
        does_not: &[myth(
            "It does not serve malloc: a program must ask for hugetlb memory. Transparent huge \
             pages are another thing.",
            "hugetlbpage.rst",
        )],
    },
    Note {
        of: &["thp.enabled", "thp.defrag"],
        with: &[
            ("thp.shmem_enabled", "decides for shared memory"),
            (
                "khugepaged.max_ptes_none",
                "how much memory khugepaged may add to make a huge page",
            ),
        ],
        costs: &[
            "A process that forks and writes copies 2 MiB at a time: about 0.25 ms each, which \
             stores that save by fork feel.",
        ],
        does_not: &[
            myth(
                "never does not give back huge pages that there are.",
                "transhuge.rst",
            ),
            myth(
                "To switch them off for a database is no rule any more: MongoDB asks for them \
                 since 8.0, and against them up to 7.0.",
                "MongoDB, TCMalloc page",
            ),
        ],
    },
    Note {
        of: &["ksm.run", "ksm.pages_to_scan", "ksm.sleep_millisecs"],
        with: &[
            (
                "ksm.advisor_mode",
                "while it is scan-time it sets pages_to_scan",
            ),
            (
                "ksm.smart_scan",
                "passes over pages that never found a twin",
            ),
        ],
        costs: &[
            "ksmd's CPU time, most of it for pages that have no twin; and a copy at each write to \
             a merged page.",
            "To stop it with 2 takes back the memory that merging saved.",
        ],
        does_not: &[
            myth(
                "It merges nothing of a process that does not ask: by madvise, or by prctl since \
                 6.4.",
                "ksm.rst",
            ),
            myth(
                "general_profit is not what one more scan would bring.",
                "ksm.rst",
            ),
        ],
    },
    Note {
        of: &["vm.max_map_count"],
        with: &[],
        costs: &["Some kernel memory for each mapping, when a process makes them."],
        does_not: &[
            myth("It limits the number of mappings and not memory.", "vm.rst"),
            myth(
                "A container has no value of its own: it is the host's.",
                "elastic/elasticsearch#45815",
            ),
        ],
    },
];
