//! The model as a bench.

use mm::calibration::Calibration;
use mm::capture::Capture;

use crate::bench::{Bench, BenchError, Progress, Run};
use crate::calibration;

/// Runs scenarios on the model of one calibrated kernel.
#[derive(Clone, Debug)]
pub struct ModelBench {
    calibration: Calibration,
    hash: String,
}

impl ModelBench {
    /// The model of the kernel that `calibration` was measured on.
    #[must_use]
    pub fn new(calibration: Calibration) -> Self {
        let hash = calibration::hash(&calibration);
        Self { calibration, hash }
    }
}

impl Bench for ModelBench {
    fn describe(&self) -> String {
        format!("model of Linux {}", self.calibration.kernel)
    }

    fn kernel(&self) -> String {
        self.calibration.kernel.clone()
    }

    fn details(&self) -> Vec<(String, String)> {
        vec![
            ("calibration".to_owned(), self.hash.clone()),
            ("calibrated-on".to_owned(), self.calibration.bench.clone()),
        ]
    }

    fn run(&self, run: Run<'_>, _: &mut dyn FnMut(Progress)) -> Result<Capture, BenchError> {
        sim::run(run.scenario, &self.calibration).map_err(|why| BenchError::Failed(why.to_string()))
    }
}
