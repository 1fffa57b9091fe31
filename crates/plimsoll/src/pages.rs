//! The pages of rules and findings, as `--explain` shows them.

use std::io::Write as _;

use look::pages::Pages;

use crate::exit::ExitCode;
use crate::term::{self, bold};
use look::page::Page;

/// Shows a page, or the list of all.
pub(crate) fn show(pages: &Pages, name: Option<&str>) -> anyhow::Result<ExitCode> {
    let text = match name {
        None => listed(pages),
        Some(name) => {
            let entry = pages.find(name).map_err(anyhow::Error::msg)?;
            entry.page.to_owned()
        }
    };
    let mut out = term::out();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::Done)
}

fn listed(pages: &Pages) -> String {
    let mut page = Page::new(term::canvas());
    for entry in &pages.entries {
        page.line(format!("{} ({})", bold(entry.name), entry.severity));
        page.paragraph(4, &entry.summary());
        if let Some(needs) = entry.needs {
            page.item(4, "By: ", needs);
        }
    }
    page.into_text()
}
