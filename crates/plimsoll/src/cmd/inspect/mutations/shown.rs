//! What an input is put through: all that `inspect` and `explain` do with it.

use std::io::Cursor;

use ::evidence::redact::redacted;
use lab::evidence;
use mm::capture::Capture;
use mm::catalogue;
use mm::snapshot::Snapshot;

use crate::term::{Canvas, Charset};
use look::compare::Compare;
use look::explain::overview::Overview;
use look::explain::{Explanation, Looked, boot};
use look::sections::Extent;
use look::style;
use look::view::View;

/// Columns of the page.
const WIDTH: usize = 80;

/// A word that may stand over the edge: it cannot be broken.
const LONG_WORD: usize = 40;

/// Reads an input, explains it, shows it, compares it with a part of itself and saves it.
pub(super) fn performed(bytes: &[u8], name: &str, seed: u64) -> Result<(), String> {
    let Ok(found) = evidence::read_stream(Cursor::new(bytes), name) else {
        return Ok(());
    };
    let frames = found.frames;
    let capture = Capture { frames };
    let charset = match seed % 2 {
        0 => Charset::Ascii,
        _ => Charset::Unicode,
    };
    let width = WIDTH;
    let canvas = Canvas { width, charset };
    if let Ok(view) = View::of(&capture, None) {
        fits(&view.text(canvas, &Extent::Screen))?;
        fits(&view.text(canvas, &Extent::All))?;
        let _ = shapes::text(&view);
    }
    explained(&capture, canvas, seed)?;
    compared(&capture, canvas)?;
    let text = redacted(&capture).to_text();
    match Capture::recover(&text) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("what is saved cannot be read: {error}")),
    }
}

/// What `explain` says of a tunable, of each in turn by the seed, and of all.
fn explained(capture: &Capture, canvas: Canvas, seed: u64) -> Result<(), String> {
    let Ok(frame) = View::frame(capture, None) else {
        return Ok(());
    };
    let snapshot = Snapshot::parse(frame);
    let rows = catalogue::all().chain(catalogue::of_devices());
    let rows: Vec<_> = rows.chain(catalogue::of_groups()).collect();
    let row = rows[usize::try_from(seed).unwrap_or(0) % rows.len()];
    let configuration = boot::tree_of(frame);
    let looked = Looked {
        frame,
        snapshot: &snapshot,
        named: catalogue::resolve(row.name).map_err(|error| error.to_string())?,
        evidence: "evidence",
        configuration: configuration.as_ref(),
    };
    let explanation = Explanation::of(looked);
    let _ = shapes::text(&explanation);
    fits(&explanation.text(canvas))?;
    let overview = Overview::of(frame, &snapshot, Vec::new());
    let _ = shapes::text(&overview);
    fits(&overview.text(canvas))
}

/// The first frame beside the one that is shown: two moments, or the same twice.
fn compared(capture: &Capture, canvas: Canvas) -> Result<(), String> {
    let shown = View::frame(capture, None).ok();
    let Some((first, shown)) = capture.frames.first().zip(shown) else {
        return Ok(());
    };
    let compare = Compare::of(("before", first), ("after", shown));
    let _ = shapes::text(&compare);
    fits(&compare.text(canvas))
}

/// The percentages that the program computes: whole numbers right before the sign, in brackets or
/// behind a bar. Where a word goes on behind the sign, damaged evidence is quoted.
fn shares(line: &str) -> impl Iterator<Item = u64> + '_ {
    line.match_indices('%').filter_map(|(at, _)| {
        let before = line[..at].rsplit(|c: char| !c.is_ascii_digit()).next()?;
        let start = at - before.len();
        let computed = line[..start].ends_with(['(', ' ']) || start == 0;
        let goes_on = line[at + 1..].starts_with(char::is_alphanumeric);
        before.parse().ok().filter(|_| computed && !goes_on)
    })
}

/// No part is larger than its whole, and no line is wider than the page but for a word that cannot
/// be broken.
fn fits(text: &str) -> Result<(), String> {
    let acts = |c: char| c.is_control() && c != '\n' && c != '\t';
    if style::shown(style::plain(text).as_bytes()).contains(acts) {
        return Err(format!("a control character: {text:?}"));
    }
    for line in text.lines() {
        let plain = style::plain(line);
        if let Some(share) = shares(&plain).find(|&share| share > 100) {
            return Err(format!("a part of {share} % of its whole: {plain}"));
        }
        let long = |word: &str| word.chars().count() > LONG_WORD;
        if plain.chars().count() > WIDTH && !plain.split_whitespace().any(long) {
            return Err(format!("too wide: {plain}"));
        }
    }
    Ok(())
}
