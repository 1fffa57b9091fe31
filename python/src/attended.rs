//! Work that a signal ends: Ctrl-C is an exception within a tenth of a second, however long a run
//! takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use answer::bench::{Bench, BenchError, Progress, Run};
use mm::capture::Capture;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use scenario::Scenario;

/// How often Python is asked whether a signal came.
const EVERY: Duration = Duration::from_millis(100);

/// Does the work in a thread of its own, and lets go of it when a signal's handler raises: no
/// further run begins then, and the one under way ends unheard.
///
/// # Errors
/// What the handler raised, and what the work could not do.
pub(crate) fn attended<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> Result<T, String> + Send + 'static,
) -> PyResult<T> {
    let (tell, mut told) = mpsc::channel();
    let stop = Stop::default();
    let of_work = stop.clone();
    // Nobody hears what it came to where a signal was first.
    thread::spawn(move || tell.send(work(&of_work)).ok());
    loop {
        let told = &mut told;
        match py.detach(move || told.recv_timeout(EVERY)) {
            Ok(done) => return done.map_err(PyValueError::new_err),
            Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| stop.now())?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the model panicked; see stderr"));
            }
        }
    }
}

/// Whether the work was let go of.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// # Errors
    /// The work was let go of.
    pub(crate) fn check(&self) -> Result<(), BenchError> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(BenchError::Interrupted),
            false => Ok(()),
        }
    }
}

/// A bench on which no run begins once it was stopped.
pub(crate) struct Stoppable<'a> {
    pub(crate) bench: &'a (dyn Bench + Sync),
    pub(crate) stop: &'a Stop,
}

impl Bench for Stoppable<'_> {
    fn describe(&self) -> String {
        self.bench.describe()
    }

    fn kernel(&self) -> String {
        self.bench.kernel()
    }

    fn details(&self, scenario: &Scenario) -> Vec<(String, String)> {
        self.bench.details(scenario)
    }

    fn run(&self, run: Run<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Capture, BenchError> {
        self.stop.check()?;
        self.bench.run(run, progress)
    }
}
