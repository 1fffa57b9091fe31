//! Samepage merging: what is recorded of it, and the daemon that an administrator runs beside it.

use std::fs;

use mm::capture::Frame;
use mm::units::Bytes;
use scenario::Scenario;
use scenario::outcome::UNAVAILABLE;
use scenario::workload::{Action, Daemon, Map, Start};

use crate::bench::*;

const SHARING: &str = "sys/kernel/mm/ksm/pages_sharing";

/// A bench whose kernel has samepage merging.
fn merging_bench() -> Bench {
    let bench = Bench::new();
    for (path, text) in [
        ("sys/kernel/mm/ksm/run", "0\n"),
        ("sys/kernel/mm/ksm/pages_to_scan", "100\n"),
        ("sys/kernel/mm/ksm/sleep_millisecs", "20\n"),
        (SHARING, "7\n"),
        ("proc/13/comm", "ksmd\n"),
        ("proc/13/schedstat", "8 0 1\n"),
        (
            "proc/meminfo",
            "MemTotal: 1000 kB\nMemFree: 9 kB\nMemAvailable: 8 kB\n",
        ),
        ("proc/vmstat", "pgsteal_kswapd 0\n"),
        (
            "proc/zoneinfo",
            "Node 0, zone DMA\n pages free 9\n min 1\n low 2\n high 3\n present 250\n",
        ),
        ("proc/sys/vm/watermark_scale_factor", "10\n"),
    ] {
        let path = bench.place.root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("a file");
    }
    bench
}

/// Something to do for a while beside a guest that is never started.
fn beside(mergeable: bool, action: Action) -> Scenario {
    let ram = Map {
        mergeable,
        ..map("ram", Bytes(4096))
    };
    let guest = process("guest", Start::OnDemand, vec![step(Action::Map(ram))]);
    let steps = vec![
        step(Action::Sleep(mm::units::Nanos(50 * MILLI))),
        step(action),
    ];
    scenario(vec![guest, at_once("administrator", steps)])
}

#[test]
fn samples_hold_the_counters_where_pages_are_offered_and_nowhere_else() {
    let samples = |mergeable: bool| {
        let outcome = merging_bench().run(&beside(mergeable, Action::Snapshot));
        let frames = outcome.capture.frames.into_iter();
        // Only snapshots hold settings.
        let is_sample = |frame: &Frame| frame.file("proc/sys/vm/swappiness").is_none();
        frames.filter(is_sample).collect::<Vec<_>>()
    };
    let offered = samples(true);
    assert!(!offered.is_empty());
    for frame in &offered {
        assert_eq!(frame.file(SHARING), Some("7\n"));
        assert_eq!(frame.file("proc/ksmd/schedstat"), Some("8 0 1\n"));
        assert_eq!(
            frame.file("sys/kernel/mm/ksm/run"),
            None,
            "it does not move"
        );
    }
    assert!(
        samples(false)
            .iter()
            .all(|frame| frame.file(SHARING).is_none())
    );
}

#[test]
fn ksmtuned_writes_what_it_decides_and_remembers_it() {
    let bench = merging_bench();
    let mut scenario = beside(true, Action::Daemon(Daemon::Ksmtuned));
    let administrator = &mut scenario.workload.processes[1];
    administrator
        .steps
        .push(step(Action::Daemon(Daemon::Ksmtuned)));
    let outcome = bench.run(&scenario);
    let last = outcome.capture.frames.last().expect("frames");
    let ksm = |file: &str| {
        last.file(&format!("sys/kernel/mm/ksm/{file}"))
            .map(str::trim)
    };
    assert_eq!(ksm("pages_to_scan"), Some("600"), "300 more, twice");
    assert_eq!(ksm("run"), Some("1"));
}

#[test]
fn a_kernel_without_merging_lacks_what_ksmtuned_sets() {
    let outcome = Bench::new().run(&beside(false, Action::Daemon(Daemon::Ksmtuned)));
    let mut frames = outcome.capture.frames.iter();
    let note = frames.find_map(|frame| frame.file(UNAVAILABLE));
    assert_eq!(
        note,
        Some("ksm.pages_to_scan\nksm.sleep_millisecs\nksm.run\n")
    );
}
