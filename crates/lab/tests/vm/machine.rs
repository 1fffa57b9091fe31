//! What tests that boot a machine share: whether they may, and with which `plimsoll`.
//!
//! `PLIMSOLL_VM` says what to do where a VM cannot be had: `required` fails, `auto` (the default)
//! prints `skipped: WHY`, `off` does not try.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use answer::bench::{BenchError, Progress};

/// What a test needs, or `None` once it has said why it cannot run.
pub(crate) fn unless_skipped<T>(make: impl FnOnce() -> Result<T, BenchError>) -> Option<T> {
    let mode = std::env::var("PLIMSOLL_VM").unwrap_or_else(|_| "auto".into());
    if mode == "off" {
        println!("skipped: PLIMSOLL_VM=off");
        return None;
    }
    match make() {
        Ok(bench) => Some(bench),
        Err(error) if mode == "required" => panic!("PLIMSOLL_VM=required: {error}"),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

pub(crate) fn show(progress: Progress) {
    match progress {
        Progress::Stage(text) => println!("{text}"),
        Progress::Console(line) => println!("console: {line}"),
    }
}

/// The command itself, which is what a VM runs as `/init`; optimised, as a user has it.
/// `PLIMSOLL_BINARY` names one that is built already, with the guard's daemon beside it.
pub(crate) fn plimsoll() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(path) = std::env::var_os("PLIMSOLL_BINARY") {
            return path.into();
        }
        let workspace = testkit::checkout("");
        let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
        let built = cargo
            .args(["build", "--quiet", "--release", "--bins"])
            .args(["--package", "plimsoll", "--package", "plimsoll-guard"])
            .current_dir(workspace)
            .status();
        assert!(
            built.is_ok_and(|status| status.success()),
            "plimsoll does not build"
        );
        // This test is in target/TRIPLE/PROFILE/deps.
        let test = std::env::current_exe().expect("a running program has a path");
        let triple = test.ancestors().nth(3).expect("four levels under target");
        triple.join("release/plimsoll")
    })
}
