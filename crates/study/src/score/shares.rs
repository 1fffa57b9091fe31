//! Shares over the seeds: how many runs of each side are in which mode.

use super::{Gap, P, Runs, Score};
use crate::stats;

/// Runs by mode: of the model, of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shares {
    model: Vec<u32>,
    kernel: Vec<u32>,
}

impl Shares {
    /// Whether this many runs could show any difference at all.
    pub(super) fn can_tell(model: usize, kernel: usize) -> bool {
        stats::least_p(model, kernel) <= P
    }

    /// Runs without and with a number.
    pub(super) fn of_presence(model: Runs<'_>, kernel: Runs<'_>) -> Self {
        let counts = |runs: Runs<'_>| vec![count(runs.without), count(runs.values.len())];
        Self {
            model: counts(model),
            kernel: counts(kernel),
        }
    }

    /// Runs in each of two modes.
    pub(super) fn of_modes(model: [&[f64]; 2], kernel: [&[f64]; 2]) -> Self {
        let counts = |modes: [&[f64]; 2]| modes.map(|mode| count(mode.len())).to_vec();
        Self {
            model: counts(model),
            kernel: counts(kernel),
        }
    }

    /// Every number is a mode of its own.
    pub(super) fn of_values(model: &[f64], kernel: &[f64]) -> Self {
        let mut modes: Vec<f64> = model.iter().chain(kernel).copied().collect();
        modes.sort_by(f64::total_cmp);
        modes.dedup();
        let counts = |values: &[f64]| {
            let of = |mode: &f64| count(values.iter().filter(|value| *value == mode).count());
            modes.iter().map(of).collect()
        };
        Self {
            model: counts(model),
            kernel: counts(kernel),
        }
    }

    /// By Fisher's exact test; where no test could tell, by the mode that most runs are in.
    pub(super) fn score(&self) -> Score {
        let runs = |counts: &[u32]| counts.iter().sum::<u32>() as usize;
        if Self::can_tell(runs(&self.model), runs(&self.kernel)) {
            let p = stats::fisher_p(&self.model, &self.kernel);
            return Score {
                gap: Gap::Shares(p),
                excess: if p > P {
                    P / p
                } else {
                    (P / p).max(1.0 + f64::EPSILON)
                },
            };
        }
        match most(&self.model) == most(&self.kernel) {
            true => Score {
                gap: Gap::Shares(1.0),
                excess: P,
            },
            false => Score {
                gap: Gap::OtherMode,
                excess: 2.0,
            },
        }
    }
}

/// The modes that no other has more runs than.
fn most(counts: &[u32]) -> Vec<usize> {
    let most = counts.iter().max();
    let all = counts.iter().enumerate();
    all.filter(|(_, count)| Some(*count) == most)
        .map(|(mode, _)| mode)
        .collect()
}

fn count(runs: usize) -> u32 {
    u32::try_from(runs).unwrap_or(u32::MAX)
}
