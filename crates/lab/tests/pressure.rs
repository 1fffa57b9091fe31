//! Pressure stall information of the committed records of the founding study against the model's.

use std::path::Path;

use mm::capture::Capture;
use mm::psi::{PATHS, Psi, Stall};
use plimsoll_lab::bench::{Bench, Run};
use plimsoll_lab::calibration;
use plimsoll_lab::model_bench::ModelBench;
use plimsoll_lab::record::{Record, Store};
use plimsoll_lab::study::Study;

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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records");
    let loaded = Store::new(folder).load("min-free-kbytes");
    loaded.expect("records/ can be read")
}

#[test]
fn stalls_for_memory_and_io_are_the_kernels() {
    let study = Study::find("min-free-kbytes").expect("a built-in study");
    let mut compared = 0;
    for Record {
        provenance,
        outcome,
    } in records()
    {
        let scenario = study.scenario(&provenance.arm, provenance.seed);
        let scenario = scenario.expect("the arm is in the study");
        let known = calibration::built_in(&provenance.kernel).expect("a calibrated kernel");
        let run = Run {
            study_text: &study.text,
            scenario: &scenario,
        };
        let model = ModelBench::new(known.clone()).run(run, &mut |_| ());
        let model = model.expect("the model runs it");
        for (label, error) in LABELS {
            let kernel = stalls(&outcome.capture, label);
            for (kernel, model) in kernel.into_iter().zip(stalls(&model, label)) {
                let place = format!("{} {} {label}", provenance.kernel, provenance.arm);
                assert!(
                    (model - kernel).abs() <= (kernel * error).max(LEAST),
                    "{place}: predicted {model:.3} s, measured {kernel:.3} s"
                );
                compared += 1;
            }
        }
    }
    assert_eq!(
        compared,
        2 * 2 * 5 * 4 * 4,
        "two arms on two kernels, five seeds each"
    );
}
