//! The pages of rules and findings, docs/rules/NAME.md and docs/findings/NAME.md: their parts are
//! read from the text, so that each stands once, and `--explain` shows them.
//!
//! A page is a title with the name, a line with the severity, a summary, and sections.

use std::io::Write as _;

use mm::suggest;

use crate::exit::ExitCode;
use crate::term::{self, Canvas, bold};
use crate::view::page::Page;

/// What has a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Its name.
    pub(crate) name: &'static str,
    /// The word of its severity.
    pub(crate) severity: &'static str,
    /// The text of its page.
    pub(crate) page: &'static str,
    /// What it takes to be told.
    pub(crate) needs: Option<&'static str>,
}

impl Entry {
    /// What it is, in one sentence.
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
        let section = self.section(heading);
        joined(section.split("\n\n").next().unwrap_or_default())
    }

    /// That the page has its name, its severity, a summary and these sections, each with text.
    #[cfg(test)]
    pub(crate) fn check(&self, sections: &[&str]) {
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
    #[cfg(test)]
    pub(crate) fn row(&self, folder: &str) -> String {
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
pub(crate) struct Pages {
    /// What one is.
    pub(crate) what: &'static str,
    /// The command that lists them.
    pub(crate) list: &'static str,
    /// The pages, in order.
    pub(crate) entries: Vec<Entry>,
}

impl Pages {
    /// Shows a page, or the list of all.
    pub(crate) fn show(&self, name: Option<&str>) -> anyhow::Result<ExitCode> {
        let text = match name {
            None => self.listed(),
            Some(name) => {
                let entry = self.entries.iter().find(|entry| entry.name == name);
                entry.ok_or_else(|| self.no_such(name))?.page.to_owned()
            }
        };
        let mut out = term::out();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(ExitCode::Done)
    }

    /// Why a name is none of them, and the way out.
    pub(crate) fn no_such(&self, name: &str) -> anyhow::Error {
        let names = self.entries.iter().map(|entry| entry.name);
        let way_out = match suggest::nearest(name, names) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("{} lists all {}s", self.list, self.what),
        };
        anyhow::anyhow!("{name}: no such {}; {way_out}", self.what)
    }

    fn listed(&self) -> String {
        let mut page = Page::new(Canvas::detect());
        for entry in &self.entries {
            page.line(format!("{} ({})", bold(entry.name), entry.severity));
            page.paragraph(4, &entry.summary());
            if let Some(needs) = entry.needs {
                page.item(4, "By: ", needs);
            }
        }
        page.into_text()
    }
}
