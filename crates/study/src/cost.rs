//! What a run of a built-in study takes, so that nobody starts an hour of work unawares.

use std::num::NonZeroUsize;
use std::time::Duration;

use mm::units::Bytes;

use super::Study;
use crate::coverage;

/// What one run of a built-in study takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// CPU time of a run on the model, at scale `auto`, the mean of the study's arms.
    pub model: Duration,
    /// Time of a run in a VM in virtual time, boot included; `None` where no kernel runs the study.
    pub vm: Option<Duration>,
}

/// By study: milliseconds on the model, and seconds in a VM.
///
/// The model's were measured with the release build on one CPU of 2.5 GHz; those of the VM are the
/// median times between the ends of the committed records' runs, made on two such CPUs that others
/// used too. Another machine's are off by what its CPUs are.
const COSTS: [(&str, u32, Option<u32>); 12] = [
    ("min-free-kbytes", 840, Some(80)),
    ("memory-hogs", 300, Some(20)),
    ("memory-hogs-full-size", 820, None),
    ("memory-hogs-writing", 200, Some(90)),
    ("usb-copy", 60, Some(7)),
    ("cache-ceiling", 430, Some(28)),
    ("working-set", 180, Some(14)),
    ("writeback", 100, Some(9)),
    ("ksm-full-size", 3800, None),
    ("ksm", 130, Some(20)),
    ("bursts", 710, Some(34)),
    ("file-copy", 70, None),
];

impl Cost {
    /// Of the study with this name; `None` where it is not a built-in one.
    #[must_use]
    pub fn of(study: &str) -> Option<Self> {
        let (_, model, vm) = COSTS.iter().find(|(name, ..)| *name == study)?;
        Some(Self {
            model: Duration::from_millis(u64::from(*model)),
            vm: vm.map(|seconds| Duration::from_secs(u64::from(seconds))),
        })
    }

    /// How long that many runs take on the model, on this many CPUs.
    #[must_use]
    pub fn on_the_model(&self, runs: usize, cpus: NonZeroUsize) -> Duration {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        self.model.saturating_mul(number(runs)) / number(cpus.get())
    }

    /// How long `runs` runs take in VMs, `at_a_time` of them together.
    #[must_use]
    pub fn in_vms(&self, runs: usize, at_a_time: usize) -> Option<Duration> {
        let runs = u32::try_from(runs.div_ceil(at_a_time.max(1))).unwrap_or(u32::MAX);
        Some(self.vm?.saturating_mul(runs))
    }
}

/// About how much memory predicting the study takes: the state of the pages of each simulation
/// that runs at a time, one on each CPU, for the largest arm.
#[must_use]
pub fn memory(study: &Study, cpus: NonZeroUsize) -> Bytes {
    let state = study.arms.iter().filter_map(|arm| {
        let scenario = study.scenario(&arm.name, 1).ok()?;
        let scale = coverage::automatic(&scenario);
        Some(sim::sampling::state_size(&scenario, scale).0)
    });
    let most = state.max().unwrap_or_default();
    Bytes(most.saturating_mul(cpus.get() as u64))
}

/// A time as people say it: "1 s", "40 s", "5 min", "2.5 h".
#[must_use]
pub fn roughly(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 1.0 => "1 s".to_owned(),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BUILT_IN;

    /// What is said before a run of a study on another machine rests on what it is asked to do.
    #[test]
    fn what_page_accesses_are_taken_to_cost_is_within_twice_of_what_was_measured() {
        for name in ["min-free-kbytes", "working-set"] {
            let study = Study::built_in(name).unwrap();
            let seconds = study.arms.iter().map(|arm| {
                let scenario = study.scenario(&arm.name, 1).unwrap();
                let work = crate::Work::of(&scenario, coverage::automatic(&scenario));
                work.time().as_secs_f64()
            });
            let mean = seconds.sum::<f64>() / study.arms.len() as f64;
            let measured = Cost::of(name).unwrap().model.as_secs_f64();
            let ratio = mean / measured;
            assert!((0.5..=2.0).contains(&ratio), "{name}: {ratio:.2}");
        }
    }

    #[test]
    fn every_built_in_study_says_what_it_takes() {
        for (name, _) in BUILT_IN {
            let study = Study::built_in(name).unwrap();
            let cost = Cost::of(name).unwrap_or_else(|| panic!("{name} has no cost"));
            assert_eq!(cost.vm.is_none(), study.is_for_the_model(), "{name}");
            let scenario = study.scenario(&study.arms[0].name, 1).unwrap();
            let scale = coverage::automatic(&scenario);
            assert!(
                memory(&study, NonZeroUsize::MIN) >= sim::sampling::state_size(&scenario, scale)
            );
        }
        assert_eq!(Cost::of("my-own"), None);
    }

    #[test]
    fn a_time_is_said_in_the_unit_that_people_use() {
        let said = [0.2, 40.4, 150.0, 9000.0].map(|s| roughly(Duration::from_secs_f64(s)));
        assert_eq!(said, ["1 s", "40 s", "2 min", "2.5 h"]);
    }
}
