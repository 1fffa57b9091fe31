//! Sections from a few kernel files each, as text.

use super::*;
use crate::page::Charset;
use crate::sections::Extent;
use expect_test::{Expect, expect};

/// The sections that these files make, from the one with this heading on, as text.
fn check(files: &[(&str, &str)], heading: &str, expected: &Expect) {
    let mut frame = Frame::default();
    let files = files
        .iter()
        .map(|&(path, text)| (path.to_owned(), text.to_owned()));
    frame.files.extend(files);
    let capture = Capture {
        frames: vec![frame],
    };
    let view = View::of(&capture, None).expect("meminfo is there");
    let canvas = Canvas {
        width: 80,
        charset: Charset::Unicode,
    };
    let text = view.text(canvas, &Extent::All);
    let plain = crate::style::plain(&text);
    let start = plain.find(heading).expect("a section of this heading");
    expected.assert_eq(&plain[start..]);
}

const MEMINFO: (&str, &str) = (
    "proc/meminfo",
    "MemTotal: 1048576 kB\nMemFree: 524288 kB\nAnonPages: 400000 kB\nSwapTotal: 2097148 kB\n\
     SwapFree: 1048576 kB\nZswap: 1000 kB\nZswapped: 3000 kB\n",
);

#[test]
fn swap_areas_and_zswap() {
    let swaps = "Filename\tType\tSize\tUsed\tPriority\n\
                 /dev/disk/by-id/a-very-long-name-of-a-device\tpartition\t1048572\t1048572\t-2\n\
                 /swap file\tfile\t1048576\t0\t-3\n";
    let files = [
        MEMINFO,
        ("proc/swaps", &swaps.replace("swap file", "swap\\040file")),
        ("proc/sys/vm/swappiness", "10\n"),
        ("proc/sys/vm/page-cluster", "3\n"),
        ("sys/module/zswap/parameters/enabled", "Y\n"),
    ];
    check(
        &files,
        "Swap\n",
        &expect![[r#"
            Swap
              /dev/disk/by-id/a-very-long-name-of-a-device
                                          1023 MiB
                  1023 MiB used (100%), partition, priority -2
              /swap\040file                  1 GiB  0 B used (0%), file, priority -3
              vm.swappiness                     10  2 to 9 % anonymous, where costs decide
              vm.page-cluster                    3  reads up to 8 pages at a time
              zswap                       1000 KiB  holds 2.9 MiB

            LRU
              not in this capture: nothing below /sys/kernel/mm was given
        "#]],
    );
}

/// The section that these counters of KSM make.
fn check_ksm(values: &[(&str, &str)], expected: &Expect) {
    let path = |name: &str| format!("sys/kernel/mm/ksm/{name}");
    let files: Vec<_> = values
        .iter()
        .map(|&(name, text)| (path(name), text))
        .collect();
    let files = files.iter().map(|(path, text)| (path.as_str(), *text));
    let files: Vec<_> = files.chain([MEMINFO]).collect();
    check(&files, "Kernel samepage", expected);
}

#[test]
fn samepage_merging_with_its_profit() {
    let values = [
        ("run", "1"),
        ("pages_shared", "1000"),
        ("pages_sharing", "9000"),
        ("pages_unshared", "500000"),
        ("pages_volatile", "20000"),
        ("full_scans", "12"),
        ("pages_to_scan", "100"),
        ("sleep_millisecs", "20"),
        ("general_profit", "3944000"),
    ];
    check_ksm(
        &values,
        &expect![[r#"
            Kernel samepage merging (KSM)
              state                        merging  12 full scans
              saved                       35.1 MiB  pages_sharing and zero pages
              kept once                    3.9 MiB  pages_shared
              without a twin               1.9 GiB  pages_unshared
              changes too fast            78.1 MiB  pages_volatile
              metadata                    32.3 MiB  530000 candidates of 64 bytes
              profit                       3.7 MiB  saved less metadata
              one full scan takes            106 s  at least, 100 pages every 20 ms
        "#]],
    );
}

/// A published host: of its counters the article gives what merging saves (10.65 GB), the
/// candidates (17.84 million) and the share of them that smart scan left out (72.6 %).
#[test]
fn a_published_host_s_counters_give_its_profit_of_9_5_gb_and_what_smart_scan_left_out() {
    let values = [
        ("run", "1"),
        ("pages_shared", "700000"),
        ("pages_sharing", "2600098"),
        ("pages_unshared", "14000000"),
        ("pages_volatile", "539902"),
        ("full_scans", "100"),
        ("pages_to_scan", "9000"),
        ("sleep_millisecs", "20"),
        ("pages_scanned", "274000000"),
        ("pages_skipped", "726000000"),
        ("general_profit", "9508241408"),
        ("advisor_mode", "[none] scan-time"),
    ];
    check_ksm(
        &values,
        &expect![[r#"
        Kernel samepage merging (KSM)
          state                        merging  100 full scans
          saved                        9.9 GiB  pages_sharing and zero pages
          kept once                    2.6 GiB  pages_shared
          without a twin              53.4 GiB  pages_unshared
          changes too fast               2 GiB  pages_volatile
          visits left out               72.6 %  pages_skipped of all visits: smart_scan
          metadata                       1 GiB  17840000 candidates of 64 bytes
          profit                       8.8 GiB  saved less metadata
          one full scan takes             40 s  at least, 9000 pages every 20 ms
    "#]],
    );
}

/// The files of two nodes: the first has no page cache to speak of, the second a long inactive
/// list of it.
fn two_nodes() -> String {
    let node = |node: u32, free: u64, [anon, file]: [u64; 2]| {
        format!(
            "Node {node}, zone Normal\n  per-node stats\n      nr_inactive_anon {anon}\n      \
             nr_active_anon {anon}\n      nr_inactive_file {file}\n      nr_active_file {file}\n      \
             nr_unevictable 0\n  pages free {free}\n        boost 0\n        min 1000\n        \
             low 1250\n        high 1500\n        spanned 65536\n        present 65536\n        \
             managed 65536\n        protection: (0)\n"
        )
    };
    node(0, 1300, [30_000, 50]) + &node(1, 40_000, [20_000, 9000])
}

#[test]
fn each_node_says_what_its_next_pass_scans() {
    let meminfo = "MemTotal: 524288 kB\nSwapTotal: 1024 kB\nSwapFree: 1024 kB\n\
                   Active(anon): 4 kB\nInactive(anon): 4 kB\nActive(file): 4 kB\n\
                   Inactive(file): 4 kB\n";
    let zoneinfo = two_nodes();
    let files = [
        ("proc/meminfo", meminfo),
        ("proc/zoneinfo", zoneinfo.as_str()),
        ("proc/sys/vm/swappiness", "60\n"),
        ("plimsoll/facts", "reader\troot\n"),
    ];
    check(
        &files,
        "Page lists",
        &expect![[r#"
            Page lists
              node 0
              anonymous, active            117 MiB
              anonymous, inactive          117 MiB  refilled while below active: not now
              page cache, active           200 KiB
              page cache, inactive         200 KiB  refilled while below active: not now
              node 1
              anonymous, active           78.1 MiB
              anonymous, inactive         78.1 MiB  refilled while below active: not now
              page cache, active          35.1 MiB
              page cache, inactive        35.1 MiB  refilled while below active: not now
              The next pass of node 0 scans anonymous memory only, whatever vm.swappiness
              says: page cache and free memory, 5.4 MiB, do not reach the high watermarks,
              5.8 MiB.
              The next pass of node 1 scans the page cache only, whatever vm.swappiness
              says: its inactive list is not low (unless refaults were activated since the
              last pass, which no file says).

            LRU
              classic: this kernel has no multi-generation LRU (or hides /sys/kernel/mm)

            Recomputed from the kernel's inputs
              2 of 2 numbers equal the kernel's to the page
              None of them tests a rule: they are 0, or their ratio is their own.
        "#]],
    );
}

#[test]
fn groups_that_lack_files_or_parents_are_shown_as_far_as_they_are_known() {
    let files = [
        MEMINFO,
        // No parent was read, so what its claim comes to is not known.
        ("sys/fs/cgroup/gone/orphan/memory.current", "104857600\n"),
        ("sys/fs/cgroup/gone/orphan/memory.min", "52428800\n"),
        ("sys/fs/cgroup/gone/orphan/memory.max", "many\n"),
        ("sys/fs/cgroup/part/memory.max", "1048576\n"),
        ("sys/fs/cgroup/vanished/memory.high", "1048576\n"),
        ("sys/fs/cgroup/all/memory.current", "4096\n"),
        ("sys/fs/cgroup/all/memory.low", "max\n"),
        ("plimsoll/groups", "unbound\t700\nbound\t3\nunvisited\t9\n"),
    ];
    check(
        &files,
        "Control groups",
        &expect![[r#"
            Control groups: what they use and what bounds them
              /all                           4 KiB  low max
              /gone/orphan                 100 MiB  min 50 MiB
                  min 50 MiB: unknown what holds, for a group above it was not read
              /part                              ?  max 1 MiB
              Left out: 700 groups without limit or protection, 3 with one, more than are
              read, 9 or more, not looked at.

            Not readable here
              not understood (line 1, many: expected "max" or a number of bytes):
              /sys/fs/cgroup/gone/orphan/memory.max
        "#]],
    );
}

#[test]
fn groups_of_version_1_have_limits_and_no_protection() {
    let files = [
        MEMINFO,
        ("sys/fs/cgroup/memory/memory.usage_in_bytes", "900000000\n"),
        (
            "sys/fs/cgroup/memory/memory.limit_in_bytes",
            "9223372036854771712\n",
        ),
        (
            "sys/fs/cgroup/memory/a/memory.usage_in_bytes",
            "100000000\n",
        ),
        (
            "sys/fs/cgroup/memory/a/memory.limit_in_bytes",
            "104857600\n",
        ),
        (
            "sys/fs/cgroup/memory/a/memory.soft_limit_in_bytes",
            "52428800\n",
        ),
        (
            "sys/fs/cgroup/memory/a/memory.memsw.limit_in_bytes",
            "209715200\n",
        ),
        ("sys/fs/cgroup/memory/a/memory.failcnt", "7\n"),
        (
            "sys/fs/cgroup/memory/a/memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
        ),
    ];
    check(
        &files,
        "Control groups",
        &expect![[r#"
            Control groups: what they use and what bounds them
              /memory                      858 MiB  no limit, no protection
                a                         95.3 MiB
                  limit 100 MiB, memory and swap 200 MiB, soft limit 50 MiB
                    1 OOM kill, 7 times at the limit
        "#]],
    );
}

#[test]
fn inside_a_container_its_root_is_a_group_and_unclaimed_protection_is_shared() {
    let files = [
        MEMINFO,
        ("plimsoll/facts", "memory_recursiveprot\tyes\n"),
        ("sys/fs/cgroup/memory.current", "209715200\n"),
        ("sys/fs/cgroup/memory.min", "0\n"),
        ("sys/fs/cgroup/memory.low", "104857600\n"),
        ("sys/fs/cgroup/db/memory.current", "104857600\n"),
        ("sys/fs/cgroup/db/memory.min", "52428800\n"),
        ("sys/fs/cgroup/db/memory.low", "0\n"),
        ("sys/fs/cgroup/web/memory.current", "104857600\n"),
        ("sys/fs/cgroup/web/memory.low", "0\n"),
    ];
    check(
        &files,
        "Control groups",
        &expect![[r#"
            Control groups (memory_recursiveprot): what they use and what bounds them
              /                            200 MiB  low 100 MiB
                db                         100 MiB  min 50 MiB, low 50 MiB from its parent
                    min 50 MiB protects nothing: / has no memory.min
                web                        100 MiB  low 50 MiB from its parent
              Seen from inside a control group: those above it may bind and protect it, and
              are not seen.
        "#]],
    );
}

#[test]
fn control_groups_lru_and_what_is_hidden() {
    let files = [
        MEMINFO,
        ("sys/kernel/mm/lru_gen/enabled", "0x0007\n"),
        ("sys/kernel/mm/lru_gen/min_ttl_ms", "1000\n"),
        ("sys/fs/cgroup/db.slice/memory.current", "300000000\n"),
        ("sys/fs/cgroup/db.slice/memory.low", "268435456\n"),
        ("sys/fs/cgroup/db.slice/memory.max", "536870912\n"),
        ("sys/fs/cgroup/db.slice/memory.events", "oom_kill 2\n"),
        (
            "sys/fs/cgroup/db.slice/pg.service/memory.current",
            "100000000\n",
        ),
        ("proc/vmstat", "pgfault many\n"),
        (
            UNREADABLE,
            "proc/pressure/memory\tOperation not supported\n\
             proc/zoneinfo\tPermission denied\nproc/buddyinfo\tPermission denied\n",
        ),
    ];
    check(
        &files,
        "LRU",
        &expect![[r#"
            LRU
              multi-generation                  on  features 0x0007
              min_ttl_ms                      1000  pages used so lately are kept, else OOM
              The generations are in /sys/kernel/debug/lru_gen, which root may read where
              debugfs is mounted (mount -t debugfs none /sys/kernel/debug).

            Control groups: what they use and what bounds them
              /db.slice                    286 MiB  low 256 MiB, max 512 MiB
                  2 OOM kills
                pg.service                95.3 MiB  no limit, no protection

            Not readable here
              Operation not supported (switched off; PSI needs psi=1 on the kernel's command
              line): /proc/pressure/memory
              Permission denied (root may read it): /proc/zoneinfo, /proc/buddyinfo
              not understood (line 1, pgfault: expected a number that fits): /proc/vmstat
        "#]],
    );
}

#[test]
fn a_device_whose_part_of_the_dirty_limits_is_bounded_is_named() {
    let meminfo = "MemTotal: 262144 kB\nMemFree: 160000 kB\n";
    let zoneinfo = two_nodes();
    let files = [
        ("proc/meminfo", meminfo),
        ("proc/zoneinfo", zoneinfo.as_str()),
        (
            "proc/vmstat",
            "nr_free_pages 40000\nnr_inactive_file 10\nnr_active_file 0\nnr_dirty 0\n\
             nr_writeback 0\n",
        ),
        ("proc/sys/vm/dirty_ratio", "20\n"),
        ("proc/sys/vm/dirty_background_ratio", "10\n"),
        ("sys/block/sda/bdi/min_ratio", "0\n"),
        ("sys/block/sda/bdi/max_ratio", "100\n"),
        ("sys/block/sdb/bdi/min_ratio", "5\n"),
        ("sys/block/sdb/bdi/max_ratio", "20\n"),
        ("sys/block/sdb/bdi/strict_limit", "1\n"),
        ("sys/block/sdc/bdi/max_ratio", "1\n"),
    ];
    check(
        &files,
        "Dirty pages",
        &expect![[r#"
            Dirty pages: what waits to be written
              Flushers write above the background threshold; writers are slowed above the
              middle and wait at the limit.
                               background        throttled        limit
              0 ●───────────────────────┼────────────┼────────────┼─────────────────────────
                                 14.4 MiB        21.6 MiB         28.9 MiB
              dirty                            0 B
              under writeback                  0 B
              dirtyable memory             144 MiB  what the ratios are of
              background threshold        14.4 MiB  vm.dirty_background_ratio = 10
              dirty threshold             28.9 MiB  vm.dirty_ratio = 20
              device sdb                    5-20 %  of the limits is its part, strict_limit
              device sdc                       1 %  of the limits is its part at most

            Reclaim in pages, since boot

            LRU
              not in this capture: nothing below /sys/kernel/mm was given

            Recomputed from the kernel's inputs
              2 of 2 numbers equal the kernel's to the page
              None of them tests a rule: they are 0, or their ratio is their own.
        "#]],
    );
}
