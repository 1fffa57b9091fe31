//! The diagnosis: what is wrong on this machine, worst first, each with its number, the rule that
//! says so, and the next command.
//!
//! One rule a function, in a table; a rule whose files are missing says nothing, and the core files
//! that are missing are named instead.

mod capacity;
mod finding;
mod groups;
mod movement;
mod reserve;

use mm::catalogue::folder;
use mm::snapshot::Snapshot;
use serde::Serialize;

use super::page::Page;
use crate::term::good;

pub(crate) use finding::{Finding, Looked, Severity};

/// Findings that are shown; the worst come first.
const SHOWN: usize = 5;

/// All findings, worst first, and what could not be looked at.
#[derive(Debug, Serialize)]
pub(crate) struct Findings {
    findings: Vec<Finding>,
    /// The core files that are not there.
    #[serde(rename = "findings_without")]
    without: Vec<String>,
    /// What it means that nothing was found.
    #[serde(skip)]
    nothing: &'static str,
}

/// A rule: it sees the state and says what it finds.
type Rule = fn(&Looked<'_>) -> Option<Finding>;

/// Every rule; of two that weigh the same the earlier is shown first.
const RULES: &[Rule] = &[
    movement::killed,
    movement::pressure,
    movement::swapping_both_ways,
    movement::refaults,
    movement::writers_wait,
    groups::out_of_memory,
    groups::at_the_limit,
    groups::protection_taken,
    capacity::available,
    capacity::swap_full,
    capacity::commit_limit,
    reserve::node_short,
    reserve::free_is_cma,
    reserve::raised,
    reserve::boosted,
    reserve::zone_reclaim,
    capacity::idle_huge_pages,
    capacity::slab,
    capacity::page_tables,
    capacity::shared,
    capacity::merging,
];

impl Findings {
    /// Asks every rule.
    pub(crate) fn of(looked: &Looked<'_>) -> Self {
        let mut findings: Vec<Finding> = RULES.iter().filter_map(|rule| rule(looked)).collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        Self {
            findings,
            without: without(looked.snapshot),
            nothing: nothing(looked.snapshot),
        }
    }

    /// Adds what other evidence than the state says: a kernel log, a series.
    pub(crate) fn add(&mut self, findings: impl Iterator<Item = Finding>) {
        self.findings.extend(findings);
        self.findings
            .sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    }

    /// The findings on evidence of another machine: their next command looks at it too.
    pub(crate) fn of_evidence(&mut self) {
        for finding in &mut self.findings {
            let looks = finding.next.strip_prefix("plimsoll inspect --section");
            if let Some(section) = looks {
                finding.next = format!("plimsoll inspect EVIDENCE --section{section}");
            }
        }
    }

    /// Writes the section: at most five findings, or that there are none.
    pub(crate) fn write(&self, page: &mut Page) {
        page.heading("Diagnosis");
        if self.findings.is_empty() {
            match self.nothing {
                NOTHING => page.line(format!("  {}", good(NOTHING))),
                nothing => page.paragraph(2, nothing),
            }
        }
        for (finding, number) in self.findings.iter().take(SHOWN).zip(1..) {
            finding.write(number, page);
        }
        if let Some(more) = self
            .findings
            .len()
            .checked_sub(SHOWN)
            .filter(|&more| more > 0)
        {
            page.paragraph(
                2,
                &format!("{more} lesser findings: see --json, \"findings\"."),
            );
        }
        if !self.without.is_empty() {
            page.paragraph(
                2,
                &format!("Not in this evidence: {}.", self.without.join(", ")),
            );
        }
    }
}

const NOTHING: &str = "Nothing is wrong here that these files show.";

/// What it means that no rule finds anything: of evidence that no rule can look at, or that
/// contradicts itself, nothing follows.
fn nothing(snapshot: &Snapshot) -> &'static str {
    if without(snapshot).len() == CORE {
        return "None of the files that a diagnosis looks at is in this evidence: it says neither \
                that something is wrong nor that nothing is.";
    }
    match snapshot.contradictions().is_empty() {
        true => NOTHING,
        false => "From evidence that contradicts itself nothing more can be told.",
    }
}

/// The files that most rules need.
const CORE: usize = 5;

/// The files that most rules need and that are not there.
fn without(snapshot: &Snapshot) -> Vec<String> {
    let missing: [_; CORE] = [
        ("proc/meminfo", snapshot.meminfo.is_none()),
        ("proc/vmstat", snapshot.vmstat.is_none()),
        ("proc/zoneinfo", snapshot.zoneinfo.is_none()),
        ("proc/pressure/memory", snapshot.pressure.memory.is_none()),
        (folder::VM, snapshot.tunables.is_empty()),
    ];
    let missing = missing.into_iter().filter(|&(_, missing)| missing);
    missing.map(|(path, _)| format!("/{path}")).collect()
}

#[cfg(test)]
mod tests;
