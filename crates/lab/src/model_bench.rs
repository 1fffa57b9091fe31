//! The model as a bench.

use mm::calibration::Calibration;
use mm::capture::{Capture, Frame};
use mm::outcome::UNAVAILABLE;

use crate::bench::{Bench, BenchError, Progress, Run};
use crate::calibration;

/// Runs scenarios on the model of one calibrated kernel.
#[derive(Clone, Debug)]
pub struct ModelBench {
    calibration: Calibration,
    hash: String,
    scale: Option<u64>,
}

impl ModelBench {
    /// The model of the kernel that `calibration` was measured on.
    #[must_use]
    pub fn new(calibration: Calibration) -> Self {
        let hash = calibration::hash(&calibration);
        let scale = None;
        Self {
            calibration,
            hash,
            scale,
        }
    }

    /// The same with `scale` real pages for each simulated one; `None` lets the size of each run's
    /// machine decide.
    #[must_use]
    pub fn at_scale(self, scale: Option<u64>) -> Self {
        Self { scale, ..self }
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
        let scale = self.scale;
        let scale = scale.unwrap_or_else(|| sim::sampling::automatic(run.scenario));
        match sim::run_sampled(run.scenario, &self.calibration, scale) {
            Ok(capture) => Ok(capture),
            Err(why) => match lacking(&why) {
                Some(tunable) => Ok(unavailable(tunable)),
                None => Err(BenchError::Failed(why.to_string())),
            },
        }
    }
}

/// The tunable that the calibrated kernel lacks, where that is the error: a real kernel without it
/// ends the same way.
fn lacking(why: &sim::Error) -> Option<&str> {
    match why {
        sim::Error::Setting { tunable, why, .. } if why.contains("no such tunable") => {
            Some(tunable)
        }
        _ => None,
    }
}

/// The capture of a run that ended before it began.
fn unavailable(what: &str) -> Capture {
    let mut frame = Frame::default();
    frame
        .files
        .insert(UNAVAILABLE.to_owned(), format!("{what}\n"));
    Capture {
        frames: vec![frame],
    }
}

#[cfg(test)]
mod tests {
    use mm::outcome::Outcome;
    use mm::scenario::Scenario;
    use mm::settings::{Setting, Settings};

    use super::*;
    use crate::study::Study;

    #[test]
    fn a_tunable_that_the_calibrated_kernel_lacks_is_marked_and_no_error() {
        let study = Study::find("min-free-kbytes").unwrap();
        let scenario = |tunable: &str, value: &str| {
            let mut scenario = study.scenario("default", 1).unwrap();
            scenario.arm_settings = Settings(vec![Setting {
                tunable: tunable.to_owned(),
                value: value.to_owned(),
            }]);
            scenario
        };
        let mut calibration = calibration::built_in("6.1").unwrap();
        for boot in &mut calibration.boots {
            for frame in &mut boot.capture.frames {
                frame.files.remove("proc/sys/vm/swappiness");
            }
        }
        let bench = ModelBench::new(calibration);
        let run = |scenario: &Scenario| {
            let run = Run {
                study_text: &study.text,
                scenario,
            };
            bench.run(run, &mut |_| ())
        };
        let lacking = run(&scenario("vm.swappiness", "1")).unwrap();
        let lacking = Outcome::from_capture(lacking).unwrap();
        assert_eq!(lacking.unavailable().collect::<Vec<_>>(), ["vm.swappiness"]);
        assert!(run(&scenario("vm.min_free_kbytes", "none")).is_err());
        let there = run(&scenario("vm.min_free_kbytes", "70000")).unwrap();
        assert!(Outcome::from_capture(there).unwrap().is_available());
    }
}
