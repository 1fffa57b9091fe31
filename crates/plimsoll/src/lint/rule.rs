//! A rule: its name, how much it matters, its page, and what it asks.

use serde::Serialize;

use super::fix::Fix;
use super::scope::Scope;
use super::setting::Setting;
use crate::fact::Missing;

/// How much a finding matters. Later ones are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Severity {
    /// Worth knowing; it does no harm.
    Note,
    /// It costs, or does not do what it says.
    Warning,
    /// The kernel refuses it, or it kills processes or the machine.
    Error,
}

impl Severity {
    /// Its word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Rule {
    /// Its name, which is its id.
    pub(crate) name: &'static str,
    /// How much it matters.
    pub(crate) severity: Severity,
    /// The text of docs/rules/NAME.md.
    pub(crate) page: &'static str,
    /// What it asks.
    pub(crate) check: Check,
}

/// What a rule asks, and of what.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Check {
    /// Of each setting of these tunables that nothing takes the place of.
    Standing(&'static [&'static str], fn(&Setting, &Scope<'_>) -> Answer),
    /// Of every setting that a text holds.
    Each(fn(&Setting, &Scope<'_>) -> Answer),
    /// Of the scope as a whole.
    Whole(fn(&Scope<'_>) -> Vec<At>),
    /// Nothing: the suppressions are held against the findings of all others.
    Allowances,
}

/// What a rule says of one setting: nothing, a finding, or which fact it lacks.
pub(crate) type Answer = Result<Option<Said>, Missing>;

/// What a rule finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// What is the case here, with its numbers.
    pub(crate) what: String,
    /// A change that is certain to be right.
    pub(crate) fix: Option<Fix>,
}

/// What a rule says of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct At {
    /// Which text of the scope.
    pub(crate) text: usize,
    /// The line, from 1; 0 for the text as a whole.
    pub(crate) line: usize,
    /// What is found there, or what is missing to tell.
    pub(crate) said: Result<Said, Missing>,
}

impl Said {
    /// With a change that is certain to be right.
    pub(crate) fn fixed(self, fix: Fix) -> Self {
        Self {
            fix: Some(fix),
            ..self
        }
    }
}

impl From<String> for Said {
    fn from(what: String) -> Self {
        Self { what, fix: None }
    }
}

/// A finding where a condition holds.
pub(crate) fn when(holds: bool, what: impl FnOnce() -> String) -> Answer {
    Ok(holds.then(|| what().into()))
}
