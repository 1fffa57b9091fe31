//! The model as a bench.

use mm::capture::{Capture, Frame};
use mm::settings::Setting;
use mm::units::{Bytes, Nanos};
use scenario::calibration::Calibration;
use scenario::outcome::UNAVAILABLE;
use scenario::traced::Traced;
use scenario::workload::{Action, Step};
use scenario::{Names, Scenario};

use crate::bench::{Bench, BenchError, Progress, Run};
use crate::calibration::{self, CalibrationError};
use study::Study;
use study::coverage;
use study::hash::sha256;
use study::record::Record;

/// Runs scenarios on the model of one calibrated kernel.
#[derive(Clone, Debug)]
pub struct ModelBench {
    calibration: Calibration,
    hash: String,
    scale: Option<u64>,
    /// What several CPUs are.
    cpus: sim::Cpus,
    /// Whether random streams are named by the study, not by numbers.
    is_named: bool,
}

impl ModelBench {
    /// The model of the kernel that `calibration` was measured on.
    #[must_use]
    pub fn new(calibration: Calibration) -> Self {
        let hash = calibration::hash(&calibration);
        Self {
            calibration,
            hash,
            scale: None,
            cpus: sim::Cpus::Whole,
            is_named: false,
        }
    }

    /// The model of a kernel: what `predict`, `report` and `prove` show is run on it, so that the
    /// same arm with the same seed has the same figures in all three.
    ///
    /// # Errors
    /// No calibration of that kernel is built in.
    pub fn of_kernel(kernel: &str) -> Result<Self, CalibrationError> {
        calibration::built_in(kernel).map(Self::new)
    }

    /// The model of what these records of a kernel were measured on, for the score alone. Where
    /// they do not name the room of their program, it was smaller, its supervisor read the study's
    /// text, and the names in it chose the random accesses.
    ///
    /// # Errors
    /// No calibration of that kernel is built in.
    pub fn of_records(
        kernel: &str,
        study: &Study,
        records: &[Record],
    ) -> Result<Self, CalibrationError> {
        if records.iter().all(Record::names_its_room) {
            return Self::of_kernel(kernel).map(Self::by_turns);
        }
        let mut calibration = calibration::of_records(kernel)?;
        calibration.text_kept = text_then(study);
        Ok(Self {
            is_named: true,
            ..Self::new(calibration)
        })
    }

    /// The same where several CPUs take turns, as those of a VM in virtual time: for what is
    /// compared with such a VM.
    #[must_use]
    pub fn by_turns(self) -> Self {
        Self {
            cpus: sim::Cpus::ByTurns,
            ..self
        }
    }

    /// The same with `scale` real pages for each simulated one; `None` lets the size of each run's
    /// machine decide.
    #[must_use]
    pub fn at_scale(self, scale: Option<u64>) -> Self {
        Self { scale, ..self }
    }

    /// Whether the model has what a scenario asks for, in a fraction of the run's time: the machine
    /// boots, every setting of the run is written, and the run ends there.
    ///
    /// # Errors
    /// What the model lacks. What only shows while the workload runs is not found.
    pub fn check(&self, scenario: &Scenario) -> Result<(), BenchError> {
        let (nameless, names) = cut_short(scenario).nameless();
        match self.simulate(&nameless) {
            Err(why) if is_lacking_in_the_model(&why) => Err(failed(&why, &names)),
            _ => Ok(()),
        }
    }

    /// What the machine has available when its run begins, beside what a recording takes; `None`
    /// where it does not boot.
    #[must_use]
    pub fn available(&self, scenario: &Scenario) -> Option<Bytes> {
        let (mut nameless, _) = cut_short(scenario).nameless();
        // More than any has, so that the model says what there is.
        nameless.machine.available = Some(Bytes(u64::MAX / 2));
        match self.simulate(&nameless) {
            Err(sim::Error::Available { available, .. }) => Some(available),
            _ => None,
        }
    }

    /// The name of a run's outcome: the hash of what it hangs on, the sources of the model
    /// included. It takes a scenario without names, on which no outcome hangs.
    #[must_use]
    pub fn key(&self, nameless: &Scenario) -> String {
        let scale = self.scale_of(nameless);
        let cpus = match self.cpus {
            sim::Cpus::Whole => "",
            sim::Cpus::ByTurns => " by turns",
        };
        let head = format!("{} {} {scale}{cpus}\n", env!("PLIMSOLL_MODEL"), self.hash);
        sha256(&[head.as_bytes(), &nameless.to_bytes()].concat())
    }

    /// Runs a scenario without names to its end.
    ///
    /// # Errors
    /// As [`Bench::run`], in the words of what has no name.
    pub fn run_nameless(&self, nameless: &Scenario) -> Result<Capture, BenchError> {
        let capture = self.capture(nameless);
        capture.map_err(|why| failed(&why, &Names::default()))
    }

    /// As [`Bench::run`], and what each task met besides, under its own name.
    ///
    /// # Errors
    /// As [`Bench::run`]; also where the calibrated kernel lacks a tunable.
    pub fn trace(&self, scenario: &Scenario) -> Result<(Capture, Traced), BenchError> {
        let (scenario, names) = self.asked(scenario);
        let scale = self.scale_of(&scenario);
        let run = sim::run_traced(self.cpus, &scenario, &self.calibration, scale);
        let (mut capture, mut traced) = run.map_err(|why| failed(&why, &names))?;
        names.give_back(&mut capture);
        for task in &mut traced.tasks {
            *task = names.in_text(task);
        }
        Ok((capture, traced))
    }

    /// The scenario as it is run, and the names that what comes back lacks.
    fn asked(&self, scenario: &Scenario) -> (Scenario, Names) {
        match self.is_named {
            true => (scenario.clone(), Names::default()),
            false => scenario.nameless(),
        }
    }

    /// What a run hands back; an outcome too where the calibrated kernel lacks a tunable.
    fn capture(&self, scenario: &Scenario) -> Result<Capture, sim::Error> {
        self.simulate(scenario).or_else(|why| {
            let unavailable = lacking(&why).map(unavailable);
            unavailable.ok_or(why)
        })
    }

    fn simulate(&self, scenario: &Scenario) -> Result<Capture, sim::Error> {
        let scale = self.scale_of(scenario);
        sim::run_on(self.cpus, scenario, &self.calibration, scale)
    }

    fn scale_of(&self, scenario: &Scenario) -> u64 {
        let scale = self.scale;
        scale.unwrap_or_else(|| coverage::automatic(scenario))
    }
}

impl Bench for ModelBench {
    fn describe(&self) -> String {
        format!("model of Linux {}", self.calibration.kernel)
    }

    fn kernel(&self) -> String {
        self.calibration.kernel.clone()
    }

    fn details(&self, _: &Scenario) -> Vec<(String, String)> {
        vec![
            ("calibration".to_owned(), self.hash.clone()),
            ("calibrated-on".to_owned(), self.calibration.bench.clone()),
        ]
    }

    fn run(&self, run: Run<'_>, _: &mut dyn FnMut(Progress)) -> Result<Capture, BenchError> {
        let (scenario, names) = self.asked(run.scenario);
        let capture = self.capture(&scenario);
        let mut capture = capture.map_err(|why| failed(&why, &names))?;
        names.give_back(&mut capture);
        Ok(capture)
    }
}

/// An error of the model with the study's own names.
fn failed(why: &sim::Error, names: &Names) -> BenchError {
    BenchError::Failed(names.in_text(&why.to_string()))
}

/// The scenario with all settings before the run, which ends as soon as it has begun. Of the base
/// those that the kernel lacks are skipped: an arm that sets one has an outcome.
fn cut_short(scenario: &Scenario) -> Scenario {
    let mut short = scenario.clone();
    short.base.0.extend(scenario.arm_settings.0.iter().cloned());
    for process in &scenario.workload.processes {
        settings_of(&process.steps, &mut short.base.0);
    }
    short.arm_settings.0.clear();
    short.workload.deadline = Some(Nanos(1));
    short
}

fn settings_of(steps: &[Step], found: &mut Vec<Setting>) {
    for step in steps {
        match &step.action {
            Action::Set(settings) => found.extend(settings.iter().cloned()),
            Action::Repeat { steps, .. } => settings_of(steps, found),
            _ => {}
        }
    }
}

/// Whether an error says what the model has not, whatever the run would come to.
fn is_lacking_in_the_model(why: &sim::Error) -> bool {
    use sim::Error::{Boot, Finer, Scale, TooSmall, Unknown, Unsampled, Unsupported};
    let of_the_scenario = matches!(why, Unsupported { .. } | Unsampled { .. });
    let of_the_scale = matches!(why, Scale { .. } | Finer { .. });
    of_the_scenario || of_the_scale || matches!(why, Unknown { .. } | Boot { .. } | TooSmall { .. })
}

/// The tunable that the calibrated kernel lacks, where that is the error: a real kernel without it
/// ends the same way.
fn lacking(why: &sim::Error) -> Option<&str> {
    match why {
        sim::Error::NoTunable { tunable, .. } => Some(tunable),
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

/// Bytes of a study's text when its older records were made.
const TEXTS_THEN: [(&str, u64); 6] = [
    ("ksm", 8751),
    ("memory-hogs", 17609),
    ("min-free-kbytes", 8307),
    ("usb-copy", 8137),
    ("working-set", 7323),
    ("writeback", 10074),
];

/// Of a study that has not grown since, its text's bytes.
fn text_then(study: &Study) -> Bytes {
    let then = TEXTS_THEN.iter().find(|(name, _)| *name == study.name);
    Bytes(then.map_or(study.text.len() as u64, |(_, bytes)| *bytes))
}

#[cfg(test)]
mod tests {
    use mm::settings::Settings;
    use scenario::outcome::Outcome;

    use super::*;

    #[test]
    fn a_tunable_that_the_calibrated_kernel_lacks_is_marked_and_no_error() {
        let study = Study::built_in("min-free-kbytes").unwrap();
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
            let run = Run { scenario };
            bench.run(run, &mut |_| ())
        };
        let lacking = run(&scenario("vm.swappiness", "1")).unwrap();
        let lacking = Outcome::from_capture(lacking).unwrap();
        assert_eq!(lacking.unavailable().collect::<Vec<_>>(), ["vm.swappiness"]);
        assert!(run(&scenario("vm.min_free_kbytes", "none")).is_err());
        let there = run(&scenario("vm.min_free_kbytes", "70000")).unwrap();
        assert!(Outcome::from_capture(there).unwrap().is_available());
    }

    #[test]
    fn what_the_model_lacks_is_found_before_the_workload_runs() {
        let bench = ModelBench::new(calibration::built_in("6.1").unwrap());
        let study = Study::built_in("min-free-kbytes").unwrap();
        let mut scenario = study.scenario("raised", 1).unwrap();
        assert!(bench.check(&scenario).is_ok());
        scenario.arm_settings = Settings(vec![Setting {
            tunable: "vm.zone_reclaim_mode".to_owned(),
            value: "1".to_owned(),
        }]);
        let why = bench.check(&scenario).unwrap_err().to_string();
        assert!(
            why.contains("does not simulate the tunable vm.zone_reclaim_mode"),
            "{why}"
        );
    }

    #[test]
    fn every_arm_of_the_built_in_studies_passes_the_check() {
        for (name, _) in study::BUILT_IN {
            let study = Study::built_in(name).unwrap();
            let bench = ModelBench::new(calibration::built_in("6.1").unwrap());
            for arm in &study.arms {
                let checked = bench.check(&study.scenario(&arm.name, 1).unwrap());
                assert!(checked.is_ok(), "{name}, {}: {checked:?}", arm.name);
            }
        }
    }
}
