//! Statistics on few runs: order statistics, two outcomes, a shift, an effect size, a permutation
//! test, Fisher's exact test, Kendall's tau, and pairs that are looked at one by one.
//!
//! Nothing assumes a normal distribution; run times and counters under reclaim are skewed.

mod fisher;
mod in_turn;
mod kendall;
mod order;
mod outcomes;
mod permutation;
mod shift;

pub use fisher::fisher_p;
pub use in_turn::{least_pairs, noise_at_most, paired_shift, pairs_until_shown, sequential_bounds};
pub use kendall::Concordance;
pub use order::{mean, median, quantile, spread};
pub use outcomes::{Group, TwoOutcomes, is_wide, two_outcomes};
pub use permutation::{least_p, permutation_p};
pub use shift::{cliffs_delta, delta_by_chance, hodges_lehmann, shift_bounds};
