//! Evidence that ends too early.

use super::form::{Form, Holds};
use super::pasted;

/// Kinds that people cut short: what they paste, and what a buffer or a mailer ends.
const CUT: &[&str] = &["report", "paste", "mail", "meminfo", "capture"];

/// The first tenths of a form, one to nine.
pub(super) fn tenths(form: &Form) -> Vec<Form> {
    let [(name, bytes)] = &form.files[..] else {
        return Vec::new();
    };
    if !CUT.contains(&form.kind) {
        return Vec::new();
    }
    let cut = |tenths: usize| {
        let left = bytes[..bytes.len() * tenths / 10].to_vec();
        let log = &form.holds.log;
        let log = form.holds.log[..log.floor_char_boundary(kept(form, &left, log))].to_owned();
        Form {
            kind: form.kind,
            tenths,
            // What is left of the files nobody knows; the log's marks are looked for.
            holds: Holds {
                words: Vec::new(),
                log,
            },
            files: vec![(name.clone(), left)],
        }
    };
    (1..10).map(cut).collect()
}

/// How much of the log is left: it stands at the end of what it is part of.
fn kept(form: &Form, left: &[u8], log: &str) -> usize {
    let whole: usize = form.files.iter().map(|(_, bytes)| bytes.len()).sum();
    let lost = whole - left.len();
    match form.kind {
        "mail" => pasted::kept_of_mailed(lost, log),
        _ => log.len().saturating_sub(lost),
    }
}
