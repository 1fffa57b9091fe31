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

/// Where a text is shown, and what it was made from.
struct Sheet {
    canvas: Canvas,
    /// The input, and the files in it.
    evidence: String,
}

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
    let sheet = Sheet {
        canvas: Canvas { width, charset },
        evidence: format!("{}{}", String::from_utf8_lossy(bytes), capture.to_text()),
    };
    if let Ok(view) = View::of(&capture, None) {
        sheet.fits(&view.text(sheet.canvas, &Extent::Screen))?;
        sheet.fits(&view.text(sheet.canvas, &Extent::All))?;
        let _ = shapes::text(&view);
    }
    explained(&capture, &sheet, seed)?;
    compared(&capture, &sheet)?;
    let text = redacted(&capture).to_text();
    match Capture::recover(&text) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("what is saved cannot be read: {error}")),
    }
}

/// What `explain` says of a tunable, of each in turn by the seed, and of all.
fn explained(capture: &Capture, sheet: &Sheet, seed: u64) -> Result<(), String> {
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
    sheet.fits(&explanation.text(sheet.canvas))?;
    let overview = Overview::of(frame, &snapshot, Vec::new());
    let _ = shapes::text(&overview);
    sheet.fits(&overview.text(sheet.canvas))
}

/// The first frame beside the one that is shown: two moments, or the same twice.
fn compared(capture: &Capture, sheet: &Sheet) -> Result<(), String> {
    let shown = View::frame(capture, None).ok();
    let Some((first, shown)) = capture.frames.first().zip(shown) else {
        return Ok(());
    };
    let compare = Compare::of(("before", first), ("after", shown));
    let _ = shapes::text(&compare);
    sheet.fits(&compare.text(sheet.canvas))
}

/// Whole numbers right before the sign: their places, with the sign, and they themselves.
fn shares(line: &str) -> impl Iterator<Item = (&str, u64)> {
    line.match_indices('%').filter_map(|(at, _)| {
        let before = line[..at].rsplit(|c: char| !c.is_ascii_digit()).next()?;
        let start = at - before.len();
        let computed = line[..start].ends_with(['(', ' ']) || start == 0;
        let share = before.parse().ok().filter(|_| computed)?;
        Some((&line[start..=at], share))
    })
}

impl Sheet {
    /// No part is larger than its whole, but for what the evidence itself says, and no line is
    /// wider than the page but for a word that cannot be broken.
    fn fits(&self, text: &str) -> Result<(), String> {
        let acts = |c: char| c.is_control() && c != '\n' && c != '\t';
        if style::shown(style::plain(text).as_bytes()).contains(acts) {
            return Err(format!("a control character: {text:?}"));
        }
        for line in text.lines() {
            let plain = style::plain(line);
            let is_ours = |said: &str| !self.evidence.contains(said);
            let mut shares = shares(&plain);
            if let Some((said, _)) = shares.find(|(said, share)| *share > 100 && is_ours(said)) {
                return Err(format!("a part of {said} of its whole: {plain}"));
            }
            let long = |word: &str| word.chars().count() > LONG_WORD;
            if plain.chars().count() > WIDTH && !plain.split_whitespace().any(long) {
                return Err(format!("too wide: {plain}"));
            }
        }
        Ok(())
    }
}
