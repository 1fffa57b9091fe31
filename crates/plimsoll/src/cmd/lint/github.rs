//! What was found, as annotations of a GitHub workflow: one command a line.

use std::fmt::Write as _;

use look::lint::report::Finding;
use look::lint::{Report, Severity};

use super::targets::Targets;

/// The commands.
pub(super) fn text(report: &Report, targets: &Targets) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        text.push_str(&annotation(finding));
    }
    for problem in targets.problems.iter().chain(&report.problems) {
        let _ = writeln!(text, "::warning::{}", data(problem));
    }
    if !report.unknown.is_empty() {
        let count = report.unknown.len();
        let _ = writeln!(
            text,
            "::notice::{count} questions of plimsoll lint are unknown: a fact is missing"
        );
    }
    text
}

fn annotation(finding: &Finding) -> String {
    let command = match finding.rule.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let line = match finding.line {
        0 => String::new(),
        line => format!(",line={line}"),
    };
    let (file, name) = (property(&finding.path), finding.rule.name);
    let what = data(&format!(
        "{} ({})",
        finding.what,
        finding.rule.entry().first_of("Instead")
    ));
    format!("::{command} file={file}{line},title={name}::{what}\n")
}

/// A message: its ends of lines and percent signs are escaped.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A property: its colons and commas too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        assert_eq!(data("5 %\nx"), "5 %25%0Ax");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
    }
}
