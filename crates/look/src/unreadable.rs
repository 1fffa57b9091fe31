//! What could not be read, and what that hides.

use mm::notes::NOT_MOUNTED;
use mm::text::ParseError;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Page;

/// A file, the system's reason, and the way out.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Unreadable {
    path: String,
    reason: String,
}

/// From the capture's note, `PATH<tab>REASON` per line, and the files that are not as they should
/// be.
pub(crate) fn unreadable(note: &str, errors: &[ParseError]) -> Vec<Unreadable> {
    let lines = note.lines().filter_map(|line| line.split_once('\t'));
    let entry = |(path, reason): (&str, &str)| Unreadable {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    let malformed = errors.iter().map(|error| Unreadable {
        path: error.file.clone(),
        reason: format!(
            "not understood (line {}, {}: expected {})",
            error.line, error.item, error.expected
        ),
    });
    lines.map(entry).chain(malformed).collect()
}

/// Writes the section: files by reason, and what would help.
pub(crate) fn write(files: &[Unreadable], page: &mut Page) {
    if files.is_empty() {
        return;
    }
    page.heading("Not readable here");
    let mut reasons: Vec<&str> = files.iter().map(|file| file.reason.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for reason in reasons {
        let with = files.iter().filter(|file| file.reason == reason);
        let paths: Vec<String> = with.map(|file| format!("/{}", file.path)).collect();
        page.paragraph(
            2,
            &format!("{reason}{}: {}", way_out(reason), paths.join(", ")),
        );
    }
}

/// What would help, to be put after the reason.
pub(crate) fn way_out(reason: &str) -> &'static str {
    match reason {
        NOT_MOUNTED => " (root may: mount -t debugfs none /sys/kernel/debug)",
        "Permission denied" | "Operation not permitted" => " (root may read it)",
        "No such file or directory" => " (hidden, or the kernel is built without it)",
        "Operation not supported" => {
            " (switched off; PSI needs psi=1 on the kernel's command line)"
        }
        _ => "",
    }
}
