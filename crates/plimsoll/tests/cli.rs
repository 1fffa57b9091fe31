//! The command line from outside: exit codes, one line on stderr, a reader that goes away.

use std::process::{Command, Output, Stdio};

fn plimsoll(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(arguments).output().expect("the binary runs")
}

/// Asserts exit code 2 and one line on stderr that begins with the program's name.
fn assert_refused(arguments: &[&str], message: &str) {
    let output = plimsoll(arguments);
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
    assert!(stderr.starts_with("plimsoll: "), "{arguments:?}: {stderr}");
    assert!(stderr.contains(message), "{arguments:?}: {stderr}");
}

#[test]
fn help_and_version_are_success() {
    for flag in ["--help", "--version", "-h", "-V"] {
        let output = plimsoll(&[flag]);
        assert_eq!(output.status.code(), Some(0), "{flag}");
        assert!(!output.stdout.is_empty(), "{flag}");
    }
    let help = plimsoll(&["--help"]);
    assert!(String::from_utf8_lossy(&help.stdout).contains("Exit codes:"));
}

#[test]
fn wrong_usage_is_one_line_and_exit_code_2() {
    assert_refused(&["inspcet"], "inspect");
    assert_refused(&["inspect", "--no-such-flag"], "--no-such-flag");
    assert_refused(&[], "--help");
    assert_refused(
        &["ksm"],
        "ksm needs a subcommand: estimate (see plimsoll ksm --help)",
    );
    assert_refused(
        &["predict", "min-free-kbytes", "--no-such-flag"],
        "(see plimsoll predict --help)",
    );
    for [option, value] in [["--seed", "-1"], ["--seed", "x"], ["--repetitions", "1e9"]] {
        let arguments = ["predict", "min-free-kbytes", option, value];
        assert_refused(&arguments, "expected a whole number from ");
    }
    assert_refused(&["replay", "trace", "--memory", "-5"], "--memory");
}

#[test]
fn output_to_a_pipe_has_no_escape_sequences() {
    let output = plimsoll(&["inspect"]);
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn a_reader_that_goes_away_is_success() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .arg("inspect")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}
