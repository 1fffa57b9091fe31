//! Records and the model with the same seeds, brought together study by study.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use scenario::outcome::Outcome;

use crate::gather;
use crate::store::{Store, StoreError};
use answer::bench::{Bench as _, Run};
use answer::model_bench::ModelBench;
use answer::report::Pair;
use study::Study;
use study::compare::{self, Reading, Row};
use study::record::Record;
use study::score::order::{self, Order};
use study::score::total::Total;

/// The figures of a study on all kernels that it was proved on.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// One for each kernel and bench; none where there are no records.
    pub scores: Vec<StudyScore>,
    /// One line for each record that could not be used.
    pub problems: Vec<String>,
}

/// The figures of one study on one kernel.
#[derive(Clone, Debug)]
pub struct StudyScore {
    /// The study's name.
    pub study: String,
    /// The kernel for people: "Linux 6.1".
    pub kernel: String,
    /// The bench of the proofs in its own words.
    pub bench: String,
    /// How many records there are.
    pub records: usize,
    /// The least and the most records of an arm that has any.
    pub seeds: [usize; 2],
    /// Every measure on every arm.
    pub rows: Vec<Row>,
    /// The order of the arms, by measure.
    pub orders: Vec<Order>,
    /// Arms that are not compared.
    pub absent: Vec<Absent>,
}

/// An arm that is not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Its name.
    pub arm: String,
    /// Why.
    pub why: String,
}

/// What the records of a study are held against.
#[derive(Clone, Copy, Debug)]
pub enum Against<'a> {
    /// The model, which runs each arm with the seeds that the kernel ran.
    Model,
    /// Other runs of the same kernels: how far a kernel is off itself.
    Records(&'a Store),
}

/// Reads a study's records and holds them against something else. Records of `starts` are of the
/// same kernels, arms and seeds, begun otherwise after boot: what a kernel does is what all of its
/// starts did.
///
/// # Errors
/// The folder of the records, of the starts, or of those that they are held against, cannot be
/// read.
pub fn of_study(
    study: &Study,
    store: &Store,
    starts: Option<&Store>,
    against: Against<'_>,
) -> Result<Gathered, StoreError> {
    let mut proofs = Proofs::read(study, store)?;
    let starts = starts.map(|starts| Proofs::read(study, starts));
    let starts = starts.transpose()?;
    let others = match against {
        Against::Model => None,
        Against::Records(others) => Some(Proofs::read(study, others)?),
    };
    let of_pair = |pair: &Pair| {
        let held = match &others {
            None => predict(study, pair),
            Some(others) => others.instead_of(pair),
        };
        let mut kernel = proofs.readings(pair);
        kernel.extend(starts.iter().flat_map(|starts| starts.of_same(pair)));
        study_score(study, pair, &kernel, held)
    };
    let scores = proofs.pairs.iter().map(of_pair).collect();
    let further = starts.into_iter().chain(others);
    proofs.problems.extend(further.flat_map(|it| it.problems));
    Ok(Gathered {
        scores,
        problems: proofs.problems,
    })
}

/// The records of a study without their captures, and what was read of these.
struct Proofs {
    pairs: Vec<Pair>,
    of_run: BTreeMap<RunOf, Reading>,
    problems: Vec<String>,
}

/// Kernel, bench, arm, seed and date: what tells a record from the others of its study.
type RunOf = (String, String, String, u64, String);

impl Proofs {
    fn read(study: &Study, store: &Store) -> Result<Self, StoreError> {
        let mut of_run = BTreeMap::new();
        let mut keep = |record: &mut Record| {
            // A capture is large and there are many; its numbers are all that is needed.
            let outcome = std::mem::take(&mut record.outcome);
            let reading = Reading::of(&study.measures, &record.provenance.arm, &outcome);
            of_run.insert(run(record), reading);
        };
        let gathered = gather::proofs(study, store, &mut keep)?;
        Ok(Self {
            pairs: gathered.pairs,
            of_run,
            problems: gathered.problems,
        })
    }

    fn readings(&self, pair: &Pair) -> Vec<Reading> {
        let readings = pair.proofs.iter().map(run);
        let readings = readings.filter_map(|run| self.of_run.get(&run));
        readings.cloned().collect()
    }

    /// What these have of the kernel and bench of a pair.
    fn of_same(&self, pair: &Pair) -> Vec<Reading> {
        let same = |other: &&Pair| (&other.release, &other.bench) == (&pair.release, &pair.bench);
        let same = self.pairs.iter().find(same);
        same.map(|same| self.readings(same)).unwrap_or_default()
    }

    /// The same, and the arms of the pair that they lack.
    fn instead_of(&self, pair: &Pair) -> (Vec<Reading>, Vec<Absent>) {
        let readings = self.of_same(pair);
        let proved = pair.proofs.iter().map(|record| &record.provenance.arm);
        let proved: BTreeSet<&String> = proved.collect();
        let lacks = |arm: &&&String| readings.iter().all(|reading| reading.arm != ***arm);
        let absent = proved.iter().filter(lacks).map(|arm| Absent {
            arm: (*arm).clone(),
            why: "no other record to hold against it".to_owned(),
        });
        let absent = absent.collect();
        (readings, absent)
    }
}

fn run(record: &Record) -> RunOf {
    let from = &record.provenance;
    let (kernel, bench) = (from.kernel.clone(), from.bench.clone());
    (
        kernel,
        bench,
        from.arm.clone(),
        from.seed,
        from.date.clone(),
    )
}

fn study_score(
    study: &Study,
    pair: &Pair,
    kernel: &[Reading],
    (other, missing): (Vec<Reading>, Vec<Absent>),
) -> StudyScore {
    let arms: Vec<String> = study.arms.iter().map(|arm| arm.name.clone()).collect();
    let rows = compare::compare(&study.measures, &arms, &other, kernel);
    let of_arm = |arm: &String| kernel.iter().filter(|run| run.arm == *arm).count();
    let seeds = arms.iter().map(of_arm).filter(|runs| *runs > 0);
    let unproved = arms.iter().filter(|arm| of_arm(arm) == 0);
    let absent = unproved.map(|arm| Absent {
        arm: arm.clone(),
        why: "no record: not available on this kernel, or not run".to_owned(),
    });
    StudyScore {
        study: study.name.clone(),
        kernel: pair.kernel.clone(),
        bench: pair.bench.clone(),
        records: kernel.len(),
        seeds: [seeds.clone().min(), seeds.max()].map(Option::unwrap_or_default),
        orders: order::orders(&study.measures, &rows),
        absent: absent.chain(missing).collect(),
        rows,
    }
}

/// The model's runs with the records' arms and seeds, and the arms it refuses.
fn predict(study: &Study, pair: &Pair) -> (Vec<Reading>, Vec<Absent>) {
    let runs: BTreeSet<(&str, u64)> = pair
        .proofs
        .iter()
        .map(|record| (record.provenance.arm.as_str(), record.provenance.seed))
        .collect();
    let bench = ModelBench::of_records(&pair.release, study, &pair.proofs);
    let bench = bench.map_err(|error| error.to_string());
    let run = |(arm, seed)| {
        let bench = bench.as_ref().map_err(Clone::clone);
        let outcome = bench.and_then(|bench| outcome(study, bench, arm, seed));
        (
            arm,
            outcome.map(|it| Reading::of(&study.measures, arm, &it)),
        )
    };
    let ended: Vec<(&str, Result<Reading, String>)> = runs.into_par_iter().map(run).collect();
    let (mut readings, mut refused) = (Vec::new(), BTreeMap::new());
    for (arm, end) in ended {
        match end {
            Ok(reading) => readings.push(reading),
            Err(why) => drop(refused.entry(arm).or_insert(why)),
        }
    }
    let absent = refused.into_iter().map(|(arm, why)| Absent {
        arm: arm.to_owned(),
        why: format!("not predicted: {why}"),
    });
    (readings, absent.collect())
}

fn outcome(study: &Study, bench: &ModelBench, arm: &str, seed: u64) -> Result<Outcome, String> {
    let scenario = study.scenario(arm, seed).map_err(|why| why.to_string())?;
    let run = Run {
        scenario: &scenario,
    };
    let capture = bench.run(run, &mut |_| ()).map_err(|why| why.to_string())?;
    Outcome::from_capture(capture).map_err(|why| why.to_string())
}

impl StudyScore {
    /// The rows that count.
    pub fn figures(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.is_figure())
    }

    /// The rows that count and do not hold.
    pub fn misses(&self) -> impl Iterator<Item = &Row> {
        self.figures().filter(|row| row.holds() != Some(true))
    }

    /// The score in one line.
    #[must_use]
    pub fn total(&self) -> Total {
        let figures = self.figures().count();
        let pairs = order::together(&self.orders);
        Total {
            study: self.study.clone(),
            kernel: self.kernel.clone(),
            records: self.records,
            held: figures - self.misses().count(),
            figures,
            pairs: pairs.pairs(),
            tau: pairs.tau(),
        }
    }
}
