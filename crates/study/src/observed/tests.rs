//! Tests of the study that a recorded load becomes.

use std::collections::BTreeMap;

use mm::units::Pages;
use scenario::machine::SwapBacking;
use scenario::recording::{Kind, Part, Run, Writer};
use scenario::workload::{Action, Class};

use super::*;
use crate::fitted::{DiskKind, SwapAtHand};
use crate::recording::{self, pack};

/// Two streams of one read each, and what was cached, on a machine of 2 GiB.
fn recorded() -> Study {
    with_memory(&[], None)
}

/// The same, with anonymous memory whose ages were read, and swap.
fn with_memory(memory: &[LoadMemory], swap: Option<SwapAtHand>) -> Study {
    let run = Run {
        compute: Nanos::ZERO,
        sleep: Nanos::ZERO,
        took: Nanos::ZERO,
        kind: Kind::Read,
        file: 0,
        offset: 0,
        length: 4096,
    };
    let at_hand = AtHand {
        memory: Some(Bytes(2 << 30)),
        cpus: Some(2),
        disk: Some(DiskKind::Nvme),
        swap,
        ..AtHand::default()
    };
    let observed = Observed {
        kernel: "6.12.1 \"x\"".to_owned(),
        time: Nanos::SECOND,
        by: "filemap_read".to_owned(),
        lost: 3,
        passed_over: 0,
        of_unknown_groups: 2,
        read_in: Bytes(4096),
        reclaimed: Some(Bytes(0)),
        used: BTreeMap::from([("a \"b's\"/c".to_owned(), Bytes(1 << 20))]),
        ages: Some("by lru_gen".to_owned()),
        harm: Some("tasks waited for memory".to_owned()),
        scale: 4,
        seen: Some(Seen {
            reads: 5,
            read: Bytes(1 << 20),
            writes: 6,
            written: Bytes(4096),
        }),
        writers: vec![by_tuned()],
    };
    let stream = |program: &str, group: &str| LoadStream {
        program: program.to_owned(),
        group: group.to_owned(),
        runs: 1,
    };
    let load = Load {
        name: "web",
        at_hand: &at_hand,
        available: Bytes(1 << 30),
        request: Some((Nanos(500_000), Bytes(50_000))),
        observed: &observed,
        cached_by: &[(String::new(), 1), ("a \"b's\"".to_owned(), 1)],
        streams: &[
            stream("cc1/\"", "a \"b's\"/c"),
            stream("kworker/u8:1", "a \"b's\""),
        ],
        memory,
        settles: Nanos(64_000_000_000),
        files: Bytes(4096),
        written: Bytes(0),
    };
    let mut writer = Writer::new(&load.text(), &pack);
    writer.file(Bytes(4096));
    for stream in [0, 0, 1, 2] {
        writer.run(stream, &run);
    }
    let (text, recording) = recording::read(&writer.take(Part::All)).expect("a recording");
    Study::parse_with(&text, "web.rec", recording).expect("a study")
}

/// A name may hold anything.
fn by_tuned() -> Written {
    Written {
        tunable: "vm.swappiness".to_owned(),
        program: "tuned \"x.y\"".to_owned(),
        times: 2,
    }
}

#[test]
fn a_load_that_was_seen_is_a_study_of_its_machine() {
    let study = recorded();
    let machine = &study.arms[0].machine;
    assert_eq!((machine.memory, machine.cpus), (Bytes(2 << 30), 2));
    assert_eq!(machine.available, Some(Bytes(1 << 30)));
    // 500 us a request, of which 50 kB at 2 GB/s take 25.
    let latency = machine.disks[0].latency;
    assert_eq!(latency, Nanos(475_000));
    let observed = study.observed.expect("how it was recorded");
    assert_eq!(observed.kernel, "6.12.1 \"x\"");
    assert_eq!((observed.lost, observed.read_in), (3, Bytes(4096)));
    assert_eq!(observed.reclaimed, Some(Bytes(0)));
    assert_eq!(observed.of_unknown_groups, 2);
    assert_eq!(observed.used["a \"b's\"/c"], Bytes(1 << 20));
    assert_eq!(observed.harm.as_deref(), Some("tasks waited for memory"));
    assert_eq!(observed.writers, [by_tuned()]);
    assert_eq!((observed.scale, study.recorded.recorded.level), (4, 2));
}

#[test]
fn tasks_are_in_their_groups_and_so_is_what_was_cached() {
    let workload = &recorded().arms[0].workload;
    let paths: Vec<&str> = workload.cgroups.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["a \"b's\"", "a \"b's\"/c", "a \"b's\"/tasks"]);
    let placed = workload.processes.iter();
    let placed: Vec<_> = placed
        .map(|it| (it.name.as_str(), it.cgroup.as_deref()))
        .collect();
    let expected = [
        ("all", None),
        ("0 cached before", None),
        ("0 cached before 2", Some("a \"b's\"/tasks")),
        ("1 cc1", Some("a \"b's\"/c")),
        ("2 kworkeru8:1", Some("a \"b's\"/tasks")),
    ];
    assert_eq!(placed, expected);
}

#[test]
fn a_title_that_is_shown_in_a_line_is_short() {
    let study = recorded();
    let text = study.text.replace("A load", &"long ".repeat(1000));
    let refused = Study::parse_with(&text, "web.rec", study.recorded);
    let error = refused.expect_err("a title of 5000 bytes");
    let wanted = "`title` in the study is longer than 300 bytes";
    assert_eq!(error.what, wanted);
}

#[test]
fn with_less_memory_what_is_used_stays_used() {
    let half = AtHand {
        memory: Some(Bytes(1536 << 20)),
        ..AtHand::default()
    };
    let study = recorded().on(&half).expect("it fits");
    assert_eq!(study.arms[0].machine.available, Some(Bytes(528 << 20)));
    let none = AtHand {
        memory: Some(Bytes(512 << 20)),
        ..AtHand::default()
    };
    let double = AtHand {
        memory: Some(Bytes(4 << 30)),
        ..AtHand::default()
    };
    let study = recorded().on(&double).expect("it fits");
    let available = study.arms[0].machine.available;
    assert_eq!(
        available,
        Some(Bytes(3008 << 20)),
        "the kernel takes its part"
    );
    let refused = recorded()
        .on(&none)
        .expect_err("nothing would be available");
    assert!(refused.what.contains("used"), "{refused}");
}

/// Of a group of the load 40,000 pages, some of which are used, and of another 500 that are not.
fn memory() -> [LoadMemory; 2] {
    let class = |rate_micro, pages| Class { rate_micro, pages };
    let of = |group: &str, pages, classes: &[Class]| LoadMemory {
        group: group.to_owned(),
        pages: Pages(pages),
        classes: classes.to_vec(),
    };
    let used = [class(16_000_000, 1000), class(15_625, 3000)];
    [of("a \"b's\"/c", 40_000, &used), of("mail", 500, &[])]
}

#[test]
fn memory_is_there_before_the_run_and_used_until_its_end() {
    let study = with_memory(&memory(), None);
    let workload = &study.arms[0].workload;
    let first = &workload.processes[0];
    assert_eq!(first.name, "0 memory 1");
    assert_eq!(first.cgroup.as_deref(), Some("a \"b's\"/c"));
    let touches = first.steps.iter().filter_map(|step| match &step.action {
        Action::Access(access) => Some(access),
        _ => None,
    });
    let [fill, touch] = &touches.collect::<Vec<_>>()[..] else {
        panic!("it is filled, then used");
    };
    assert_eq!(
        (fill.write_percent, fill.amount, fill.time_limit),
        (100, None, None)
    );
    assert_eq!((touch.blocks, touch.rate), (161, 100), "16,046 a second");
    assert_eq!(touch.classes, memory()[0].classes);
    let starts = |name: &str| {
        let process = workload.processes.iter().find(|it| it.name == name);
        let steps = process.expect(name).steps.iter();
        let started = steps.filter_map(|step| match &step.action {
            Action::Start { process } => Some(process.clone()),
            _ => None,
        });
        started.collect::<Vec<String>>()
    };
    assert_eq!(starts("0 memory 1"), ["0 memory 2"]);
    assert_eq!(starts("0 memory 2"), ["all"]);
    let all = workload.processes.iter().find(|it| it.name == "all");
    let last = all.expect("it runs").steps.iter().rev().take(2);
    let killed = |it: &&scenario::workload::Step| matches!(it.action, Action::Kill { .. });
    assert_eq!(last.filter(killed).count(), 2);
}

#[test]
fn a_recorded_machine_gets_the_swap_that_is_asked_for() {
    let swaps = |study: &Study| {
        let swaps = study.arms[0].machine.swaps.iter();
        let swaps = swaps.map(|it| (it.size, matches!(it.backing, SwapBacking::Disk(_))));
        swaps.collect::<Vec<_>>()
    };
    let on = |study: &Study, swap| {
        let at_hand = AtHand {
            swap: Some(swap),
            ..AtHand::default()
        };
        study.on(&at_hand).expect("it fits")
    };
    let size = Bytes(1 << 30);
    let none = with_memory(&memory(), Some(SwapAtHand::None));
    let disk = with_memory(&memory(), Some(SwapAtHand::Disk(size)));
    assert_eq!((swaps(&none), swaps(&disk)), (vec![], vec![(size, true)]));
    for study in [&none, &disk] {
        let double = Bytes(2 << 30);
        assert_eq!(swaps(&on(study, SwapAtHand::Zram(size))), [(size, false)]);
        assert_eq!(
            swaps(&on(study, SwapAtHand::Disk(double))),
            [(double, true)]
        );
        assert_eq!(swaps(&on(study, SwapAtHand::None)), []);
    }
}
