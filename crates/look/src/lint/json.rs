//! What was found, as a JSON document.

use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;

use super::fix::Fix;
use super::report::{Finding, Unknown};
use super::{Report, Severity};

/// What is wrong with settings, and what could not be told.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Document<'a> {
    /// Of which machine the numbers are; `null` without one.
    machine: Option<&'a str>,
    /// Files that were read, those of live values among them.
    files: usize,
    settings: usize,
    /// In the order of files and lines; those that are unknown follow.
    findings: Vec<Entry<'a>>,
    /// What could not be read, one line each.
    problems: Vec<&'a str>,
}

impl Shape for Document<'_> {
    const NAME: &'static str = "lint";
    const VERSION: u32 = 1;
}

/// A finding, or a question that could not be answered.
#[derive(Debug, JsonSchema, Serialize)]
struct Entry<'a> {
    /// The rule's name; its page is docs/rules/NAME.md.
    rule: &'static str,
    severity: Severity,
    /// Whether it was found, or a fact is missing to tell.
    status: Status,
    path: &'a str,
    /// `null` for a file as a whole.
    line: Option<usize>,
    /// What was found, with its numbers; `null` where it is unknown.
    what: Option<&'a str>,
    /// The way out; `null` where it is unknown.
    instead: Option<String>,
    /// A change that is certain to be right; `null` where there is none.
    fix: Option<Change<'a>>,
    /// The fact that is missing; `null` where it was found.
    needs: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Found,
    Unknown,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Change<'a> {
    line: usize,
    /// `null` where the line goes.
    with: Option<&'a str>,
}

/// One line, without its end. `machine` is whose numbers these are, `problems` what could not be
/// read.
#[must_use]
pub fn text(report: &Report, machine: Option<&str>, problems: &[String]) -> String {
    let found = report.findings.iter().map(found);
    let problems = problems.iter().chain(&report.problems);
    let document = Document {
        machine,
        files: report.texts,
        settings: report.settings,
        findings: found.chain(report.unknown.iter().map(unknown)).collect(),
        problems: problems.map(String::as_str).collect(),
    };
    shapes::text(&document)
}

fn found(finding: &Finding) -> Entry<'_> {
    Entry {
        rule: finding.rule.name,
        severity: finding.rule.severity,
        status: Status::Found,
        path: &finding.path,
        line: some(finding.line),
        what: Some(&finding.what),
        instead: Some(finding.rule.entry().first_of("Instead")),
        fix: finding.fix.as_ref().map(change),
        needs: None,
    }
}

fn unknown(unknown: &Unknown) -> Entry<'_> {
    Entry {
        rule: unknown.rule.name,
        severity: unknown.rule.severity,
        status: Status::Unknown,
        path: &unknown.path,
        line: some(unknown.line),
        what: None,
        instead: None,
        fix: None,
        needs: Some(unknown.needs),
    }
}

fn change(fix: &Fix) -> Change<'_> {
    Change {
        line: fix.line(),
        with: fix.with(),
    }
}

fn some(line: usize) -> Option<usize> {
    Some(line).filter(|&line| line > 0)
}
