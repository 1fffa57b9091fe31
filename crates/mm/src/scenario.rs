//! One run, fully said: machine, workload, settings and seed. A bench turns it into an outcome.

use alloc::string::String;

use crate::machine::Machine;
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
