//! The calibration error, held without a VM: every figure of the committed records against the
//! model as it is now with the same seeds, and against the same experiment made with other programs.

use std::path::{Path, PathBuf};

use plimsoll_lab::fidelity::score::{self, Scores};
use plimsoll_lab::fidelity::{Scored, of_study};
use plimsoll_lab::record::Store;
use plimsoll_lab::report::compare::Row;
use plimsoll_lab::study::{BUILT_IN, Study};

/// The kernels that each study with records must be proved on.
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

fn records() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records")
}

/// The figures of a study on every kernel; every record must be usable.
fn scored(name: &str) -> Vec<Scored> {
    let study = Study::find(name).expect("a built-in study");
    let gathered = of_study(&study, &Store::new(records())).expect("records/ can be read");
    assert!(
        gathered.problems.is_empty(),
        "{}",
        gathered.problems.join("\n")
    );
    gathered.scored
}

fn shown(scored: &Scored) -> String {
    let miss = |row: &Row| {
        let (model, kernel) = (row.model.show(row.unit), row.kernel.show(row.unit));
        let gap = row.judged().map(|judged| judged.gap.show());
        let gap = gap.unwrap_or_else(|| "not predicted".to_owned());
        format!(
            "{} on {}, {}, {}: predicted {model}, measured {kernel}: {gap}\n",
            scored.study, scored.kernel, row.measure, row.arm
        )
    };
    scored.misses().map(miss).collect()
}

fn committed() -> Scores {
    let text = std::fs::read_to_string(records().join(score::FILE)).expect("records/score.toml");
    Scores::parse(&text).expect("scores")
}

/// `records/score.toml` says how much of each study holds on each kernel; less is a step back.
#[test]
fn the_model_is_no_worse_than_its_committed_score() {
    let (mut now, mut misses) = (Scores::default(), String::new());
    for (name, _) in BUILT_IN {
        for scored in scored(name) {
            misses += &shown(&scored);
            now.score.push(scored.score());
        }
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let text = now.to_text().expect("scores are TOML");
        std::fs::write(records().join(score::FILE), text).expect("records/ can be written");
    }
    let change = committed().change(&now);
    let worse = change.worse.join("\n");
    assert!(
        worse.is_empty(),
        "{worse}\nif the records were made anew, `cargo xtask score` writes the file; the misses:\n\
         {misses}"
    );
    if !change.better.is_empty() {
        let better = change.better.join("\n");
        println!("better than the committed score: raise it with `cargo xtask score`:\n{better}");
    }
}

#[test]
fn every_study_that_was_proved_was_proved_on_both_kernels() {
    let committed = committed().score;
    assert!(!committed.is_empty());
    for one in &committed {
        for kernel in KERNELS {
            let of = |other: &score::Score| other.study == one.study && other.kernel == kernel;
            let study = &one.study;
            assert!(committed.iter().any(of), "{study}: no record on {kernel}");
        }
    }
}

#[test]
fn the_vm_agrees_with_the_same_experiment_made_with_other_programs() {
    let mut apart = Vec::new();
    for scored in scored("min-free-kbytes") {
        let Some(kernel) = KERNELS.iter().position(|kernel| *kernel == scored.kernel) else {
            continue;
        };
        for (measure, truth) in GROUND_TRUTH {
            let row = scored
                .rows
                .iter()
                .find(|row| row.measure == measure && row.arm == "raised");
            let ours = row
                .and_then(|row| row.kernel.median())
                .expect("a figure of the kernel");
            if (ours / truth[kernel] - 1.0).abs() > APART {
                apart.push(format!(
                    "{}, {measure}: {ours:.1}, not {}",
                    scored.kernel, truth[kernel]
                ));
            }
        }
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}
