//! The calibration error, held without a VM: every figure of the committed records against the
//! model as it is now, and against the same experiment made with other programs.

use std::path::Path;

use plimsoll_lab::record::Store;
use plimsoll_lab::report::Pair;
use plimsoll_lab::report::compare::{Fidelity, Gap, Row, worst_first};
use plimsoll_lab::report::gather::gather;
use plimsoll_lab::study::{BUILT_IN, Study};

/// The kernels that each built-in study must be proved on.
const KERNELS: [&str; 2] = ["Linux 6.1", "Linux 6.12"];

/// The study that was made with other programs too: shell, `free` and stress-ng on the same two
/// kernels in the same VM. Measure, and what it came to on each of [`KERNELS`], on arm `raised`.
const GROUND_TRUTH: [(&str, [f64; 2]); 11] = [
    ("min_free_kbytes after boot", [67584.0, 67584.0]),
    ("available before", [3519.0, 3514.0]),
    ("available after setting", [1429.0, 1423.9]),
    ("min watermark", [1464.8, 1465.0]),
    ("low watermark", [1831.0, 1831.2]),
    ("high watermark", [2197.3, 2197.4]),
    ("free after reading", [2025.9, 2002.8]),
    ("page cache after reading", [1614.2, 1617.6]),
    ("first read", [22.417, 22.430]),
    ("re-read", [22.363, 22.380]),
    ("re-read after the reset", [0.6135, 0.6298]),
];

/// How far our VM may be from it.
const APART: f64 = 0.03;

/// The proofs of a study with their predictions; every record must be usable.
fn proved(study: &Study) -> Vec<Pair> {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records");
    let gathered = gather(study, &Store::new(&records)).expect("records/ can be read");
    assert!(
        gathered.problems.is_empty(),
        "{}",
        gathered.problems.join("\n")
    );
    let pairs: Vec<Pair> = gathered.pairs.into_iter().filter(Pair::is_proved).collect();
    for kernel in KERNELS {
        let found = pairs.iter().any(|pair| pair.kernel == kernel);
        assert!(
            found,
            "{}: no record on {kernel}; make them with `cargo xtask records`",
            study.name
        );
    }
    pairs
}

fn shown(row: &Row) -> String {
    let (model, kernel) = (row.model.show(row.unit), row.kernel.show(row.unit));
    let gap = row.gap().map_or_else(|| "not both".to_owned(), Gap::show);
    format!(
        "{}, {}: predicted {model}, measured {kernel}: {gap}",
        row.measure, row.arm
    )
}

/// Sizes within 1 %, times within 5 %, counts equal, and no figure on one side alone.
#[test]
fn the_model_is_within_its_tolerance_on_every_recorded_kernel() {
    let mut misses = Vec::new();
    for (name, _) in BUILT_IN {
        let study = Study::find(name).expect("a built-in study");
        for pair in proved(&study) {
            let mut rows = pair.rows(&study);
            worst_first(&mut rows, |row| row);
            let missed = rows
                .iter()
                .filter(|row| row.fidelity() != Some(Fidelity::Holds));
            misses.extend(missed.map(|row| format!("{name}, {}: {}", pair.kernel, shown(row))));
        }
    }
    assert!(
        misses.is_empty(),
        "{} figures miss:\n{}",
        misses.len(),
        misses.join("\n")
    );
}

#[test]
fn the_vm_agrees_with_the_same_experiment_made_with_other_programs() {
    let study = Study::find("min-free-kbytes").expect("a built-in study");
    let mut apart = Vec::new();
    for pair in proved(&study) {
        let Some(kernel) = KERNELS.iter().position(|kernel| *kernel == pair.kernel) else {
            continue;
        };
        let rows = pair.rows(&study);
        for (measure, truth) in GROUND_TRUTH {
            let row = rows
                .iter()
                .find(|row| row.measure == measure && row.arm == "raised");
            let ours = row
                .and_then(|row| row.kernel.median())
                .expect("a figure of the kernel");
            if (ours / truth[kernel] - 1.0).abs() > APART {
                apart.push(format!(
                    "{}, {measure}: {ours:.1}, not {}",
                    pair.kernel, truth[kernel]
                ));
            }
        }
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}
