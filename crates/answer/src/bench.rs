//! The seam between what is run and how: the model and the VM are two benches.

use mm::capture::Capture;
use scenario::Scenario;

/// One run that is asked of a bench.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// One arm of the study with one seed.
    pub scenario: &'a Scenario,
}

/// What a bench tells while it works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Something began, in words for a person: "boots Linux 6.1.0-53-cloud-amd64".
    Stage(String),
    /// A line the kernel wrote to its console.
    Console(String),
}

/// Where a scenario runs.
pub trait Bench {
    /// What it is, for records and reports: "model, Linux 6.1" or "VM, Linux 6.1.0-53, virtual
    /// time".
    fn describe(&self) -> String;

    /// The kernel release it runs or models, as `uname -r` prints it.
    fn kernel(&self) -> String;

    /// What else a record of such a run should say of it, by name: the calibration's hash, the
    /// emulator's version.
    fn details(&self, _: &Scenario) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Runs the scenario to its end and hands back its capture.
    ///
    /// # Errors
    /// Why there is no outcome; a kernel that killed a process is an outcome, one that panicked or
    /// hung is not.
    fn run(&self, run: Run<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Capture, BenchError>;
}

/// Why a bench has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The bench cannot be had on this machine; the text says what is missing and the way out.
    #[error("{0}")]
    Unavailable(String),
    /// The run failed; the text says where, and the way out.
    #[error("{0}")]
    Failed(String),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}
