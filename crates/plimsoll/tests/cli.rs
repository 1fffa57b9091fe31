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
fn without_a_verb_the_help_is_shown_and_nothing_was_done() {
    let output = plimsoll(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Exit codes:"));
}

#[test]
fn output_to_a_pipe_has_escape_sequences_where_they_are_asked_for() {
    for (arguments, has) in [
        (&["inspect"][..], false),
        (&["inspect", "--color", "never"], false),
        (&["--color", "always", "inspect"], true),
    ] {
        let output = plimsoll(arguments);
        assert_eq!(output.stdout.contains(&0x1b), has, "{arguments:?}");
    }
}

#[test]
fn a_quiet_command_says_its_answer_and_its_errors_alone() {
    let study = ["predict", "min-free-kbytes", "--repetitions", "1"];
    let talk = |more: &[&str]| plimsoll(&[&study[..], more].concat());
    let (told, quiet) = (talk(&[]), talk(&["-q"]));
    assert!(!told.stderr.is_empty() && quiet.stderr.is_empty());
    assert_eq!(told.stdout, quiet.stdout);
    assert_refused(&["-q", "predict", "no-such-study"], "no-such-study");
}

#[test]
fn a_shell_takes_the_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let script = plimsoll(&["completions", shell]).stdout;
        let script = String::from_utf8(script).expect("UTF-8");
        assert!(script.contains("predict"), "{shell}");
    }
    let script = plimsoll(&["completions", "bash"]).stdout;
    let completed = "COMP_WORDS=(plimsoll insp); COMP_CWORD=1; _plimsoll plimsoll insp plimsoll; \
                     echo \"${COMPREPLY[@]}\"";
    let script = format!("{}\n{completed}", String::from_utf8_lossy(&script));
    let bash = Command::new("bash").args(["-c", &script]).output();
    let said = String::from_utf8(bash.expect("bash runs").stdout).expect("UTF-8");
    assert_eq!(said.trim(), "inspect");
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
