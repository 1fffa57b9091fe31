//! The page of a rule, docs/rules/NAME.md: its parts are read from the text, so that each stands
//! once.
//!
//! A page is a title with the name, a line with the severity, a summary, and the sections What,
//! Why, Instead, Kernels and Source.

use super::rule::Rule;

/// The sections that every page has, in order.
#[cfg(test)]
pub(crate) const SECTIONS: [&str; 5] = ["What", "Why", "Instead", "Kernels", "Source"];

impl Rule {
    /// What the rule says, in one sentence.
    pub(crate) fn summary(&self) -> String {
        let mut paragraphs = self.page.split("\n\n").skip(2);
        joined(paragraphs.next().unwrap_or_default())
    }

    /// A section's text without its heading; empty where the page has none.
    pub(crate) fn section(&self, heading: &str) -> &'static str {
        let begins = format!("\n## {heading}\n");
        let Some((_, rest)) = self.page.split_once(&begins) else {
            return "";
        };
        rest.split("\n## ").next().unwrap_or_default().trim()
    }

    /// The first paragraph of a section, in one line.
    pub(crate) fn first_of(&self, heading: &str) -> String {
        joined(
            self.section(heading)
                .split("\n\n")
                .next()
                .unwrap_or_default(),
        )
    }
}

fn joined(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}
