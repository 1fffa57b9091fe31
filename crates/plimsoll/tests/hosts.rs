//! Golden captures: what `inspect` says of each machine in `fixtures/hosts`, as text and as JSON,
//! and of those in `fixtures/inspect`, whose numbers are not all as the tunables give them, of
//! those in `fixtures/reclaim`, which swap, have control groups and lose part of their working set,
//! and of those in `fixtures/writeback`, where a slow device holds what all may hold.
//!
//! `UPDATE_EXPECT=1 cargo test -p plimsoll --test hosts` rewrites the expected files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders of one kind below `fixtures`, sorted.
fn captures(kind: &str) -> Vec<PathBuf> {
    let folder = testkit::checkout("fixtures").join(kind);
    let folder = folder.canonicalize().expect("the fixtures are there");
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    folders.sort();
    assert!(!folders.is_empty(), "there is at least one capture");
    folders
}

fn all() -> Vec<PathBuf> {
    ["hosts", "inspect", "reclaim", "writeback"]
        .map(captures)
        .concat()
}

fn inspect(host: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .args(["inspect", "--from"])
        .arg(host.join("capture.txt"))
        .args(arguments);
    let output = command
        .env("COLUMNS", "80")
        .output()
        .expect("the binary runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && stderr.is_empty(),
        "{}: {stderr}",
        host.display()
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn every_capture_is_shown_as_it_was() {
    for host in all() {
        let text = inspect(&host, &["--all", "--charset", "unicode"]);
        expect_test::expect_file![host.join("inspect.txt")].assert_eq(&text);
        let json = inspect(&host, &["--json"]);
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let json = serde_json::to_string_pretty(&json).expect("JSON") + "\n";
        expect_test::expect_file![host.join("inspect.json")].assert_eq(&json);
    }
}

#[test]
fn every_capture_fits_the_terminal_in_both_charsets() {
    for host in all() {
        for charset in ["unicode", "ascii"] {
            let screen = inspect(&host, &["--charset", charset]);
            assert!(screen.lines().count() < 24, "{}", host.display());
            let text = inspect(&host, &["--all", "--charset", charset]);
            let too_long = text.lines().find(|line| line.chars().count() > 80);
            assert_eq!(too_long, None, "{}, {charset}", host.display());
            assert!(
                charset == "unicode" || text.is_ascii(),
                "{}",
                host.display()
            );
        }
    }
}

#[test]
fn what_is_recomputed_equals_the_kernels_numbers() {
    for host in captures("hosts") {
        inspect(&host, &["--check"]);
    }
}

#[test]
fn marks_as_booted_are_explained_and_equal_once_they_are_made_anew() {
    for vm in captures("inspect") {
        let booted = inspect(&vm, &["--all", "--at", "booted", "--charset", "unicode"]);
        expect_test::expect_file![vm.join("booted.txt")].assert_eq(&booted);
        assert!(booted.contains("less, as at boot"), "{}", vm.display());
        for snapshot in ["set", "end"] {
            inspect(&vm, &["--at", snapshot, "--check"]);
        }
    }
}

#[test]
fn the_documented_control_groups_are_those_of_a_capture() {
    let guide = include_str!("../../../docs/inspect.md");
    let section = guide
        .split("## Control groups")
        .nth(1)
        .expect("the section");
    let section = section.split("\n## ").next().expect("its text");
    let shown = section.lines().filter_map(|line| line.strip_prefix("    "));
    let shown: Vec<&str> = shown.collect();
    assert!(shown.len() > 4, "{shown:?}");
    let text = include_str!("../../../fixtures/reclaim/vm-512mib-6.1/inspect.txt");
    for line in shown {
        assert!(text.contains(line), "no line \"{line}\" in:\n{text}");
    }
}

#[test]
fn the_study_that_made_the_captures_can_be_run_again() {
    let study = include_str!("../../../fixtures/reclaim/study.toml");
    let study = study::Study::parse(study, "study.toml").expect("a study");
    let groups = study
        .scenario("default", 1)
        .expect("the arm")
        .workload
        .cgroups;
    let text = include_str!("../../../fixtures/reclaim/vm-512mib-6.12/inspect.json");
    let shown: serde_json::Value = serde_json::from_str(text).expect("JSON");
    for group in groups {
        let names = shown["control_groups"].as_array().expect("groups").iter();
        let mut names = names.map(|group| group["name"].as_str().expect("a name"));
        assert!(names.any(|name| name == group.path), "{}", group.path);
    }
}

#[test]
fn a_slow_device_that_holds_what_all_may_hold_is_pointed_out() {
    for vm in captures("writeback") {
        let text = inspect(&vm, &["--all"]);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("2% is its part: writers to other devices wait"),
            "{text}"
        );
        assert!(text.contains("pdb was busy throughout"), "{text}");
    }
}
