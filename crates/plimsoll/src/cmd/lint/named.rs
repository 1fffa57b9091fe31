//! Rules and severities, as they are named in options and in plimsoll.toml.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use look::lint::Severity;
use look::lint::rule::Rule;
use look::lint::table::{self, RULES};

use crate::pages::Pages;

/// The pages of all rules.
pub(super) fn pages() -> Pages {
    Pages {
        what: "rule",
        list: "plimsoll lint --explain",
        entries: RULES.iter().map(Rule::entry).collect(),
    }
}

/// The rule of this name; an error with the way out where there is none.
pub(super) fn rule(name: &str) -> anyhow::Result<&'static str> {
    let found = table::find(name).map(|rule| rule.name);
    found.ok_or_else(|| pages().no_such(name))
}

/// The severity of this word.
pub(super) fn severity(word: &str) -> anyhow::Result<Severity> {
    let found = Severity::ALL.into_iter().find(|it| it.word() == word);
    found.ok_or_else(|| anyhow::anyhow!("expected error, warning or note"))
}

/// The same as an option's value, whose words are completed.
pub(super) fn severities() -> impl TypedValueParser<Value = Severity> {
    let words = Severity::ALL.map(Severity::word);
    PossibleValuesParser::new(words).try_map(|word| severity(&word))
}
