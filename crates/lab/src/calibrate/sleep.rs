//! What a pause costs, and waiting for a disk, from `calibration/sleep.toml`.

use super::error::CalibrateError;
use super::figures::Figures;

pub(super) const STUDY: &str = include_str!("../../../../calibration/sleep.toml");

/// The pause of the study's sleeper, in nanoseconds.
const PAUSE: f64 = 50_000.0;

/// What sleeping takes, in nanoseconds.
pub(super) struct Sleeping {
    /// What the sleeper waits beyond its pause.
    pub(super) sleep: f64,
    /// What others lack beyond that.
    pub(super) switch: f64,
    /// What others lack for each page that is read beside them, which waits once for each window.
    pub(super) read_beside: f64,
}

/// A task that pauses takes its operation, the pause and `sleep` each time, and of a task beside it
/// that uses the CPU it takes the operation, `sleep` and `switch`.
pub(super) fn sleeping(figures: &Figures) -> Result<Sleeping, CalibrateError> {
    let each = |label: &str| {
        Ok::<f64, CalibrateError>(figures.duration(label)? / figures.operations(label)?)
    };
    let operation = each("spin")?;
    let lacks = |label: &str| {
        Ok::<f64, CalibrateError>(figures.duration(label)? - figures.operations(label)? * operation)
    };
    let sleep = each("sleep")? - PAUSE - operation;
    let taken = lacks("spin beside")? / figures.operations("sleep beside")?;
    Ok(Sleeping {
        sleep,
        switch: taken - sleep - operation,
        read_beside: lacks("spin beside reading")? / figures.pages("read beside")?,
    })
}
