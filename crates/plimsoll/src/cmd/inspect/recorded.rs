//! What a recording shows: who read and wrote how much, and what more memory would save.

mod data;
mod text;

use std::io::Write as _;
use std::path::Path;

use anyhow::bail;
use study::Study;

use super::Args;
use crate::exit::ExitCode;
use crate::term;

pub(crate) use data::Document;

/// Shows a recording.
pub(super) fn show(path: &Path, study: &Study, args: &Args) -> anyhow::Result<ExitCode> {
    let name = path.display().to_string();
    let of_a_capture = args.save.is_some() || args.check || args.brief || args.at.is_some();
    if of_a_capture || !args.section.is_empty() {
        bail!("{name}: it is a recording, which has only --json and --all");
    }
    let document = Document::of(&name, study);
    let text = match args.json {
        true => shapes::text(&document) + "\n",
        false => text::text(&document, args.all, term::columns()),
    };
    let mut out = term::out();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::Done)
}
