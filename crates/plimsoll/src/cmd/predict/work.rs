//! Runs that would take hours or all memory are refused before the first, with the figure.

use std::time::Duration;

use anyhow::bail;
use lab::study::{Study, Work};
use mm::scenario::Scenario;
use mm::units::Bytes;

use super::scale::{self, Scale};

/// The longest time that a prediction may be expected to take.
const LIMIT: Duration = Duration::from_secs(5 * 60);

/// The runs of a prediction.
pub(super) struct Runs<'a> {
    pub(super) study: &'a Study,
    pub(super) arms: &'a [&'a str],
    pub(super) repetitions: u32,
    pub(super) at_a_time: u64,
    pub(super) scale: Scale,
}

impl Runs<'_> {
    /// Refuses what is expected to take more than [`LIMIT`] or more memory than this machine has.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        self.check_within(scale::available().unwrap_or(Bytes(u64::MAX)))
    }

    fn check_within(&self, available: Bytes) -> anyhow::Result<()> {
        let (mut time, mut longest) = (0.0, (0.0, String::new(), String::new()));
        for arm in self.arms {
            let scenario = self.study.scenario(arm, 1)?;
            let work = Work::of(&scenario, self.scale.of(&scenario));
            self.check_memory(&scenario, work, available)?;
            let seconds = work.time().as_secs_f64();
            time += seconds * f64::from(self.repetitions) / self.at_a_time.max(1) as f64;
            if seconds > longest.0 {
                longest = (seconds, (*arm).to_owned(), work.mostly());
            }
        }
        let (seconds, arm, mostly) = longest;
        let time = f64::max(time, seconds);
        if time <= LIMIT.as_secs_f64() {
            return Ok(());
        }
        bail!(
            "about {} of computing, {} for a run of arm `{arm}` (mostly {mostly}), and the most is \
             {}; ask for less, or give --even-so",
            shown(time),
            shown(seconds),
            shown(LIMIT.as_secs_f64()),
        )
    }

    fn check_memory(
        &self,
        scenario: &Scenario,
        work: Work,
        available: Bytes,
    ) -> anyhow::Result<()> {
        let pages = sim::sampling::state_size(scenario, self.scale.of(scenario));
        let run = work.state().saturating_add(pages);
        let runs = self
            .at_a_time
            .min(u64::from(self.repetitions) * self.arms.len() as u64);
        let needed = Bytes(run.0.saturating_mul(runs.max(1)));
        if needed <= available {
            return Ok(());
        }
        bail!(
            "arm `{}` needs about {needed} for what it maps, weighs and samples, and this machine \
             has {available} available; ask for less, or give --even-so",
            scenario.arm
        )
    }
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
        let result = runs.check_within(available);
        result.err().map(|error| error.to_string())
    }

    #[test]
    fn built_in_studies_run_and_what_takes_days_does_not() {
        let available = Bytes(4 << 30);
        for (name, _) in lab::study::BUILT_IN {
            let study = Study::find(name).unwrap();
            assert_eq!(why(&study, study.repetitions, available), None, "{name}");
        }
        let text = "name = \"s\"\ntitle = \"s\"\nquestion = \"s\"\n[machine]\nmemory = \"1 GiB\"\n\
                    [[arm]]\nname = \"a\"\n[[process]]\nname = \"p\"\nsteps = [\
                    { map = { region = \"r\", size = \"1 TiB\" } }, { repeat = { times = \
                    1000000000, steps = [{ touch = { region = \"r\", amount = \"1 MiB\" } }] } }]\n";
        let study = Study::parse(text, "s").unwrap();
        let time = why(&study, 1, Bytes(u64::MAX)).unwrap();
        assert!(time.contains("mostly 2.6e11 operations"), "{time}");
        assert!(
            time.ends_with("the most is 300 s; ask for less, or give --even-so"),
            "{time}"
        );
        let memory = why(&study, 1, Bytes(1 << 30)).unwrap();
        assert!(
            memory.contains("this machine has 1 GiB available"),
            "{memory}"
        );
    }
}
