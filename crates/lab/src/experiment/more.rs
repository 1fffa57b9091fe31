//! More runs of the arms whose runs differ widely: a few of them would rank such arms by luck.

use std::time::{Duration, Instant};

use super::{Event, Experiment, ExperimentError, Results, RunId};
use crate::bench::Bench;
use crate::measure::Measure;
use crate::record::{Record, Store};
use crate::stats;

/// The most runs of an arm that are made without being asked for: of two outcomes that are equally
/// likely, forty runs tell the share to within 16 % of all runs (95 % interval).
const MOST_RUNS: u32 = 40;

impl Experiment<'_> {
    /// As [`Experiment::run`], and then more runs of the arms whose [`headline`] measures differ
    /// widely or have two outcomes, and as many of the first arm, with which they are compared:
    /// twice as many each time, up to 40, as long as a round is likely to end within `time`.
    ///
    /// # Errors
    /// As [`Experiment::run`].
    ///
    /// [`headline`]: crate::study::Study::headline
    pub fn run_until_clear(
        &self,
        bench: &(dyn Bench + Sync),
        store: Option<&Store>,
        time: Duration,
        tell: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Results, ExperimentError> {
        let begun = Instant::now();
        let mut results = self.run_these(self.runs()?, bench, store, tell)?;
        let per_run = begun.elapsed() / u32::try_from(results.records.len()).unwrap_or(1).max(1);
        let begun = Instant::now();
        let mut runs = self.repetitions;
        while runs < MOST_RUNS {
            let arms = self.unclear(&results.records)?;
            let left = time.saturating_sub(begun.elapsed());
            let more = fitting(arms.len(), runs.min(MOST_RUNS - runs), per_run, left);
            if more == 0 {
                break;
            }
            let round = self.round(arms, runs, more)?;
            tell(Event::More(round.len()));
            let more_results = self.run_these(round, bench, store, tell)?;
            results.records.extend(more_results.records);
            results.failures.extend(more_results.failures);
            runs += more;
        }
        self.sort(&mut results.records);
        Ok(results)
    }

    /// The arms that a further round is for; none, or the first arm and some others.
    fn unclear(&self, records: &[Record]) -> Result<Vec<String>, ExperimentError> {
        let arms = self.arms()?;
        let headline = self.study.headline();
        let is_unclear = |arm: &&&str| headline.iter().any(|m| differs(m, records, arm));
        let unclear: Vec<&str> = arms.iter().filter(is_unclear).copied().collect();
        let first = arms.first().filter(|_| !unclear.is_empty());
        let more = unclear.iter().filter(|arm| Some(*arm) != first);
        let all = first.into_iter().chain(more);
        Ok(all.map(|arm| (*arm).to_owned()).collect())
    }

    /// The runs of a round: the next `more` seeds of the arms.
    fn round(
        &self,
        arms: Vec<String>,
        runs: u32,
        more: u32,
    ) -> Result<Vec<RunId>, ExperimentError> {
        let next = Experiment {
            arms,
            repetitions: more,
            first_seed: self.first_seed.wrapping_add(u64::from(runs)),
            ..self.clone()
        };
        Ok(next.runs()?)
    }
}

/// Whether the runs of an arm are too different for a few of them to tell.
fn differs(measure: &Measure, records: &[Record], arm: &str) -> bool {
    let of_arm = records.iter().filter(|it| it.provenance.arm == arm);
    let numbers = of_arm.filter_map(|it| measure.read(&it.outcome).ok());
    let numbers: Vec<f64> = numbers.collect();
    stats::is_wide(&numbers) || stats::two_outcomes(&numbers).is_some()
}

/// How many runs of each of `arms` arms end within the time that is left, at most `wanted`.
fn fitting(arms: usize, wanted: u32, per_run: Duration, left: Duration) -> u32 {
    if arms == 0 {
        return 0;
    }
    let round = per_run.as_secs_f64().max(1e-6) * arms as f64;
    let fit = (left.as_secs_f64() / round) as u32;
    fit.min(wanted)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use mm::capture::{Capture, Frame};

    use super::*;
    use crate::bench::{BenchError, Progress, Run};
    use crate::study::Study;

    #[test]
    fn a_round_is_as_long_as_the_time_allows() {
        let [run, left] = [100, 1000].map(Duration::from_millis);
        assert_eq!(fitting(2, 5, run, left), 5);
        assert_eq!(fitting(5, 5, run, left), 2);
        assert_eq!(fitting(20, 5, run, left), 0);
        assert_eq!(fitting(0, 5, run, left), 0);
        assert_eq!(fitting(1, 5, Duration::ZERO, Duration::ZERO), 0);
    }

    /// A bench on which a step takes 1 s with odd seeds and 9 s with even ones on one arm.
    struct Tossing;

    impl Bench for Tossing {
        fn describe(&self) -> String {
            "a bench for tests".to_owned()
        }

        fn kernel(&self) -> String {
            "6.1".to_owned()
        }

        fn run(&self, run: Run<'_>, _: &mut dyn FnMut(Progress)) -> Result<Capture, BenchError> {
            let tossed = run.scenario.arm == "raised" && run.scenario.seed.is_multiple_of(2);
            let seconds = if tossed { 9 } else { 1 };
            let meminfo = format!("MemTotal: 4000 kB\nMemAvailable: {seconds}000 kB\n");
            let mut frame = Frame {
                label: Some("set".to_owned()),
                ..Frame::default()
            };
            frame.files.insert("proc/meminfo".to_owned(), meminfo);
            Ok(Capture {
                frames: vec![frame],
            })
        }
    }

    #[test]
    fn an_arm_with_two_outcomes_and_the_first_arm_are_run_more_often() {
        let mut study = Study::find("min-free-kbytes").unwrap();
        study.arms.truncate(2);
        let experiment = Experiment {
            repetitions: 5,
            ..Experiment::new(&study)
        };
        let told = AtomicU32::new(0);
        let tell = |event: Event<'_>| {
            if let Event::More(runs) = event {
                told.fetch_add(u32::try_from(runs).unwrap(), Ordering::Relaxed);
            }
        };
        let minute = Duration::from_secs(60);
        let results = experiment.run_until_clear(&Tossing, None, minute, &tell);
        let records = results.unwrap().records;
        assert_eq!((records.len(), told.into_inner()), (80, 70));
        let seeds: Vec<u64> = records[40..].iter().map(|it| it.provenance.seed).collect();
        assert!(seeds.into_iter().eq(1..=40), "each seed once, in order");
        let none = experiment.run_until_clear(&Tossing, None, Duration::ZERO, &|_| ());
        assert_eq!(none.unwrap().records.len(), 10, "no time, no more runs");
    }
}
