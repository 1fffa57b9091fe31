//! Pages that are dealt with by the batch: a per-CPU list draws them from its zone, and new ones
//! come to their list; `calibration/draw.toml`.

use mm::rules::{self, Mechanism};
use mm::zoneinfo::Zoneinfo;
use scenario::calibration::Costs;

use super::error::CalibrateError;
use super::figures::{Figures, positive, ps};

pub(super) const STUDY: &str = include_str!("../../../../calibration/draw.toml");

/// The snapshot behind all touches.
const DRAWN: &str = "drawn";

/// Doublings of a batch at most (`CONFIG_PCP_BATCH_SCALE_MAX`).
const SCALE_MAX: u64 = 5;

/// What is paid for by the batch.
pub(super) fn costs(costs: &mut Costs, figures: &Figures) -> Result<(), CalibrateError> {
    costs.draw_ps = ps(draw(figures)?);
    costs.lru_add_ps = ps(lru_add(figures)?);
    // What is dropped is on the list: the next page that is read need not be drawn.
    costs.drop_ps += costs.draw_ps;
    Ok(())
}

/// What a page costs when it is drawn, in nanoseconds. Until 6.6 each draw is of a batch, and more
/// than one first touch in a hundred makes one. Since 6.7 the largest is of 32 batches, and it
/// takes longest.
pub(super) fn draw(figures: &Figures) -> Result<f64, CalibrateError> {
    let zoneinfo = Zoneinfo::parse(figures.file("proc/zoneinfo", DRAWN)?);
    let zones = zoneinfo
        .map_err(|error| CalibrateError::Missing(error.to_string()))?
        .zones;
    let sets = zones.iter().flat_map(|zone| &zone.pagesets);
    let batch = sets.map(|set| set.batch).max().unwrap_or(0);
    let latency = figures.latency("fault")?;
    let (took, pages) = match rules::has(figures.release(DRAWN)?, Mechanism::TunedPcp) {
        true => (latency.max, batch << SCALE_MAX),
        false => (latency.p99, batch),
    };
    let pages = positive(pages as f64, "batch of a per-CPU list")?;
    Ok(took.saturating_sub(latency.p50).0 as f64 / pages)
}

/// What a page costs when it comes to its list, in nanoseconds: 31 at a time since 6.10, which two
/// touches in 31 meet, more than one in a hundred; before 15, and two in 15 are more than one in
/// ten.
pub(super) fn lru_add(figures: &Figures) -> Result<f64, CalibrateError> {
    let latency = figures.latency("fault twice")?;
    let (took, pages) = match rules::has(figures.release(DRAWN)?, Mechanism::LargeFolioBatch) {
        true => (latency.p99, 31.0),
        false => (latency.p90, 15.0),
    };
    Ok(took.saturating_sub(latency.p50).0 as f64 / pages)
}
