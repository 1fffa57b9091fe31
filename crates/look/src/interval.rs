//! Two moments of a capture and what happened between them.

use mm::snapshot::Snapshot;
use mm::units::Nanos;
use mm::vmstat::VmstatDelta;

/// What the counters did in a span of time.
#[derive(Debug)]
pub(crate) struct Interval<'a> {
    /// The state at its beginning.
    pub(crate) first: &'a Snapshot,
    /// How long.
    pub(crate) span: Nanos,
    /// The counters that grew, by how much.
    pub(crate) vmstat: VmstatDelta,
}

impl<'a> Interval<'a> {
    /// Between two moments; `None` where no time passed or vmstat is missing.
    pub(crate) fn between(first: &'a Snapshot, last: &Snapshot) -> Option<Self> {
        let span = last.at.saturating_sub(first.at);
        let vmstat = last.vmstat.as_ref()?.since(first.vmstat.as_ref()?);
        (span > Nanos::ZERO).then_some(Self {
            first,
            span,
            vmstat,
        })
    }

    /// How much the counters grew in a second, together.
    pub(crate) fn per_second(&self, grown: u64) -> f64 {
        grown as f64 / self.span.seconds()
    }
}
