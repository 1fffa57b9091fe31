//! `inspect` reads a simulated machine as it reads a real one: the model writes the same files, and
//! its watermarks, reserves, MemAvailable and dirty thresholds are those that the formulas give.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use answer::bench::{Bench as _, Run};
use answer::calibration;
use answer::model_bench::ModelBench;

fn inspect(path: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .args(["inspect", "--charset", "ascii", "--from"])
        .arg(path)
        .args(arguments);
    command.output().expect("the binary runs")
}

#[test]
fn a_simulated_machine_is_shown_and_its_numbers_are_the_formulas() {
    let study = lab::find::find("min-free-kbytes").expect("a built-in study");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.txt");
    let bench = ModelBench::new(calibration::built_in("6.1").expect("a calibration"));
    let scenario = study.scenario("raised", 1).expect("the arm");
    let run = Run {
        scenario: &scenario,
    };
    let capture = bench.run(run, &mut |_| {}).expect("the model runs");
    fs::write(&path, capture.to_text()).expect("a file");
    let names: Vec<&str> = capture
        .frames
        .iter()
        .filter_map(|f| f.label.as_deref())
        .collect();
    assert!(names.len() >= 4, "{names:?}");
    for name in names {
        let output = inspect(&path, &["--at", name, "--check"]);
        let shown = String::from_utf8(output.stdout).expect("UTF-8");
        // As booted the marks are those of a zone without the initial RAM disk's pages, as on a
        // real kernel; once the tunables were written they are made again.
        let as_booted = name == "idle" && shown.contains("less, as at boot");
        assert!(output.status.success() || as_booted, "{name}: {shown}");
        for section in [
            "Load lines",
            "MemAvailable",
            "Dirty pages",
            "Page lists",
            "Reclaim",
        ] {
            assert!(shown.contains(section), "{name} lacks {section}: {shown}");
        }
    }
}
