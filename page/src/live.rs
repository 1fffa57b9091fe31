//! A machine as it moves, and two moments of one.

use look::compare::Compare;
use look::page::Canvas;
use look::style;
use look::view::View;
use mm::capture::Capture;
use serde::Deserialize;
use serde_json::json;

use crate::asked::Held;
use crate::looked::{canvas, page};

/// A capture of now, and if there is one of just before.
#[derive(Debug, Deserialize)]
pub(crate) struct Live {
    /// Columns of the text that comes back.
    width: usize,
}

/// Two captures.
#[derive(Debug, Deserialize)]
pub(crate) struct Diff {
    before: Held,
    after: Held,
    width: usize,
}

/// What moves, as `inspect --watch` says it, and the document of `inspect --json`.
pub(crate) fn live(live: &Live, capture: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(capture).map_err(|why| why.to_string())?;
    let capture = Capture::parse(text).map_err(|why| why.to_string())?;
    let view = View::of(&capture, None).map_err(|why| why.to_string())?;
    let text = style::plain(&view.live_text(canvas(live.width)));
    Ok(json!({ "text": text, "view": view }).to_string())
}

/// What changed between two, as `inspect BEFORE AFTER` says it.
pub(crate) fn diff(diff: &Diff) -> Result<String, String> {
    let [before, after] = [&diff.before, &diff.after].map(|held| {
        let capture = Capture::parse(&held.capture).map_err(|why| why.to_string())?;
        let frame = View::frame(&capture, None).map_err(|why| why.to_string())?;
        Ok::<_, String>((held.name.as_str(), frame.clone()))
    });
    let (before, after) = (before?, after?);
    let compare = Compare::of((before.0, &before.1), (after.0, &after.1));
    let canvas: Canvas = canvas(diff.width);
    Ok(json!({ "pages": [page("What changed", &compare.text(canvas))] }).to_string())
}
