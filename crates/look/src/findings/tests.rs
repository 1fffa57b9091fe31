//! Each rule on the smallest evidence that triggers it, and on the one beside it that does not.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::*;
use crate::interval::Interval;
use mm::capture::Frame;
use mm::snapshot::Snapshot;
use mm::units::Nanos;

/// The sections that every page has, in order.
const SECTIONS: [&str; 5] = ["What", "Why", "Helps", "Does not help", "Sources"];

#[test]
fn every_finding_has_a_name_of_the_vocabulary_and_a_page_and_there_are_no_others() {
    let names: BTreeSet<String> = table::ROWS.iter().map(|row| row.name.to_owned()).collect();
    assert_eq!(names.len(), table::ROWS.len(), "a name stands once");
    for name in &names {
        assert!(mm::findings::kind(name).is_some(), "{name}");
    }
    let pages = fs::read_dir(testkit::checkout("docs/findings")).expect("the folder");
    let stem = |path: PathBuf| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
    };
    let pages = pages.filter_map(|page| stem(page.expect("an entry").path()));
    assert_eq!(pages.collect::<BTreeSet<_>>(), names);
}

#[test]
fn a_page_has_its_name_its_severity_and_every_section() {
    table::ROWS
        .iter()
        .for_each(|row| row.entry().check(&SECTIONS));
}

#[test]
fn the_document_lists_every_finding_as_it_is() {
    let document = fs::read_to_string(testkit::checkout("docs/findings.md")).expect("the document");
    let listed = document.lines().filter(|line| line.starts_with("| ["));
    let expected: Vec<String> = table::ROWS
        .iter()
        .map(|row| row.entry().row("findings"))
        .collect();
    assert_eq!(listed.collect::<Vec<_>>(), expected);
}

/// No rule concludes anything of nothing, and each says what it lacks.
#[test]
fn of_no_evidence_every_rule_says_what_it_lacks() {
    let nothing = found(&[]);
    assert_eq!(nothing.findings, []);
    assert_eq!(nothing.absent, [""; 0]);
    let rules = table::ROWS.iter().filter(|row| row.rule.is_some()).count();
    assert_eq!(nothing.without.values().map(Vec::len).sum::<usize>(), rules);
}

fn frame(at: u64, files: &[(&str, &str)]) -> Frame {
    let files = files
        .iter()
        .map(|&(path, text)| (path.to_owned(), text.to_owned()));
    Frame {
        at: Nanos(at * Nanos::SECOND.0),
        label: None,
        files: files.collect(),
    }
}

fn found(files: &[(&str, &str)]) -> Findings {
    let frame = frame(1, files);
    let snapshot = Snapshot::parse(&frame);
    Findings::of(&Looked::new(&frame, &snapshot, None))
}

fn names_between(before: &[(&str, &str)], now: &[(&str, &str)]) -> Vec<&'static str> {
    let (before, frame) = (Snapshot::parse(&frame(1, before)), frame(2, now));
    let now = Snapshot::parse(&frame);
    let interval = Interval::between(&before, &now);
    Findings::of(&Looked::new(&frame, &now, interval.as_ref())).names()
}

fn names(files: &[(&str, &str)]) -> Vec<&'static str> {
    names_between(files, files)
}

fn meminfo(text: &str) -> Vec<&'static str> {
    names(&[("proc/meminfo", text)])
}

#[test]
fn an_idle_machine_has_no_finding_and_says_what_was_not_there() {
    let findings = found(&[("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 800 kB\n")]);
    assert_eq!(findings.findings, []);
    assert!(findings.absent.contains(&"available-low"));
    assert!(!findings.without.contains_key("/proc/meminfo"));
    assert!(findings.without["/proc/zoneinfo"].contains(&"node-below-low"));
}

#[test]
fn little_available_memory_is_found_by_its_share() {
    assert_eq!(
        meminfo("MemTotal: 1000 kB\nMemAvailable: 19 kB\n"),
        ["available-low"]
    );
    assert_eq!(meminfo("MemTotal: 1000 kB\nMemAvailable: 50 kB\n"), [""; 0]);
}

#[test]
fn full_swap_is_found_and_absent_swap_is_not() {
    assert_eq!(
        meminfo("SwapTotal: 1000 kB\nSwapFree: 99 kB\n"),
        ["swap-full"]
    );
    assert_eq!(meminfo("SwapTotal: 1000 kB\nSwapFree: 100 kB\n"), [""; 0]);
    assert_eq!(meminfo("SwapTotal: 0 kB\nSwapFree: 0 kB\n"), [""; 0]);
}

/// 262144 pages of 4 KiB are a GiB, from which on an amount is told without MemTotal.
#[test]
fn slab_is_found_by_vmstat_alone() {
    let with = |pages: u64| {
        let text = format!("nr_free_pages 1000\nnr_slab_unreclaimable {pages}\n");
        names(&[("proc/vmstat", &text)])
    };
    assert_eq!(with(262_144), ["slab-unreclaimable-large"]);
    assert_eq!(with(262_143), [""; 0]);
    let meminfo = ("proc/meminfo", "MemTotal: 4000000 kB\nSUnreclaim: 8 kB\n");
    let vmstat = ("proc/vmstat", "nr_slab_unreclaimable 300000\n");
    assert_eq!(names(&[meminfo, vmstat]), [""; 0], "meminfo comes first");
}

#[test]
fn free_swap_that_swappiness_keeps_from_use_is_found() {
    let text = "MemTotal: 1000 kB\nMemAvailable: 60 kB\nSwapTotal: 1000 kB\nSwapFree: 900 kB\n";
    let with = |value| {
        let swappiness = ("proc/sys/vm/swappiness", value);
        names(&[("proc/meminfo", text), swappiness])
    };
    assert_eq!(with("0\n"), ["swap-not-used"]);
    assert_eq!(with("1\n"), [""; 0]);
}

#[test]
fn a_node_that_is_short_beside_a_free_one_is_found() {
    let zone = |node: u32, free: u64, file: u64| {
        format!(
            "Node {node}, zone   Normal\n  per-node stats\n      nr_inactive_file {file}\n      \
             nr_active_file 0\n  pages free     {free}\n        min      10\n        low      12\n        \
             high     14\n        spanned  1000\n        present  1000\n        managed  1000\n        \
             protection: (0, 0)\n"
        )
    };
    let with = |file| {
        let text = zone(0, 600, 10) + &zone(1, 50, file);
        names(&[("proc/zoneinfo", &text)])
    };
    assert_eq!(with(40), ["node-imbalance"]);
    assert_eq!(with(60), [""; 0]);
}

#[test]
fn waits_for_disks_are_a_note() {
    let psi = |some| {
        let text = format!(
            "some avg10={some} avg60=0.00 avg300=0.00 total=0\n\
             full avg10=1.00 avg60=0.00 avg300=0.00 total=0\n"
        );
        names(&[("proc/pressure/io", &text)])
    };
    assert_eq!(psi("20.00"), ["io-pressure"]);
    assert_eq!(psi("19.99"), [""; 0]);
}

#[test]
fn vmalloc_counts_as_pages_from_4_4_on() {
    let meminfo = (
        "proc/meminfo",
        "MemTotal: 1000 kB\nVmallocUsed: 160 kB\nKernelStack: 10 kB\n",
    );
    let on = |release| names(&[meminfo, ("proc/sys/kernel/osrelease", release)]);
    assert_eq!(on("4.4.0\n"), ["vmalloc-large"]);
    assert_eq!(on("4.3.0\n"), [""; 0]);
}

#[test]
fn what_holds_memory_is_found() {
    let pool = "MemTotal: 100000 kB\nHugePages_Total: 10\nHugePages_Free: 8\nHugePages_Rsvd: 5\n\
                Hugepagesize: 2048 kB\n";
    assert_eq!(meminfo(pool), ["huge-pages-idle"]);
    assert_eq!(meminfo(&pool.replace("Rsvd: 5", "Rsvd: 6")), [""; 0]);
    assert_eq!(
        meminfo("MemTotal: 100 kB\nSUnreclaim: 15 kB\n"),
        ["slab-unreclaimable-large"]
    );
    assert_eq!(
        meminfo("MemTotal: 100 kB\nPageTables: 5 kB\n"),
        ["page-tables-large"]
    );
    assert_eq!(
        meminfo("MemTotal: 100 kB\nShmem: 25 kB\n"),
        ["shared-memory-large"]
    );
}

#[test]
fn nodes_are_compared_by_their_meminfo_where_no_zones_are_there() {
    let node = |node: u32, free: u32, file: &str| {
        let total = 100_000;
        format!("Node {node} MemTotal: {total} kB\nNode {node} MemFree: {free} kB\n{file}")
    };
    let lists = "Node 0 Active(file): 500 kB\nNode 0 Inactive(file): 500 kB\n";
    let others = lists.replace("Node 0", "Node 1");
    let with = |first: &str, second: &str| {
        found(&[
            ("sys/devices/system/node/node0/meminfo", first),
            ("sys/devices/system/node/node1/meminfo", second),
        ])
    };
    let rules = Findings::names;
    let imbalance = with(&node(0, 100, lists), &node(1, 50_000, &others));
    assert_eq!(rules(&imbalance), ["node-imbalance"]);
    let cache = lists.replace("500", "20000");
    assert_eq!(
        rules(&with(&node(0, 100, &cache), &node(1, 50_000, &others))),
        [""; 0]
    );
    let unknown = with(&node(0, 100, ""), &node(1, 50_000, ""));
    assert_eq!(rules(&unknown), [""; 0]);
    let lacks = "page cache of the nodes (numastat -m)";
    assert!(
        unknown.without[lacks].contains(&"node-imbalance"),
        "{:?}",
        unknown.without
    );
}

#[test]
fn the_areas_of_swap_alone_say_that_it_is_full() {
    let swaps = |name: &str, used: u32| {
        format!("Filename\tType\tSize\tUsed\tPriority\n/dev/{name} partition 1000 {used} 5\n")
    };
    let with = |name, used| names(&[("proc/swaps", &swaps(name, used))]);
    assert_eq!(with("sda2", 950), ["swap-full"]);
    assert_eq!(with("zram0", 950), ["zram-full"]);
    assert_eq!(with("zram0", 100), [""; 0]);
}

#[test]
fn zramctl_alone_says_what_zram_holds() {
    let table = |data| {
        format!(
            "NAME       ALGORITHM DISKSIZE DATA COMPR TOTAL STREAMS MOUNTPOINT\n\
             /dev/zram0 lzo-rle       7.7G {data}  3.9G  4.1G       8 [SWAP]\n"
        )
    };
    let tool = format!("{}zramctl", evidence::TOOLS);
    assert_eq!(names(&[(&tool, &table("7.6G"))]), ["zram-full"]);
    let total = ("proc/meminfo", "MemTotal: 16000000 kB\n");
    assert_eq!(names(&[(&tool, &table("3.6G")), total]), ["zram-holds"]);
}

#[test]
fn a_group_at_its_limit_is_found_without_a_count_of_hits() {
    let group = |used: &str, more: &[(&str, &str)]| {
        let files = [
            ("sys/fs/cgroup/a/memory.current", used),
            ("sys/fs/cgroup/a/memory.max", "1000000\n"),
        ];
        names(&[&files, more].concat())
    };
    assert_eq!(group("990000\n", &[]), ["group-limit"]);
    assert_eq!(group("900000\n", &[]), [""; 0]);
    let events = "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n";
    let never = [("sys/fs/cgroup/a/memory.events", events)];
    assert_eq!(group("990000\n", &never), [""; 0]);
    let stat = "cache 60000\nrss 930000\nhierarchical_memory_limit 1000000\n";
    let old = "sys/fs/cgroup/memory/a/memory.stat";
    assert_eq!(names(&[(old, stat)]), ["group-limit"]);
}

#[test]
fn a_commit_limit_binds_under_strict_overcommit_only() {
    let text = "CommitLimit: 100 kB\nCommitted_AS: 95 kB\n";
    let with = |mode| {
        names(&[
            ("proc/meminfo", text),
            ("proc/sys/vm/overcommit_memory", mode),
        ])
    };
    assert_eq!(with("2\n"), ["commit-limit"]);
    assert_eq!(with("0\n"), [""; 0]);
}

#[test]
fn kills_and_swapping_both_ways_are_critical_while_they_happen() {
    let vmstat =
        |kills, read, written| format!("oom_kill {kills}\npswpin {read}\npswpout {written}\n");
    let between = |before: String, now: String| {
        names_between(&[("proc/vmstat", &before)], &[("proc/vmstat", &now)])
    };
    assert_eq!(
        between(vmstat(0, 0, 0), vmstat(1, 0, 0)),
        ["oom-kills-counted"]
    );
    assert_eq!(
        between(vmstat(0, 0, 0), vmstat(0, 9999, 9999)),
        ["thrashing-anonymous-pages"]
    );
    assert_eq!(
        between(vmstat(0, 0, 0), vmstat(0, 9999, 0)),
        [""; 0],
        "one way is no thrashing"
    );
}

#[test]
fn pressure_counts_from_a_tenth_of_the_time() {
    let psi = |some: &str, full: &str| {
        let line =
            |name: &str, avg: &str| format!("{name} avg10={avg} avg60=0.00 avg300=0.00 total=5\n");
        let text = line("some", some) + &line("full", full);
        names(&[("proc/pressure/memory", &text)])
    };
    assert_eq!(psi("10.00", "0.00"), ["memory-pressure"]);
    assert_eq!(psi("9.99", "9.99"), [""; 0]);
}

#[test]
fn a_group_at_its_limit_and_one_whose_protection_is_taken_are_named() {
    let limit = [
        ("sys/fs/cgroup/a/memory.current", "1000000"),
        ("sys/fs/cgroup/a/memory.max", "1000000"),
        ("sys/fs/cgroup/a/memory.events", "max 7\noom_kill 2\n"),
    ];
    assert_eq!(names(&limit), ["group-limit", "group-kills-counted"]);
    let protected = [
        ("sys/fs/cgroup/a/memory.current", "8388608"),
        ("sys/fs/cgroup/a/memory.low", "0"),
        ("sys/fs/cgroup/a/b/memory.current", "8388608"),
        ("sys/fs/cgroup/a/b/memory.low", "4194304"),
    ];
    assert_eq!(names(&protected), ["protection-taken"]);
}

#[test]
fn forks_that_a_group_may_not_have_are_found() {
    let with = |events| {
        let files = [
            ("sys/fs/cgroup/a/pids.max", "20\n"),
            ("sys/fs/cgroup/a/pids.events", events),
        ];
        names(&files)
    };
    assert_eq!(with("max 31\n"), ["group-pids-limit"]);
    assert_eq!(with("max 0\n"), [""; 0]);
}

#[test]
fn full_swap_on_zram_alone_has_a_name_of_its_own() {
    let with = |path: &str| {
        let swaps = format!(
            "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n{path} partition 1000 950 -2\n"
        );
        names(&[
            ("proc/meminfo", "SwapTotal: 1000 kB\nSwapFree: 50 kB\n"),
            ("proc/swaps", &swaps),
        ])
    };
    assert_eq!(with("/dev/zram0"), ["zram-full"]);
    assert_eq!(with("/dev/sda2"), ["swap-full"]);
}

#[test]
fn what_zram_takes_is_found_by_its_share() {
    let with = |used: u64| {
        let stat = format!("4096 1024 {used} 0 0 0 0 0\n");
        names(&[
            ("proc/meminfo", "MemTotal: 1000 kB\n"),
            ("sys/block/zram0/mm_stat", &stat),
        ])
    };
    assert_eq!(with(150 << 10), ["zram-holds"]);
    assert_eq!(with(149 << 10), [""; 0]);
}

#[test]
fn compaction_in_vain_is_a_storm_from_twenty_a_second_on() {
    let between = |stalls: u64, failed: u64| {
        let vmstat = format!("compact_stall {stalls}\ncompact_fail {failed}\n");
        let before = "compact_stall 0\ncompact_fail 0\n";
        names_between(&[("proc/vmstat", before)], &[("proc/vmstat", &vmstat)])
    };
    assert_eq!(between(20, 10), ["compaction-storm"]);
    assert_eq!(between(19, 19), [""; 0]);
    assert_eq!(between(20, 9), [""; 0]);
}

#[test]
fn page_cache_that_is_read_again_as_a_whole_is_thrashing() {
    let between = |refaults: u64| {
        let vmstat = |refaults: u64| {
            format!(
                "workingset_restore_file 0\nworkingset_refault_file {refaults}\n\
                 nr_active_file 1000\nnr_inactive_file 1000\n"
            )
        };
        let (before, now) = (vmstat(0), vmstat(refaults));
        names_between(&[("proc/vmstat", &before)], &[("proc/vmstat", &now)])
    };
    assert_eq!(between(2000), ["thrashing-file-pages"]);
    assert_eq!(between(1999), [""; 0]);
}

#[test]
fn a_device_with_half_a_minute_to_write_is_a_backlog() {
    let with = |written: u64| {
        let stats = "BdiWriteback: 30720 kB\nBdiReclaimable: 0 kB\nBdiDirtyThresh: 90000 kB\n\
                     DirtyThresh: 90000 kB\nBdiWritten: 4 kB\nBdiWriteBandwidth: 102400 kBps\n";
        let disk = format!("8 0 sda 1 0 8 1 1 0 {written} 1 0 {written} 1\n");
        names_between(
            &[
                ("proc/vmstat", "nr_dirty 0\n"),
                ("proc/diskstats", "8 0 sda 1 0 8 1 1 0 0 1 0 0 1\n"),
            ],
            &[
                ("proc/vmstat", "nr_dirty 0\n"),
                ("proc/diskstats", &disk),
                ("sys/kernel/debug/bdi/8:0/stats", stats),
            ],
        )
    };
    // 30 MiB, at a MiB a second (2048 sectors) and a little more.
    assert_eq!(with(2048), ["flush-backlog"]);
    assert_eq!(with(2100), [""; 0]);
}

#[test]
fn a_group_that_reads_again_beside_a_protected_one_starves() {
    let with = |low: &str| {
        let group = |refaulted| {
            [
                ("proc/meminfo", "MemTotal: 1000000 kB\n"),
                ("proc/vmstat", "nr_dirty 0\n"),
                ("sys/fs/cgroup/db/memory.low", low),
                ("sys/fs/cgroup/db/memory.current", "512000000\n"),
                ("sys/fs/cgroup/batch/memory.low", "0\n"),
                ("sys/fs/cgroup/batch/memory.current", "4096\n"),
                ("sys/fs/cgroup/batch/memory.stat", refaulted),
            ]
        };
        names_between(
            &group("file 4096\nworkingset_refault_file 0\n"),
            &group("file 4096\nworkingset_refault_file 1024\n"),
        )
    };
    assert_eq!(with("512000000\n"), ["group-protection-starves"]);
    assert_eq!(with("51200000\n"), [""; 0]);
}

#[test]
fn the_worst_come_first() {
    let text = "MemTotal: 1000 kB\nShmem: 250 kB\nPageTables: 50 kB\nMemAvailable: 1 kB\n";
    assert_eq!(
        meminfo(text),
        ["available-low", "page-tables-large", "shared-memory-large"]
    );
}

#[test]
fn what_a_groups_files_do_not_tell_is_not_said_to_be_absent() {
    let stat = (
        "sys/fs/cgroup/a/memory.stat",
        "anon 4096\nslab_reclaimable 8192\n",
    );
    let nothing = found(&[stat]);
    assert_eq!(nothing.absent, [""; 0]);
    assert!(nothing.without.contains_key("memory.max"));
    let max = ("sys/fs/cgroup/a/memory.max", "max\n");
    let asked = found(&[stat, max]);
    assert_eq!(asked.absent, ["group-limit"]);
}

#[test]
fn the_cache_of_zfs_is_named_where_it_is_much() {
    let arc = |size: u64| {
        let stats = format!("name type data\nc_min 4 4194304\nsize 4 {size}\n");
        let memory = ("proc/meminfo", "MemTotal: 4194304 kB\n");
        let frame = frame(0, &[("proc/spl/kstat/zfs/arcstats", &stats), memory]);
        capacity::arc(&Looked::new(&frame, &Snapshot::parse(&frame), None))
    };
    let said = format!("{:?}", arc(1 << 30).expect("a quarter"));
    assert!(
        said.contains("holds 1 GiB (25%)") && said.contains("4 MiB"),
        "{said}"
    );
    assert_eq!(arc(1 << 28), None);
}
