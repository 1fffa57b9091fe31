//! The diagnosis: what is wrong on this machine, worst first, each with its number, the rule that
//! says so, and the next command.
//!
//! One rule a function, in a table; a rule whose files are missing says nothing, and the core files
//! that are missing are named instead.

mod capacity;
mod groups;
mod movement;
mod reserve;

use mm::snapshot::Snapshot;
use serde::Serialize;

use super::interval::Interval;
use super::page::Page;
use crate::term::{bad, good};

/// Findings that are shown; the worst come first.
const SHOWN: usize = 5;

/// How much a finding matters. Later ones are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Severity {
    /// Worth knowing; it costs nothing now.
    Note,
    /// It costs now, or will under load.
    Warning,
    /// Processes are killed, stalled or refused memory, or are about to be.
    Critical,
}

/// What a rule says about the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) id: &'static str,
    pub(crate) severity: Severity,
    /// What is the case, with its number.
    pub(crate) what: String,
    /// The kernel's rule behind it.
    pub(crate) rule: String,
    /// The command that goes on from here.
    pub(crate) next: String,
}

/// What the rules look at.
#[derive(Debug)]
pub(crate) struct Looked<'a> {
    /// The state.
    pub(crate) snapshot: &'a Snapshot,
    /// What happened since an earlier moment.
    pub(crate) interval: Option<&'a Interval>,
}

/// All findings, worst first, and what could not be looked at.
#[derive(Debug, Serialize)]
pub(crate) struct Findings {
    findings: Vec<Finding>,
    /// The core files that are not there.
    #[serde(rename = "findings_without")]
    without: Vec<&'static str>,
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

impl Finding {
    fn write(&self, number: usize, page: &mut Page) {
        let mark = format!("{number}. ");
        match self.severity {
            Severity::Critical => page.styled_item(2, &mark, &self.what, bad),
            Severity::Warning | Severity::Note => page.item(2, &mark, &self.what),
        }
        page.item(5, "Rule: ", &self.rule);
        page.item(5, "Next: ", &self.next);
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
fn without(snapshot: &Snapshot) -> Vec<&'static str> {
    let missing: [_; CORE] = [
        ("/proc/meminfo", snapshot.meminfo.is_none()),
        ("/proc/vmstat", snapshot.vmstat.is_none()),
        ("/proc/zoneinfo", snapshot.zoneinfo.is_none()),
        ("/proc/pressure/memory", snapshot.pressure.memory.is_none()),
        ("/proc/sys/vm", snapshot.tunables.is_empty()),
    ];
    let missing = missing.into_iter().filter(|&(_, missing)| missing);
    missing.map(|(path, _)| path).collect()
}

#[cfg(test)]
mod tests;
