//! Programs of others that tests run: where one is missing, the test says that it is skipped.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Debian's own interpreter, which finds the modules that Debian's packages bring.
const PYTHON: &str = "/usr/bin/python3";

/// What `promtool` complains of, given this on its standard input; `None`, and the reason is said,
/// without it. It ends with an error where there is something to complain of.
#[must_use]
pub fn promtool(arguments: &[&str], input: &str) -> Option<String> {
    let mut command = Command::new("promtool");
    let complaint = run(command.args(arguments), input);
    said_without(complaint, "promtool is missing: apt-get install prometheus")
}

/// How many samples the strict parser of OpenMetrics finds in a text, or its complaint; `None`, and
/// the reason is said, without it.
#[must_use]
pub fn openmetrics(text: &str) -> Option<String> {
    const PARSE: &str = "\
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
print(sum(len(family.samples) for family in parse(sys.stdin.read())))";
    let module = ["-c", "import prometheus_client.openmetrics.parser"];
    let there = run(Command::new(PYTHON).args(module), "");
    let there = there.filter(|said| said.is_empty());
    let parsed = there.and_then(|_| run(Command::new(PYTHON).args(["-c", PARSE]), text));
    let missing = "prometheus_client is missing: apt-get install python3-prometheus-client";
    said_without(parsed, missing)
}

/// What tmux answers, whose servers have their sockets below a folder; `None`, and the reason is
/// said, without it.
#[must_use]
pub fn tmux(folder: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("tmux");
    let command = command.env("TMUX_TMPDIR", folder).env_remove("TMUX");
    let answer = run(command.args(arguments), "");
    said_without(answer, "tmux is missing: apt-get install tmux")
}

fn said_without<T>(found: Option<T>, missing: &str) -> Option<T> {
    if found.is_none() {
        println!("skipped: {missing}");
    }
    found
}

/// All that a program prints, and how it ended where that is no success; `None` where it is not
/// there.
fn run(command: &mut Command, input: &str) -> Option<String> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    // One that complains before it read all says why.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().ok()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    Some(match output.status.success() {
        true => said,
        false => format!("{said}{}", output.status),
    })
}
