//! `report` and `fidelity` from outside: what they say of records that are missing, broken or of
//! another study, and of a place that cannot be written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lab::store::Store;
use mm::capture::{Capture, Frame};
use scenario::outcome::Outcome;
use study::Study;
use study::hash::sha256;
use study::record::{MachineView, Provenance, Record, SCHEMA};

fn plimsoll(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the binary runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// A record of a kernel that no calibration serves, so that there is no prediction beside it.
fn record(arm: &str, study: &Study) -> Record {
    let mut frame = Frame {
        label: Some("idle".to_owned()),
        ..Frame::default()
    };
    let meminfo = "MemTotal: 4000 kB\nMemAvailable: 2048 kB\n".to_owned();
    frame.files.insert("proc/meminfo".to_owned(), meminfo);
    Record {
        outcome: Outcome {
            capture: Capture {
                frames: vec![frame],
            },
            steps: Vec::new(),
        },
        provenance: Provenance {
            schema: SCHEMA,
            study: study.name.clone(),
            arm: arm.to_owned(),
            seed: 1,
            bench: "a bench for tests".to_owned(),
            kernel: "2.4.37".to_owned(),
            command_line: None,
            machine: MachineView::of(&study.arms[0].machine),
            settings: Vec::new(),
            base: Vec::new(),
            details: Vec::new(),
            version: "0".to_owned(),
            program: "0".repeat(64),
            study_sha256: sha256(study.text.as_bytes()),
            study_text: study.text.clone(),
            date: "2026-11-21T22:00:00Z".to_owned(),
        },
    }
}

/// A folder with the records of both arms, and the path of the second one.
fn recorded() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let study = lab::find::find("min-free-kbytes").expect("the built-in study");
    let store = Store::new(folder.path().join("records"));
    store.write(&record("default", &study)).expect("a record");
    let path = store.write(&record("raised", &study)).expect("a record");
    (folder, path)
}

#[test]
fn a_kernel_without_a_prediction_is_reported_and_said() {
    let (folder, _) = recorded();
    let output = plimsoll(&["report", "min-free-kbytes", "--report"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("no calibration for kernel 2.4.37"),
        "{}",
        stderr(&output)
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("Linux 2.4: a bench for tests"), "{text}");
    let page = fs::read_to_string(folder.path().join("min-free-kbytes.html")).expect("a page");
    assert!(page.contains("2.00 MiB") && page.contains("no calibration for kernel 2.4.37"));
}

#[test]
fn a_broken_record_is_named_and_the_others_are_used() {
    let (folder, path) = recorded();
    fs::write(&path, "no record").expect("a file");
    let output = plimsoll(&["report", "min-free-kbytes", "--report"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let name = path.file_name().expect("a name").to_string_lossy();
    let said = stderr(&output);
    assert_eq!(
        said.lines().filter(|line| line.contains(&*name)).count(),
        1,
        "{said}"
    );
    let page = fs::read_to_string(folder.path().join("min-free-kbytes.html")).expect("a page");
    assert!(
        page.contains(&*name) && page.contains("2.00 MiB"),
        "the other record is used"
    );
}

#[test]
fn a_record_of_another_study_version_is_not_used() {
    let (folder, path) = recorded();
    let study = lab::find::find("min-free-kbytes").expect("the built-in study");
    let text = study.text.replace("2355 MiB", "2000 MiB");
    let other = Study::parse(&text, "other").expect("a study");
    fs::remove_file(path).expect("the record");
    let store = Store::new(folder.path().join("records"));
    store.write(&record("raised", &other)).expect("a record");
    let said = stderr(&plimsoll(&["report", "min-free-kbytes"], folder.path()));
    assert!(
        said.contains("made with another version of the study"),
        "{said}"
    );
    assert!(
        said.contains("`plimsoll prove min-free-kbytes` runs arm raised again"),
        "{said}"
    );
}

#[test]
fn a_place_that_cannot_be_written_is_one_line_and_keeps_the_old_report() {
    let (folder, _) = recorded();
    let report = folder.path().join("min-free-kbytes.html");
    fs::write(&report, "the old one").expect("a file");
    let arguments = ["report", "min-free-kbytes", "--out", "min-free-kbytes.html"];
    let output = plimsoll(&arguments, folder.path());
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    let last = said.lines().last().expect("a line");
    assert!(
        last.ends_with("name another file, as in --report=FILE"),
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(&report).expect("the file"),
        "the old one"
    );
}

#[test]
fn without_records_the_report_is_a_prediction_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = plimsoll(&["report", "min-free-kbytes", "--report"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let way_out = "Nothing was proved yet (there is no folder records): `plimsoll prove min-free";
    assert!(
        unwrapped.contains(way_out) && text.contains("predicted, not proved"),
        "{text}"
    );
    let page = fs::read_to_string(folder.path().join("min-free-kbytes.html")).expect("a page");
    assert!(page.contains("Nothing was proved yet.") && !page.contains(">Measured<"));
}

#[test]
fn without_records_there_is_nothing_to_compare() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = plimsoll(&["fidelity"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("there is no folder records"), "{said}");
    fs::create_dir(folder.path().join("records")).expect("a folder");
    let said = stderr(&plimsoll(&["fidelity"], folder.path()));
    assert!(said.contains("no record in records; "), "{said}");
}

#[test]
fn a_study_for_the_model_is_not_sent_to_a_kernel() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = plimsoll(&["fidelity", "file-copy"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("file-copy: for the model only"), "{said}");
    assert!(!said.contains("prove"), "{said}");
}

#[test]
fn where_every_record_is_damaged_it_is_not_said_that_there_is_none() {
    let (folder, path) = recorded();
    for file in fs::read_dir(path.parent().expect("a folder")).expect("a folder") {
        fs::write(file.expect("a file").path(), "no record").expect("a file");
    }
    let said = stderr(&plimsoll(&["fidelity", "min-free-kbytes"], folder.path()));
    let last = said.lines().last().expect("a line");
    let expected = "no record in records can be used, as said above; `plimsoll prove min-free-";
    assert!(last.contains(expected), "{said}");
}

#[test]
fn records_that_nothing_predicts_are_no_success() {
    let (folder, _) = recorded();
    let output = plimsoll(&["fidelity"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("predicts none of the kernels"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn records_are_held_against_those_of_another_folder() {
    let (folder, _) = recorded();
    let output = plimsoll(&["fidelity", "--against", "records"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("nothing misses"));
    fs::create_dir(folder.path().join("others")).expect("a folder");
    let output = plimsoll(&["fidelity", "--against", "others"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("others has no record of an arm"), "{said}");
}

#[test]
fn an_unknown_study_is_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    for verb in ["report", "fidelity"] {
        let output = plimsoll(&[verb, "min-fre-kbytes"], folder.path());
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(stderr(&output).lines().count(), 1);
        assert!(
            stderr(&output).contains("min-free-kbytes"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn what_is_not_predicted_is_listed_and_arms_that_were_not_run_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let study = lab::find::find("min-free-kbytes").expect("the built-in study");
    let store = Store::new(folder.path().join("records"));
    for kernel in ["6.1.0-56-cloud-amd64", "2.4.37"] {
        let mut record = record("default", &study);
        record.provenance.kernel = kernel.to_owned();
        store.write(&record).expect("a record");
    }
    let output = plimsoll(&["fidelity"], folder.path());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in [
        "min-free-kbytes on Linux 6.1, arm raised: no record",
        "min-free-kbytes on Linux 2.4, arm default: not predicted: no calibration for kernel 2.4.37",
        "only one of them misses",
        "not predicted misses",
    ] {
        assert!(unwrapped.contains(line), "no \"{line}\" in\n{text}");
    }
    let output = plimsoll(&["fidelity", "--json"], folder.path());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["schema"], "plimsoll-fidelity");
    assert_eq!(json["scores"][0]["kernel"], "Linux 2.4");
    assert_eq!(json["scores"][0]["absent"][0]["arm"], "raised");
    assert_eq!(json["scores"][0]["rows"][0]["holds"], false);
}
