//! `plimsoll metrics`: real readers take what it prints, its server holds, and each alert fires on a
//! recorded trouble and on no healthy machine.

mod rules;
mod server;
mod text;

use std::path::Path;
use std::process::{Command, Output};

/// Runs the verb.
fn metrics(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let output = command.arg("metrics").args(arguments).output();
    output.expect("the binary runs")
}

/// The figures of a piece of evidence of the checkout, which nothing is complained of.
fn of_evidence(path: &str, arguments: &[&str]) -> String {
    let evidence = testkit::checkout(path);
    said(&metrics(&[&[shown(&evidence)], arguments].concat()), path)
}

fn said(output: &Output, what: &str) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && stderr.is_empty(),
        "{what}: {stderr}"
    );
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// The lines with samples.
fn samples(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#'))
}
