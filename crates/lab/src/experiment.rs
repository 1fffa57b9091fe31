//! Running a study on a bench: which runs, in which order, each recorded at once, none run twice.

mod more;
mod said;
mod side_by_side;

use std::num::NonZeroUsize;
use std::thread;
use std::time::SystemTime;

use mm::prng::Prng;
use scenario::outcome::Outcome;

use super::hash;
use crate::store::{Store, StoreError};
use answer::bench::{Bench, BenchError, Progress, Run};
use answer::run::{RunId, outcome, provenance};
pub use more::{More, Repeats};
pub use side_by_side::side_by_side;
use study::record::{self, Record};
use study::{NoSuchArm, Study};

/// Which runs of a study are wanted, and how.
#[derive(Clone, Debug)]
pub struct Experiment<'a> {
    /// The study.
    pub study: &'a Study,
    /// The arms, by name; empty for all of them.
    pub arms: Vec<String>,
    /// Runs of each arm; run i has the seed `first_seed` + i.
    pub repetitions: u32,
    /// The seed of the first run of each arm.
    pub first_seed: u64,
    /// How many runs go on at a time.
    pub at_a_time: AtATime,
}

/// How many runs go on at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtATime {
    /// One after the other, in order.
    One,
    /// As many as there are CPUs; for benches that do not disturb each other.
    EveryCpu,
    /// This many.
    Number(NonZeroUsize),
}

impl AtATime {
    fn number(self) -> usize {
        match self {
            Self::One => 1,
            Self::EveryCpu => cpus().get(),
            Self::Number(number) => number.get(),
        }
    }
}

/// CPUs that this program may use.
#[must_use]
pub fn cpus() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// What is told while an experiment goes on; calls may come from several threads.
#[derive(Debug)]
pub enum Event<'a> {
    /// A run begins.
    Begins(&'a RunId),
    /// The bench has something to say about a run.
    Progress(&'a RunId, Progress),
    /// A run was recorded before and is not repeated.
    Recorded(&'a RunId),
    /// That many further runs follow, of arms whose verdicts are open.
    More(usize),
    /// A run ended and, where there is a store, is recorded.
    Done(&'a RunId, &'a Record),
    /// A run has no outcome; the others go on.
    Failed(&'a RunId, &'a str),
}

/// What came out of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The runs that have an outcome, by arm in the study's order and by seed.
    pub records: Vec<Record>,
    /// The runs that have none, and why.
    pub failures: Vec<(RunId, String)>,
    /// Whether more runs were made than were asked for, and what they settled.
    pub repeats: Repeats,
}

/// Why an experiment stopped.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// An arm that the study lacks.
    #[error(transparent)]
    NoSuchArm(#[from] NoSuchArm),
    /// The bench cannot be had, or the user asked to stop.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A record could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl<'a> Experiment<'a> {
    /// The whole study, from seed 1.
    #[must_use]
    pub fn new(study: &'a Study) -> Self {
        Self {
            study,
            arms: Vec::new(),
            repetitions: study.repetitions,
            first_seed: 1,
            at_a_time: AtATime::One,
        }
    }

    /// The runs in the order in which they begin: for each seed all arms, shuffled by that seed, so
    /// that a slow drift of the bench falls on all arms alike.
    ///
    /// # Errors
    /// An arm that the study lacks.
    pub fn runs(&self) -> Result<Vec<RunId>, NoSuchArm> {
        let arms = self.arms()?;
        let mut runs = Vec::new();
        for repetition in 0..u64::from(self.repetitions) {
            let seed = self.first_seed.wrapping_add(repetition);
            let mut block: Vec<RunId> = arms
                .iter()
                .map(|arm| RunId {
                    arm: (*arm).to_owned(),
                    seed,
                })
                .collect();
            Prng::for_part(seed, "order of arms").shuffle(&mut block);
            runs.append(&mut block);
        }
        Ok(runs)
    }

    /// The arms that take part, in the study's order.
    ///
    /// # Errors
    /// An arm that the study lacks.
    pub fn arms(&self) -> Result<Vec<&'a str>, NoSuchArm> {
        for arm in &self.arms {
            self.study.arm(arm)?;
        }
        let wanted = |name: &str| self.arms.is_empty() || self.arms.iter().any(|arm| arm == name);
        let names = self.study.arms.iter().map(|arm| arm.name.as_str());
        Ok(names.filter(|name| wanted(name)).collect())
    }

    /// Runs what is not recorded yet. Runs begin in the order of [`Experiment::runs`] and each is
    /// recorded when it ends.
    ///
    /// # Errors
    /// The bench cannot be had, the user asked to stop, or a record could not be written. No run
    /// begins after that; those under way come to their ends and are recorded. What was recorded
    /// stays, and another call resumes.
    pub fn run(
        &self,
        bench: &(dyn Bench + Sync),
        store: Option<&Store>,
        tell: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Results, ExperimentError> {
        self.run_these(self.runs()?, bench, store, tell)
    }

    /// Runs these, in their order, in place of those of [`Experiment::runs`].
    ///
    /// # Errors
    /// As [`Experiment::run`].
    pub fn run_these(
        &self,
        runs: Vec<RunId>,
        bench: &(dyn Bench + Sync),
        store: Option<&Store>,
        tell: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Results, ExperimentError> {
        let one = |id: &RunId| self.run_one(id, bench, store, tell);
        let ended: Vec<Ended> = side_by_side(&runs, self.at_a_time.number(), one)?;
        let mut results = Results::default();
        for (id, ended) in runs.into_iter().zip(ended) {
            match ended {
                Ended::Done(record) => results.records.push(*record),
                Ended::Failed(why) => results.failures.push((id, why)),
            }
        }
        self.sort(&mut results.records);
        Ok(results)
    }

    /// By arm in the study's order and by seed.
    fn sort(&self, records: &mut [Record]) {
        let place = |record: &Record| {
            let arm = &record.provenance.arm;
            let index = self.study.arms.iter().position(|known| known.name == *arm);
            (index, record.provenance.seed)
        };
        records.sort_by_key(place);
    }

    fn run_one(
        &self,
        id: &RunId,
        bench: &(dyn Bench + Sync),
        store: Option<&Store>,
        tell: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Ended, ExperimentError> {
        let scenario = self.study.scenario(&id.arm, id.seed)?;
        let mut provenance = provenance(self.study, &scenario, bench, hash::this_program());
        if let Some(store) = store
            && let Some(record) = store.find(&provenance)?
        {
            tell(Event::Recorded(id));
            return Ok(Ended::Done(Box::new(record)));
        }
        if let Some(store) = store {
            store.prepare(&self.study.name)?;
        }
        tell(Event::Begins(id));
        let run = Run {
            scenario: &scenario,
        };
        let outcome = match outcome(bench, run, &mut |news| tell(Event::Progress(id, news))) {
            Ok(outcome) => outcome,
            Err(BenchError::Failed(why)) => {
                tell(Event::Failed(id, &why));
                return Ok(Ended::Failed(why));
            }
            Err(stop) => return Err(stop.into()),
        };
        provenance.command_line = provenance.command_line.or_else(|| command_line(&outcome));
        provenance.date = record::utc(SystemTime::now());
        let record = Record {
            provenance,
            outcome,
        };
        if let Some(store) = store {
            store.write(&record)?;
        }
        tell(Event::Done(id, &record));
        Ok(Ended::Done(Box::new(record)))
    }
}

enum Ended {
    Done(Box<Record>),
    Failed(String),
}

fn command_line(outcome: &Outcome) -> Option<String> {
    let mut frames = outcome.capture.frames.iter();
    frames
        .find_map(|frame| frame.file("proc/cmdline"))
        .map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mm::capture::{Capture, Frame};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A bench that counts its runs and fails on one arm.
    #[derive(Default)]
    struct Counting {
        runs: AtomicU32,
        failing_arm: Option<&'static str>,
    }

    impl Bench for Counting {
        fn describe(&self) -> String {
            "a bench for tests".to_owned()
        }

        fn kernel(&self) -> String {
            "6.1".to_owned()
        }

        fn run(&self, run: Run<'_>, _: &mut dyn FnMut(Progress)) -> Result<Capture, BenchError> {
            self.runs.fetch_add(1, Ordering::Relaxed);
            if self.failing_arm == Some(run.scenario.arm.as_str()) {
                return Err(BenchError::Failed("it hung".to_owned()));
            }
            let mut frame = Frame::default();
            frame
                .files
                .insert("proc/cmdline".to_owned(), "quiet\n".to_owned());
            Ok(Capture {
                frames: vec![frame],
            })
        }
    }

    fn study() -> Study {
        let mut study = crate::find::find("min-free-kbytes").unwrap();
        study.repetitions = 4;
        study.arms.truncate(2);
        study
    }

    #[test]
    fn every_seed_sees_every_arm_and_the_order_is_the_seeds() {
        let study = study();
        let mut experiment = Experiment::new(&study);
        experiment.repetitions = 20;
        let runs = experiment.runs().unwrap();
        assert_eq!(runs.len(), 40);
        for (block, seed) in runs.chunks(2).zip(1..) {
            let mut arms: Vec<&str> = block.iter().map(|run| run.arm.as_str()).collect();
            arms.sort_unstable();
            assert_eq!(arms, ["default", "raised"]);
            assert!(block.iter().all(|run| run.seed == seed));
        }
        assert_eq!(runs, experiment.runs().unwrap());
        let orders: std::collections::BTreeSet<_> =
            runs.chunks(2).map(|b| b[0].arm.clone()).collect();
        assert_eq!(orders.len(), 2, "four seeds begin with both arms");
    }

    #[test]
    fn an_interrupted_experiment_resumes() {
        let (study, folder) = (study(), tempfile::tempdir().unwrap());
        let store = Store::new(folder.path());
        let bench = Counting::default();
        let mut experiment = Experiment::new(&study);
        experiment.repetitions = 2;
        experiment.run(&bench, Some(&store), &|_| ()).unwrap();
        assert_eq!(bench.runs.load(Ordering::Relaxed), 4);
        experiment.repetitions = 4;
        let results = experiment.run(&bench, Some(&store), &|_| ()).unwrap();
        assert_eq!(
            bench.runs.load(Ordering::Relaxed),
            8,
            "only the missing four were run"
        );
        assert_eq!(results.records.len(), 8);
        assert_eq!(
            results.records[0].provenance.command_line.as_deref(),
            Some("quiet")
        );
    }

    /// How many runs a study takes whose records of one seed there are, once its text is changed.
    fn runs_after(change: impl Fn(&str) -> String) -> u32 {
        let study = crate::find::find("min-free-kbytes").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (store, bench) = (Store::new(folder.path()), Counting::default());
        let run = |study: &Study| {
            let mut experiment = Experiment::new(study);
            experiment.repetitions = 1;
            let results = experiment.run(&bench, Some(&store), &|_| ()).unwrap();
            assert_eq!(results.records.len(), study.arms.len());
        };
        run(&study);
        let before = bench.runs.load(Ordering::Relaxed);
        run(&Study::parse(&change(&study.text), "changed").unwrap());
        bench.runs.load(Ordering::Relaxed) - before
    }

    #[test]
    fn words_and_measures_may_change_and_nothing_is_run_again() {
        let measure = "\n[[measure]]\nname = \"new\"\nsnapshot = \"set\"\nzoneinfo = \"min\"\n";
        assert_eq!(runs_after(|text| format!("{text}{measure}")), 0);
        assert_eq!(
            runs_after(|text| text.replace("title = \"", "title = \"On ")),
            0
        );
        assert_eq!(
            runs_after(|text| text.replace("repetitions = 1", "repetitions = 7")),
            0
        );
        assert_eq!(
            runs_after(|text| text.replace("why = \"\"\"", "why = \"\"\"Well: ")),
            0
        );
    }

    #[test]
    fn another_arm_is_run_and_the_others_are_not() {
        let arm = "\n[[arm]]\nname = \"more\"\nsettings = { \"vm.swappiness\" = 1 }\n";
        assert_eq!(runs_after(|text| format!("{text}{arm}")), 1);
        let raised = |text: &str| text.replace("\"1500000\"", "\"1400000\"");
        assert_eq!(runs_after(raised), 1, "one arm sets something else");
    }

    #[test]
    fn what_a_run_depends_on_makes_it_another_run() {
        assert_eq!(runs_after(|text| text.replace("3840 MiB", "3841 MiB")), 3);
        assert_eq!(runs_after(|text| text.replace("2355 MiB", "2300 MiB")), 3);
        assert_eq!(
            runs_after(|text| text.replace("\"500 ms\"", "\"400 ms\"")),
            3
        );
        assert_eq!(
            runs_after(|text| text.replace("lru_gen.enabled\" = \"0", "vm.swappiness\" = \"0")),
            3
        );
        assert_eq!(
            runs_after(|text| text.replacen("\"128 KiB\"", "\"64 KiB\"", 1)),
            3
        );
        let deadline = |text: &str| format!("deadline = \"9 min\"\n{text}");
        assert_eq!(runs_after(deadline), 3);
    }

    #[test]
    fn a_run_without_outcome_does_not_stop_the_others() {
        let study = study();
        let bench = Counting {
            failing_arm: Some("raised"),
            ..Counting::default()
        };
        let mut experiment = Experiment::new(&study);
        experiment.at_a_time = AtATime::EveryCpu;
        let results = experiment.run(&bench, None, &|_| ()).unwrap();
        assert_eq!((results.records.len(), results.failures.len()), (4, 4));
        let seeds: Vec<u64> = results.records.iter().map(|r| r.provenance.seed).collect();
        assert_eq!(seeds, [1, 2, 3, 4]);
    }

    #[test]
    fn records_that_cannot_be_kept_stop_it_before_the_first_run() {
        let (study, folder) = (study(), tempfile::tempdir().unwrap());
        std::fs::write(folder.path().join(&study.name), b"no folder").unwrap();
        let (bench, store) = (Counting::default(), Store::new(folder.path()));
        let error = Experiment::new(&study).run(&bench, Some(&store), &|_| ());
        assert!(matches!(error, Err(ExperimentError::Store(_))));
        assert_eq!(bench.runs.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn an_unknown_arm_stops_it_before_the_first_run() {
        let study = study();
        let bench = Counting::default();
        let mut experiment = Experiment::new(&study);
        experiment.arms = vec!["rised".to_owned()];
        let error = experiment
            .run(&bench, None, &|_| ())
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("did you mean `raised`?"), "{error}");
        assert_eq!(bench.runs.load(Ordering::Relaxed), 0);
    }
}
