//! Records of runs that never were, for tests.

use mm::capture::{Capture, Frame};
use mm::units::{Bytes, Nanos};
use scenario::outcome::{Latency, Outcome, Status, StepOutcome};

use crate::Study;
use crate::hash::sha256;
use crate::record::{Provenance, Record, SCHEMA, machine_of, pairs};

/// A record of a run of `min-free-kbytes` that never was: one snapshot with a line of meminfo.
#[must_use]
pub fn record(arm: &str, seed: u64) -> Record {
    let mut frame = Frame {
        at: Nanos(5),
        label: Some("idle".to_owned()),
        ..Frame::default()
    };
    let meminfo = "MemFree:  42 kB\n".to_owned();
    frame.files.insert("proc/meminfo".to_owned(), meminfo);
    let capture = Capture {
        frames: vec![frame],
    };
    let study = study();
    let scenario = study.scenario("raised", seed).expect("it is consistent");
    Record {
        outcome: Outcome::from_capture(capture).expect("it is consistent"),
        provenance: Provenance {
            schema: SCHEMA,
            study: "min-free-kbytes".to_owned(),
            arm: arm.to_owned(),
            seed,
            bench: "model".to_owned(),
            kernel: "6.1".to_owned(),
            command_line: None,
            machine: machine_of(&scenario),
            settings: pairs(&scenario.arm_settings),
            base: pairs(&scenario.base),
            details: vec![("calibration".to_owned(), "abc".to_owned())],
            version: "0.1.0".to_owned(),
            program: "0".repeat(64),
            study_sha256: sha256(study.text.as_bytes()),
            study_text: study.text,
            date: "2026-11-21T22:00:00Z".to_owned(),
        },
    }
}

/// The same with a re-read of this many seconds.
#[must_use]
pub fn run(arm: &str, seed: u64, seconds: u64) -> Record {
    let mut record = record(arm, seed);
    record.outcome.steps.push(StepOutcome {
        process: "administrator".to_owned(),
        label: "re-read 2".to_owned(),
        start: Nanos(0),
        end: Nanos(seconds * Nanos::SECOND.0),
        operations: 1,
        bytes: Bytes(1),
        status: Status::Done,
        latency: Latency::default(),
    });
    record
}

/// The study of these records.
#[must_use]
pub fn study() -> Study {
    Study::built_in("min-free-kbytes").expect("a built-in study")
}
