//! Statistics on few runs: order statistics, a shift, an effect size and a permutation test.
//!
//! Nothing assumes a normal distribution; run times and counters under reclaim are skewed.

mod order;
mod permutation;
mod shift;

pub use order::{mean, median, quantile, spread};
pub use permutation::{least_p, permutation_p};
pub use shift::{cliffs_delta, hodges_lehmann};
