//! Pages that a per-CPU list draws from its zone: `calibration/draw.toml`.

use mm::release::is_since;
use mm::zoneinfo::Zoneinfo;

use super::CalibrateError;
use super::figures::{Figures, positive};

pub(super) const STUDY: &str = include_str!("../../../../calibration/draw.toml");

/// Doublings of a batch at most (`CONFIG_PCP_BATCH_SCALE_MAX`).
const SCALE_MAX: u64 = 5;

/// What a page costs when it is drawn, in nanoseconds. Until 6.6 each draw is of a batch, and more
/// than one first touch in a hundred makes one. Since 6.7 the largest is of 32 batches, and it
/// takes longest.
pub(super) fn cost(figures: &Figures) -> Result<f64, CalibrateError> {
    let missing = |what: &str| CalibrateError::Missing(what.to_owned());
    let frame = figures.0.capture.labelled("drawn");
    let frame = frame.ok_or_else(|| missing("snapshot \"drawn\""))?;
    let release = frame.file("proc/sys/kernel/osrelease").unwrap_or_default();
    let zoneinfo = Zoneinfo::parse(frame.file("proc/zoneinfo").unwrap_or_default());
    let zones = zoneinfo.map_err(|error| missing(&error.to_string()))?.zones;
    let sets = zones.iter().flat_map(|zone| &zone.pagesets);
    let batch = sets.map(|set| set.batch).max().unwrap_or(0);
    let step = figures.0.labelled("fault").next();
    let latency = step.ok_or_else(|| missing("step \"fault\""))?.latency;
    let (took, pages) = match is_since(release, 6, 7) {
        true => (latency.max, batch << SCALE_MAX),
        false => (latency.p99, batch),
    };
    let pages = positive(pages as f64, "batch of a per-CPU list")?;
    Ok(took.saturating_sub(latency.p50).0 as f64 / pages)
}
