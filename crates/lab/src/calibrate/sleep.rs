//! What a pause costs, from `calibration/sleep.toml`.

use super::CalibrateError;
use super::figures::{Figures, positive};

pub(super) const STUDY: &str = include_str!("../../../../calibration/sleep.toml");

/// The pause of the study's sleeper, in nanoseconds.
const PAUSE: f64 = 50_000.0;

/// Nanoseconds of a pause that the sleeper waits beyond it, and that others lack beyond that.
pub(super) struct Sleeping {
    pub(super) sleep: f64,
    pub(super) switch: f64,
}

/// A task that pauses takes its operation, the pause and `sleep` each time, and of a task beside it
/// that uses the CPU it takes the operation, `sleep` and `switch`.
pub(super) fn sleeping(figures: &Figures) -> Result<Sleeping, CalibrateError> {
    let operation = each(figures, "spin")?;
    let sleep = each(figures, "sleep")? - PAUSE - operation;
    let (time, spins) = (
        figures.duration("spin beside")?,
        operations(figures, "spin beside")?,
    );
    let naps = operations(figures, "sleep beside")?;
    let taken = (time - spins * operation) / naps;
    Ok(Sleeping {
        sleep,
        switch: taken - sleep - operation,
    })
}

/// Nanoseconds an operation of a step.
fn each(figures: &Figures, label: &str) -> Result<f64, CalibrateError> {
    Ok(figures.duration(label)? / operations(figures, label)?)
}

fn operations(figures: &Figures, label: &str) -> Result<f64, CalibrateError> {
    let step = figures.0.labelled(label).next();
    positive(step.map_or(0.0, |step| step.operations as f64), label)
}
