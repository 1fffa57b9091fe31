//! What samples and snapshots take of the CPU where pages are offered for merging.

mod common;

use common::*;
use mm::units::{Bytes, Nanos};
use scenario::Scenario;
use scenario::calibration::Calibration;
use scenario::outcome::Outcome;
use scenario::workload::{Access, Action, Huge, Step};

const SAMPLE: Nanos = Nanos(1_000_000);
const SNAPSHOT: Nanos = Nanos(5_000_000);

/// A machine with samepage merging, on which observing takes its time.
fn machine() -> Calibration {
    let mut machine = calibration();
    machine.costs.sample_ps = SAMPLE.0 * 1000;
    machine.costs.snapshot_ps = SNAPSHOT.0 * 1000;
    let files = &mut machine.boots[0].capture.frames[0].files;
    files.insert("sys/kernel/mm/ksm/pages_to_scan".into(), "100\n".into());
    machine
}

/// Two snapshots, one right after the other, and a second's work.
fn observed(is_mergeable: bool, machine: &Calibration) -> Outcome {
    let Action::Map(mut region) = map("heap", 4, Huge::Never).action else {
        unreachable!("it maps a region");
    };
    region.mergeable = is_mergeable;
    let work = Access {
        amount: Some(Bytes(4 << 30).into()),
        ..touch("heap")
    };
    let steps: Vec<Step> = vec![
        step(Action::Map(region)),
        snapshot("first"),
        snapshot("second"),
        labelled("work", Action::Access(work)),
    ];
    let scenario = Scenario {
        sample_every: Nanos(10_000_000),
        ..scenario(&[], vec![process("a", steps)])
    };
    run_with(&scenario, machine)
}

fn between_snapshots(outcome: &Outcome) -> Nanos {
    let at = |label| outcome.capture.labelled(label).expect("it is there").at;
    at("second") - at("first")
}

#[test]
fn who_asks_for_a_snapshot_waits_until_it_is_taken() {
    let taken = between_snapshots(&observed(true, &machine()));
    assert!((SNAPSHOT.0..SNAPSHOT.0 + SAMPLE.0 + 10_000).contains(&taken.0));
    assert!(between_snapshots(&observed(false, &machine())).0 < 10_000);
}

#[test]
fn samples_take_their_time_from_the_work_beside_them() {
    let unseen = Calibration {
        costs: calibration().costs,
        ..machine()
    };
    let work = |machine| one(&observed(true, machine), "work").duration().0 as f64;
    let longer = work(&machine()) / work(&unseen);
    assert!((1.09..1.13).contains(&longer), "1 ms in 10: {longer}");
}
