//! Lines over time, read out of a capture: memory in GiB against seconds.

use mm::capture::{Capture, Frame};
use mm::meminfo::{self, Meminfo};
use mm::units::{Bytes, Kib, Nanos, PageSize, Pages};
use mm::zoneinfo::{self, Watermarks, Zoneinfo};
use scenario::outcome::Outcome;

/// One line: seconds since the run began, and GiB.
pub(crate) type Points = Vec<(f64, f64)>;

/// The lines of one run that its load-line chart shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadLine {
    /// MemFree.
    pub(crate) free: Points,
    /// Cached.
    pub(crate) cached: Points,
    /// MemAvailable.
    pub(crate) available: Points,
    /// The zones' min watermarks, summed; so are the next two.
    pub(crate) min: Points,
    /// The low watermarks.
    pub(crate) low: Points,
    /// The high watermarks.
    pub(crate) high: Points,
}

/// A labelled step as a stretch of time, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    /// The step's label.
    pub(crate) label: String,
    /// Begin, the first instance's.
    pub(crate) start: f64,
    /// End, the last instance's.
    pub(crate) end: f64,
}

/// Most points that a line is drawn with; a chart has fewer pixels than that.
const MOST_POINTS: usize = 800;

impl LoadLine {
    /// The lines of a capture.
    pub(crate) fn of(capture: &Capture) -> Self {
        let stride = capture.frames.len().div_ceil(MOST_POINTS).max(1);
        let mut lines = Self::default();
        for frame in capture.frames.iter().step_by(stride) {
            lines.push_meminfo(frame);
            lines.push_watermarks(frame);
        }
        lines
    }

    /// The last moment that any line shows.
    pub(crate) fn end(&self) -> f64 {
        let last = |points: &Points| points.last().map_or(0.0, |&(at, _)| at);
        last(&self.free).max(last(&self.low))
    }

    fn push_meminfo(&mut self, frame: &Frame) {
        let Some(Ok(info)) = frame.file(meminfo::PATH).map(Meminfo::parse) else {
            return;
        };
        push(&mut self.free, frame, info.mem_free.map(Kib::bytes));
        push(&mut self.cached, frame, info.cached.map(Kib::bytes));
        push(
            &mut self.available,
            frame,
            info.mem_available.map(Kib::bytes),
        );
    }

    fn push_watermarks(&mut self, frame: &Frame) {
        let Some(Ok(info)) = frame.file(zoneinfo::PATH).map(Zoneinfo::parse) else {
            return;
        };
        let sum = |mark: fn(&Watermarks) -> Pages| {
            let pages: Pages = info.populated().map(|zone| mark(&zone.watermarks)).sum();
            Some(pages.bytes(PageSize::default()))
        };
        push(&mut self.min, frame, sum(|marks| marks.min));
        push(&mut self.low, frame, sum(|marks| marks.low));
        push(&mut self.high, frame, sum(|marks| marks.high));
    }
}

/// Appends a point where the frame has the value; a kernel without it has no such line.
fn push(points: &mut Points, frame: &Frame, value: Option<Bytes>) {
    if let Some(value) = value {
        points.push((frame.at.seconds(), gib(value)));
    }
}

/// Bytes as GiB, for an axis.
fn gib(bytes: Bytes) -> f64 {
    bytes.0 as f64 / Bytes::GIB.0 as f64
}

/// The labelled steps of a run as stretches of time, in order of their start; the instances of a
/// process are one stretch.
pub(crate) fn spans(outcome: &Outcome) -> Vec<Span> {
    let mut merged: Vec<(&str, Nanos, Nanos)> = Vec::new();
    for step in &outcome.steps {
        match merged.iter_mut().find(|(label, ..)| *label == step.label) {
            Some((_, start, end)) => {
                *start = step.start.min(*start);
                *end = step.end.max(*end);
            }
            None => merged.push((&step.label, step.start, step.end)),
        }
    }
    merged.sort_by_key(|&(_, start, _)| start);
    let span = |(label, start, end): (&str, Nanos, Nanos)| Span {
        label: label.to_owned(),
        start: start.seconds(),
        end: end.seconds(),
    };
    merged.into_iter().map(span).collect()
}
