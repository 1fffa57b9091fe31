//! What a block device wrote between two moments, and how busy it was.

use mm::snapshot::Snapshot;
use mm::units::Kib;
use schemars::JsonSchema;
use serde::Serialize;

/// What a device wrote over the interval.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub(super) struct Wrote {
    pub(super) wrote_bytes_per_second: f64,
    /// The share of the interval in which it had requests, from 0 to 1.
    pub(super) busy: f64,
}

impl Wrote {
    /// Between two moments; `None` where a moment or the device is missing.
    pub(super) fn of(first: &Snapshot, last: &Snapshot, device: &str) -> Option<Self> {
        let disk = |snapshot: &'_ Snapshot| snapshot.diskstats.as_ref()?.disk(device).cloned();
        let (before, after) = (disk(first)?, disk(last)?);
        let span = last.at.saturating_sub(first.at).seconds();
        let written = after.written.saturating_sub(before.written);
        let busy = after.busy.saturating_sub(before.busy);
        (span > 0.0).then(|| Self {
            wrote_bytes_per_second: written.0 as f64 / span,
            // Counted in ticks, it may pass the span by a hair.
            busy: (busy.seconds() / span).min(1.0),
        })
    }

    /// How long it writes so much, if it was busy throughout and wrote anything.
    pub(super) fn time_for(self, held: Kib) -> Option<f64> {
        let full = self.busy >= 0.9 && self.wrote_bytes_per_second > 0.0 && held.0 > 0;
        full.then(|| held.bytes().0 as f64 / self.wrote_bytes_per_second)
    }

    /// What it wrote in a second while it was busy.
    pub(super) fn pace(self) -> Option<f64> {
        (self.busy > 0.0).then_some(self.wrote_bytes_per_second / self.busy)
    }
}
