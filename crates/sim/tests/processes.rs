//! What the steps of processes do: time, repetition, waiting, killing, and ends.

mod common;

use common::*;
use mm::units::{Bytes, Nanos};
use plimsoll_sim::Cpus;
use scenario::outcome::{Outcome, Status};
use scenario::workload::{
    Access, Action, Advice, Huge, Pattern, Process, Start, Target, Think, Until,
};

#[test]
fn operations_keep_to_a_rate() {
    let access = Access {
        rate: 100,
        amount: Some(Bytes(20 * (128 << 10)).into()),
        ..touch("heap")
    };
    let steps = vec![
        map("heap", 4, Huge::Never),
        labelled("touch", Action::Access(access)),
    ];
    let outcome = run(&scenario(&[], vec![process("a", steps)]));
    let touched = one(&outcome, "touch");
    assert_eq!(touched.operations, 20);
    assert_eq!(milliseconds(touched), 190, "the first is due at once");
}

#[test]
fn a_process_thinks_after_every_operation() {
    let access = Access {
        think: Think::Constant(Nanos(10_000_000)),
        amount: Some(Bytes(20 * (128 << 10)).into()),
        ..touch("heap")
    };
    let steps = vec![
        map("heap", 4, Huge::Never),
        labelled("touch", Action::Access(access)),
    ];
    let outcome = run(&scenario(&[], vec![process("a", steps)]));
    assert!((200..203).contains(&milliseconds(one(&outcome, "touch"))));
}

#[test]
fn waiting_until_an_operation_is_due_takes_the_cpu_what_thinking_does() {
    let spinner = vec![
        map("heap", 4, Huge::Never),
        labelled("spin", Action::Access(touch_often("heap", 1 << 19))),
    ];
    let spins = |sleeper: Access| {
        let steps = vec![map("own", 1, Huge::Never), step(Action::Access(sleeper))];
        let processes = vec![process("a", spinner.clone()), process("b", steps)];
        one(&run(&scenario(&[], processes)), "spin").duration().0
    };
    let hundred = touch_often("own", 100);
    let unslept = spins(hundred.clone());
    let thinking = spins(Access {
        think: Think::Constant(Nanos::MILLI),
        ..hundred.clone()
    });
    let waiting = spins(Access {
        rate: 1000,
        ..hundred
    });
    let sleeps = 100 * (calibration().costs.sleep_ps + calibration().costs.switch_ps) / 1000;
    assert!(thinking >= unslept + sleeps, "{unslept} to {thinking}");
    let apart = thinking.abs_diff(waiting);
    assert!(apart <= sleeps / 20, "{thinking} and {waiting}");
}

/// A VM of 6.1 in which processes of 63 MiB come and go keeps a reader beside them at 201
/// operations a second, and at 202 alone.
#[test]
fn a_task_that_wakes_need_not_wait_until_another_has_freed_all_its_memory() {
    let waker = Access {
        think: Think::Constant(Nanos::MILLI),
        ..touch_often("own", 400)
    };
    let waker = vec![
        map("own", 1, Huge::Never),
        labelled("wakes", Action::Access(waker)),
    ];
    let frees = |last: Vec<scenario::workload::Step>| {
        let mut steps = vec![
            map("heap", 30, Huge::Never),
            step(Action::Access(touch("heap"))),
        ];
        steps.extend(last);
        let processes = vec![process("a", waker.clone()), process("b", steps)];
        one(&run(&scenario(&[], processes)), "wakes").duration().0
    };
    let region = "heap".to_string();
    let stays = frees(vec![sleep(1000)]);
    let unmaps = frees(vec![step(Action::Unmap { region }), sleep(1000)]);
    for took in [unmaps, frees(vec![])] {
        let longer = took.saturating_sub(stays);
        assert!(longer < 1_000_000, "{longer} ns, of 7.7 ms to free");
    }
}

#[test]
fn an_operation_of_several_blocks_is_one_request() {
    let request = Access {
        blocks: 8,
        pattern: Pattern::Random,
        think: Think::Constant(Nanos::MILLI),
        ..touch_often("heap", 20 * 8)
    };
    let steps = vec![
        map("heap", 4, Huge::Never),
        step(Action::Access(touch("heap"))),
        labelled("serve", Action::Access(request.clone())),
        labelled(
            "one by one",
            Action::Access(Access {
                blocks: 1,
                think: Think::NONE,
                ..request
            }),
        ),
    ];
    let outcome = run(&scenario(&[], vec![process("a", steps)]));
    let (served, single) = (one(&outcome, "serve"), one(&outcome, "one by one"));
    assert_eq!((served.operations, served.bytes.0), (20, 160 * 4096));
    assert_eq!((single.operations, single.bytes.0), (160, 160 * 4096));
    assert!(
        (20..22).contains(&milliseconds(served)),
        "it thinks 20 times"
    );
    let costs = calibration().costs;
    let (each, pause) = (costs.operation_ps + costs.load_ps, costs.loop_ps);
    assert!(served.latency.max.0 + 1 >= (8 * each + 7 * pause) / 1000);
    assert!(served.latency.p50.0 > 4 * single.latency.p50.0);
    assert!(single.latency.p50.0 < (2 * each + pause) / 1000);
}

/// A page at a time, this many of them.
fn touch_often(region: &str, pages: u64) -> Access {
    Access {
        block: Bytes(4 << 10),
        amount: Some(Bytes(pages * (4 << 10)).into()),
        ..touch(region)
    }
}

#[test]
fn a_time_limit_ends_an_access() {
    let access = Access {
        amount: Some(Bytes(1 << 40).into()),
        time_limit: Some(Nanos(50_000_000)),
        ..read(0)
    };
    let steps = vec![labelled("read", Action::Access(access))];
    let outcome = run(&scenario(&[1], vec![process("a", steps)]));
    assert!((50..52).contains(&milliseconds(one(&outcome, "read"))));
    assert!(
        one(&outcome, "read").bytes.0 > MIB,
        "it began again at the end"
    );
}

#[test]
fn an_access_to_an_empty_file_ends_at_once() {
    let access = Access {
        amount: Some(Bytes(MIB).into()),
        ..read(0)
    };
    let steps = vec![labelled("read", Action::Access(access))];
    let outcome = run(&scenario(&[0], vec![process("a", steps)]));
    assert_eq!(one(&outcome, "read").operations, 0);
}

#[test]
fn a_repetition_ends_after_its_rounds_or_at_its_time() {
    let steps = vec![
        labelled("rounds", repeat(Until::Times(3), vec![sleep(10)])),
        labelled("none", repeat(Until::Times(0), vec![sleep(10)])),
        labelled(
            "time",
            repeat(Until::Elapsed(Nanos(25_000_000)), vec![sleep(10)]),
        ),
    ];
    let outcome = run(&scenario(&[], vec![process("a", steps)]));
    let took = |label| milliseconds(one(&outcome, label));
    assert_eq!((took("rounds"), took("none")), (30, 0));
    assert_eq!(took("time"), 30, "the third round begins before 25 ms");
}

#[test]
fn the_deadline_ends_everything_as_done() {
    let forever = repeat(
        Until::Forever,
        vec![
            step(Action::DropCaches),
            labelled("read", Action::Access(read(0))),
        ],
    );
    let mut scenario = scenario(&[30], vec![process("a", vec![labelled("all", forever)])]);
    scenario.workload.deadline = Some(Nanos(500_000_000));
    let outcome = run(&scenario);
    assert_eq!(statuses(&outcome, "all"), [Status::Done]);
    assert_eq!(statuses(&outcome, "read"), [Status::Done, Status::Done]);
    let last = outcome.capture.frames.last().expect("a frame");
    assert!(last.at >= Nanos(500_000_000) && last.at < Nanos(510_000_000));
}

#[test]
fn a_killed_sleeper_is_not_woken_by_its_old_alarm() {
    let child = vec![labelled("sleep", repeat(Until::Times(1), vec![sleep(100)]))];
    let parent = vec![
        start("child"),
        sleep(50),
        kill("child"),
        start("child"),
        wait("child"),
        sleep(200),
    ];
    let processes = vec![process("parent", parent), on_demand("child", child)];
    let outcome = run(&scenario(&[], processes));
    let took: Vec<u64> = outcome.labelled("sleep").map(milliseconds).collect();
    assert_eq!(took, [50, 100]);
    assert_eq!(statuses(&outcome, "sleep"), [Status::Done, Status::Done]);
}

#[test]
fn a_killed_sleeper_stays_dead() {
    let parent = vec![sleep(50), kill("child"), sleep(200)];
    let child = vec![sleep(100), labelled("after", Action::DropCaches)];
    let processes = vec![process("parent", parent), process("child", child)];
    let outcome = run(&scenario(&[], processes));
    assert_eq!(outcome.labelled("after").count(), 0);
}

#[test]
fn who_kills_its_own_process_dies_with_it() {
    let steps = vec![
        labelled("life", repeat(Until::Times(1), vec![sleep(10), kill("a")])),
        snapshot("after"),
    ];
    let twins = Process {
        count: 2,
        ..process("a", steps)
    };
    let outcome = run(&scenario(&[], vec![twins]));
    assert_eq!(outcome.labelled("life").count(), 2);
    assert!(outcome.capture.labelled("after").is_none());
}

#[test]
fn a_wait_lasts_until_a_process_that_starts_later_has_ended() {
    let late = Process {
        start: Start::After(Nanos(30_000_000)),
        ..process("late", vec![sleep(20)])
    };
    let steps = vec![labelled(
        "wait",
        repeat(Until::Times(1), vec![wait("late")]),
    )];
    let outcome = run(&scenario(&[], vec![process("a", steps), late]));
    assert_eq!(milliseconds(one(&outcome, "wait")), 50);
}

#[test]
fn a_process_that_is_killed_before_its_start_never_starts() {
    let late = Process {
        start: Start::After(Nanos(30_000_000)),
        ..process("late", vec![snapshot("late")])
    };
    let steps = vec![kill("late"), wait("late"), sleep(100)];
    let outcome = run(&scenario(&[], vec![process("a", steps), late]));
    assert!(outcome.capture.labelled("late").is_none());
}

#[test]
fn a_second_life_begins_as_the_first_one() {
    let some = Access {
        amount: Some(Bytes(MIB).into()),
        ..read(0)
    };
    let child = vec![labelled("read", Action::Access(some))];
    let parent = vec![
        start("child"),
        wait("child"),
        start("child"),
        wait("child"),
        snapshot("twice"),
    ];
    let processes = vec![process("parent", parent), on_demand("child", child)];
    let outcome = run(&scenario(&[8], processes));
    assert_eq!(outcome.labelled("read").count(), 2);
    let read_from_disk = counter(&outcome, "twice", "pgpgin");
    assert!(
        read_from_disk < 2048,
        "the same MiB twice: {read_from_disk} KiB"
    );
}

#[test]
fn a_start_leaves_alone_what_runs() {
    let parent = vec![start("child"), sleep(10), start("child"), wait("child")];
    let child = vec![labelled("life", repeat(Until::Times(1), vec![sleep(50)]))];
    let processes = vec![process("parent", parent), on_demand("child", child)];
    assert_eq!(
        milliseconds(one(&run(&scenario(&[], processes)), "life")),
        50
    );
}

#[test]
fn an_address_space_that_is_too_small_fails_the_process() {
    let steps = vec![
        map("first", 8, Huge::Never),
        map("first", 10, Huge::Never),
        labelled(
            "all",
            repeat(Until::Times(1), vec![map("second", 10, Huge::Never)]),
        ),
        snapshot("after"),
    ];
    let limited = Process {
        address_space: Some(Bytes(16 * MIB)),
        ..process("a", steps)
    };
    let outcome = run(&scenario(&[], vec![limited]));
    assert_eq!(statuses(&outcome, "all"), [Status::Failed(12)], "ENOMEM");
    assert!(outcome.capture.labelled("after").is_none());
}

#[test]
fn two_cpus_run_two_busy_processes_at_once() {
    let busy = |name: &str| {
        let steps = vec![
            map("heap", 8, Huge::Never),
            labelled(
                name,
                repeat(Until::Times(20), vec![step(Action::Access(touch("heap")))]),
            ),
        ];
        process(name, steps)
    };
    let mut scenario = scenario(&[], vec![busy("a"), busy("b")]);
    let both = one(&run(&scenario), "b").end;
    scenario.machine.cpus = 2;
    let alone = one(&run(&scenario), "b").end;
    assert!(alone.0 < both.0 * 3 / 5, "{alone} against {both}");
    assert!(alone.0 > both.0 * 2 / 5);
    // Where they take turns on one stream of instructions, two busy CPUs are half a CPU each.
    let by_turns = plimsoll_sim::run_on(Cpus::ByTurns, &scenario, &calibration(), 1);
    let by_turns = Outcome::from_capture(by_turns.expect("it runs")).expect("an outcome");
    let last = one(&by_turns, "a").end.max(one(&by_turns, "b").end);
    assert!(
        last.0.abs_diff(2 * alone.0) < last.0 / 20,
        "{last} against twice {alone}"
    );
}

#[test]
fn advice_about_a_file_drops_its_pages_alone() {
    let drop = Action::Advise {
        target: Target::File("file 0".to_owned()),
        advice: Advice::DontNeed,
    };
    let steps = vec![
        step(Action::Access(read(0))),
        step(Action::Access(read(1))),
        step(drop),
        labelled("dropped", Action::Access(read(0))),
        labelled("kept", Action::Access(read(1))),
    ];
    let outcome = run(&scenario(&[4, 4], vec![process("a", steps)]));
    let took = |label| one(&outcome, label).duration();
    assert!(took("dropped").0 > 10 * took("kept").0);
}
