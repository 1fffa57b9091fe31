//! Whatever a note of steps says, it is read or refused, and what was written is read as it was.

use mm::capture::{Capture, Frame};
use mm::units::{Bytes, Nanos};
use plimsoll_scenario::outcome::{Latency, Outcome, STEPS, Status, StepOutcome};
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::damage::Examples;

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

/// What is read of a note of steps.
fn read(note: String) -> Result<Outcome, impl std::fmt::Display> {
    let files = [(STEPS.to_owned(), note)].into();
    let frame = Frame {
        files,
        ..Frame::default()
    };
    Outcome::from_capture(Capture {
        frames: vec![frame],
    })
}

fn written(steps: &[StepOutcome]) -> String {
    let mut note = String::new();
    steps.iter().for_each(|step| step.write(&mut note));
    note
}

proptest! {
    #[test]
    fn an_outcome_is_read_as_it_was_written(steps in vec(step(), 0..5)) {
        let outcome = read(written(&steps));
        prop_assert_eq!(outcome.map(|outcome| outcome.steps).ok(), Some(steps));
    }

    #[test]
    fn any_note_of_steps_is_read_or_refused(note in any::<String>()) {
        let _ = read(note);
    }

    #[test]
    fn a_damaged_note_of_steps_is_read_or_refused_in_one_line(
        damaged in vec(step(), 1..5)
            .prop_flat_map(|steps| Examples::of("outcomes", [written(&steps)]).damaged()),
    ) {
        if let Err(error) = read(damaged.text()) {
            prop_assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}
