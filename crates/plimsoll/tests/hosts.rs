//! Golden captures: what `inspect` says of each machine in `fixtures/hosts`, as text and as JSON.
//!
//! `UPDATE_EXPECT=1 cargo test -p plimsoll --test hosts` writes the expected files anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders, sorted.
fn hosts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hosts");
    let folder = folder.canonicalize().expect("the fixtures are there");
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut hosts: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    hosts.sort();
    assert!(!hosts.is_empty(), "there is at least one capture");
    hosts
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
    for host in hosts() {
        let text = inspect(&host, &["--charset", "unicode"]);
        expect_test::expect_file![host.join("inspect.txt")].assert_eq(&text);
        let json = inspect(&host, &["--json"]);
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let json = serde_json::to_string_pretty(&json).expect("JSON") + "\n";
        expect_test::expect_file![host.join("inspect.json")].assert_eq(&json);
    }
}

#[test]
fn every_capture_fits_the_terminal_in_both_charsets() {
    for host in hosts() {
        for charset in ["unicode", "ascii"] {
            let text = inspect(&host, &["--charset", charset]);
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
    for host in hosts() {
        inspect(&host, &["--check"]);
    }
}
