//! The pages of rules and findings, docs/rules/NAME.md and docs/findings/NAME.md: their parts are
//! read from the text, so that each stands once.
//!
//! A page is a title with the name, a line with the severity, a summary, and sections.

use mm::suggest;

/// What has a page.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// The word of its severity.
    pub severity: &'static str,
    /// The text of its page.
    pub page: &'static str,
    /// What it takes to be told.
    pub needs: Option<&'static str>,
}

impl Entry {
    /// What it is, in one sentence.
    pub fn summary(&self) -> String {
        let mut paragraphs = self.page.split("\n\n").skip(2);
        joined(paragraphs.next().unwrap_or_default())
    }

    /// A section's text without its heading; empty where the page has none.
    pub fn section(&self, heading: &str) -> &'static str {
        let begins = format!("\n## {heading}\n");
        let Some((_, rest)) = self.page.split_once(&begins) else {
            return "";
        };
        rest.split("\n## ").next().unwrap_or_default().trim()
    }

    /// The first paragraph of a section, in one line.
    pub fn first_of(&self, heading: &str) -> String {
        let section = self.section(heading);
        joined(section.split("\n\n").next().unwrap_or_default())
    }

    /// That the page has its name, its severity, a summary and these sections, each with text.
    pub fn check(&self, sections: &[&str]) {
        let head = format!("# {}\n\nSeverity: {}.\n\n", self.name, self.severity);
        assert!(self.page.starts_with(&head), "{}", self.name);
        assert!(self.summary().ends_with('.'), "{}", self.name);
        let headings = self.page.lines().filter_map(|l| l.strip_prefix("## "));
        assert_eq!(headings.collect::<Vec<_>>(), sections, "{}", self.name);
        for section in sections {
            assert!(self.section(section).len() > 3, "{}: {section}", self.name);
        }
    }

    /// Its row in a document's list.
    pub fn row(&self, folder: &str) -> String {
        let (name, severity, summary) = (self.name, self.severity, self.summary());
        let needs = self.needs.map(|needs| format!(" {needs} |"));
        let needs = needs.as_deref().unwrap_or("");
        format!("| [{name}]({folder}/{name}.md) | {severity} | {summary} |{needs}")
    }
}

fn joined(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All pages of one kind.
#[derive(Clone, Debug)]
pub struct Pages {
    /// What one is.
    pub what: &'static str,
    /// The command that lists them.
    pub list: &'static str,
    /// The pages, in order.
    pub entries: Vec<Entry>,
}

impl Pages {
    /// The page of a name.
    ///
    /// # Errors
    /// One line with the way out where there is none.
    pub fn find(&self, name: &str) -> Result<&Entry, String> {
        let found = self.entries.iter().find(|entry| entry.name == name);
        found.ok_or_else(|| {
            let names = self.entries.iter().map(|entry| entry.name);
            let way_out = match suggest::nearest(name, names) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("{} lists all {}s", self.list, self.what),
            };
            format!("{name}: no such {}; {way_out}", self.what)
        })
    }
}
