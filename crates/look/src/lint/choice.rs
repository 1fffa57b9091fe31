//! Which rules are asked.

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
    /// Whether a rule is asked.
    pub fn has(&self, rule: &Rule) -> bool {
        let selected = self.select.is_empty() || self.select.contains(&rule.name);
        selected && !self.ignore.contains(&rule.name)
    }
}
