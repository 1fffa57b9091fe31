//! Statistics on few runs: order statistics, two outcomes, a shift, an effect size, a permutation
//! test, Fisher's exact test and Kendall's tau.
//!
//! Nothing assumes a normal distribution; run times and counters under reclaim are skewed.

mod fisher;
mod kendall;
mod order;
mod outcomes;
mod permutation;
mod shift;

pub use fisher::fisher_p;
pub use kendall::Concordance;
pub use order::{mean, median, quantile, spread};
pub use outcomes::{Group, TwoOutcomes, is_wide, two_outcomes};
pub use permutation::{least_p, permutation_p};
pub use shift::{cliffs_delta, delta_by_chance, hodges_lehmann, shift_bounds};
