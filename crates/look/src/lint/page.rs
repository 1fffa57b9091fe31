//! The page of a rule, docs/rules/NAME.md.

use super::rule::Rule;
use crate::entry::Entry;

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
