//! What the kernel computes exactly, computed here: the same integers from the same inputs.
//!
//! One file a subject. Each function names the kernel function it describes and the versions it was
//! compared with; `inspect` explains a live kernel with them, the model runs on them, and tests
//! hold them against captures of real kernels.

pub mod available;
pub mod batch;
pub mod dirty;
pub mod high_delay;
pub mod inactive;
pub mod ksm;
pub mod ksm_advisor;
pub mod ksmd;
pub mod min_free;
pub mod protection;
pub mod readahead;
pub mod reserve;
pub mod scan_balance;
pub mod scan_ratio;
pub mod sharing;
pub mod throttle;
pub mod vmstat;
pub mod watermarks;
pub mod wbt;

/// `value * numerator / denominator`, rounded down, without overflow on the way; zero where the
/// denominator is zero.
#[must_use]
pub fn mul_div(value: u64, numerator: u64, denominator: u64) -> u64 {
    let product = u128::from(value) * u128::from(numerator);
    let quotient = product.checked_div(u128::from(denominator));
    u64::try_from(quotient.unwrap_or(0)).unwrap_or(u64::MAX)
}
