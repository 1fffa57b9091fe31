//! The pages of rules, docs/rules/NAME.md.

use super::rule::Rule;
use super::table::RULES;
use crate::pages::{Entry, Pages};

/// The sections that every page has, in order.
#[cfg(test)]
pub const SECTIONS: [&str; 5] = ["What", "Why", "Instead", "Kernels", "Source"];

impl Rule {
    /// Its page.
    pub fn entry(&self) -> Entry {
        Entry {
            name: self.name,
            severity: self.severity.word(),
            page: self.page,
            needs: None,
        }
    }
}

/// The pages of all rules.
pub fn pages() -> Pages {
    Pages {
        what: "rule",
        list: "plimsoll lint --explain",
        entries: RULES.iter().map(Rule::entry).collect(),
    }
}
