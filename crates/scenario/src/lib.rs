//! One run, fully said: machine, workload, settings and seed. A bench turns it into an outcome.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod access;
pub mod calibration;
pub mod contents;
pub mod latency;
pub mod machine;
mod names;
pub mod outcome;
pub mod recording;
pub mod traced;
mod wire;
pub mod workload;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::machine::Machine;
use crate::recording::Recorded;
use crate::workload::{Action, Workload};
use mm::prng::Prng;
use mm::settings::Settings;
use mm::units::Nanos;

pub use names::Names;

/// What a bench runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The study's name.
    pub study: String,
    /// The arm's name.
    pub arm: String,
    /// What has memory.
    pub machine: Machine,
    /// What asks for it.
    pub workload: Workload,
    /// The place of each process of the workload among all of the study, from 0: its random
    /// accesses are the same in all arms, whichever other processes these have. By their order
    /// where it says nothing.
    pub process_numbers: Vec<u32>,
    /// Written on every arm before the run begins; skipped where the kernel lacks the tunable.
    pub base: Settings,
    /// The arm's settings. They are written when the workload says
    /// [`crate::workload::Action::ApplyArm`], or before the run where it never says so.
    pub arm_settings: Settings,
    /// Fixes every random choice of the run.
    pub seed: u64,
    /// Time between two samples.
    pub sample_every: Nanos,
    /// What steps that replay a recording take their runs from, and its files, which follow those
    /// of the machine. It does not travel with the scenario's bytes.
    pub recorded: Arc<Recorded>,
}

/// The longest period of the kernel's own work that a run meets: the flush of the control groups'
/// statistics, 504 ticks at 250 Hz.
const PERIOD: u64 = 2_016_000_000;

/// Pages that a bench holds at most: a batch of a per-CPU list.
const MOST_HELD: u64 = 63;

impl Scenario {
    /// When the run begins on a machine that is ready at `ready`; both since its clock began.
    /// At most 2.016 s pass in between.
    ///
    /// Ticks, timers and what a kernel does now and then come at multiples of their periods. Runs
    /// that all began at one moment of these would show a single draw as the kernel's figure. So
    /// the seed draws the moment, as a person does who starts a workload by hand, and every bench
    /// keeps to it, however long it took to be ready.
    #[must_use]
    pub fn begins(&self, ready: Nanos) -> Nanos {
        let moment = Prng::for_part(self.seed, "moment").below(PERIOD);
        next(ready, moment)
    }

    /// Whether a process does again what was recorded.
    #[must_use]
    pub fn replays(&self) -> bool {
        let is_replay = |action: &Action| matches!(action, Action::Replay(_));
        self.workload.any_action(is_replay)
    }

    /// Pages that the bench holds from the beginning of the run to its end: 1 to 63, and none with
    /// seed 0, by which the state after boot is captured.
    ///
    /// Which request finds a zone under its watermark hangs on single pages, and a boot that
    /// repeats exactly leaves as many for each seed of an arm. So the seed draws how many there
    /// are.
    #[must_use]
    pub fn held_pages(&self) -> u64 {
        held_pages(self.seed)
    }
}

fn held_pages(seed: u64) -> u64 {
    match seed {
        0 => 0,
        _ => 1 + Prng::for_part(seed, "held pages").below(MOST_HELD),
    }
}

/// The first time, from `ready` on, that is `moment` into a period.
fn next(ready: Nanos, moment: u64) -> Nanos {
    Nanos(ready.0 + (PERIOD + moment - ready.0 % PERIOD) % PERIOD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_begins_at_its_moment_of_the_period_whenever_the_machine_is_ready() {
        let moment = 783_211_000;
        for ready in [0, 1, moment, moment + 1, PERIOD - 1, 5 * PERIOD + 1] {
            let begins = next(Nanos(ready), moment).0;
            assert!((ready..ready + PERIOD).contains(&begins), "{ready}");
            assert_eq!(begins % PERIOD, moment, "{ready}");
        }
    }

    #[test]
    fn seeds_hold_different_numbers_of_pages_and_never_none() {
        let five: alloc::collections::BTreeSet<u64> = (1..=5).map(held_pages).collect();
        assert_eq!(five.len(), 5, "{five:?}");
        let in_range = |pages| (1..=MOST_HELD).contains(&pages);
        assert!((1..1000).map(held_pages).all(in_range));
        assert_eq!(held_pages(0), 0);
    }
}
