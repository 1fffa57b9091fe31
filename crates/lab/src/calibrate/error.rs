//! Why a bench could not be calibrated.

use answer::bench::BenchError;

/// Why a bench could not be calibrated.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// A run failed.
    #[error("calibration: {0}")]
    Bench(#[from] BenchError),
    /// A run lacks a figure that a cost is computed from.
    #[error("calibration: the run has no usable {0}; the kernel's console may say why")]
    Missing(String),
}
