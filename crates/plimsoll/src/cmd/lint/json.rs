//! What was found, as a JSON document.

use look::lint::fix::Fix;
use look::lint::report::{Finding, Unknown};
use look::lint::{Report, Severity};
use serde::Serialize;

use super::targets::Targets;
use crate::term;

/// Version of the shape in docs/schemas/lint.json. A new field is no new version.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: u32,
    /// Of which machine the numbers are; `null` without one.
    machine: Option<&'a str>,
    files: usize,
    settings: usize,
    findings: Vec<Entry<'a>>,
    problems: Vec<&'a str>,
}

/// A finding, or a question that could not be answered.
#[derive(Serialize)]
struct Entry<'a> {
    rule: &'static str,
    severity: Severity,
    status: Status,
    path: &'a str,
    /// `null` for a file as a whole.
    line: Option<usize>,
    what: Option<&'a str>,
    instead: Option<String>,
    fix: Option<Change<'a>>,
    needs: Option<&'static str>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Found,
    Unknown,
}

#[derive(Serialize)]
struct Change<'a> {
    line: usize,
    /// `null` where the line goes.
    with: Option<&'a str>,
}

/// One document in a line.
pub(super) fn text(report: &Report, targets: &Targets) -> String {
    let found = report.findings.iter().map(found);
    let problems = targets.problems.iter().chain(&report.problems);
    let document = Document {
        schema: "plimsoll-lint",
        version: VERSION,
        machine: targets.machine.as_deref(),
        files: report.texts,
        settings: report.settings,
        findings: found.chain(report.unknown.iter().map(unknown)).collect(),
        problems: problems.map(String::as_str).collect(),
    };
    term::json(&document) + "\n"
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
