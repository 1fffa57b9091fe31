//! Runs that would take hours or all memory are refused before the first, with the figure.

use std::time::Duration;

use mm::units::Bytes;
use scenario::Scenario;
use study::{Study, Work};

use crate::refused::Refused;
use crate::scale::Scale;

/// The longest time that a prediction may be expected to take.
const LIMIT: Duration = Duration::from_secs(5 * 60);

/// The runs of a prediction.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    /// The study.
    pub study: &'a Study,
    /// Its arms that are run.
    pub arms: &'a [&'a str],
    /// Runs of each.
    pub repetitions: u32,
    /// Runs that go on at a time.
    pub at_a_time: u64,
    /// Real pages that a simulated one stands for.
    pub scale: Scale,
}

/// About how long runs take.
#[derive(Debug, Default)]
pub struct Expected {
    /// All of them, as many at a time as there may be.
    pub all: Duration,
    /// The longest run.
    longest: Duration,
    /// Its arm.
    arm: String,
    /// What it mostly does.
    mostly: String,
}

impl<'a> Runs<'a> {
    /// That many at a time, each at the scale that its arm takes by itself.
    #[must_use]
    pub fn at_automatic_scale(
        study: &'a Study,
        arms: &'a [&'a str],
        repetitions: u32,
        at_a_time: u64,
    ) -> Self {
        Self {
            study,
            arms,
            repetitions,
            at_a_time,
            scale: Scale::Auto,
        }
    }

    /// Refuses what is expected to take more than five minutes or more memory than this machine
    /// has available.
    ///
    /// # Errors
    /// That it does, with the figure.
    pub fn check(&self, available: Bytes) -> Result<(), Refused> {
        let checked = self.check_for_the_model(available);
        checked.map_err(|why| Refused(format!("{why}; ask for less, or give --even-so")))
    }

    /// Refuses a run that no VM would end within `deadline`, or whose processes do not fit into
    /// their machine.
    ///
    /// # Errors
    /// That it is so.
    pub fn check_for_a_vm(&self, deadline: Duration) -> Result<(), Refused> {
        for arm in self.arms {
            let scenario = self.study.scenario(arm, 1)?;
            let work = Work::of(&scenario, 1);
            check_own(&scenario, work)?;
            let least = work.least_time();
            if least > deadline {
                return Err(Refused(format!(
                    "a run of arm `{arm}` takes {} at least (mostly {}), and a VM is given up \
                     after {}; ask for less, or give a longer --deadline",
                    shown(least.as_secs_f64()),
                    work.mostly(),
                    shown(deadline.as_secs_f64()),
                )));
            }
        }
        Ok(())
    }

    /// The same without a way out, where a prediction is not all that is asked for.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn check_for_the_model(&self, available: Bytes) -> Result<(), Refused> {
        for arm in self.arms {
            let scenario = self.study.scenario(arm, 1)?;
            let work = Work::of(&scenario, self.scale.of(&scenario));
            check_own(&scenario, work)?;
            self.check_memory(&scenario, work, available)?;
        }
        let expected = self.expected()?;
        if expected.all <= LIMIT {
            return Ok(());
        }
        let Expected {
            all,
            longest,
            arm,
            mostly,
        } = expected;
        Err(Refused(format!(
            "about {} of computing, {} for a run of arm `{arm}` (mostly {mostly}), and the most is \
             {}",
            shown(all.as_secs_f64()),
            shown(longest.as_secs_f64()),
            shown(LIMIT.as_secs_f64()),
        )))
    }

    /// About how long the runs take.
    ///
    /// # Errors
    /// An arm that the study lacks.
    pub fn expected(&self) -> Result<Expected, Refused> {
        let mut expected = Expected::default();
        let mut sum = 0.0;
        for arm in self.arms {
            let scenario = self.study.scenario(arm, 1)?;
            let work = Work::of(&scenario, self.scale.of(&scenario));
            sum += work.time().as_secs_f64();
            if work.time() > expected.longest {
                expected.longest = work.time();
                expected.arm = (*arm).to_owned();
                expected.mostly = work.mostly();
            }
        }
        let all = sum * f64::from(self.repetitions) / self.at_a_time.max(1) as f64;
        let all = Duration::try_from_secs_f64(all).unwrap_or(Duration::MAX);
        expected.all = all.max(expected.longest);
        Ok(expected)
    }

    fn check_memory(
        &self,
        scenario: &Scenario,
        work: Work,
        available: Bytes,
    ) -> Result<(), Refused> {
        let pages = sim::sampling::state_size(scenario, self.scale.of(scenario));
        let run = work.state().saturating_add(pages);
        let runs = self
            .at_a_time
            .min(u64::from(self.repetitions) * self.arms.len() as u64);
        let needed = Bytes(run.0.saturating_mul(runs.max(1)));
        if needed <= available {
            return Ok(());
        }
        Err(Refused(format!(
            "arm `{}` needs about {needed} for what it maps, weighs and samples, and this machine \
             has {available} available",
            scenario.arm
        )))
    }
}

/// Refuses more processes than their machine has memory for: it would only reclaim and kill.
fn check_own(scenario: &Scenario, work: Work) -> Result<(), Refused> {
    let machine = &scenario.machine;
    let swap: Bytes = machine.swaps.iter().map(|swap| swap.size).sum();
    let room = (machine.memory.0 / 8 * 7).saturating_add(swap.0);
    if work.own().0 <= room {
        return Ok(());
    }
    Err(Refused(format!(
        "arm `{}`: its processes need {} for their buffers and stacks alone, and its machine has \
         {} of memory and {} of swap",
        scenario.arm,
        work.own(),
        machine.memory,
        swap,
    )))
}

/// A time in the unit that people would choose.
fn shown(seconds: f64) -> String {
    match seconds {
        s if s <= 300.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.0} h", s / 3600.0),
        s if s < 1e5 * 86400.0 => format!("{:.0} days", s / 86400.0),
        s => format!("{:.0e} days", s / 86400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(study: &Study, repetitions: u32, available: Bytes) -> Option<String> {
        let arms: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
        let runs = Runs {
            study,
            arms: &arms,
            repetitions,
            at_a_time: 2,
            scale: Scale::Auto,
        };
        let result = runs.check_for_the_model(available);
        result.err().map(|error| error.to_string())
    }

    #[test]
    fn built_in_studies_run_and_what_takes_days_does_not() {
        let available = Bytes(4 << 30);
        for (name, _) in study::BUILT_IN {
            let study = Study::built_in(name).unwrap();
            assert_eq!(why(&study, study.repetitions, available), None, "{name}");
        }
        let text = "name = \"s\"\ntitle = \"s\"\nquestion = \"s\"\n[machine]\nmemory = \"1 GiB\"\n\
                    [[arm]]\nname = \"a\"\n[[process]]\nname = \"p\"\nsteps = [\
                    { map = { region = \"r\", size = \"1 TiB\" } }, { repeat = { times = \
                    1000000000, steps = [{ touch = { region = \"r\", amount = \"1 MiB\" } }] } }]\n";
        let study = Study::parse(text, "s").unwrap();
        let time = why(&study, 1, Bytes(u64::MAX)).unwrap();
        assert!(time.contains("mostly 2.6e11 operations"), "{time}");
        assert!(time.ends_with("the most is 300 s"), "{time}");
        let memory = why(&study, 1, Bytes(1 << 30)).unwrap();
        assert!(
            memory.contains("this machine has 1 GiB available"),
            "{memory}"
        );
    }

    #[test]
    fn processes_that_do_not_fit_and_runs_that_no_vm_ends_are_refused() {
        let study = |count: u32, times: u64| {
            let text = format!(
                "name = \"s\"\ntitle = \"s\"\nquestion = \"s\"\n[machine]\nmemory = \"1 GiB\"\n\
                 [[machine.disk]]\nname = \"d\"\nsize = \"1 GiB\"\nbandwidth = \"1 GB/s\"\n\
                 [[machine.file]]\nname = \"f\"\ndisk = \"d\"\nsize = \"64 MiB\"\n[[arm]]\n\
                 name = \"a\"\n[[process]]\nname = \"p\"\ncount = {count}\nsteps = [\
                 {{ repeat = {{ times = {times}, steps = [{{ read = {{ file = \"f\" }} }}] }} }}]\n"
            );
            Study::parse(&text, "s").unwrap()
        };
        let in_a_vm = |study: &Study| {
            let runs = Runs {
                study,
                arms: &["a"],
                repetitions: 1,
                at_a_time: 1,
                scale: Scale::Auto,
            };
            runs.check_for_a_vm(Duration::from_secs(3600))
        };
        let many = study(1000, 1);
        let needs = "its processes need 1.2 GiB for their buffers and stacks alone";
        let why = why(&many, 1, Bytes(u64::MAX)).unwrap();
        assert!(why.contains(needs), "{why}");
        assert!(in_a_vm(&many).unwrap_err().to_string().contains(needs));
        let long = in_a_vm(&study(1, 100_000_000)).unwrap_err().to_string();
        assert!(long.contains("a VM is given up after 60 min"), "{long}");
        assert!(in_a_vm(&study(100, 10)).is_ok());
    }
}
