//! `inspect` on this machine, and what it does with bad input.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn inspect(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .arg("inspect")
        .args(arguments)
        .output()
        .expect("the binary runs")
}

fn assert_refused(arguments: &[&str], message: &str) {
    let output = inspect(arguments);
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
    assert!(stderr.starts_with("plimsoll: "), "{stderr}");
    assert!(stderr.contains(message), "{arguments:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn a_saved_capture_shows_what_was_shown_live() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = folder.path().join("capture.txt");
    let save = [
        "--interval",
        "0",
        "--save",
        text(&capture),
        "--charset",
        "ascii",
    ];
    let live = inspect(&save);
    assert!(
        live.status.success(),
        "{}",
        String::from_utf8_lossy(&live.stderr)
    );
    let replayed = inspect(&["--from", text(&capture), "--charset", "ascii"]);
    // The next command of a finding names what was looked at.
    let replayed = String::from_utf8_lossy(&replayed.stdout);
    let replayed = replayed.replace("inspect EVIDENCE --section", "inspect --section");
    assert_eq!(String::from_utf8_lossy(&live.stdout), replayed);
    assert_eq!(
        fs::read_dir(folder.path()).expect("a folder").count(),
        1,
        "nothing else is left"
    );
}

#[test]
fn an_interval_gives_rates_and_two_frames() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = folder.path().join("capture.txt");
    let output = inspect(&["--interval", "0.05", "--json", "--save", text(&capture)]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["schema"], "plimsoll-inspect");
    assert_eq!(json["version"], 2);
    assert!(json["reclaim"]["seconds"].as_f64().expect("seconds") >= 0.05);
    let capture = fs::read_to_string(capture).expect("the capture");
    assert_eq!(
        capture
            .lines()
            .filter(|line| line.starts_with("@ "))
            .count(),
        2
    );
}

#[test]
fn what_is_no_evidence_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("a file");
        path
    };
    let missing = folder.path().join("missing");
    let refused = |path: &Path, message| assert_refused(&["--from", text(path)], message);
    refused(&missing, "No such file");
    refused(folder.path(), "nothing here is known");
    refused(Path::new("/dev/zero"), "a device");
    refused(&put("gzip", b"\x1f\x8b\x08\x00broken"), "cannot be read");
    refused(&put("empty", b""), "nothing here is known");
    refused(
        &put("elf", b"\x7fELF\xff\xfe\x00"),
        "a program or a crash dump",
    );
    refused(&put("noise", b"\x01\x02\x03\x04"), "no text");
    refused(
        &put("prose", b"my machine is slow\n"),
        "line 1: \"my machine is slow\"",
    );
    refused(
        &put("frameless", b"plimsoll-capture 1\n"),
        "nothing here is known",
    );
    let note = b"plimsoll-capture 1\n@ 5\n= proc/uptime 2\n1\n\n";
    refused(&put("nothing", note), "nothing to show");
}

#[test]
fn a_malformed_kernel_file_is_named_and_the_rest_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.txt");
    let content = "plimsoll-capture 1\n@ 5\n= proc/meminfo 35\nMemTotal:    80 kB\nMemFree:  10 kB\n\n\
                   = proc/vmstat 14\npgfault many!\n\n";
    fs::write(&path, content).expect("a file");
    let output = inspect(&["--from", text(&path)]);
    let shown = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        shown.contains("80 KiB") && shown.contains("/proc/vmstat"),
        "{shown}"
    );
}

#[test]
fn a_capture_is_saved_whole_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let save = |path: &str, message| assert_refused(&["--interval", "0", "--save", path], message);
    save("/dev/full", "No space left");
    save(text(&folder.path().join("missing/capture")), "No such file");
    save(text(folder.path()), "directory");
    save("/proc/capture", "/proc/capture: cannot be saved");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
}

#[test]
fn wrong_arguments_are_refused() {
    for interval in ["-1", "soon", "1e9", "NaN"] {
        assert_refused(
            &[&format!("--interval={interval}")],
            "expected a time from 0 s to 60 min, as in 90s, 10m, 2h",
        );
    }
    assert_refused(&["--watch", "--interval", "0"], "interval");
    assert_refused(&["--watch", "--from", "x"], "--from");
    assert_refused(&["--charset", "latin1"], "unicode");
}

#[test]
fn a_check_of_nothing_is_not_passed() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = folder.path().join("poor.txt");
    let poor = "plimsoll-capture 1\n@ 5\n= proc/meminfo 18\nMemTotal: 1000 kB\n\n";
    fs::write(&capture, poor).expect("a capture");
    let output = inspect(&["--from", text(&capture), "--check"]);
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    let said = "poor.txt: nothing could be recomputed that tests a rule";
    assert!(stderr.contains(said), "{stderr}");
    assert!(
        stderr.contains("MemAvailable (zoneinfo, meminfo)"),
        "{stderr}"
    );
    let shown = inspect(&["--from", text(&capture)]);
    assert_eq!(shown.status.code(), Some(0), "it can be shown all the same");
}

#[test]
fn a_check_of_nothing_but_zeros_is_not_passed() {
    let folder = tempfile::tempdir().expect("a folder");
    let zones = folder.path().join("zones.txt");
    let one = "Node 0, zone   Normal\n  per-node stats\n      nr_inactive_file 5\n  pages free     500\n\
               \x20       min      10\n        low      12\n        high     15\n        spanned  9000\n\
               \x20       present  9000\n        managed  9000\n        protection: (0, 0)\n";
    fs::write(&zones, one).expect("a zoneinfo");
    let output = inspect(&[text(&zones), "--check"]);
    assert_eq!(output.status.code(), Some(2), "0 equals 0");
    let shown = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(shown.contains("None of them tests a rule"), "{shown}");
}
