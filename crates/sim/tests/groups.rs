//! Control groups: who pays, what limits do, what protection keeps; the figures in the comments are
//! those of kernels 6.1 and 6.12 in a VM.

mod common;

use common::{
    MIB, OWN_PAGES, calibration, counter, labelled, map, milliseconds, on_demand, one, process,
    read, refusal, scenario, sleep, snapshot, start, statuses, step, touch, wait,
};
use mm::memcg::Memcg;
use mm::psi::{PATHS, Psi};
use mm::units::{Bytes, Nanos};
use scenario::Scenario;
use scenario::outcome::{Outcome, Status};
use scenario::workload::{Access, Action, Cgroup, Huge, Process, Step};

/// What a kernel with control groups shows beyond the made-up machine's files.
const VMSTAT: &str = "pgscan_direct 0\npgscan_file 0\n";
const PRESSURE: &str = "\
some avg10=0.00 avg60=0.00 avg300=0.00 total=0
full avg10=0.00 avg60=0.00 avg300=0.00 total=0
";
const MEMORY_STAT: &str = "\
anon 0
file 0
kernel 0
anon_thp 0
pgscan 0
pgsteal 0
pgscan_direct 0
pgfault 0
";

fn run(scenario: &Scenario) -> Outcome {
    let mut calibration = calibration();
    let files = &mut calibration.boots[0].capture.frames[0].files;
    files.insert("sys/fs/cgroup/memory.stat".into(), MEMORY_STAT.into());
    files
        .get_mut("proc/vmstat")
        .expect("it is there")
        .push_str(VMSTAT);
    let capture = plimsoll_sim::run(scenario, &calibration).expect("the model runs it");
    Outcome::from_capture(capture).expect("its own notes are well-formed")
}

fn cgroup(path: &str, files: &[(&str, &str)]) -> Cgroup {
    let files = files.iter().map(|(f, text)| ((*f).into(), (*text).into()));
    Cgroup {
        path: path.into(),
        files: files.collect(),
    }
}

fn in_group(group: &str, process: Process) -> Process {
    Process {
        cgroup: Some(group.to_owned()),
        ..process
    }
}

fn grouped(files: &[u64], cgroups: Vec<Cgroup>, processes: Vec<Process>) -> Scenario {
    let mut scenario = scenario(files, processes);
    scenario.workload.cgroups = cgroups;
    scenario
}

/// The files of a group at a snapshot.
fn group(outcome: &Outcome, snapshot: &str, path: &str) -> Memcg {
    let frame = outcome.capture.labelled(snapshot).expect("a snapshot");
    let mut memcg = Memcg::default();
    for (file, text) in &frame.files {
        if mm::memcg::group_of(file) == Some(path) {
            memcg.read(file, text).expect("the kernel's format");
        }
    }
    memcg
}

fn current(outcome: &Outcome, snapshot: &str, path: &str) -> u64 {
    let memcg = group(outcome, snapshot, path);
    memcg.current.expect("memory.current").0
}

fn stat(outcome: &Outcome, snapshot: &str, path: &str, item: &str) -> u64 {
    let memcg = group(outcome, snapshot, path);
    memcg.stat.and_then(|stat| stat.get(item)).expect("an item")
}

fn event(outcome: &Outcome, snapshot: &str, path: &str, item: &str) -> u64 {
    let memcg = group(outcome, snapshot, path);
    memcg.events.and_then(|e| e.get(item)).expect("an event")
}

/// Reads 24 MiB in a group with these files, then takes a snapshot "read".
fn reader(files: &[(&str, &str)], more: Vec<Step>) -> Outcome {
    let access = Access {
        block: Bytes(64 << 10),
        ..read(0)
    };
    let mut steps = vec![labelled("read", Action::Access(access)), snapshot("read")];
    steps.extend(more);
    let process = in_group("g", process("a", steps));
    run(&grouped(&[24], vec![cgroup("g", files)], vec![process]))
}

#[test]
fn a_reader_stays_within_its_groups_maximum_and_nobody_stalls_for_it() {
    let outcome = reader(&[("memory.max", "8M")], vec![]);
    assert!(current(&outcome, "read", "g") <= 8 * MIB);
    assert!(current(&outcome, "read", "g") > 7 * MIB);
    let scanned = stat(&outcome, "read", "g", "pgscan_direct");
    // 24 MiB less what the group holds; each charge at the limit reclaims 32 pages or more.
    assert!((4096..4400).contains(&scanned), "{scanned}");
    assert_eq!(scanned, stat(&outcome, "read", "g", "pgsteal"));
    let times = event(&outcome, "read", "g", "max");
    assert!((scanned / 64..=scanned / 32).contains(&times), "{times}");
    // The machine's counters tell the kind of page, and not that a task reclaimed.
    assert_eq!(counter(&outcome, "read", "pgscan_file"), scanned);
    assert_eq!(counter(&outcome, "read", "pgscan_direct"), 0);
    assert_eq!(counter(&outcome, "read", "allocstall_movable"), 0);
}

/// 300 MiB read twice within 64 MiB: 76800 refaults on 6.1, and 27648 on 6.12, where the group's
/// pages are those of the last flush.
#[test]
fn shadow_entries_beyond_an_eighth_of_the_groups_pages_are_dropped() {
    let refaults = |max: &str| {
        let steps = vec![
            step(Action::Access(read(0))),
            snapshot("once"),
            step(Action::Access(read(0))),
            snapshot("twice"),
        ];
        let process = in_group("g", process("a", steps));
        let groups = vec![cgroup("g", &[("memory.max", max)])];
        let outcome = run(&grouped(&[100], groups, vec![process]));
        let counter = |name| counter(&outcome, name, "workingset_refault_file");
        counter("twice") - counter("once")
    };
    assert_eq!(refaults("16M"), 100 * 256, "400 nodes, and 512 may be left");
    let few = refaults("1M");
    assert!(
        few < 100 * 256 * 3 / 4,
        "{few}: a batch of 128 nodes is gone"
    );
}

#[test]
fn above_the_high_limit_a_reader_reclaims_on_its_way_and_does_not_sleep() {
    let limited = reader(&[("memory.high", "8M")], vec![]);
    let free = reader(&[], vec![]);
    assert!(event(&limited, "read", "g", "high") > 30);
    assert_eq!(event(&limited, "read", "g", "max"), 0);
    let held = current(&limited, "read", "g");
    assert!((7 * MIB..8 * MIB + 512 * 1024).contains(&held), "{held}");
    let times = [&limited, &free].map(|outcome| milliseconds(one(outcome, "read")));
    assert!(times[0] < times[1] + times[1] / 10, "{times:?}");
}

#[test]
fn a_lowered_maximum_and_proactive_reclaim_act_at_once() {
    let set = |file: &str, text: &str| Action::SetCgroup {
        cgroup: "g".into(),
        file: (file.into(), text.into()),
    };
    let reclaim = Action::Reclaim {
        cgroup: "g".into(),
        amount: Bytes(MIB),
        swappiness: None,
    };
    let more = vec![
        labelled("reclaim", reclaim),
        snapshot("reclaimed"),
        labelled("lower", set("memory.max", "4M")),
        snapshot("lowered"),
    ];
    let outcome = reader(&[], more);
    let file = |snapshot| stat(&outcome, snapshot, "g", "file");
    assert_eq!(file("read"), 24 * MIB);
    let given = file("read") - file("reclaimed");
    assert!((MIB..MIB + MIB / 2).contains(&given), "{given}");
    assert!(current(&outcome, "lowered", "g") <= 4 * MIB);
    assert_eq!(event(&outcome, "lowered", "g", "oom"), 0);
    // A page takes 2 us or more.
    for (label, pages) in [("reclaim", given / 4096), ("lower", 4000)] {
        let took = one(&outcome, label).duration();
        assert!(
            took.0 > 2000 * pages,
            "{label} is over when it is done: {took}"
        );
    }
}

fn toucher(name: &str, mib: u64) -> Process {
    let steps = vec![
        map("heap", mib, Huge::Never),
        labelled(name, Action::Access(touch("heap"))),
        sleep(1000),
    ];
    process(name, steps)
}

#[test]
fn only_a_process_of_the_group_that_is_out_of_memory_is_killed() {
    let cgroups = vec![cgroup("g", &[("memory.max", "8M")])];
    let processes = vec![
        toucher("large", 20),
        in_group("g", toucher("small", 10)),
        process("observer", vec![sleep(900), snapshot("late")]),
    ];
    let outcome = run(&grouped(&[], cgroups, processes));
    assert_eq!(statuses(&outcome, "small"), [Status::Killed(9)]);
    assert_eq!(statuses(&outcome, "large"), [Status::Done]);
    let events = ["max", "oom", "oom_kill"].map(|item| event(&outcome, "late", "g", item));
    // 18 fruitless rounds, the kill, 17 more: as both kernels count.
    assert_eq!(events, [35, 1, 1]);
    assert_eq!(stat(&outcome, "late", "g", "anon"), 0);
}

#[test]
fn a_group_that_wants_it_is_killed_whole() {
    let files = [("memory.max", "8M"), ("memory.oom.group", "1")];
    let processes = vec![
        in_group("g", toucher("one", 6)),
        in_group("g", toucher("two", 6)),
        process("observer", vec![sleep(900), snapshot("late")]),
    ];
    let outcome = run(&grouped(&[], vec![cgroup("g", &files)], processes));
    // The one that had its memory and slept went with the one that found none.
    assert_eq!(statuses(&outcome, "two"), [Status::Killed(9)]);
    assert_eq!(stat(&outcome, "late", "g", "anon"), 0);
    let events = ["oom", "oom_kill", "oom_group_kill"];
    let events = events.map(|item| event(&outcome, "late", "g", item));
    assert_eq!(events, [1, 3, 1], "the first victim counts twice");
}

#[test]
fn anonymous_memory_above_the_high_limit_slows_its_task_down() {
    let outcome = run(&grouped(
        &[],
        vec![cgroup("g", &[("memory.high", "8M")])],
        vec![in_group("g", toucher("slow", 9))],
    ));
    // An eighth above: up to a second for each 64 pages.
    assert!(milliseconds(one(&outcome, "slow")) > 500);
    assert_eq!(counter(&outcome, "end", "oom_kill"), 0);
}

/// 20 MiB are read in a group with this file, then 200 MiB beside it; what the first one has left.
fn kept(file: &str, text: &str) -> (u64, Outcome) {
    let cgroups = vec![cgroup("kept", &[(file, text)]), cgroup("hog", &[])];
    let reader = |file, then| vec![step(Action::Access(read(file))), snapshot(then)];
    let mut first = reader(0, "one");
    first.extend([start("hog"), wait("hog")]);
    let processes = vec![
        in_group("kept", process("kept", first)),
        in_group("hog", on_demand("hog", reader(1, "two"))),
    ];
    let outcome = run(&grouped(&[20, 200], cgroups, processes));
    (stat(&outcome, "two", "kept", "file"), outcome)
}

#[test]
fn protected_page_cache_outlives_a_stream_beside_it() {
    let (bare, _) = kept("memory.low", "0");
    assert!(bare < 12 * MIB, "{bare}");
    for file in ["memory.low", "memory.min"] {
        let (protected, outcome) = kept(file, "15M");
        assert!((15 * MIB..18 * MIB).contains(&protected), "{protected}");
        assert_eq!(event(&outcome, "two", "kept", "low"), 0);
    }
}

/// Anonymous memory needs what a group keeps by this file.
fn pressed(file: &str) -> (u64, Outcome) {
    let cgroups = vec![cgroup("kept", &[(file, "32M")])];
    let first = vec![
        step(Action::Access(read(0))),
        start("hog"),
        wait("hog"),
        snapshot("two"),
    ];
    let processes = vec![
        in_group("kept", process("kept", first)),
        on_demand("hog", toucher("hog", 30).steps),
    ];
    let outcome = run(&grouped(&[24], cgroups, processes));
    (stat(&outcome, "two", "kept", "file"), outcome)
}

#[test]
fn a_low_limit_gives_way_before_a_process_is_killed_and_a_minimum_does_not() {
    let (low, outcome) = pressed("memory.low");
    assert!(low < 20 * MIB, "{low}");
    assert!(event(&outcome, "two", "kept", "low") > 0);
    assert_eq!(statuses(&outcome, "hog"), [Status::Done]);
    let (min, outcome) = pressed("memory.min");
    assert_eq!(min, 24 * MIB);
    assert_eq!(counter(&outcome, "end", "oom_kill"), 1);
}

#[test]
fn a_page_stays_with_the_group_that_read_it_first() {
    let reader = |name: &str| process(name, vec![step(Action::Access(read(0)))]);
    let mut second = reader("second");
    second.steps.insert(0, wait("first"));
    second.steps.push(snapshot("read"));
    let processes = vec![in_group("a", reader("first")), in_group("b", second)];
    let cgroups = vec![cgroup("a", &[]), cgroup("b", &[])];
    let outcome = run(&grouped(&[8], cgroups, processes));
    let file = |path| stat(&outcome, "read", path, "file");
    assert_eq!((file("a"), file("b")), (8 * MIB, 0));
    // 32 tree nodes of 584 bytes take five pages.
    assert_eq!(stat(&outcome, "read", "a", "kernel"), 5 * 4096);
}

#[test]
fn a_groups_process_gives_back_all_that_it_was_charged() {
    let steps = vec![
        map("heap", 4, Huge::System),
        step(Action::Access(touch("heap"))),
        snapshot("touched"),
        step(Action::Unmap {
            region: "heap".into(),
        }),
        snapshot("unmapped"),
    ];
    let outcome = run(&grouped(
        &[],
        vec![cgroup("a", &[]), cgroup("a/b", &[])],
        vec![in_group("a/b", process("p", steps))],
    ));
    assert_eq!(stat(&outcome, "touched", "a", "anon_thp"), 4 * MIB);
    assert!(current(&outcome, "touched", "a") >= 4 * MIB);
    let own = OWN_PAGES * 4096;
    assert_eq!(stat(&outcome, "unmapped", "a/b", "anon"), own);
    let stock = current(&outcome, "unmapped", "a/b");
    assert!(stock <= own + 64 * 4096, "{stock}");
}

#[test]
fn what_a_process_has_of_its_own_is_its_groups_and_goes_with_it() {
    let mut reads = read(0);
    reads.block = Bytes(64 << 10);
    let reader = vec![step(Action::Access(reads)), snapshot("read")];
    let watcher = vec![wait("reader"), snapshot("over")];
    let processes = vec![
        in_group("a", process("reader", reader)),
        process("watcher", watcher),
    ];
    let outcome = run(&grouped(&[1], vec![cgroup("a", &[])], processes));
    let buffer = 16;
    let anon = |snapshot| stat(&outcome, snapshot, "a", "anon") / 4096;
    assert_eq!((anon("read"), anon("over")), (OWN_PAGES + buffer, 0));
}

#[test]
fn a_huge_page_that_the_group_has_no_room_for_falls_back() {
    let steps = vec![
        map("heap", 2, Huge::System),
        step(Action::Access(Access {
            amount: Some(Bytes(MIB).into()),
            time_limit: Some(Nanos::SECOND),
            ..touch("heap")
        })),
        snapshot("touched"),
    ];
    let outcome = run(&grouped(
        &[],
        vec![cgroup("g", &[("memory.max", "1500K")])],
        vec![in_group("g", process("p", steps))],
    ));
    assert_eq!(counter(&outcome, "touched", "thp_fault_fallback"), 1);
    let own = OWN_PAGES * 4096;
    assert_eq!(stat(&outcome, "touched", "g", "anon"), own + MIB);
}

#[test]
fn what_names_no_group_or_no_file_of_one_is_refused_with_its_place() {
    let lost = in_group("nowhere", process("p", vec![sleep(1)]));
    let why = refusal(&grouped(&[], vec![], vec![lost]));
    assert_eq!(why, "process p: there is no control group nowhere");
    let bad = vec![cgroup("g", &[("memory.high", "8 MiB")])];
    let why = refusal(&grouped(&[], bad, vec![process("p", vec![sleep(1)])]));
    assert!(why.starts_with("g/memory.high = 8 MiB: expected"), "{why}");
}

/// How long some task stalled for memory in all, by the file of the machine or of a group.
fn pressure(scenario: &Scenario) -> impl Fn(&str) -> Nanos + use<> {
    let mut calibration = calibration();
    let files = &mut calibration.boots[0].capture.frames[0].files;
    files.insert("sys/fs/cgroup/memory.stat".into(), MEMORY_STAT.into());
    files.insert(PATHS[0].into(), PRESSURE.into());
    let capture = plimsoll_sim::run(scenario, &calibration).expect("the model runs it");
    move |path| {
        let frame = capture.frames.last().expect("a frame");
        let text = frame.file(path).expect("a pressure file");
        let psi = Psi::parse(path, text).expect("the kernel's format");
        psi.some.expect("a line").total
    }
}

#[test]
fn a_group_that_thrashes_shows_pressure_and_its_neighbour_none() {
    let cgroups = vec![
        cgroup("thrashes", &[("memory.max", "4M")]),
        cgroup("idle", &[]),
    ];
    let twice = vec![step(Action::Access(read(0))), step(Action::Access(read(0)))];
    let processes = vec![
        in_group("thrashes", process("reader", twice)),
        in_group("idle", process("sleeper", vec![sleep(100)])),
    ];
    let some = pressure(&grouped(&[20], cgroups, processes));
    let group = |name: &str| some(&format!("sys/fs/cgroup/{name}/memory.pressure"));
    assert!(group("thrashes") > Nanos(10_000_000));
    assert!(group("thrashes") <= some(PATHS[0]), "the system has it too");
    assert_eq!(group("idle"), Nanos::ZERO);
}

#[test]
fn what_is_reclaimed_on_order_is_no_pressure() {
    let lower = Action::SetCgroup {
        cgroup: "g".into(),
        file: ("memory.max".into(), "4M".into()),
    };
    let reclaim = Action::Reclaim {
        cgroup: "g".into(),
        amount: Bytes(8 * MIB),
        swappiness: None,
    };
    let steps = vec![step(Action::Access(read(0))), step(reclaim), step(lower)];
    let processes = vec![in_group("g", process("reader", steps))];
    let some = pressure(&grouped(&[20], vec![cgroup("g", &[])], processes));
    assert_eq!(some("sys/fs/cgroup/g/memory.pressure"), Nanos::ZERO);
}
