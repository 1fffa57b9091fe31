//! Statistics on few runs: order statistics, a shift with its interval, and a permutation test.
//!
//! Nothing assumes a normal distribution; run times and counters under reclaim are skewed.

mod order;

pub use order::{mean, median, quantile, spread};
