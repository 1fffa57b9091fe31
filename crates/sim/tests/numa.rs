//! A machine of two nodes: the own node's memory first, then the other's, which takes longer.

mod common;

use common::*;
use mm::units::{Bytes, Nanos};
use mm::zoneinfo::{Zone, Zoneinfo};
use scenario::Scenario;
use scenario::machine::Cost;
use scenario::outcome::Outcome;
use scenario::workload::{Access, Action, Content, ContentShare, Huge, Map, Process, Start, Step};

/// Half a gigabyte on this many nodes, and a file that is read twice. The other node's pages take
/// half a microsecond longer.
fn twice(nodes: u32, mib: u64) -> Scenario {
    let read = |label| labelled(label, Action::Access(read(0)));
    let steps = vec![read("first"), read("second"), snapshot("end")];
    let mut scenario = scenario(&[mib], vec![process("reader", steps)]);
    scenario.machine.memory = Bytes(512 * MIB);
    scenario.machine.nodes = nodes;
    scenario.machine.costs = vec![Cost {
        name: "remote".to_owned(),
        picoseconds: 500_000,
    }];
    scenario
}

/// The zones at the end.
fn zones(scenario: &Scenario) -> Vec<Zone> {
    let [zones] = zones_at(scenario, ["end"]);
    zones
}

/// The zones at these snapshots.
fn zones_at<const N: usize>(scenario: &Scenario, labels: [&str; N]) -> [Vec<Zone>; N] {
    let capture = plimsoll_sim::run(scenario, &calibration()).expect("it runs");
    labels.map(|label| {
        let frame = capture.labelled(label).expect("a snapshot");
        let zones = Zoneinfo::parse(frame.file("proc/zoneinfo").expect("zoneinfo"));
        zones.expect("as the kernel writes it").zones
    })
}

fn seconds(scenario: &Scenario, scale: u64) -> f64 {
    let capture = plimsoll_sim::run_sampled(scenario, &calibration(), scale).expect("it runs");
    let outcome = Outcome::from_capture(capture).expect("its own notes are well-formed");
    one(&outcome, "second").duration().seconds()
}

#[test]
fn what_fits_the_own_node_costs_what_it_costs_on_one() {
    let (one, two) = (seconds(&twice(1, 200), 1), seconds(&twice(2, 200), 1));
    assert!((two / one - 1.0).abs() < 1e-3, "{two} s against {one} s");
}

#[test]
fn what_lies_on_the_other_node_takes_longer_page_by_page() {
    // The own node has 256 MiB, of which its low watermark, about 16 MiB here, stays free.
    let beyond = (400.0 - 256.0) * 256.0 * 500e-9;
    for scale in [1, 8] {
        let longer = seconds(&twice(2, 400), scale) - seconds(&twice(1, 400), scale);
        println!("scale {scale}: {longer} s longer, {beyond} s expected");
        assert!(
            longer > beyond && longer < beyond * 1.15,
            "{longer}, {beyond}"
        );
    }
}

fn on_node(node: u32) -> Step {
    step(Action::RunOnNode { node })
}

#[test]
fn a_task_that_goes_to_the_other_node_gets_that_nodes_memory_first() {
    let moved = |steps: Vec<Step>| {
        let mut scenario = twice(2, 100);
        scenario.workload.processes[0].steps.splice(1..1, steps);
        seconds(&scenario, 1)
    };
    let remote = 100.0 * 256.0 * 500e-9;
    let longer = moved(vec![on_node(0)]) - moved(vec![]);
    assert!((longer / remote - 1.0).abs() < 0.01, "{longer}, {remote}");
    let back = moved(vec![on_node(0), on_node(1)]) - moved(vec![]);
    assert!(back.abs() < 1e-4, "{back}");
    let mut there = twice(2, 200);
    there.workload.processes[0].steps.insert(0, on_node(0));
    let zones = zones(&there);
    let used = |node| {
        let of_node = zones.iter().filter(move |zone| zone.node == node);
        of_node
            .map(|zone| zone.managed.0 - zone.free.0)
            .sum::<u64>()
    };
    assert!(
        used(0) > 200 * 256 && used(1) < 30 * 256,
        "{}, {}",
        used(0),
        used(1)
    );
}

/// In a VM of 768 MiB on two nodes (6.1, 6.12) 30510 and 30062 of 61438 pages were on the writer's
/// node, which had 44992 and 44104 free pages left.
#[test]
fn pages_that_are_written_go_to_the_other_node_where_the_own_has_its_share_of_dirty_ones() {
    let write = Access {
        write_percent: 100,
        block: Bytes(1 << 16),
        ..read(0)
    };
    let settings = vec![
        setting("vm.dirty_ratio", "40"),
        setting("vm.dirty_background_ratio", "39"),
    ];
    let steps = vec![
        step(Action::Set(settings)),
        snapshot("begin"),
        step(Action::Access(write)),
        snapshot("end"),
    ];
    let mut scenario = scenario(&[240], vec![process("writer", steps)]);
    scenario.machine.memory = Bytes(768 * MIB);
    scenario.machine.nodes = 2;
    let own = zones_at(&scenario, ["begin", "end"]);
    let [begin, own] = own.map(|zones| zones.last().cloned().expect("a zone"));
    let used = begin.free.0 - own.free.0;
    // Two fifths of what may be dirty there: what was free but for the reserve, which is the high
    // watermark.
    let share = (begin.free.0 - own.watermarks.high.0) * 2 / 5;
    assert!((share..share * 21 / 20).contains(&used), "{used}, {share}");
}

#[test]
fn both_nodes_are_in_zoneinfo_and_their_pages_add_up() {
    let (one, two) = (zones(&twice(1, 10)), zones(&twice(2, 10)));
    let managed = |zones: &[Zone]| zones.iter().map(|zone| zone.managed.0).sum::<u64>();
    assert_eq!(managed(&one), managed(&two));
    let own = two.last().expect("a zone");
    assert_eq!((own.node, own.managed.0), (1, 65536));
    assert!(own.watermarks.low.0 > 0);
}

#[test]
fn a_third_node_and_a_machine_too_small_for_two_are_refused() {
    let error = |scenario: &Scenario| {
        plimsoll_sim::run(scenario, &calibration())
            .unwrap_err()
            .to_string()
    };
    assert!(error(&twice(3, 10)).contains("more than two NUMA nodes"));
    let mut small = twice(2, 10);
    small.machine.memory = Bytes(24 * MIB);
    assert!(error(&small).contains("24 MiB"));
    let mut elsewhere = twice(2, 10);
    elsewhere.workload.processes[0].steps.insert(0, on_node(2));
    assert!(error(&elsewhere).contains("NUMA node 2"));
}

/// A process that fills so much memory after a while, and keeps it. Its pages are those of the
/// others, where they may be merged.
fn tenant(name: &str, after: u64, mib: u64, mergeable: bool) -> Process {
    let class = "os".to_owned();
    let region = Map {
        region: "ram".to_owned(),
        size: Bytes(mib * MIB).into(),
        huge: Huge::Never,
        mergeable,
        populate: false,
        contents: vec![ContentShare {
            content: Content::Identical { class },
            percent: 100,
        }],
    };
    let fill = Access {
        write_percent: 100,
        ..touch("ram")
    };
    let steps = vec![
        step(Action::Map(region)),
        step(Action::Access(fill)),
        sleep(5000),
    ];
    Process {
        start: Start::After(Nanos(after * 1_000_000)),
        ..process(name, steps)
    }
}

/// Pages that are shared, and that share them, of two tenants each on its own node.
fn merged(across: &str) -> (u64, u64) {
    let settings = [
        ("ksm.merge_across_nodes", across),
        ("ksm.pages_to_scan", "100000"),
        ("ksm.run", "1"),
    ];
    let settings = settings.map(|(tunable, value)| setting(tunable, value));
    let administrator = process(
        "administrator",
        vec![
            sleep(2000),
            step(Action::Set(settings.to_vec())),
            sleep(2000),
            snapshot("merged"),
        ],
    );
    let processes = vec![
        tenant("first", 0, 64, true),
        tenant("filler", 500, 200, false),
        tenant("second", 1000, 64, true),
        administrator,
    ];
    let mut scenario = scenario(&[], processes);
    scenario.machine.memory = Bytes(512 * MIB);
    scenario.machine.nodes = 2;
    let mut machine = calibration();
    let files = &mut machine.boots[0].capture.frames[0].files;
    for (name, value) in [
        ("merge_across_nodes", "1"),
        ("pages_shared", "0"),
        ("pages_sharing", "0"),
        ("pages_to_scan", "100"),
        ("run", "0"),
    ] {
        let path = format!("sys/kernel/mm/ksm/{name}");
        files.insert(path, format!("{value}\n"));
    }
    let outcome = run_with(&scenario, &machine);
    let merged = outcome.capture.labelled("merged").expect("a snapshot");
    let count = |name: &str| {
        let text = merged.file(&format!("sys/kernel/mm/ksm/{name}"));
        let text = text.expect("the file is there").trim();
        text.parse::<u64>().expect("a number")
    };
    (count("pages_shared"), count("pages_sharing"))
}

/// As on 6.1 and 6.12 (docs/model.md, "NUMA").
#[test]
fn twins_on_two_nodes_merge_only_where_that_is_allowed() {
    let pages = 64 * MIB / 4096;
    assert_eq!(merged("1"), (pages, pages));
    assert_eq!(merged("0"), (0, 0));
}
