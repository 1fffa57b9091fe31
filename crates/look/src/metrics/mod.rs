//! Figures of a machine over time, for Prometheus: what node_exporter does not have.
//!
//! One table of families ([`table`]); each says of which fact it is made and how. A fact that is
//! not there has no sample: no figure is zero because nobody could read it.

mod groups;
mod lines;
mod ours;
mod table;
mod text;

use mm::capture::{Capture, Frame};
use mm::snapshot::Snapshot;
use mm::units::Nanos;

use crate::lint::Report;

pub use self::groups::MOST as MOST_GROUPS;
pub use self::ours::{Applied, Guard};
pub use self::table::{FAMILIES, Family, Kind, Unit};
pub use self::text::Form;

/// What begins every name.
pub const PREFIX: &str = "plimsoll_";

/// What the families are made of. What is `None` was not looked at, or could not be read.
#[derive(Debug, Default)]
pub struct Facts {
    /// The state that is shown.
    pub now: Snapshot,
    /// An earlier one, for what moves.
    pub before: Option<Snapshot>,
    /// What lint says of the settings.
    pub lint: Option<Report>,
    /// The values that standing changes set.
    pub applied: Option<Vec<Applied>>,
    /// The guard, where it is set up.
    pub guard: Option<Guard>,
}

/// One figure of a family.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Names and values of its labels.
    labels: Vec<(&'static str, String)>,
    /// The figure, in the unit of its family.
    value: f64,
}

impl Sample {
    fn new<const N: usize>(labels: [(&'static str, String); N], value: f64) -> Self {
        Self {
            labels: labels.into(),
            value,
        }
    }
}

impl Facts {
    /// The page of all families that have samples.
    #[must_use]
    pub fn text(&self, form: Form) -> String {
        text::page(self, form)
    }

    /// What became of an earlier state: it, and the seconds since. `None` where there is none, or
    /// no time passed.
    fn moved(&self) -> Option<(&Snapshot, f64)> {
        let before = self.before.as_ref()?;
        let span = self.now.at.saturating_sub(before.at);
        (span > Nanos::ZERO).then_some((before, span.seconds()))
    }

    /// Pages in bytes.
    fn bytes(&self, pages: i64) -> f64 {
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

#[cfg(test)]
mod tests;
