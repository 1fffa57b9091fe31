//! The diagnosis: what is wrong on this machine, worst first, each with its number, the rule that
//! says so, how sure it is, what to do and what not to do.
//!
//! One rule a function, in a table. A rule takes facts that may be absent ([`crate::fact`]): what
//! it lacks is named, and it says nothing.

pub(crate) mod capacity;
pub(crate) mod facts;
mod finding;
mod groups;
mod merging;
mod movement;
pub(crate) mod programs;
mod reclaim;
mod reserve;
mod slab;
pub(crate) mod table;
mod untold;
mod writeback;
mod zram;

use std::collections::BTreeMap;

use crate::fact::Missing;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;

pub(crate) use facts::Looked;
pub(crate) use finding::{Finding, Said, Severity, Sure};
pub use table::pages;

/// Findings that are shown at all where not everything is.
const SHOWN: usize = 6;

/// Facts that are named on one screen as not in the evidence.
const LACKS: usize = 4;

/// All findings, worst first, what was looked for and what could not be.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Findings {
    findings: Vec<Finding>,
    /// What was looked for and not found.
    #[serde(rename = "findings_not_there")]
    absent: Vec<&'static str>,
    /// What was not looked for, by the fact that is missing.
    #[serde(rename = "findings_without")]
    without: BTreeMap<&'static str, Vec<&'static str>>,
    /// Why nothing can be concluded, where the evidence contradicts itself.
    #[serde(skip)]
    contradicts: bool,
    /// The finding that opens.
    #[serde(skip)]
    opens: Option<&'static str>,
}

impl Findings {
    /// Asks every rule.
    pub(crate) fn of(looked: &Looked<'_>) -> Self {
        let mut found = Self {
            findings: Vec::new(),
            absent: Vec::new(),
            without: BTreeMap::new(),
            contradicts: looked.contradicts(),
            opens: None,
        };
        let rules = table::ROWS.iter();
        for (row, rule) in rules.filter_map(|row| Some((row, row.rule?))) {
            match rule(looked) {
                Ok(Some(said)) => found.findings.push(Finding::of(row.name, said)),
                Ok(None) => found.absent.push(row.name),
                Err(Missing(fact)) => found.without.entry(fact).or_default().push(row.name),
            }
        }
        found.sort();
        found
    }

    /// Adds what other evidence says: the state beside a kernel log, or a log beside the state.
    /// What either could look at was looked at.
    pub(crate) fn join(&mut self, other: Self) {
        let known = |name: &str, findings: &[Finding]| findings.iter().any(|it| it.name() == name);
        for finding in other.findings {
            if !known(finding.name(), &self.findings) {
                self.findings.push(finding);
            }
        }
        self.absent.extend(other.absent);
        let mut without: Vec<(&'static str, &'static str)> = Vec::new();
        for (fact, names) in self.without.iter().chain(&other.without) {
            without.extend(names.iter().map(|&name| (*fact, name)));
        }
        let is_asked = |name: &str| self.absent.contains(&name) || known(name, &self.findings);
        without.retain(|(_, name)| !is_asked(name));
        without.sort_by_key(|(_, name)| *name);
        without.dedup_by_key(|(_, name)| *name);
        self.without = BTreeMap::new();
        for (fact, name) in without {
            self.without.entry(fact).or_default().push(name);
        }
        let found = &self.findings;
        self.absent.retain(|name| !known(name, found));
        self.absent.sort_by_key(|name| table::place(name));
        self.absent.dedup();
        self.sort();
    }

    /// Adds what a kernel log or a series says, by the names of the table. It was there before the
    /// state that was read later.
    pub(crate) fn add(&mut self, said: impl IntoIterator<Item = (&'static str, Said)>) {
        for (row, said) in said
            .into_iter()
            .filter_map(|(name, said)| Some((table::find(name)?, said)))
        {
            self.findings.retain(|it| it.name() != row.name);
            self.findings.push(Finding::of(row.name, said));
            self.absent.retain(|&absent| absent != row.name);
        }
        self.sort();
    }

    /// The finding that opens, whatever its weight: the event of a log that is alone.
    pub(crate) fn open_with(&mut self, name: &'static str) {
        self.opens = Some(name);
        self.sort();
    }

    fn sort(&mut self) {
        let opens = self.opens;
        self.findings.sort_by_key(|it| {
            let (name, weight) = (it.name(), std::cmp::Reverse(it.severity()));
            (opens != Some(name), weight, table::place(name))
        });
    }

    /// The findings on evidence of another machine: their next command looks at it too.
    pub(crate) fn of_evidence(&mut self) {
        self.findings.iter_mut().for_each(Finding::of_evidence);
    }

    /// All of them, worst first.
    pub(crate) fn all(&self) -> &[Finding] {
        &self.findings
    }

    /// What was looked for and not found.
    pub(crate) fn absent(&self) -> usize {
        self.absent.len()
    }

    /// Which facts are missing.
    pub(crate) fn lacks(&self) -> impl Iterator<Item = &'static str> {
        self.without.keys().copied()
    }

    /// Their names, worst first.
    #[cfg(test)]
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.findings.iter().map(Finding::name).collect()
    }

    /// Writes the section: the worst with all that is said of them, of the others what is the case.
    pub(crate) fn write(&self, page: &mut Page) {
        page.heading("Diagnosis");
        for (finding, number) in self.findings.iter().zip(1..) {
            finding.write(number, page);
        }
        self.write_looked(page, usize::MAX);
    }

    /// The same, up to this line of the page: of the worst all that is said, as far as it fits, of
    /// the others what is the case.
    pub(crate) fn write_screen(&self, page: &mut Page, lines: usize) {
        page.line("");
        let mut end = page.blank();
        self.write_more(&mut end);
        self.write_looked(&mut end, LACKS);
        let shown = self.findings.iter().zip(1..).take(SHOWN);
        let part = |write: fn(&Finding, usize, &mut Page), it: &Finding, number, page: &Page| {
            let mut part = page.blank();
            write(it, number, &mut part);
            part
        };
        let mut short: Vec<Page> = shown
            .clone()
            .map(|(it, number)| part(Finding::write_what, it, number, page))
            .collect();
        let mut left = lines.saturating_sub(page.lines() + end.lines());
        left = left.saturating_sub(short.iter().map(Page::lines).sum());
        for ((it, number), short) in shown.zip(&mut short) {
            let whole = part(Finding::write, it, number, page);
            let more = whole.lines() - short.lines();
            if number > 1 && more > left {
                break;
            }
            left = left.saturating_sub(more);
            *short = whole;
        }
        short.into_iter().for_each(|part| page.append(part));
        page.append(end);
    }

    fn write_more(&self, page: &mut Page) {
        match self.findings.len().saturating_sub(SHOWN) {
            0 => {}
            more => page.line(format!("  and {more} more findings: --all")),
        }
    }

    /// What was looked for, and what could not be.
    fn write_looked(&self, page: &mut Page, lacks: usize) {
        if self.contradicts {
            let text = "From evidence that contradicts itself nothing more can be told.";
            return page.paragraph(2, text);
        }
        if self.findings.is_empty() && self.absent.is_empty() {
            page.paragraph(
                2,
                "None of the files that a diagnosis looks at is in this evidence: it says neither \
                 that something is wrong nor that nothing is.",
            );
        } else if self.findings.is_empty() {
            let looked = format!("Nothing was found. Looked for: {}.", self.absent.join(", "));
            page.paragraph(2, &looked);
        }
        if !self.without.is_empty() {
            let without: Vec<&str> = self.without.keys().copied().take(lacks).collect();
            let more = match self.without.len() - without.len() {
                0 => String::new(),
                more => format!(" and {more} more (--all)"),
            };
            let text = format!("Not in this evidence: {}{more}.", without.join(", "));
            page.paragraph(2, &text);
        }
    }
}

#[cfg(test)]
mod tests;
