//! A rule: its name, how much it matters, its page, and what it asks.

use schemars::JsonSchema;
use serde::Serialize;

use super::fix::Fix;
use super::scope::Scope;
use super::setting::Setting;
use crate::fact::Missing;

/// How much a finding matters. Later ones are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; it does no harm.
    Note,
    /// It costs, or does not do what it says.
    Warning,
    /// The kernel refuses it, or it kills processes or the machine.
    Error,
}

impl Severity {
    /// That of a word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|severity| severity.word() == word)
    }

    /// All, the least first.
    pub const ALL: [Self; 3] = [Self::Note, Self::Warning, Self::Error];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct Rule {
    /// Its name, which is its id.
    pub name: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The text of docs/rules/NAME.md.
    pub page: &'static str,
    /// What it asks.
    pub check: Check,
}

/// What a rule asks, and of what.
#[derive(Clone, Copy, Debug)]
pub enum Check {
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
pub type Answer = Result<Option<Said>, Missing>;

/// What a rule finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// What is the case here, with its numbers.
    pub what: String,
    /// A change that is certain to be right.
    pub fix: Option<Fix>,
}

/// What a rule says of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// Which text of the scope.
    pub text: usize,
    /// The line, from 1; 0 for the text as a whole.
    pub line: usize,
    /// What is found there, or what is missing to tell.
    pub said: Result<Said, Missing>,
}

impl Said {
    /// With a change that is certain to be right.
    pub fn fixed(self, fix: Fix) -> Self {
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
pub fn when(holds: bool, what: impl FnOnce() -> String) -> Answer {
    Ok(holds.then(|| what().into()))
}
