//! One run, fully said: machine, workload, settings and seed. A bench turns it into an outcome.

use alloc::string::String;

use crate::machine::Machine;
use crate::prng::Prng;
use crate::settings::Settings;
use crate::units::Nanos;
use crate::workload::Workload;

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
    /// Written on every arm before the run begins; skipped where the kernel lacks the tunable.
    pub base: Settings,
    /// The arm's settings. They are written when the workload says
    /// [`crate::workload::Action::ApplyArm`], or before the run where it never says so.
    pub arm_settings: Settings,
    /// Fixes every random choice of the run.
    pub seed: u64,
    /// Time between two samples.
    pub sample_every: Nanos,
}

/// The longest period of the kernel's own work that a run meets: the flush of the control groups'
/// statistics, 504 ticks at 250 Hz.
const PERIOD: Nanos = Nanos(2_016_000_000);

impl Scenario {
    /// How long the booted machine rests before the run begins, below 2.016 s.
    ///
    /// Ticks, timers and what a kernel does now and then count from its boot. Runs that all began
    /// at one moment of theirs would show a single draw as the kernel's figure. So the seed draws
    /// the moment, as whoever starts a workload by hand does.
    #[must_use]
    pub fn rest(&self) -> Nanos {
        Nanos(Prng::for_part(self.seed, "rest").below(PERIOD.0))
    }
}
