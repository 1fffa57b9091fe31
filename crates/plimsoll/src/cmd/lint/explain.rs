//! `plimsoll lint --explain`: the pages of the rules.

use std::io::Write as _;

use mm::suggest;

use crate::exit::ExitCode;
use crate::lint::table::{self, RULES};
use crate::term::{self, Canvas, bold};
use crate::view::page::Page;

/// Shows a page, or the list of all rules.
pub(super) fn run(name: Option<&str>) -> anyhow::Result<ExitCode> {
    let text = match name {
        None => list(),
        Some(name) => {
            let rule = table::find(name).ok_or_else(|| no_rule(name))?;
            rule.page.to_owned()
        }
    };
    let mut out = term::out();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::Done)
}

/// Why a name is no rule's, and the way out.
pub(super) fn no_rule(name: &str) -> anyhow::Error {
    let way_out = match suggest::nearest(name, table::names()) {
        Some(near) => format!("did you mean {near}?"),
        None => "plimsoll lint --explain lists all rules".to_owned(),
    };
    anyhow::anyhow!("{name}: no such rule; {way_out}")
}

fn list() -> String {
    let mut page = Page::new(Canvas::detect());
    for rule in RULES {
        page.line(format!("{} ({})", bold(rule.name), rule.severity.word()));
        page.paragraph(4, &rule.summary());
    }
    page.into_text()
}
