//! Which rules are asked.

use super::page;
use super::rule::Rule;

/// Some of the rules, or all.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// These alone; all where there is none.
    pub select: Vec<&'static str>,
    /// Not these.
    pub ignore: Vec<&'static str>,
}

impl Choice {
    /// A rule as it is named in a choice.
    ///
    /// # Errors
    /// One line with the way out where there is no such rule.
    pub fn rule(name: &str) -> Result<&'static str, String> {
        page::pages().find(name).map(|entry| entry.name)
    }

    /// Whether a rule is asked.
    pub fn has(&self, rule: &Rule) -> bool {
        let selected = self.select.is_empty() || self.select.contains(&rule.name);
        selected && !self.ignore.contains(&rule.name)
    }
}
