//! Streams that wait for each other.

use super::*;

const COMPUTES: Run = Run {
    compute: Nanos(10_000_000),
    ..RUN
};

const WAKE: Run = Run {
    kind: Kind::Wake,
    length: 0,
    ..COMPUTES
};

/// For that many wakes of a stream; it slept an hour.
fn wait(stream: u32, wakes: u64) -> Run {
    Run {
        compute: Nanos::ZERO,
        sleep: Nanos(3_600_000_000_000),
        kind: Kind::Wait,
        file: stream,
        offset: wakes,
        length: 0,
        ..RUN
    }
}

/// How long processes take that each do a stream, by the numbers of the streams that are done.
fn took(all: &[&[Run]], done: &[u32], pace: Pace) -> Vec<f64> {
    let replay = |stream| Replay {
        stream,
        pace,
        ..REPLAY
    };
    let of = |&stream: &u32| {
        let name = format!("{stream}");
        process(&name, vec![labelled(&name, Action::Replay(replay(stream)))])
    };
    let mut scenario = scenario(&[], done.iter().map(of).collect());
    scenario.machine.recorded_on = Some("disk".to_owned());
    scenario.recorded = streams(&[MIB], all);
    let outcome = run(&scenario);
    let end = |stream: &u32| {
        let name = format!("{stream}");
        let mut steps = outcome.labelled(&name).map(|it| it.end);
        steps.next().expect("it ran").seconds()
    };
    let begins = outcome.steps.iter().map(|it| it.start).min();
    let begins = begins.expect("they ran").seconds();
    done.iter().map(|stream| end(stream) - begins).collect()
}

/// Processes are started one after the other, which takes some milliseconds.
fn is_about(seconds: f64, wanted: f64) {
    let later = seconds - wanted;
    assert!(
        (-0.001..0.005).contains(&later),
        "{seconds} s, not {wanted} s"
    );
}

#[test]
fn two_that_wait_for_each_other_take_turns() {
    for (pace, slept) in [(Pace::Closed, 3_600_000_000_000), (Pace::Clock, 0)] {
        let wait = |stream, wakes| Run {
            sleep: Nanos(slept),
            ..wait(stream, wakes)
        };
        let one = [WAKE, wait(1, 1), WAKE, wait(1, 2), COMPUTES];
        let other = [wait(0, 1), WAKE, wait(0, 2), WAKE];
        let times = took(&[&one, &other], &[0, 1], pace);
        is_about(times[0], 0.05);
        is_about(times[1], 0.04);
    }
}

#[test]
fn who_waits_for_a_stream_that_ended_or_waits_in_a_circle_goes_on() {
    let ended = took(&[&[WAKE], &[wait(0, 7), COMPUTES]], &[0, 1], Pace::Closed);
    is_about(ended[1], 0.02);
    let circle = took(
        &[&[wait(1, 1), WAKE], &[wait(0, 1), WAKE]],
        &[0, 1],
        Pace::Closed,
    );
    is_about(circle[1], 0.02);
}

#[test]
fn who_waits_for_a_stream_that_nobody_does_sleeps_as_long_as_it_did() {
    let alone = took(&[&[WAKE], &[wait(0, 1), COMPUTES]], &[1], Pace::Closed);
    is_about(alone[0], 3600.01);
}
