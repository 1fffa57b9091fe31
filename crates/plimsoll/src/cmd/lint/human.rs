//! What was found, as text for a terminal, file by file.

use look::lint::report::Finding;
use look::lint::{Report, Severity};
use mm::text::counted;

use crate::term::{Canvas, bad, bold};
use look::page::Page;

use super::targets::Targets;

/// The text.
pub(super) fn text(report: &Report, targets: &Targets, canvas: Canvas) -> String {
    let mut page = Page::new(canvas);
    for of_file in report.findings.chunk_by(|a, b| a.path == b.path) {
        page.line(bold(&of_file[0].path));
        of_file.iter().for_each(|finding| write(finding, &mut page));
        page.line("");
    }
    page.paragraph(0, &sum(report, targets));
    if !report.unknown.is_empty() {
        page.paragraph(0, &unknown(report, targets));
    }
    for problem in targets.problems.iter().chain(&report.problems) {
        page.paragraph(0, problem);
    }
    page.into_text()
}

fn write(finding: &Finding, page: &mut Page) {
    let rule = finding.rule;
    let line = match finding.line {
        0 => String::new(),
        line => format!("line {line}: "),
    };
    let head = format!("{line}{} {}", rule.severity.word(), rule.name);
    match rule.severity {
        Severity::Error => page.line(format!("  {}", bad(head))),
        Severity::Warning | Severity::Note => page.line(format!("  {head}")),
    }
    if !finding.source.is_empty() {
        page.line(format!("    {}", cut(&finding.source)));
    }
    page.paragraph(4, &finding.what);
    page.item(4, "Instead: ", &rule.entry().first_of("Instead"));
}

/// A line of a text, as much of it as is worth showing.
fn cut(line: &str) -> String {
    let mut cut: String = line.chars().take(70).collect();
    if cut.len() < line.len() {
        cut.push_str("...");
    }
    cut
}

/// How much was looked at, and how much was found.
fn sum(report: &Report, targets: &Targets) -> String {
    let found = [Severity::Error, Severity::Warning, Severity::Note]
        .map(|severity| counted(report.count(severity), severity.word()));
    let machine = targets.machine_name();
    format!(
        "{}, {}: {}.{machine}",
        counted(report.settings, "setting"),
        counted(report.texts, "file"),
        found.join(", ")
    )
}

/// How often which fact was missing.
fn unknown(report: &Report, targets: &Targets) -> String {
    let mut needs: Vec<&str> = report.unknown.iter().map(|unknown| unknown.needs).collect();
    needs.sort_unstable();
    needs.dedup();
    let count = report.unknown.len();
    let asked = if count == 1 {
        "1 question"
    } else {
        "questions"
    };
    let count = if count == 1 {
        String::new()
    } else {
        format!("{count} ")
    };
    let way_out = match targets.machine {
        None => " --of this, or --of EVIDENCE, tells them;",
        Some(_) => "",
    };
    format!(
        "Unknown: {count}{asked} could not be answered for want of {}.{way_out} --json lists them.",
        needs.join(", ")
    )
}
