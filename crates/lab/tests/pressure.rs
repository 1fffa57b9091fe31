//! Pressure stall information of the committed records of the founding study against the model's.

use answer::bench::{Bench, Run};
use answer::calibration;
use answer::model_bench::ModelBench;
use mm::capture::Capture;
use mm::psi::{PATHS, Psi, Stall};
use plimsoll_lab::store::Store;
use rayon::prelude::*;
use study::Study;
use study::record::Record;

/// The largest relative error of a total allowed: while a file is read, and when hogs and kswapd
/// have shared the CPU too (on 6.12 over a third less than a kernel's; `docs/model.md`, "PSI").
/// What stalled less than a tenth of a second is left to the boot.
const LABELS: [(&str, f64); 4] = [
    ("read once", 0.13),
    ("read thrice", 0.12),
    ("re-read", 0.12),
    ("end", 0.38),
];
const LEAST: f64 = 0.1;

/// Seconds of some and full since the run's beginning, of memory and of I/O.
fn stalls(capture: &Capture, label: &str) -> [f64; 4] {
    let at = |label: &str, path: &str| {
        let frame = capture.labelled(label).expect("the snapshot");
        let text = frame.file(path).expect("a pressure file");
        let psi = Psi::parse(path, text).expect("the kernel's format");
        [psi.some, psi.full].map(|stall| stall.unwrap_or_else(Stall::default).total.0 as f64 / 1e9)
    };
    let since = |path, kind: usize| at(label, path)[kind] - at("idle", path)[kind];
    [
        since(PATHS[0], 0),
        since(PATHS[0], 1),
        since(PATHS[1], 0),
        since(PATHS[1], 1),
    ]
}

fn records() -> Vec<Record> {
    let folder = testkit::checkout("records");
    let loaded = Store::new(folder).load("min-free-kbytes");
    loaded.expect("records/ can be read")
}

/// The model's run of what was recorded.
fn predicted(study: &Study, record: &Record) -> Capture {
    let from = &record.provenance;
    let scenario = study.scenario(&from.arm, from.seed);
    let scenario = scenario.expect("the arm is in the study");
    let known = calibration::built_in(&from.kernel).expect("a calibrated kernel");
    let run = Run {
        scenario: &scenario,
    };
    let model = ModelBench::new(known).run(run, &mut |_| ());
    model.expect("the model runs it")
}

/// How many totals were compared.
fn compare(record: &Record, model: &Capture) -> usize {
    let (from, kernel) = (&record.provenance, &record.outcome.capture);
    let mut compared = 0;
    for (label, error) in LABELS {
        for (kernel, model) in stalls(kernel, label).into_iter().zip(stalls(model, label)) {
            assert!(
                (model - kernel).abs() <= (kernel * error).max(LEAST),
                "{} {} {label}: predicted {model:.3} s, measured {kernel:.3} s",
                from.kernel,
                from.arm
            );
            compared += 1;
        }
    }
    compared
}

#[test]
fn stalls_for_memory_and_io_are_the_kernels() {
    let study = plimsoll_lab::find::find("min-free-kbytes").expect("a built-in study");
    let records = records();
    let compared = records.par_iter();
    let compared = compared.map(|record| compare(record, &predicted(&study, record)));
    assert_eq!(
        compared.sum::<usize>(),
        3 * 2 * 5 * 4 * 4,
        "three arms on two kernels, five seeds each"
    );
}
