//! Running `cargo test`, and counting what it says.

use std::fmt;
use std::io::{BufRead as _, BufReader};
use std::iter::Sum;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::process;

/// What the test programs print before the reason when they cannot run a test.
const SKIPPED: &str = "skipped: ";

/// How many passed, failed and could not run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) skipped: u32,
    /// Which could not run, and why.
    pub(crate) reasons: Vec<String>,
    /// Which failed, and what they said when they did.
    pub(crate) failures: Vec<String>,
    /// The test whose output is being read.
    current: String,
}

impl Tally {
    /// A check that is one thing; its error goes to stderr.
    pub(crate) fn of(result: Result<()>) -> Self {
        let mut tally = Self::default();
        match result {
            Ok(()) => tally.passed = 1,
            Err(error) => {
                eprintln!("{error:#}");
                tally.failed = 1;
            }
        }
        tally
    }

    /// Takes in one line of the output.
    pub(crate) fn read(&mut self, line: &str) {
        if failed(line) {
            self.failures.push(line.to_owned());
        }
        if let Some(rest) = line.strip_prefix("test result: ") {
            self.passed += count(rest, "passed");
            self.failed += count(rest, "failed");
            self.skipped += count(rest, "ignored");
            return;
        }
        let output = match test_of(line) {
            Some((test, output)) => {
                test.clone_into(&mut self.current);
                output
            }
            None => line,
        };
        if let Some(reason) = output.strip_prefix(SKIPPED) {
            self.reasons.push(format!("{}: {reason}", self.current));
        }
    }

    /// The end of the output: moves skipped tests to where they belong, for libtest counts a test
    /// that returned early as passed, and counts a failure that no test reported, such as a program
    /// that does not compile, or that no test ran at all, as when one is named that is gone.
    pub(crate) fn end(&mut self, succeeded: bool) {
        let early = u32::try_from(self.reasons.len())
            .unwrap_or(u32::MAX)
            .min(self.passed);
        self.passed -= early;
        self.skipped += early;
        let has_run = self.passed + self.failed + self.skipped > 0;
        if self.failed == 0 && !(succeeded && has_run) {
            self.failed = 1;
        }
    }
}

/// Runs `cargo test`, shows what it says, each line after `prefix`, and counts.
pub(crate) fn tests(prefix: &str, command: &mut Command) -> Result<Tally> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| process::describe(command))?;
    let output = child.stdout.take().context("the output is piped")?;
    let mut tally = Tally::default();
    for line in BufReader::new(output).lines() {
        let line = line?;
        tally.read(&line);
        println!("{prefix}{line}");
    }
    let status = child.wait()?;
    tally.end(status.success());
    Ok(tally)
}

/// Runs the tests of a `cargo test`, of which there is one at least.
pub(crate) fn pass(command: &mut Command) -> Result<()> {
    let tally = tests("", command)?;
    match tally.failed {
        0 => Ok(()),
        failed => bail!("{}: {failed} failed", process::describe(command)),
    }
}

/// Whether a line names a test that failed, or says where and why it did.
fn failed(line: &str) -> bool {
    let is_verdict = line.starts_with("test ") && line.ends_with("FAILED");
    let is_place = line.starts_with("thread '") && line.contains("panicked at ");
    let is_why = line.starts_with("  left: ") || line.starts_with(" right: ");
    let is_seen = line.starts_with("gave way: ");
    is_verdict || is_place || is_why || is_seen || line.starts_with("assertion ")
}

/// The name in the line that announces a test or its output, and what the test itself wrote on it.
fn test_of(line: &str) -> Option<(&str, &str)> {
    let shown = line
        .strip_prefix("---- ")
        .and_then(|rest| rest.strip_suffix(" stdout ----"));
    let running = || line.strip_prefix("test ")?.split_once(" ... ");
    shown.map(|test| (test, "")).or_else(running)
}

/// The number before `word` in "ok. 12 passed; 0 failed; 1 ignored; …".
fn count(text: &str, word: &str) -> u32 {
    let words: Vec<&str> = text.split([' ', ';']).filter(|w| !w.is_empty()).collect();
    let number = words
        .windows(2)
        .find(|pair| pair[1] == word)
        .map(|pair| pair[0]);
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            skipped,
            ..
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

impl<'a> Sum<&'a Tally> for Tally {
    fn sum<I: Iterator<Item = &'a Tally>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |mut sum, tally| {
            sum.passed += tally.passed;
            sum.failed += tally.failed;
            sum.skipped += tally.skipped;
            sum.reasons.extend_from_slice(&tally.reasons);
            sum.failures.extend_from_slice(&tally.failures);
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str, succeeded: bool) -> Tally {
        let mut tally = Tally::default();
        output.lines().for_each(|line| tally.read(line));
        tally.end(succeeded);
        tally
    }

    #[test]
    fn results_of_several_programs_are_summed() {
        let output = "running 3 tests\ntest a ... ok\n\
            test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
            test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 5 filtered out\n";
        assert_eq!(
            read(output, false).to_string(),
            "15 passed, 2 failed, 1 skipped"
        );
    }

    #[test]
    fn a_test_that_returned_early_is_skipped_not_passed() {
        let output = "test boots ... skipped: no qemu-system-x86_64\nok\ntest reads ... ok\n\
            ---- packs stdout ----\nskipped: no busybox\npages_skipped: 5\n\
            test result: ok. 3 passed; 0 failed; 0 ignored\n";
        let tally = read(output, true);
        assert_eq!(tally.to_string(), "1 passed, 0 failed, 2 skipped");
        let reasons = ["boots: no qemu-system-x86_64", "packs: no busybox"];
        assert_eq!(tally.reasons, reasons);
    }

    #[test]
    fn what_failed_and_why_is_kept_for_the_end() {
        let output = "test a ... FAILED\n---- a stdout ----\n\n\
            thread 'a' (7) panicked at src/a.rs:3:5:\nassertion `left == right` failed\n  \
            left: 1\n right: 2\n\
            test result: FAILED. 3 passed; 1 failed; 0 ignored\n";
        let expected = [
            "test a ... FAILED",
            "thread 'a' (7) panicked at src/a.rs:3:5:",
            "assertion `left == right` failed",
            "  left: 1",
            " right: 2",
        ];
        assert_eq!(read(output, false).failures, expected);
    }

    #[test]
    fn a_failure_without_a_failed_test_counts_and_so_does_no_test() {
        assert_eq!(read("", false).failed, 1);
        assert_eq!(
            read("test result: ok. 0 passed; 1 failed;", false).failed,
            1
        );
        assert_eq!(read("test result: ok. 0 passed;", true).failed, 1);
        assert_eq!(read("test result: ok. 1 passed;", true).failed, 0);
    }
}
