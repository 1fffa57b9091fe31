//! What a run ends with: an exit code, and one line on stderr when it is an error.

use std::fmt;
use std::io::ErrorKind;

use anyhow::Context as _;
use clap::error::{ContextKind, ContextValue, ErrorKind as Mistake};

use crate::term;

/// How a verb ended when it could do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitCode {
    /// 0: done; the answer is yes where there is a question.
    Done,
    /// 1: done, and the answer is no.
    No,
}

/// 2: usage or environment error.
const ERROR: u8 = 2;

/// Characters of an error, so that a file which is not what it should be is not shown whole. The
/// end has the way out.
const LONGEST: usize = 1000;

/// A mistake on the command line, in one line.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl Usage {
    /// The first sentence of clap's message, and its tip; without one, the help of `verb`, the
    /// command as far as it was understood.
    pub(crate) fn new(error: &clap::Error, verb: &str) -> Self {
        let text = error.render().to_string();
        let mut paragraphs = text.split("\n\n").map(one_line);
        let what = paragraphs.next().unwrap_or_default();
        let tip = paragraphs.find(|paragraph| is_tip(paragraph));
        let way_out = tip.unwrap_or_else(|| format!("tip: see {verb} --help"));
        let what = what.strip_prefix("error: ").unwrap_or(&what);
        let what = lacks_a_verb(error, verb).unwrap_or_else(|| what.to_owned());
        Self(format!("{what} ({})", &way_out["tip: ".len()..]))
    }
}

/// A tip that helps: how to pass what is no option as a value does not, where none is taken.
fn is_tip(paragraph: &str) -> bool {
    paragraph.starts_with("tip: ") && !paragraph.starts_with("tip: to pass ")
}

/// What is missing after a verb that has verbs of its own.
fn lacks_a_verb(error: &clap::Error, verb: &str) -> Option<String> {
    let known = error
        .get(ContextKind::ValidSubcommand)
        .filter(|_| error.kind() == Mistake::MissingSubcommand)?;
    let ContextValue::Strings(known) = known else {
        return None;
    };
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let known: Vec<&str> = known.into_iter().filter(|name| *name != "help").collect();
    let verb = verb.strip_prefix("plimsoll ").unwrap_or(verb);
    Some(format!("{verb} needs a subcommand: {}", known.join(", ")))
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Reports the result and turns it into the process's exit code.
pub(crate) fn finish(result: anyhow::Result<ExitCode>) -> std::process::ExitCode {
    match result {
        Ok(ExitCode::Done) => 0.into(),
        Ok(ExitCode::No) => 1.into(),
        Err(error) if is_broken_pipe(&error) => 0.into(),
        Err(error) => {
            term::warn(format_args!("plimsoll: {}", cut(&one_line(&told(&error)))));
            ERROR.into()
        }
    }
}

/// What was done is said, also where it cannot be told on standard output.
pub(crate) fn heard(told: anyhow::Result<()>, done: impl fmt::Display) -> anyhow::Result<()> {
    told.with_context(|| format!("{done}, but that cannot be printed"))
}

/// The error and its causes; a cause that the text names already is not told twice.
fn told(error: &anyhow::Error) -> String {
    error
        .chain()
        .fold(String::new(), |text, cause| match cause.to_string() {
            cause if text.is_empty() => cause,
            cause if text.contains(&cause) => text,
            cause => format!("{text}: {cause}"),
        })
}

/// Whether the reader of our output went away, as `head` does: no error of ours.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}

/// The text without its middle, where it is too long.
fn cut(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST {
        return text.to_owned();
    }
    let begin = text.chars().take(LONGEST / 2);
    let end = text.chars().skip(count - LONGEST / 2);
    begin.chain(" ... ".chars()).chain(end).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn a_reader_that_went_away_is_success() {
        let error = anyhow::Error::new(io::Error::from(ErrorKind::BrokenPipe)).context("stdout");
        assert!(is_broken_pipe(&error));
        assert!(!is_broken_pipe(&anyhow::anyhow!("other")));
    }

    #[test]
    fn an_error_has_a_length_and_keeps_its_way_out() {
        assert_eq!(cut("short"), "short");
        let long = format!("what: {}; the way out", "\u{e4}".repeat(1 << 20));
        let cut = cut(&long);
        assert_eq!(cut.chars().count(), LONGEST + " ... ".len());
        assert!(cut.starts_with("what: ") && cut.ends_with("; the way out"));
    }

    #[test]
    fn a_cause_is_told_once() {
        let cause = io::Error::from(ErrorKind::NotFound);
        let named = format!("records: {cause}; make it");
        let error = anyhow::Error::new(cause)
            .context(named.clone())
            .context("report");
        assert_eq!(told(&error), format!("report: {named}"));
    }
}
