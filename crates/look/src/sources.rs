//! What the evidence was taken for, and what of it was passed over.

use evidence::NOTE;
use mm::capture::Frame;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;

/// A line of the note.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Evidence {
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passed_over: Vec<String>,
}

/// Places that were passed over and are named on the page.
const SHOWN: usize = 4;

/// The note of these frames, source by source; none for a live machine.
pub(crate) fn evidence<'a>(frames: impl Iterator<Item = &'a Frame>) -> Vec<Evidence> {
    let mut sources: Vec<Evidence> = Vec::new();
    let notes = frames.filter_map(|frame| frame.file(NOTE));
    for line in notes.flat_map(str::lines) {
        let mut words = line.splitn(3, '\t');
        let (Some(kind), Some(source), Some(what)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        if kind == "read" || sources.is_empty() {
            sources.push(Evidence {
                source: source.to_owned(),
                read: None,
                passed_over: Vec::new(),
            });
        }
        let Some(last) = sources.last_mut() else {
            continue;
        };
        match kind {
            "read" => last.read = Some(what.to_owned()),
            _ if source == last.source => last.passed_over.push(what.to_owned()),
            _ => last.passed_over.push(format!("{source}, {what}")),
        }
    }
    sources
}

/// Writes the first lines of the page.
pub(crate) fn write(sources: &[Evidence], page: &mut Page) {
    for source in sources {
        let read = source.read.as_deref().unwrap_or("a capture");
        let mut text = format!("Read: {}: {read}", source.source);
        let passed = &source.passed_over;
        if !passed.is_empty() {
            let named: Vec<&str> = passed.iter().take(SHOWN).map(String::as_str).collect();
            text.push_str("; passed over: ");
            text.push_str(&named.join("; "));
        }
        if passed.len() > SHOWN {
            text.push_str(&format!("; and {} more", passed.len() - SHOWN));
        }
        page.paragraph(0, &text);
    }
}
