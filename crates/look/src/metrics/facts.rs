//! What families are made of, and a figure of one.

use std::sync::Arc;

use mm::capture::{Capture, Frame};
use mm::snapshot::Snapshot;
use mm::units::Nanos;

use crate::lint::Report;

/// What the families are made of. What is `None` was not looked at, or could not be read.
#[derive(Debug, Default)]
pub struct Facts {
    /// The state that is shown.
    pub now: Snapshot,
    /// An earlier one, for what moves.
    pub before: Option<Snapshot>,
    /// What lint says of the settings.
    pub lint: Option<Arc<Report>>,
    /// The values that standing changes set.
    pub applied: Option<Vec<Applied>>,
    /// The guard, where it is set up.
    pub guard: Option<Guard>,
}

/// A value that a standing change set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The tunable's name, or the path of a file that has none.
    pub tunable: String,
    /// Whether it is not as it was set.
    pub drifted: bool,
}

/// The guard of a machine on which it is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// It runs.
    Runs,
    /// It is configured, and does not run.
    Stopped,
    /// It was killed, and tunables that it set are still set.
    Killed,
}

/// One figure of a family.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    /// Names and values of its labels.
    pub(super) labels: Vec<(&'static str, String)>,
    /// The figure, in the unit of its family.
    pub(super) value: f64,
}

impl Sample {
    pub(super) fn new<const N: usize>(labels: [(&'static str, String); N], value: f64) -> Self {
        Self {
            labels: labels.into(),
            value,
        }
    }
}

impl Facts {
    /// What became of an earlier state: it, and the seconds since. `None` where there is none, or
    /// no time passed.
    pub(super) fn moved(&self) -> Option<(&Snapshot, f64)> {
        let before = self.before.as_ref()?;
        let span = self.now.at.saturating_sub(before.at);
        (span > Nanos::ZERO).then_some((before, span.seconds()))
    }

    /// Pages in bytes.
    pub(super) fn bytes(&self, pages: i64) -> f64 {
        pages as f64 * self.now.page.bytes() as f64
    }
}

/// The frame with which a shown one is compared to tell what moves: the last of those that are a
/// second older or more and have zones, else the first of those that are older at all.
#[must_use]
pub fn earlier<'a>(capture: &'a Capture, shown: &Frame) -> Option<&'a Frame> {
    let is_older = |frame: &&Frame| frame.at < shown.at;
    let is_apart = |frame: &&Frame| shown.at.saturating_sub(frame.at) >= Nanos::SECOND;
    let has_zones = |frame: &&Frame| frame.file(mm::zoneinfo::PATH).is_some();
    let mut last_first = capture.frames.iter().rev();
    let apart = last_first.find(|frame| is_apart(frame) && has_zones(frame));
    apart.or_else(|| capture.frames.iter().find(is_older))
}
