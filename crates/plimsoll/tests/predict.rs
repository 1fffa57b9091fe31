//! `predict` and `prove` from outside: what a newcomer gets, and what a slip is told.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use mm::capture::{Capture, Frame};

fn plimsoll(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .args(arguments)
        .current_dir(folder)
        .env("COLUMNS", "80")
        .output()
        .expect("the binary runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Exit code 2 and one line that holds `message`.
fn assert_refused(arguments: &[&str], message: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let output = plimsoll(arguments, folder.path());
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
    assert!(stderr.contains(message), "{arguments:?}: {stderr}");
    let left = fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 0, "{arguments:?} leaves nothing behind");
}

#[test]
fn a_prediction_is_a_table_and_a_report_where_it_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = plimsoll(&["predict", "min-free-kbytes", "--report"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    let row = text
        .lines()
        .find(|line| line.starts_with("min_free_kbytes after boot"));
    assert!(row.expect("the row").contains("67584 kB"), "{text}");
    assert!(text.contains("raised against default: "), "{text}");
    assert!(text.ends_with("report: ./min-free-kbytes.html\n"), "{text}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("15 runs on the model, about "), "{said}");
    assert!(said.ends_with("15 of 15 runs\n"), "{said}");
    assert!(!text.contains("no figure"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let page = fs::read_to_string(folder.path().join("min-free-kbytes.html"));
    let page = page.expect("the report");
    assert!(page.starts_with("<!doctype html>"));
    assert!(page.contains("No record of a real kernel was looked for"));
}

/// Three arms of a study that says what to show first.
fn some_arms(more: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let arms = [
        "--arm",
        "default",
        "--arm",
        "mlock",
        "--arm",
        "backup of 4 x free",
    ];
    let arguments = [
        &["predict", "memory-hogs", "--repetitions", "1"],
        &arms[..],
        more,
    ]
    .concat();
    let output = plimsoll(&arguments, folder.path());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let left = fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 0, "no page that was not asked for");
    stdout(&output)
}

#[test]
fn what_a_study_shows_first_stands_in_place_of_all_figures() {
    let text = some_arms(&[]);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let row = |name: &str| text.lines().position(|line| line.starts_with(name));
    let (mlock, default) = (
        row("mlock ").expect("a row"),
        row("default ").expect("a row"),
    );
    assert!(mlock < default, "the better one first: {text}");
    assert!(
        text.contains("Asks for an application that locks"),
        "{text}"
    );
    assert!(text.contains("\nby size of the backup") || text.contains(", by size of the backup"));
    assert!(
        row("backup of 4 x free").is_none(),
        "it is no remedy: {text}"
    );
    assert!(text.contains("with --all: each of "), "{text}");
    assert!(
        !text.contains("(no figure)"),
        "an answer with holes: {text}"
    );
    assert!(row("stalls of allocation").is_none(), "{text}");
}

#[test]
fn all_lists_every_measure_of_every_arm() {
    let text = some_arms(&["--all"]);
    for line in [
        "stalls of allocation",
        "slowest operations",
        "mlock against default: ",
    ] {
        assert!(
            text.lines().any(|other| other.starts_with(line)),
            "{line}: {text}"
        );
    }
    assert!(!text.contains("Asks for"), "{text}");
}

#[test]
fn the_same_prediction_has_the_same_bytes() {
    let run = || {
        let folder = tempfile::tempdir().expect("a folder");
        let arguments = ["predict", "min-free-kbytes", "--repetitions", "2"];
        stdout(&plimsoll(&arguments, folder.path()))
    };
    assert_eq!(run(), run());
}

#[test]
fn a_setting_of_ones_own_is_an_arm_beside_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = ["--arm", "default", "--set", "vm.min_free_kbytes=300000"];
    let one = ["predict", "min-free-kbytes", "--repetitions", "1"];
    let arguments = [&one[..], &own[..]].concat();
    let text = stdout(&plimsoll(&arguments, folder.path()));
    assert!(text.contains("yours against default: "), "{text}");
    let low = text.lines().find(|line| line.starts_with("low watermark"));
    assert!(
        low.expect("the row").contains("366 MiB"),
        "1.25 times 300000 kB: {text}"
    );
}

#[test]
fn what_the_model_lacks_runs_nothing() {
    assert_refused(
        &[
            "predict",
            "min-free-kbytes",
            "--set",
            "vm.zone_reclaim_mode=1",
        ],
        "arm `yours`: the model does not simulate the tunable vm.zone_reclaim_mode",
    );
}

#[test]
fn a_slip_is_told_in_one_line() {
    let study = "min-free-kbytes";
    assert_refused(
        &["predict", study, "--set", "bdi.disc.max_ratio=50"],
        "--set: unknown disk `disc`",
    );
    assert_refused(
        &["predict", "min-free-kbyte"],
        "did you mean `min-free-kbytes`?",
    );
    assert_refused(&["predict", "/no/such.toml"], "/no/such.toml: No such file");
    assert_refused(
        &["predict", study, "--arm", "rised"],
        "did you mean `raised`?",
    );
    assert_refused(
        &["predict", study, "--kernel", "2.4"],
        "no calibration for kernel 2.4",
    );
    assert_refused(
        &["predict", study, "--set", "vm.swapiness=1"],
        "did you mean vm.swappiness?",
    );
    assert_refused(
        &["predict", study, "--set", "vm.swappiness=900"],
        "from 0 to 200",
    );
    assert_refused(
        &["predict", study, "--set", "vm.swappiness"],
        "vm.swappiness=10",
    );
    let twice = ["--set", "vm.swappiness=1", "--set", "vm.swappiness=2"];
    assert_refused(
        &[&["predict", study], &twice[..]].concat(),
        "vm.swappiness is set twice",
    );
    assert_refused(&["predict", study, "--repetitions", "0"], "--repetitions");
    assert_refused(&["prove", study, "--deadline", "0"], "--deadline");
    assert_refused(
        &["prove", study, "--calibration", "none"],
        "none: No such file or directory",
    );
    let calibrate = ["calibrate", "--kernel", "6.1", "--out", "x"];
    assert_refused(&[&calibrate[..], &["--sizes", "1"]].concat(), "--sizes");
    assert_refused(
        &["predict", study, "--calibration", "none"],
        "none: No such file or directory",
    );
    assert_refused(
        &["prove", study, "--arm", "rised"],
        "did you mean `raised`?",
    );
    assert_refused(&["prove", study, "--clock", "fast"], "--clock");
}

#[test]
fn a_report_that_cannot_be_written_names_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("file"), "").expect("a file");
    let arguments = ["predict", "min-free-kbytes", "--out", "file"];
    let output = plimsoll(&arguments, folder.path());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let expected = "file/min-free-kbytes.html: ";
    assert!(stderr.contains(expected), "{stderr}");
    assert_eq!(stdout(&output), "", "it is known before anything runs");
    fs::create_dir_all(folder.path().join("out/min-free-kbytes.html")).expect("a folder");
    let arguments = ["predict", "min-free-kbytes", "--out", "out"];
    let output = plimsoll(&arguments, folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "", "nor where a folder has the name");
}

/// What the command writes as JSON.
fn json(arguments: &[&str], folder: &Path) -> serde_json::Value {
    let output = plimsoll(arguments, folder);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_str(&stdout(&output)).expect("JSON and nothing else")
}

#[test]
fn the_studies_say_what_they_ask_and_take() {
    let folder = tempfile::tempdir().expect("a folder");
    let found = json(&["studies", "--json"], folder.path());
    let studies = found["studies"].as_array().expect("a list");
    let of = |name: &str| studies.iter().find(|it| it["name"] == name).expect("it");
    assert!(of("memory-hogs")["prove_seconds"].as_f64() > Some(600.0));
    assert!(
        of("file-copy")["prove_seconds"].is_null(),
        "no kernel runs it"
    );
    let output = plimsoll(&["studies", "--csv"], folder.path());
    assert_eq!(stdout(&output).lines().count(), studies.len() + 1);
    let text = stdout(&plimsoll(&["studies"], folder.path()));
    assert!(
        text.contains("How much throughput does a server keep"),
        "{text}"
    );
}

#[test]
fn a_prediction_as_data_is_the_data_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let one = ["predict", "min-free-kbytes", "--repetitions", "1"];
    let found = json(&[&one[..], &["--json"]].concat(), folder.path());
    assert_eq!(found["schema"], "plimsoll-study");
    let kernel = &found["kernels"][0];
    let figures = kernel["figures"].as_array().expect("a list");
    let is_mark =
        |it: &&serde_json::Value| it["measure"] == "low watermark" && it["arm"] == "raised";
    let mark = figures.iter().find(is_mark).expect("the mark");
    assert_eq!(
        (&mark["unit"], &mark["measured"]),
        (&"MiB".into(), &serde_json::Value::Null)
    );
    let note = found["notes"][0].as_str().expect("a note");
    assert!(
        note.contains("the default, --kernel chooses another"),
        "{note}"
    );
    let csv = stdout(&plimsoll(&[&one[..], &["--csv"]].concat(), folder.path()));
    assert!(
        csv.starts_with("study,kernel,measure,arm,unit,predicted_median,"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), figures.len() + 1);
}

#[test]
fn a_study_goes_onto_the_machine_in_a_capture() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut frame = Frame::default();
    for (path, text) in [
        ("proc/meminfo", "MemTotal: 1048576 kB\n"),
        ("proc/sys/kernel/osrelease", "5.15.0-91-generic\n"),
        ("proc/sys/vm/swappiness", "10\n"),
        ("proc/swaps", "Filename Type Size Used Priority\n"),
    ] {
        frame.files.insert(path.to_owned(), text.to_owned());
    }
    let frames = vec![frame];
    fs::write(folder.path().join("host"), Capture { frames }.to_text()).expect("a file");
    let like = [
        "predict",
        "memory-hogs",
        "--like",
        "host",
        "--arm",
        "no backup",
    ];
    let found = json(
        &[&like[..], &["--repetitions", "1", "--json", "--report"]].concat(),
        folder.path(),
    );
    let notes = found["notes"].to_string();
    for said in [
        "the nearest to 5.15.0-91-generic that is modelled",
        "on a machine like host: 1 GiB, 1 CPU, no swap; vm.swappiness = 10",
        "the study was made for 512 MiB and 1 CPU",
    ] {
        assert!(notes.contains(said), "{said}: {notes}");
    }
    let page = fs::read_to_string(folder.path().join("memory-hogs.html")).expect("a page");
    assert!(page.contains("--like host"), "it says how to repeat it");
    assert!(
        !page.contains("fifty times"),
        "the author speaks of another machine"
    );
    assert_refused(
        &["predict", "memory-hogs", "--like", "/no/such"],
        "--like /no/such",
    );
}

#[test]
fn an_arm_about_dentries_is_said_to_have_hardly_any() {
    let folder = tempfile::tempdir().expect("a folder");
    let one = [
        "predict",
        "min-free-kbytes",
        "--repetitions",
        "1",
        "--json",
        "--arm",
        "default",
    ];
    let pressure = ["--set", "vm.vfs_cache_pressure=50"];
    let found = json(&[&one[..], &pressure[..]].concat(), folder.path());
    let notes = found["notes"].to_string();
    assert!(notes.contains("unused dentries and inodes"), "{notes}");
    let found = json(&one, folder.path());
    let notes = found["notes"].to_string();
    assert!(!notes.contains("dentries"), "{notes}");
}
