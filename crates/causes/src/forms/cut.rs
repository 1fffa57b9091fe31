//! Evidence that ends too early.

use super::form::{Form, Holds};

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

/// How much of the log's end is left: a log stands at the end of what it is part of.
fn kept(form: &Form, left: &[u8], log: &str) -> usize {
    let whole = form
        .files
        .iter()
        .map(|(_, bytes)| bytes.len())
        .sum::<usize>()
        .max(1);
    let lost = whole - left.len();
    // In a mail each line is longer than in the log.
    let share = match form.kind {
        "mail" => lost * log.len() / whole,
        _ => lost,
    };
    log.len().saturating_sub(share)
}
