//! Each rule on the smallest evidence that triggers it, and on the one beside it that does not.

use super::*;
use crate::view::interval::Interval;
use mm::capture::Frame;
use mm::units::Nanos;

fn snapshot(at: u64, files: &[(&str, &str)]) -> Snapshot {
    let files = files
        .iter()
        .map(|&(path, text)| (path.to_owned(), text.to_owned()));
    Snapshot::parse(&Frame {
        at: Nanos(at * Nanos::SECOND.0),
        label: None,
        files: files.collect(),
    })
}

fn ids_between(before: &[(&str, &str)], now: &[(&str, &str)]) -> Vec<&'static str> {
    let (before, now) = (snapshot(1, before), snapshot(2, now));
    let interval = Interval::between(&before, &now);
    let looked = Looked {
        snapshot: &now,
        interval: interval.as_ref(),
    };
    let findings = Findings::of(&looked).findings;
    findings.iter().map(|finding| finding.id).collect()
}

fn ids(files: &[(&str, &str)]) -> Vec<&'static str> {
    ids_between(files, files)
}

fn meminfo(text: &str) -> Vec<&'static str> {
    ids(&[("proc/meminfo", text)])
}

#[test]
fn an_idle_machine_has_no_finding_and_says_what_was_not_there() {
    let idle = snapshot(
        1,
        &[("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 800 kB\n")],
    );
    let looked = Looked {
        snapshot: &idle,
        interval: None,
    };
    let findings = Findings::of(&looked);
    assert_eq!(findings.findings, []);
    assert!(!findings.without.iter().any(|path| path == "/proc/meminfo"));
    assert!(findings.without.iter().any(|path| path == "/proc/zoneinfo"));
}

#[test]
fn little_available_memory_is_found_by_its_share() {
    assert_eq!(
        meminfo("MemTotal: 1000 kB\nMemAvailable: 19 kB\n"),
        ["available_low"]
    );
    assert_eq!(meminfo("MemTotal: 1000 kB\nMemAvailable: 50 kB\n"), [""; 0]);
}

#[test]
fn full_swap_is_found_and_absent_swap_is_not() {
    assert_eq!(
        meminfo("SwapTotal: 1000 kB\nSwapFree: 99 kB\n"),
        ["swap_full"]
    );
    assert_eq!(meminfo("SwapTotal: 1000 kB\nSwapFree: 100 kB\n"), [""; 0]);
    assert_eq!(meminfo("SwapTotal: 0 kB\nSwapFree: 0 kB\n"), [""; 0]);
}

#[test]
fn what_holds_memory_is_found() {
    let pool = "MemTotal: 100000 kB\nHugePages_Total: 10\nHugePages_Free: 8\nHugePages_Rsvd: 5\n\
                Hugepagesize: 2048 kB\n";
    assert_eq!(meminfo(pool), ["huge_pages_idle"]);
    assert_eq!(meminfo(&pool.replace("Rsvd: 5", "Rsvd: 6")), [""; 0]);
    assert_eq!(
        meminfo("MemTotal: 100 kB\nSUnreclaim: 15 kB\n"),
        ["slab_unreclaimable"]
    );
    assert_eq!(
        meminfo("MemTotal: 100 kB\nPageTables: 5 kB\n"),
        ["page_tables"]
    );
    assert_eq!(
        meminfo("MemTotal: 100 kB\nShmem: 25 kB\n"),
        ["shared_memory"]
    );
}

#[test]
fn a_commit_limit_binds_under_strict_overcommit_only() {
    let text = "CommitLimit: 100 kB\nCommitted_AS: 95 kB\n";
    let with = |mode| {
        ids(&[
            ("proc/meminfo", text),
            ("proc/sys/vm/overcommit_memory", mode),
        ])
    };
    assert_eq!(with("2\n"), ["commit_limit"]);
    assert_eq!(with("0\n"), [""; 0]);
}

#[test]
fn kills_and_swapping_both_ways_are_critical_while_they_happen() {
    let vmstat =
        |kills, read, written| format!("oom_kill {kills}\npswpin {read}\npswpout {written}\n");
    let between = |before: String, now: String| {
        ids_between(&[("proc/vmstat", &before)], &[("proc/vmstat", &now)])
    };
    assert_eq!(between(vmstat(0, 0, 0), vmstat(1, 0, 0)), ["oom_kill"]);
    assert_eq!(
        between(vmstat(0, 0, 0), vmstat(0, 9999, 9999)),
        ["swap_thrashing"]
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
        ids(&[("proc/pressure/memory", &text)])
    };
    assert_eq!(psi("10.00", "0.00"), ["memory_pressure"]);
    assert_eq!(psi("9.99", "9.99"), [""; 0]);
}

#[test]
fn a_group_at_its_limit_and_one_whose_protection_is_taken_are_named() {
    let limit = [
        ("sys/fs/cgroup/a/memory.current", "1000000"),
        ("sys/fs/cgroup/a/memory.max", "1000000"),
        ("sys/fs/cgroup/a/memory.events", "max 7\noom_kill 2\n"),
    ];
    assert_eq!(ids(&limit), ["group_oom_kill", "group_at_limit"]);
    let protected = [
        ("sys/fs/cgroup/a/memory.current", "8388608"),
        ("sys/fs/cgroup/a/memory.low", "0"),
        ("sys/fs/cgroup/a/b/memory.current", "8388608"),
        ("sys/fs/cgroup/a/b/memory.low", "4194304"),
    ];
    assert_eq!(ids(&protected), ["protection_taken"]);
}

#[test]
fn the_worst_come_first() {
    let text = "MemTotal: 1000 kB\nShmem: 250 kB\nPageTables: 50 kB\nMemAvailable: 1 kB\n";
    assert_eq!(
        meminfo(text),
        ["available_low", "page_tables", "shared_memory"]
    );
}
