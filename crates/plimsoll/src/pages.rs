//! The pages of rules and findings, as `--explain` shows them.

use std::io::Write as _;

use look::entry::Entry;
use mm::suggest;

use crate::exit::ExitCode;
use crate::term::{self, Canvas, bold};
use crate::view::page::Page;

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
