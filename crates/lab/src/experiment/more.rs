//! More runs of the arms whose verdict or rank is open, and of no others: which runs there are
//! hangs on the seeds alone, so that the same command has the same figures on every machine.
//!
//! The runs are looked at when each arm has had as many as were asked for, and after each round,
//! which doubles them. Every look has its part of the chance of a mistake
//! ([`study::verdict::Thresholds::shared_out`]).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{Event, Experiment, ExperimentError, Results};
use crate::store::Store;
use answer::bench::Bench;
use answer::run::RunId;
use study::measure::Measure;
use study::record::Record;
use study::stats;
use study::verdict::is_open;
use study::verdicts::{Compared, Ran, ran};

/// The most runs of an arm that are made without being asked for: of two outcomes that are equally
/// likely, forty runs tell the share to within 16 % of all runs (95 % interval).
const MOST_RUNS: u32 = 40;

/// How many runs there may be beyond those that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// None.
    None,
    /// As many as open verdicts need, up to 40 of an arm.
    UntilSettled,
    /// The same, but no round is begun that is not likely to end within this time after the first.
    Within(Duration),
}

/// What became of verdicts that were open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// How often the runs may have been looked at; 0 and 1 both stand for once.
    pub looks: u32,
    /// The arms whose verdict or rank is open still.
    pub open: Vec<String>,
    /// Whether the time ended it.
    pub is_cut: bool,
}

impl Experiment<'_> {
    /// As [`Experiment::run`], and then more runs of the arms whose verdict or rank in a
    /// [`headline`] measure is open, and of the arms that they are held against: twice as many each
    /// time, up to 40.
    ///
    /// # Errors
    /// As [`Experiment::run`].
    ///
    /// [`headline`]: study::Study::headline
    pub fn run_until_settled(
        &self,
        bench: &(dyn Bench + Sync),
        store: Option<&Store>,
        more: More,
        tell: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Results, ExperimentError> {
        let begun = Instant::now();
        let mut results = self.run_these(self.runs()?, bench, store, tell)?;
        if more == More::None {
            return Ok(results);
        }
        let per_run = begun.elapsed() / u32::try_from(results.records.len()).unwrap_or(1).max(1);
        let begun = Instant::now();
        let looks = looks(self.repetitions);
        let mut repeats = Repeats {
            looks,
            ..Repeats::default()
        };
        for look in 1..=looks {
            repeats.open = self.open(&results.records, looks)?;
            if repeats.open.is_empty() || look == looks {
                break;
            }
            let round = self.round(&repeats.open, runs_at(self.repetitions, look + 1), &results)?;
            repeats.is_cut = !more.allows(round.len(), per_run, begun.elapsed());
            if repeats.is_cut {
                break;
            }
            tell(Event::More(round.len()));
            let of_round = self.run_these(round, bench, store, tell)?;
            results.records.extend(of_round.records);
            results.failures.extend(of_round.failures);
        }
        results.repeats = repeats;
        self.sort(&mut results.records);
        Ok(results)
    }

    /// The arms of which more runs are needed, in the study's order.
    fn open(&self, records: &[Record], looks: u32) -> Result<Vec<String>, ExperimentError> {
        let ran = ran(self.study, records);
        let mut open = BTreeSet::new();
        for (arm, other) in self
            .open_verdicts(&ran, looks)
            .into_iter()
            .chain(self.open_ranks(&ran, looks))
        {
            open.extend([arm, other]);
        }
        let arms = self.arms()?.into_iter().filter(|arm| open.contains(arm));
        Ok(arms.map(str::to_owned).collect())
    }

    /// The arms that a headline measure does not tell from the first, each with the first.
    fn open_verdicts<'a>(&self, ran: &[Ran<'a>], looks: u32) -> Vec<(&'a str, &'a str)> {
        let Some((baseline, arms)) = ran.split_first() else {
            return Vec::new();
        };
        let headline = self.study.headline();
        let is_open = |arm: &&Ran<'_>| {
            let mut found = headline
                .iter()
                .filter_map(|it| Compared::of(it, baseline, arm, looks));
            found.any(|it| is_open(&it.baseline, &it.arm, &it.difference, it.thresholds))
        };
        let open = arms.iter().filter(is_open);
        open.map(|arm| (baseline.arm, arm.arm)).collect()
    }

    /// Pairs of arms whose runs the table ranks, though chance could have done that.
    fn open_ranks<'a>(&self, ran: &[Ran<'a>], looks: u32) -> Vec<(&'a str, &'a str)> {
        let table = self.study.shown.table.as_ref();
        let by = table.and_then(|table| table.sort.as_ref().map(|by| (by, &table.except)));
        let Some((by, except)) = by else {
            return Vec::new();
        };
        let measure = self.study.measures.iter().find(|it| it.name == *by);
        let ranked: Vec<&Ran<'a>> = ran
            .iter()
            .filter(|it| !except.iter().any(|no| no == it.arm))
            .collect();
        let mut open = Vec::new();
        for (index, one) in ranked.iter().enumerate() {
            let others = ranked[index + 1..].iter();
            let is_open =
                |other: &&&Ran<'_>| measure.is_some_and(|it| is_rank_open(it, one, other, looks));
            open.extend(others.filter(is_open).map(|other| (one.arm, other.arm)));
        }
        open
    }

    /// The runs that these arms lack, up to `runs` of each.
    fn round(
        &self,
        arms: &[String],
        runs: u32,
        made: &Results,
    ) -> Result<Vec<RunId>, ExperimentError> {
        let all = Experiment {
            arms: arms.to_vec(),
            repetitions: runs,
            ..self.clone()
        };
        let recorded = made
            .records
            .iter()
            .map(|it| (&it.provenance.arm, it.provenance.seed));
        let failed = made.failures.iter().map(|(id, _)| (&id.arm, id.seed));
        let made: BTreeSet<(&String, u64)> = recorded.chain(failed).collect();
        let mut round = all.runs()?;
        round.retain(|id| !made.contains(&(&id.arm, id.seed)));
        Ok(round)
    }
}

impl More {
    /// Whether a round of this many runs may begin.
    fn allows(self, runs: usize, per_run: Duration, elapsed: Duration) -> bool {
        let round = per_run.saturating_mul(u32::try_from(runs).unwrap_or(u32::MAX));
        match self {
            Self::None => false,
            Self::UntilSettled => true,
            Self::Within(time) => elapsed.saturating_add(round) <= time,
        }
    }
}

/// How often the runs are looked at: as they are, and after each doubling up to the most.
fn looks(repetitions: u32) -> u32 {
    (1..)
        .take_while(|look| *look == 1 || runs_at(repetitions, look - 1) < MOST_RUNS)
        .count() as u32
}

/// How many runs an open arm has at this look; the first is 1.
fn runs_at(repetitions: u32, look: u32) -> u32 {
    let doubled = u64::from(repetitions) << (look - 1).min(31);
    let most = MOST_RUNS.max(repetitions);
    u32::try_from(doubled).unwrap_or(most).min(most)
}

/// Whether the runs of two arms do not overlap, so that the table ranks them, and are so few that
/// chance could have done it.
fn is_rank_open(measure: &Measure, one: &Ran<'_>, other: &Ran<'_>, looks: u32) -> bool {
    let Some(found) = Compared::of(measure, one, other, looks) else {
        return false;
    };
    let is_too_few = stats::least_p(found.baseline.len(), found.arm.len()) > found.thresholds.p;
    is_too_few
        && is_open(
            &found.baseline,
            &found.arm,
            &found.difference,
            found.thresholds,
        )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use mm::capture::{Capture, Frame};

    use super::*;
    use answer::bench::{BenchError, Progress, Run};

    #[test]
    fn the_runs_are_looked_at_after_each_doubling() {
        let sizes =
            |runs| -> Vec<u32> { (1..=looks(runs)).map(|look| runs_at(runs, look)).collect() };
        assert_eq!(sizes(5), [5, 10, 20, 40]);
        assert_eq!(sizes(3), [3, 6, 12, 24, 40]);
        assert_eq!(sizes(40), [40]);
        assert_eq!(sizes(10_000), [10_000]);
    }

    /// A bench on which one arm has less memory available: "raised" with even seeds only.
    struct Tossing;

    impl Bench for Tossing {
        fn describe(&self) -> String {
            "model for tests".to_owned()
        }

        fn kernel(&self) -> String {
            "6.1".to_owned()
        }

        fn run(&self, run: Run<'_>, _: &mut dyn FnMut(Progress)) -> Result<Capture, BenchError> {
            let seed = run.scenario.seed;
            let available = match run.scenario.arm.as_str() {
                "raised" if seed.is_multiple_of(3) => 1000,
                "raised" => 9000 + seed,
                "guard" => 2000 + 100 * (seed % 7),
                _ => 4000 + 400 * (seed % 5),
            };
            let meminfo = format!("MemTotal: 40000 kB\nMemAvailable: {available} kB\n");
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

    fn settled(more: More) -> (Results, u32) {
        let study = crate::find::find("min-free-kbytes").unwrap();
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
        let results = experiment.run_until_settled(&Tossing, None, more, &tell);
        (results.unwrap(), told.into_inner())
    }

    fn runs_of(results: &Results, arm: &str) -> Vec<u64> {
        let of_arm = results.records.iter().filter(|it| it.provenance.arm == arm);
        of_arm.map(|it| it.provenance.seed).collect()
    }

    /// One seed of five is worse and four are better: ten runs, of which three are worse, settle
    /// that both occur. The guard's arm, always below, has five.
    #[test]
    fn only_open_arms_and_the_first_are_run_more_often() {
        let (results, told) = settled(More::UntilSettled);
        let runs = ["default", "raised", "guard"].map(|arm| runs_of(&results, arm).len());
        assert_eq!((runs, told), ([10, 10, 5], 10));
        assert!(
            runs_of(&results, "raised").into_iter().eq(1..=10),
            "each seed once, in order"
        );
        assert_eq!(results.repeats.open, Vec::<String>::new());
        assert_eq!((results.repeats.looks, results.repeats.is_cut), (4, false));
    }

    #[test]
    fn the_time_ends_it_and_that_is_kept() {
        let (results, told) = settled(More::Within(Duration::ZERO));
        assert_eq!((results.records.len(), told), (15, 0));
        assert!(results.repeats.is_cut);
        assert_eq!(results.repeats.open, ["default", "raised"]);
        let (results, _) = settled(More::None);
        assert_eq!(results.repeats, Repeats::default());
    }

    #[test]
    fn a_round_begins_where_it_is_likely_to_end_in_time() {
        let [run, second] = [100, 1000].map(Duration::from_millis);
        let within = More::Within(second);
        assert!(within.allows(10, run, Duration::ZERO));
        assert!(!within.allows(10, run, run));
        assert!(More::UntilSettled.allows(usize::MAX, second, second));
    }
}
