//! Small workloads with real processes on this machine.

use std::fs;

use crate::bench::*;
use mm::units::{Bytes, Nanos};
use plimsoll_guest as guest;
use scenario::outcome::FAILED;
use scenario::outcome::{PROGRESS, Status};
use scenario::workload::{
    Access, Action, Advice, Content, ContentShare, Map, Pattern, Start, Target, Think, Until, Via,
};

#[test]
fn a_file_is_read_to_its_end_by_every_way() {
    let bench = Bench::new();
    let by = |via| {
        Action::Access(Access {
            via,
            block: Bytes(64 << 10),
            ..file("data")
        })
    };
    let steps = vec![
        labelled("call", by(Via::Syscall)),
        labelled("map", by(Via::Mmap)),
        step(Action::Snapshot),
    ];
    let outcome = bench.run(&scenario(vec![at_once("reader", steps)]));
    for label in ["call", "map"] {
        let step = only(&outcome, label);
        assert_eq!(step.status, Status::Done);
        assert_eq!(
            (step.operations, step.bytes),
            (5, Bytes(FILE)),
            "the last block is short"
        );
        assert!(step.start <= step.end);
        assert!(step.latency.p50 > Nanos::ZERO && step.latency.p50 <= step.latency.max);
    }
    assert!(outcome.steps[0].end <= outcome.steps[1].start);
}

#[test]
fn writes_go_to_the_file_and_not_beyond_its_end() {
    let bench = Bench::new();
    let write = Access {
        write_percent: 100,
        block: Bytes(65536),
        ..file("data")
    };
    let steps = vec![
        labelled("write", Action::Access(write)),
        labelled(
            "sync",
            Action::Sync {
                file: "data".into(),
            },
        ),
    ];
    let outcome = bench.run(&scenario(vec![at_once("writer", steps)]));
    assert_eq!(only(&outcome, "write").bytes, Bytes(FILE));
    assert_eq!(only(&outcome, "sync").status, Status::Done);
    let data = fs::read(bench.directory.path().join("disk/data")).expect("a file");
    assert_eq!(data.len() as u64, FILE);
    assert!(data.iter().all(|&byte| byte == 0), "the buffer's bytes");
}

#[test]
fn a_region_is_touched_page_by_page_and_counts_nested_labels() {
    let bench = Bench::new();
    let size = Bytes(1 << 20);
    let touch = Access {
        write_percent: 100,
        ..region("heap")
    };
    let scan = Access {
        pattern: Pattern::Random,
        amount: Some(Bytes(1 << 18).into()),
        ..region("heap")
    };
    let steps = vec![
        step(Action::Map(map("heap", size))),
        labelled(
            "all",
            Action::Repeat {
                until: Until::Times(3),
                steps: vec![
                    labelled("fill", Action::Access(touch)),
                    labelled("scan", Action::Access(scan)),
                ],
            },
        ),
        step(Action::Unmap {
            region: "heap".into(),
        }),
    ];
    let outcome = bench.run(&scenario(vec![at_once("toucher", steps)]));
    assert_eq!(outcome.labelled("fill").count(), 3, "one outcome a round");
    assert!(outcome.labelled("fill").all(|step| step.operations == 256));
    assert!(
        outcome
            .labelled("scan")
            .all(|step| step.bytes == Bytes(1 << 18))
    );
    let all = only(&outcome, "all");
    assert_eq!(all.operations, 3 * (256 + 64));
    let longest = outcome.steps.iter().map(|step| step.latency.max).max();
    assert_eq!(
        Some(all.latency.max),
        longest,
        "a step contains the steps inside it"
    );
    assert!(all.latency.p50 > Nanos::ZERO);
}

#[test]
fn a_process_that_a_signal_ends_leaves_its_step_killed() {
    let bench = Bench::new();
    let beyond = Access {
        via: Via::Mmap,
        ..file("short")
    };
    let steps = vec![
        labelled("fault", Action::Access(beyond)),
        labelled("never", Action::DropCaches),
    ];
    let outcome = bench.run(&scenario(vec![at_once("victim", steps)]));
    let step = only(&outcome, "fault");
    assert_eq!(
        step.status,
        Status::Killed(7),
        "SIGBUS beyond the file's end"
    );
    assert_eq!(step.operations, 1, "what it had done before");
    assert_eq!(outcome.labelled("never").count(), 0);
}

#[test]
fn a_failing_call_ends_step_and_process() {
    let bench = Bench::new();
    let steps = vec![
        labelled("open", Action::Access(file("missing"))),
        labelled("never", Action::Sleep(Nanos(1))),
    ];
    let short = vec![step(Action::Access(file("short")))];
    let outcome = bench.run(&scenario(vec![
        at_once("opener", steps),
        at_once("reader", short),
    ]));
    assert_eq!(only(&outcome, "open").status, Status::Failed(2));
    assert_eq!(outcome.labelled("never").count(), 0);
    let last = outcome.capture.frames.last().expect("frames");
    let failed = last.file(FAILED).expect("the note");
    assert!(failed.contains("opener\t0\tNo such file"), "{failed}");
    assert!(
        failed.contains("reader\t0\tNo data available"),
        "a file too short: {failed}"
    );
    assert_eq!(last.file(guest::ERROR), None);
}

#[test]
fn a_process_runs_on_the_cpus_of_a_node_and_a_node_without_any_is_an_error() {
    let bench = Bench::new();
    let on = |node| labelled("goes", Action::RunOnNode { node });
    let outcome = bench.run(&scenario(vec![at_once("there", vec![on(0)])]));
    assert_eq!(only(&outcome, "goes").status, Status::Done);
    let outcome = bench.run(&scenario(vec![at_once("nowhere", vec![on(1)])]));
    let last = outcome.capture.frames.last().expect("frames");
    let error = last.file(guest::ERROR).expect("the note");
    assert!(error.contains("node1: run on one of its 0 CPUs"), "{error}");
}

#[test]
fn a_workload_that_outgrows_its_address_space_says_so_with_the_way_out() {
    let bench = Bench::new();
    let region = step(Action::Map(map("heap", Bytes(1 << 40))));
    let mut writer = at_once("writer", vec![region]);
    writer.address_space = Some(Bytes(64 << 30));
    let outcome = bench.run(&scenario(vec![writer]));
    let expected = "writer\t0\t1 TiB more are over the process's address-space of 64 GiB; \
                    raise it, or map less\n";
    let last = outcome.capture.frames.last().expect("frames");
    assert_eq!(last.file(FAILED), Some(expected));
}

#[test]
fn start_and_wait_order_processes_and_kill_ends_them() {
    let bench = Bench::new();
    let sleep = |millis| Action::Sleep(Nanos(millis * MILLI));
    let mut workers = process("worker", Start::OnDemand, vec![labelled("work", sleep(30))]);
    workers.count = 2;
    let forever = Action::Repeat {
        until: Until::Forever,
        steps: vec![step(sleep(1))],
    };
    let named = |name: &str| name.to_owned();
    let boss = vec![
        step(Action::Start {
            process: named("worker"),
        }),
        labelled(
            "wait",
            Action::Wait {
                process: named("worker"),
            },
        ),
        step(Action::Start {
            process: named("worker"),
        }),
        step(Action::Wait {
            process: named("worker"),
        }),
        step(Action::Start {
            process: named("spinner"),
        }),
        step(sleep(20)),
        step(Action::Kill {
            process: named("spinner"),
        }),
        labelled(
            "gone",
            Action::Wait {
                process: named("spinner"),
            },
        ),
    ];
    let outcome = bench.run(&scenario(vec![
        at_once("boss", boss),
        workers,
        process("spinner", Start::OnDemand, vec![labelled("spin", forever)]),
    ]));
    let wait = only(&outcome, "wait");
    let instances = |before: bool| -> Vec<&str> {
        let work = outcome.labelled("work");
        let mut names: Vec<&str> = work
            .filter(|step| (step.end <= wait.end) == before)
            .inspect(|step| assert!(before || step.start >= wait.end, "{step:?}"))
            .map(|step| step.process.as_str())
            .collect();
        names.sort_unstable();
        names
    };
    let both = ["worker.1", "worker.2"];
    assert_eq!(
        (instances(true), instances(false)),
        (both.into(), both.into())
    );
    let (spin, gone) = (only(&outcome, "spin"), only(&outcome, "gone"));
    assert_eq!(spin.status, Status::Done, "the workload itself ended it");
    assert!(spin.end <= gone.end);
}

#[test]
fn the_deadline_ends_what_still_runs() {
    let bench = Bench::new();
    let rest = Action::Sleep(Nanos(3600 * SECOND));
    let mut scenario = scenario(vec![
        at_once("sleeper", vec![labelled("rest", rest)]),
        process("late", Start::After(Nanos(3600 * SECOND)), vec![]),
    ]);
    scenario.workload.deadline = Some(Nanos(100 * MILLI));
    let outcome = bench.run(&scenario);
    let step = only(&outcome, "rest");
    assert_eq!(step.status, Status::Done);
    assert!((100 * MILLI..5 * SECOND).contains(&step.end.0), "{step:?}");
    let samples = outcome
        .capture
        .frames
        .iter()
        .filter(|frame| frame.label.is_none());
    assert!(samples.count() >= 4, "samples went on meanwhile");
}

#[test]
fn snapshots_and_samples_tell_progress_and_kernel_threads() {
    let bench = Bench::new();
    let slow = Access {
        rate: 100,
        amount: Some(Bytes(10 * 4096).into()),
        ..file("data")
    };
    let steps = vec![
        labelled("before", Action::Snapshot),
        labelled("slow", Action::Access(slow)),
        labelled("after", Action::Snapshot),
    ];
    let outcome = bench.run(&scenario(vec![at_once("reader", steps)]));
    let after = outcome.capture.labelled("after").expect("a snapshot");
    assert_eq!(after.file(PROGRESS), Some("reader 10 40960\n"));
    assert_eq!(after.file("proc/kswapd0/schedstat"), Some("5 6 7\n"));
    let meminfo = after.file("proc/meminfo").expect("it is read");
    assert!(meminfo.starts_with("MemTotal: 9 kB\n"), "{meminfo}");
    assert_eq!(
        outcome.labelled("before").count(),
        0,
        "a snapshot is no step of the outcome"
    );
    assert!(
        only(&outcome, "slow").duration() >= Nanos(90 * MILLI),
        "paced by its rate"
    );
    let progress = outcome
        .capture
        .frames
        .iter()
        .filter_map(|frame| frame.file(PROGRESS));
    let mut progress: Vec<&str> = progress.collect();
    progress.dedup();
    assert!(
        progress.len() > 3,
        "progress moves from sample to sample: {progress:?}"
    );
}

#[test]
fn limits_bind_a_process() {
    let bench = Bench::new();
    let mut limited = at_once(
        "limited",
        vec![labelled("map", Action::Map(map("heap", Bytes(1 << 40))))],
    );
    limited.address_space = Some(Bytes(1 << 30));
    let timed = Access {
        amount: Some(Bytes(1 << 50).into()),
        time_limit: Some(Nanos(50 * MILLI)),
        think: Think::Constant(Nanos(MILLI)),
        ..file("data")
    };
    let timed = at_once("timed", vec![labelled("timed", Action::Access(timed))]);
    let outcome = bench.run(&scenario(vec![limited, timed]));
    assert_eq!(only(&outcome, "map").status, Status::Failed(12));
    let timed = only(&outcome, "timed");
    assert_eq!(timed.status, Status::Done);
    assert!(
        (50 * MILLI..5 * SECOND).contains(&timed.duration().0),
        "{timed:?}"
    );
    assert!(timed.operations <= 50);
}

#[test]
fn an_operation_of_several_blocks_is_one_request() {
    let bench = Bench::new();
    let request = Access {
        amount: Some(Bytes(20 * 8 * 4096).into()),
        blocks: 8,
        pattern: Pattern::Random,
        think: Think::Exponential { mean: Nanos(MILLI) },
        ..file("data")
    };
    let steps = vec![labelled("serve", Action::Access(request))];
    let outcome = bench.run(&scenario(vec![at_once("server", steps)]));
    let served = only(&outcome, "serve");
    assert_eq!(served.status, Status::Done);
    // The file's last block is short, so that eight more may be needed.
    assert!((20..=21).contains(&served.operations), "{served:?}");
    assert!(served.bytes.0 >= 160 * 4096, "{served:?}");
    assert!(served.duration().0 > 5 * MILLI, "it thinks: {served:?}");
}

#[test]
fn regions_take_advice_locks_and_volatile_contents() {
    let bench = Bench::new();
    let target = || Target::Region("vm".into());
    let volatile = Content::Volatile {
        every: Nanos(5 * MILLI),
    };
    let contents = vec![ContentShare {
        content: volatile,
        percent: 50,
    }];
    let map = Map {
        contents,
        ..map("vm", Bytes(1 << 20))
    };
    let advise = |advice| {
        step(Action::Advise {
            target: target(),
            advice,
        })
    };
    let fill = Access {
        write_percent: 100,
        ..access(target())
    };
    let on_file = |advice| Action::Advise {
        target: Target::File("data".into()),
        advice,
    };
    let steps = vec![
        step(Action::Map(map)),
        advise(Advice::NoHugePage),
        step(Action::Access(fill)),
        step(Action::Sleep(Nanos(20 * MILLI))),
        advise(Advice::Cold),
        labelled("lock", Action::Lock { target: target() }),
        step(on_file(Advice::Random)),
        step(Action::Access(Access {
            via: Via::Mmap,
            ..file("data")
        })),
        step(on_file(Advice::DontNeed)),
        step(Action::Unmap {
            region: "vm".into(),
        }),
        labelled("end", Action::Sleep(Nanos(1))),
    ];
    let outcome = bench.run(&scenario(vec![at_once("guest", steps)]));
    assert_eq!(only(&outcome, "lock").status, Status::Done);
    assert_eq!(only(&outcome, "end").status, Status::Done);
}

#[test]
fn many_short_steps_are_all_reported() {
    let bench = Bench::new();
    let rest = labelled("rest", Action::Sleep(Nanos(1)));
    let steps = vec![step(Action::Repeat {
        until: Until::Times(500),
        steps: vec![rest],
    })];
    let outcome = bench.run(&scenario(vec![at_once("busy", steps)]));
    assert_eq!(outcome.labelled("rest").count(), 500);
    assert!(outcome.steps.is_sorted_by_key(|step| step.end));
}
