//! Recordings done again with real system calls.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use mm::units::{Bytes, Nanos};
use scenario::outcome::{Outcome, Status};
use scenario::recording::{Kind, Part, Recording, Run, Writer, file_name};
use scenario::workload::{Access, Action, Pace, Process, Replay};

use crate::bench::*;

const REPLAY: Replay = Replay {
    stream: 0,
    skip: 0,
    runs: None,
    pace: Pace::Closed,
    compute: None,
    time_limit: None,
};

const RUN: Run = Run {
    compute: Nanos::ZERO,
    sleep: Nanos::ZERO,
    took: Nanos::ZERO,
    kind: Kind::Read,
    file: 0,
    offset: 0,
    length: 4096,
};

/// Does these runs again, on files 0 and 1 of 100 000 bytes and none.
fn replay(bench: &Bench, runs: &[Run], replay: Replay) -> Outcome {
    let steps = vec![labelled("replay", Action::Replay(replay))];
    streams(bench, &[runs], vec![at_once("a", steps)])
}

fn streams(bench: &Bench, all: &[&[Run]], processes: Vec<Process>) -> Outcome {
    let stored = |bytes: &[u8]| bytes.to_vec();
    let mut writer = Writer::new("", &stored);
    for (number, size) in [(0, 100_000), (1, 0)] {
        writer.file(Bytes(size as u64));
        fs::write(path(bench, number), vec![7; size]).expect("a file");
    }
    for (number, runs) in (0..).zip(all) {
        runs.iter().for_each(|run| writer.run(number, run));
    }
    let read = Recording::read(&writer.take(Part::All), &|_, _| None).expect("a recording");
    let mut scenario = scenario(processes);
    scenario.machine.recorded_on = Some("disk".into());
    scenario.recorded = Arc::new(read.recorded);
    bench.run(&scenario)
}

fn path(bench: &Bench, number: u32) -> PathBuf {
    bench.directory.path().join("disk").join(file_name(number))
}

#[test]
fn every_kind_of_run_is_performed_and_counted() {
    let bench = Bench::new();
    let of = |kind, file, offset, length| Run {
        kind,
        file,
        offset,
        length,
        ..RUN
    };
    let runs = [
        of(Kind::Open, 0, 0, 0),
        of(Kind::Read, 0, 98_000, 4096),
        of(Kind::Load, 0, 0, 200_000),
        of(Kind::Store, 0, 99_000, 500),
        of(Kind::Load, 1, 0, 4096),
        of(Kind::Write, 1, 1000, 3000),
        of(Kind::Sync, 1, 0, 0),
        of(Kind::DontNeed, 1, 0, 0),
        of(Kind::Truncate, 1, 5000, 0),
        of(Kind::Truncate, 1, 2000, 0),
    ];
    let outcome = replay(&bench, &runs, REPLAY);
    let step = only(&outcome, "replay");
    assert_eq!(step.status, Status::Done);
    assert_eq!(step.operations, 10);
    assert_eq!(step.bytes, Bytes(2000 + 100_000 + 500 + 3000));
    let lengths = [0, 1].map(|number| fs::read(path(&bench, number)).expect("a file").len());
    assert_eq!(lengths, [100_000, 2000]);
}

#[test]
fn a_stream_ends_with_its_runs_its_part_or_its_time() {
    let bench = Bench::new();
    let runs = [Run {
        sleep: Nanos(20 * MILLI),
        ..RUN
    }; 10];
    let of = |replay_of| only(&replay(&bench, &runs, replay_of), "replay").operations;
    assert_eq!(of(REPLAY), 10);
    let (skip, part) = (4, Some(3));
    assert_eq!(of(Replay { skip, ..REPLAY }), 6);
    let runs = part;
    assert_eq!(
        of(Replay {
            skip,
            runs,
            ..REPLAY
        }),
        3
    );
    let time_limit = Some(Nanos(50 * MILLI));
    assert!(
        of(Replay {
            time_limit,
            ..REPLAY
        }) <= 3
    );
}

#[test]
fn by_the_clock_a_run_is_due_when_it_was() {
    let bench = Bench::new();
    let runs = [Run {
        sleep: Nanos(10 * MILLI),
        took: Nanos(10 * MILLI),
        ..RUN
    }; 10];
    let pace = Pace::Clock;
    let outcome = replay(&bench, &runs, Replay { pace, ..REPLAY });
    assert!(only(&outcome, "replay").duration() >= Nanos(200 * MILLI));
}

#[test]
fn a_step_computes_between_its_operations() {
    let bench = Bench::new();
    let took = |compute| {
        let access = Access {
            compute,
            ..file("data")
        };
        let steps = vec![labelled("read", Action::Access(access))];
        let outcome = bench.run(&scenario(vec![at_once("a", steps)]));
        only(&outcome, "read").duration()
    };
    let longer = took(Nanos(MILLI));
    // 74 blocks. The loop's speed was measured once; another process may slow it down since.
    assert!(longer >= Nanos(30 * MILLI), "{longer}");
    assert!(took(Nanos::ZERO) < longer);
}

#[test]
fn a_populated_region_is_mapped_and_usable() {
    let bench = Bench::new();
    let mut map = map("heap", Bytes(1 << 20));
    map.populate = true;
    let steps = vec![
        step(Action::Map(map)),
        labelled("touch", Action::Access(region("heap"))),
    ];
    let outcome = bench.run(&scenario(vec![at_once("a", steps)]));
    assert_eq!(only(&outcome, "touch").bytes, Bytes(1 << 20));
}

#[test]
fn a_stream_waits_for_another_that_goes_or_ended() {
    let bench = Bench::new();
    // Long enough for both to have begun, however busy the machine.
    let slow = Run {
        sleep: Nanos(400 * MILLI),
        kind: Kind::Wake,
        length: 0,
        ..RUN
    };
    // It slept for hours.
    let wait = |stream, wakes| Run {
        sleep: Nanos(1 << 44),
        kind: Kind::Wait,
        file: stream,
        offset: wakes,
        length: 0,
        ..RUN
    };
    let of = |stream: u32| {
        let name = ["one", "other"][stream as usize];
        let replay = Replay { stream, ..REPLAY };
        at_once(name, vec![labelled(name, Action::Replay(replay))])
    };
    // The one is there before it is waited for.
    let other = [
        Run {
            kind: Kind::Read,
            ..slow
        },
        wait(0, 2),
        wait(0, 9),
    ];
    let outcome = streams(&bench, &[&[slow, slow], &other], vec![of(0), of(1)]);
    let (one, other) = (only(&outcome, "one"), only(&outcome, "other"));
    assert!(
        other.end >= one.start + Nanos(800 * MILLI),
        "{one:?} {other:?}"
    );
    let circle: [&[Run]; 2] = [&[wait(1, 1), slow], &[wait(0, 1), slow]];
    let outcome = streams(&bench, &circle, vec![of(0), of(1)]);
    assert_eq!(only(&outcome, "one").status, Status::Done);
}
