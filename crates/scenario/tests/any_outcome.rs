//! Whatever a note of steps says, it is read or refused, and what was written is read as it was.

use mm::capture::{Capture, Frame};
use mm::units::{Bytes, Nanos};
use plimsoll_scenario::outcome::{Latency, Outcome, STEPS, Status, StepOutcome};
use proptest::collection::vec;
use proptest::prelude::*;

fn one_line() -> impl Strategy<Value = String> {
    "[^\\n\\t]{0,12}"
}

fn step() -> impl Strategy<Value = StepOutcome> {
    let status = prop_oneof![
        Just(Status::Done),
        any::<u8>().prop_map(Status::Killed),
        any::<i32>().prop_map(Status::Failed),
    ];
    let names = (one_line(), one_line());
    let numbers = any::<[u64; 8]>();
    (names, numbers, status).prop_map(|((process, label), n, status)| StepOutcome {
        process,
        label,
        start: Nanos(n[0]),
        end: Nanos(n[1]),
        operations: n[2],
        bytes: Bytes(n[3]),
        status,
        latency: Latency {
            p50: Nanos(n[4]),
            p90: Nanos(n[5]),
            p99: Nanos(n[6]),
            max: Nanos(n[7]),
        },
    })
}

proptest! {
    #[test]
    fn an_outcome_is_read_as_it_was_written(steps in vec(step(), 0..5)) {
        let mut note = String::new();
        steps.iter().for_each(|step| step.write(&mut note));
        let files = [(STEPS.to_owned(), note)].into();
        let capture = Capture { frames: vec![Frame { files, ..Frame::default() }] };
        let outcome = Outcome::from_capture(capture);
        prop_assert_eq!(outcome.map(|outcome| outcome.steps), Ok(steps));
    }

    #[test]
    fn any_note_of_steps_is_read_or_refused(note in any::<String>()) {
        let files = [(STEPS.to_owned(), note)].into();
        let capture = Capture { frames: vec![Frame { files, ..Frame::default() }] };
        let _ = Outcome::from_capture(capture);
    }
}
