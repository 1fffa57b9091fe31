//! A finding, and what it is looked for in.

use mm::snapshot::Snapshot;
use serde::Serialize;

use crate::term::bad;
use crate::view::interval::Interval;
use crate::view::page::Page;

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

impl Finding {
    pub(super) fn write(&self, number: usize, page: &mut Page) {
        let mark = format!("{number}. ");
        match self.severity {
            Severity::Critical => page.styled_item(2, &mark, &self.what, bad),
            Severity::Warning | Severity::Note => page.item(2, &mark, &self.what),
        }
        page.item(5, "Rule: ", &self.rule);
        page.item(5, "Next: ", &self.next);
    }
}
