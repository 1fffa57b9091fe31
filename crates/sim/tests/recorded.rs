//! Recordings done again: the same figures as the same accesses written as steps, and the same bytes
//! twice.

#[path = "recorded/classes.rs"]
mod classes;
mod common;
#[path = "recorded/sampled.rs"]
mod sampled;
#[path = "recorded/waits.rs"]
mod waits;

use std::sync::Arc;

use common::*;
use mm::capture::Capture;
use mm::meminfo::Meminfo;
use mm::units::{Bytes, Nanos};
use proptest::prelude::*;
use scenario::Scenario;
use scenario::access::{Operations, Tables, blocks, extent, favourites, stream};
use scenario::outcome::Outcome;
use scenario::recording::{Kind, Part, Recorded, Recording, Run, Writer};
use scenario::workload::{Access, Action, Huge, Pace, Pattern, Replay, Step, Target, Via};

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

fn recorded(sizes: &[u64], runs: &[Run]) -> Arc<Recorded> {
    streams(sizes, &[runs])
}

fn streams(sizes: &[u64], all: &[&[Run]]) -> Arc<Recorded> {
    let stored = |bytes: &[u8]| bytes.to_vec();
    let mut writer = Writer::new("", &stored);
    for &size in sizes {
        writer.file(Bytes(size));
    }
    for (number, runs) in (0..).zip(all) {
        runs.iter().for_each(|run| writer.run(number, run));
    }
    let read = Recording::read(&writer.take(Part::All), &|_, _| None).expect("a recording");
    assert_eq!(read.cut, None);
    Arc::new(read.recorded)
}

/// A process that does these runs again, on files of these sizes in bytes.
fn replayed(sizes: &[u64], runs: &[Run], replay: Replay) -> Scenario {
    let steps = vec![labelled("replay", Action::Replay(replay)), snapshot("end")];
    let mut scenario = scenario(&[], vec![process("a", steps)]);
    scenario.machine.recorded_on = Some("disk".to_owned());
    scenario.recorded = recorded(sizes, runs);
    scenario
}

fn seconds(scenario: &Scenario) -> f64 {
    let outcome = run(scenario);
    let step = outcome.labelled("replay").next().expect("it ran");
    step.duration().seconds()
}

fn operations(scenario: &Scenario) -> u64 {
    let outcome = run(scenario);
    outcome
        .labelled("replay")
        .next()
        .expect("it ran")
        .operations
}

/// The order in which a step does its operations, as a recorder sees them.
fn seen(access: &Access, size: Bytes, count: u64, kinds: [Kind; 2]) -> Vec<Run> {
    let favourites = favourites(1, "a", &access.target);
    let blocks = blocks(size, access.block);
    let prng = stream(1, "a", "0");
    let mut operations = Operations::new(access, blocks, prng, favourites, &mut Tables::default());
    let run = |_| {
        let operation = operations.next_operation();
        let (offset, length) = extent(operation.block, size, access.block);
        let kind = kinds[usize::from(operation.write)];
        Run {
            kind,
            offset,
            length,
            ..RUN
        }
    };
    (0..count).map(run).collect()
}

/// Files of the scenario as steps name them, and as a recording numbers them, lie on the same disk
/// in the same order; without the bench's own pages nothing else differs.
fn same_as_steps(access: &Access, count: u64, kinds: [Kind; 2]) {
    let size = Bytes(96 * MIB);
    let steps = vec![
        labelled("replay", Action::Access(access.clone())),
        snapshot("end"),
    ];
    let as_steps = scenario(&[96], vec![process("a", steps)]);
    let runs = seen(access, size, count, kinds);
    let again = replayed(&[size.0], &runs, REPLAY);
    let [as_steps, again] = [as_steps, again].map(|scenario| {
        let capture = plimsoll_sim::run_unmeasured(&scenario, &calibration());
        capture.expect("the model runs it")
    });
    let file = |capture: &Capture, path: &str| {
        let end = capture.labelled("end").expect("the snapshot");
        end.file(path).expect(path).to_owned()
    };
    for path in ["proc/vmstat", "proc/meminfo", "proc/diskstats"] {
        assert_eq!(file(&as_steps, path), file(&again, path), "{access:?}");
    }
}

#[test]
fn a_stream_yields_what_the_same_accesses_written_as_steps_do() {
    let count = 3000;
    let small = Access {
        amount: Some(Bytes(count * 4096).into()),
        block: Bytes(4096),
        ..read(0)
    };
    let random = Access {
        pattern: Pattern::Random,
        ..small.clone()
    };
    let zipf = Pattern::Zipf {
        exponent_milli: 900,
    };
    same_as_steps(&small, count, [Kind::Read; 2]);
    same_as_steps(&random, count, [Kind::Read; 2]);
    same_as_steps(
        &Access {
            pattern: zipf,
            ..small.clone()
        },
        count,
        [Kind::Read; 2],
    );
    let large = Access {
        amount: Some(Bytes(96 * MIB).into()),
        ..read(0)
    };
    same_as_steps(&large, 96 * 8, [Kind::Read; 2]);
    let mixed = Access {
        write_percent: 30,
        ..random.clone()
    };
    same_as_steps(&mixed, count, [Kind::Read, Kind::Write]);
    let mapped = Access {
        via: Via::Mmap,
        ..mixed
    };
    same_as_steps(&mapped, count, [Kind::Load, Kind::Store]);
}

#[test]
fn cpu_time_and_sleep_of_a_run_come_before_it() {
    let runs = |compute, sleep, took| -> Vec<Run> {
        let run = Run {
            compute: Nanos(compute),
            sleep: Nanos(sleep),
            took: Nanos(took),
            ..RUN
        };
        vec![run; 100]
    };
    let of = |runs: &[Run], replay| seconds(&replayed(&[MIB], runs, replay));
    let closed = of(&runs(0, 0, 0), REPLAY);
    let computing = of(&runs(10_000_000, 0, 0), REPLAY);
    assert!(
        (0.99..1.02).contains(&(computing - closed)),
        "{computing} after {closed}"
    );
    let sleeping = of(&runs(0, 10_000_000, 50_000_000), REPLAY);
    assert!(
        (0.99..1.02).contains(&(sleeping - closed)),
        "{sleeping} after {closed}"
    );
    let clock = Replay {
        pace: Pace::Clock,
        ..REPLAY
    };
    let by_clock = of(&runs(1_000_000, 4_000_000, 5_000_000), clock);
    assert!((0.99..1.02).contains(&by_clock), "{by_clock}");
    let faster = Replay {
        compute: Some(Nanos(5_000_000)),
        ..REPLAY
    };
    let other = of(&runs(10_000_000, 0, 0), faster);
    assert!(
        (0.49..0.52).contains(&(other - closed)),
        "{other} after {closed}"
    );
}

#[test]
fn a_step_that_computes_takes_that_much_longer() {
    let steps = |compute| {
        let access = Access {
            block: Bytes(4096),
            compute: Nanos(compute),
            ..read(0)
        };
        let steps = vec![labelled("replay", Action::Access(access)), snapshot("end")];
        seconds(&scenario(&[1], vec![process("a", steps)]))
    };
    let longer = steps(10_000_000) - steps(0);
    assert!((2.54..2.57).contains(&longer), "{longer} s for 256 pages");
}

#[test]
fn a_part_of_a_stream_is_that_part() {
    let runs = vec![
        Run {
            compute: Nanos(1_000_000),
            ..RUN
        };
        100
    ];
    let of = |replay| operations(&replayed(&[MIB], &runs, replay));
    assert_eq!(of(REPLAY), 100);
    assert_eq!(of(Replay { skip: 30, ..REPLAY }), 70);
    assert_eq!(
        of(Replay {
            skip: 30,
            runs: Some(20),
            ..REPLAY
        }),
        20
    );
    assert_eq!(
        of(Replay {
            skip: 300,
            ..REPLAY
        }),
        0
    );
    let limited = of(Replay {
        time_limit: Some(Nanos(50_000_000)),
        ..REPLAY
    });
    assert!((40..52).contains(&limited), "{limited}");
}

fn cached(scenario: &Scenario) -> u64 {
    pages(&run(scenario), "Cached")
}

/// What `/proc/meminfo` says at the end, in pages.
fn pages(outcome: &Outcome, key: &str) -> u64 {
    let end = outcome.capture.labelled("end").expect("the snapshot");
    let meminfo = Meminfo::parse(end.file("proc/meminfo").expect("meminfo")).expect("it parses");
    meminfo.get(key).expect(key).0 / 4
}

#[test]
fn files_grow_shrink_and_are_dropped() {
    let write = Run {
        kind: Kind::Write,
        offset: 4 * MIB,
        length: 2 * MIB,
        ..RUN
    };
    let read = Run {
        length: 8 * MIB,
        ..RUN
    };
    let of = |runs: &[Run]| cached(&replayed(&[4 * MIB], runs, REPLAY));
    let empty = of(&[Run {
        kind: Kind::Open,
        ..RUN
    }]);
    assert_eq!(of(&[read]) - empty, 1024, "no more than there is");
    assert_eq!(of(&[write, read]) - empty, 1536);
    let shorter = Run {
        kind: Kind::Truncate,
        offset: MIB,
        ..RUN
    };
    assert_eq!(
        of(&[write, read, shorter]) - empty,
        256,
        "dirty pages go too"
    );
    assert_eq!(of(&[shorter, read]) - empty, 256);
    let longer = Run {
        kind: Kind::Truncate,
        offset: 64 * MIB,
        ..RUN
    };
    assert_eq!(of(&[longer, read]) - empty, 1024, "it makes no file longer");
    let sync = Run {
        kind: Kind::Sync,
        ..RUN
    };
    let drop = |offset, length| Run {
        kind: Kind::DontNeed,
        offset,
        length,
        ..RUN
    };
    assert_eq!(
        of(&[write, read, drop(0, 0)]) - empty,
        512,
        "dirty pages stay"
    );
    assert_eq!(of(&[write, read, sync, drop(0, 0)]) - empty, 0);
    assert_eq!(of(&[read, drop(100, 10)]) - empty, 1024, "no whole page");
    assert_eq!(of(&[read, drop(100, 10_000)]) - empty, 1023);
    assert_eq!(of(&[read, drop(MIB, 100 * MIB)]) - empty, 256);
}

#[test]
fn what_is_not_there_is_named() {
    let refused = |scenario: &Scenario| {
        let refused = plimsoll_sim::run(scenario, &calibration());
        refused.expect_err("it is refused").to_string()
    };
    let scenario = || replayed(&[MIB], &[RUN], REPLAY);
    let mut nowhere = scenario();
    nowhere.machine.recorded_on = None;
    let expected = "process a: there is no disk for the files of the recording";
    assert_eq!(refused(&nowhere), expected);
    let mut lost = scenario();
    lost.machine.recorded_on = Some("tape".to_owned());
    assert_eq!(
        refused(&lost),
        "file 0 of the recording: there is no disk tape"
    );
    let other = replayed(
        &[MIB],
        &[RUN],
        Replay {
            stream: 7,
            ..REPLAY
        },
    );
    assert_eq!(refused(&other), "process a: there is no stream 7");
    let part = Replay {
        runs: Some(1),
        ..REPLAY
    };
    let sampled = plimsoll_sim::run_sampled(&replayed(&[MIB], &[RUN], part), &calibration(), 8);
    let refused = sampled.expect_err("runs are counted").to_string();
    assert!(refused.contains("a part of a recording"), "{refused}");
}

#[test]
fn a_machine_has_what_is_available_and_no_less_than_that_will_do() {
    let available = |mib| {
        let mut scenario = scenario(&[], vec![process("a", vec![snapshot("end")])]);
        scenario.machine.available = Some(Bytes(mib * MIB));
        plimsoll_sim::run(&scenario, &calibration())
    };
    let capture = available(20).expect("it has more");
    let outcome = Outcome::from_capture(capture).expect("an outcome");
    let left = pages(&outcome, "MemAvailable") >> 8;
    assert!(
        (17..=20).contains(&left),
        "{left} MiB, the process's own taken off"
    );
    let refused = available(60).expect_err("it has less").to_string();
    assert!(
        refused.ends_with("`available` is 60 MiB; give it more memory"),
        "{refused}"
    );
}

#[test]
fn a_populated_region_is_there_before_it_is_touched() {
    let rss = |populate| {
        let Action::Map(map) = map("heap", 8, Huge::Never).action else {
            panic!("it maps");
        };
        let map = scenario::workload::Map { populate, ..map };
        let steps: Vec<Step> = vec![step(Action::Map(map)), snapshot("end")];
        pages(&run(&scenario(&[], vec![process("a", steps)])), "AnonPages")
    };
    assert_eq!(rss(true) - rss(false), 8 << 8);
}

prop_compose! {
    fn any_run()(
        kind in 0..8_usize,
        file in 0..3_u32,
        offset in 0..20 * MIB,
        length in prop_oneof![0..10_000_u64, Just(4096), 0..3 * MIB],
        times in (0..50_000_u64, prop_oneof![4 => Just(0), 1 => 0..3_000_000_u64], 0..90_000_u64),
        aligned in any::<bool>(),
    ) -> Run {
        // The file that is mapped keeps its size.
        let kind = match (Kind::ALL[kind], file) {
            (Kind::Load | Kind::Store, 1..) => Kind::Read,
            (Kind::Write | Kind::Truncate, 0) => Kind::Store,
            (kind, _) => kind,
        };
        let whole = |n: u64| if aligned { n & !4095 } else { n };
        let (offset, length) = match kind.has_range() {
            true => (whole(offset), whole(length)),
            false => (0, 0),
        };
        let [compute, sleep, took] = [times.0, times.1, times.2].map(Nanos);
        Run { compute, sleep, took, kind, file, offset, length }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_stream_ends_keeps_every_page_and_repeats_to_the_byte(
        runs in prop::collection::vec(any_run(), 1..120),
        sizes in (0..60 * MIB, 0..30 * MIB, 0..MIB),
        pace in prop_oneof![Just(Pace::Closed), Just(Pace::Clock)],
    ) {
        let sizes = [sizes.0, sizes.1, sizes.2];
        let mut scenario = replayed(&sizes, &runs, Replay { pace, ..REPLAY });
        scenario.sample_every = Nanos(20_000_000);
        scenario.workload.processes[0].count = 2;
        let run = || plimsoll_sim::run(&scenario, &calibration()).expect("the model runs it");
        let capture = run();
        prop_assert_eq!(&run().to_text(), &capture.to_text());
        let outcome = Outcome::from_capture(capture).expect("an outcome");
        let done: Vec<u64> = outcome.labelled("replay").map(|step| step.operations).collect();
        prop_assert_eq!(done, vec![runs.len() as u64; 2]);
    }
}

/// A target's pages are those of the file, whatever it is called.
#[test]
fn a_recorded_file_is_no_file_that_a_step_can_name() {
    let mut scenario = replayed(&[MIB], &[RUN], REPLAY);
    let named = Access {
        target: Target::File(scenario::recording::file_name(0)),
        ..read(0)
    };
    scenario.workload.processes[0]
        .steps
        .push(step(Action::Access(named)));
    let refused = plimsoll_sim::run(&scenario, &calibration()).expect_err("it has no name");
    assert!(
        refused
            .to_string()
            .contains("there is no file recorded-0000000"),
        "{refused}"
    );
}
