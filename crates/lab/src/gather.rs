//! Bringing proofs and predictions together: which records belong to the study as it is now, and
//! the model's runs for every kernel that was proved, with the seeds that it was proved with.

use std::collections::BTreeSet;
use std::path::Path;

use answer::calibration::{self, CalibrationError};
use answer::model_bench::ModelBench;
use answer::report::{Pair, series};
use answer::run::RunId;

use crate::experiment::{AtATime, Experiment, Results};
use crate::store::{Store, StoreError};
use study::Study;
use study::record::Record;
use study::verdict::Repeatability;

/// Proofs with their predictions, and what could not be used.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// By kernel and bench, in the order of the kernels' versions; without any proof, the model of
    /// every kernel that is calibrated. None is without any run.
    pub pairs: Vec<Pair>,
    /// Whether there are records that cannot be used.
    pub has_useless: bool,
    /// One line for each record or prediction that is missing, with the reason.
    pub problems: Vec<String>,
    /// One line for each kernel whose records the model does not run as they were made.
    pub notes: Vec<String>,
}

/// Reads the proofs of a study and has the model predict each kernel that was run.
///
/// # Errors
/// The folder of the records cannot be read. A record that is broken, or was made with another
/// version of the study, is a problem but no error.
pub fn gather(study: &Study, store: &Store) -> Result<Gathered, StoreError> {
    let mut gathered = predicted(study, store, |pair| {
        let bench = ModelBench::of_kernel(&pair.release)?;
        let exact = |it: &Record| it.provenance.repeatability() == Repeatability::Exact;
        Ok(match pair.proofs.iter().any(exact) {
            true => bench.by_turns(),
            false => bench,
        })
    })?;
    gathered.notes = gathered
        .pairs
        .iter()
        .filter_map(of_another_program)
        .collect();
    Ok(gathered)
}

/// The same, with the model's runs as the records were made: by the programs of their time.
///
/// # Errors
/// As [`gather`].
pub fn gather_as_made(study: &Study, store: &Store) -> Result<Gathered, StoreError> {
    predicted(study, store, |pair| {
        ModelBench::of_records(&pair.release, study, &pair.proofs)
    })
}

fn predicted(
    study: &Study,
    store: &Store,
    bench: impl Fn(&Pair) -> Result<ModelBench, CalibrationError>,
) -> Result<Gathered, StoreError> {
    let mut gathered = proofs(study, store, &mut |_| ())?;
    if gathered.pairs.is_empty() {
        gathered.pairs = calibration::kernels().map(Pair::unproved).collect();
    }
    for pair in &mut gathered.pairs {
        let bench = bench(pair).map_err(|error| error.to_string());
        match bench.and_then(|bench| predict(study, pair, &bench)) {
            Ok(results) => {
                pair.model = results.records;
                let problems = unpredicted(&pair.kernel, &results.failures);
                gathered.problems.extend(problems);
            }
            Err(why) => gathered.problems.push(why),
        }
    }
    gathered.pairs.retain(|pair| !pair.is_empty());
    Ok(gathered)
}

/// What is to be said where an older program made the records: its seeds chose other accesses.
fn of_another_program(pair: &Pair) -> Option<String> {
    let older = pair.proofs.iter().filter(|it| !it.names_its_room()).count();
    let (kernel, all) = (&pair.kernel, pair.proofs.len());
    (older > 0).then(|| {
        format!(
            "{kernel}: an older program made {older} of the {all} records and drew other random \
             accesses from the same seeds; what hangs on them differs by that too. `plimsoll \
             fidelity` predicts these runs as they were made"
        )
    })
}

/// One line for each reason that runs have no outcome, with the arms that it is the reason for.
fn unpredicted(kernel: &str, failures: &[(RunId, String)]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (run, why) in failures {
        let place = reasons.iter().position(|(known, _)| known == why);
        let place = place.unwrap_or_else(|| {
            reasons.push((why, Vec::new()));
            reasons.len() - 1
        });
        let arms = &mut reasons[place].1;
        if !arms.contains(&run.arm.as_str()) {
            arms.push(&run.arm);
        }
    }
    let line = |(why, arms): (&str, Vec<&str>)| {
        let word = if arms.len() == 1 { "arm" } else { "arms" };
        format!("prediction for {kernel}, {word} {}: {why}", arms.join(", "))
    };
    reasons.into_iter().map(line).collect()
}

/// Reads the proofs of a study, without any prediction; `each` sees a record before it is kept and
/// may drop what it no longer needs of it.
///
/// # Errors
/// As [`gather`].
pub(crate) fn proofs(
    study: &Study,
    store: &Store,
    each: &mut dyn FnMut(&mut Record),
) -> Result<Gathered, StoreError> {
    let (mut proofs, mut problems) = (Vec::new(), Vec::new());
    for (path, record) in store.load_each(&study.name)? {
        let record = record.map_err(|error| error.to_string());
        match record.and_then(|record| belonging(study, &path, record)) {
            Ok(record) if is_model(&record) => {}
            Ok(mut record) => {
                each(&mut record);
                proofs.push(record);
            }
            Err(problem) => problems.push(problem),
        }
    }
    let pairs = pairs(proofs);
    Ok(Gathered {
        pairs,
        has_useless: !problems.is_empty(),
        problems,
        notes: Vec::new(),
    })
}

fn predict(study: &Study, pair: &Pair, bench: &ModelBench) -> Result<Results, String> {
    let mut experiment = Experiment::new(study);
    experiment.at_a_time = AtATime::EveryCpu;
    let results = match pair.is_proved() {
        true => experiment.run_these(the_same(study, &pair.proofs), bench, None, &|_| ()),
        false => experiment.run(bench, None, &|_| ()),
    };
    results.map_err(|error| error.to_string())
}

/// Every arm with the seeds that the kernel ran it with; an arm that it did not run with all of the
/// kernel's seeds.
#[must_use]
pub fn the_same(study: &Study, proofs: &[Record]) -> Vec<RunId> {
    let seeds = |arm: Option<&str>| -> BTreeSet<u64> {
        let proofs = proofs.iter().map(|record| &record.provenance);
        let of_arm = proofs.filter(|from| arm.is_none_or(|arm| from.arm == arm));
        of_arm.map(|from| from.seed).collect()
    };
    let runs = study.arms.iter().flat_map(|arm| {
        let own = seeds(Some(&arm.name));
        let seeds = if own.is_empty() { seeds(None) } else { own };
        let run = |seed| RunId {
            arm: arm.name.clone(),
            seed,
        };
        seeds.into_iter().map(run)
    });
    runs.collect()
}

/// A prediction that was recorded; the report makes its own, with the model as it is now.
fn is_model(record: &Record) -> bool {
    record.provenance.bench.starts_with("model")
}

/// The record, if the study asks its arm for the same now. The words of a study and its measures
/// may change without making its records useless.
fn belonging(study: &Study, path: &Path, record: Record) -> Result<Record, String> {
    let from = &record.provenance;
    let is_same = || from.study_text == study.text || study.asked(&from.arm) == Some(from.asked());
    if study.arm(&from.arm).is_ok() && is_same() {
        return Ok(record);
    }
    let (path, name) = (path.display(), &study.file);
    let why = match study.arm(&from.arm) {
        _ if from.study != study.name => format!(
            "a record of the study {}; move it to that study's folder",
            from.study
        ),
        Err(_) => format!(
            "of the arm {}, which the study has not; delete it, or give the study that arm",
            from.arm
        ),
        Ok(_) => format!(
            "made with another version of the study; `plimsoll prove {name}` runs arm {} again",
            from.arm
        ),
    };
    Err(format!("{path}: {why}"))
}

/// Sorts proofs by kernel and bench; of two runs of one arm with one seed the later one counts.
fn pairs(mut proofs: Vec<Record>) -> Vec<Pair> {
    proofs.sort_by(|a, b| order(a).cmp(&order(b)));
    let mut pairs: Vec<Pair> = Vec::new();
    for record in proofs {
        let from = &record.provenance;
        let same = |pair: &&mut Pair| pair.release == from.kernel && pair.bench == from.bench;
        match pairs.last_mut().filter(|pair| same(pair)) {
            Some(pair) => push(pair, record),
            None => pairs.push(Pair {
                kernel: format!("Linux {}", series(&from.kernel)),
                release: from.kernel.clone(),
                bench: from.bench.clone(),
                model: Vec::new(),
                proofs: vec![record],
                looks: 1,
            }),
        }
    }
    tell_apart(&mut pairs);
    pairs
}

/// Kernel, bench, arm, seed, and when.
fn order(record: &Record) -> (Vec<u32>, &str, &str, &str, u64, &str) {
    let from = &record.provenance;
    let series = series(&from.kernel)
        .split('.')
        .filter_map(|part| part.parse().ok());
    (
        series.collect(),
        &from.kernel,
        &from.bench,
        &from.arm,
        from.seed,
        &from.date,
    )
}

fn push(pair: &mut Pair, record: Record) {
    let run = |record: &Record| (record.provenance.arm.clone(), record.provenance.seed);
    match pair
        .proofs
        .last_mut()
        .filter(|last| run(last) == run(&record))
    {
        Some(last) => *last = record,
        None => pair.proofs.push(record),
    }
}

/// Where two pairs would have the same name, the release and the bench join it.
fn tell_apart(pairs: &mut [Pair]) {
    let names: Vec<String> = pairs.iter().map(|pair| pair.kernel.clone()).collect();
    for pair in pairs {
        if names.iter().filter(|name| **name == pair.kernel).count() > 1 {
            pair.kernel = format!("Linux {} ({})", pair.release, pair.bench);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use study::testing::record;

    fn proof(kernel: &str, bench: &str, seed: u64, date: &str) -> Record {
        let mut record = record("raised", seed);
        record.provenance.kernel = kernel.to_owned();
        record.provenance.bench = bench.to_owned();
        record.provenance.date = date.to_owned();
        record
    }

    #[test]
    fn proofs_are_sorted_by_kernel_and_the_later_one_counts() {
        let pairs = pairs(vec![
            proof("6.12.1", "VM", 1, "b"),
            proof("6.1.0-53", "VM", 1, "c"),
            proof("6.1.0-53", "VM", 1, "a"),
            proof("6.1.0-53", "VM", 2, "a"),
        ]);
        let seen: Vec<_> = pairs
            .iter()
            .map(|pair| {
                let dates: Vec<&str> = pair
                    .proofs
                    .iter()
                    .map(|record| record.provenance.date.as_str())
                    .collect();
                (pair.kernel.as_str(), dates)
            })
            .collect();
        assert_eq!(
            seen,
            [("Linux 6.1", vec!["c", "a"]), ("Linux 6.12", vec!["b"])]
        );
    }

    #[test]
    fn two_benches_of_one_kernel_have_two_names() {
        let pairs = pairs(vec![
            proof("6.1", "virtual", 1, ""),
            proof("6.1", "wall", 1, ""),
        ]);
        let names: Vec<&str> = pairs.iter().map(|pair| pair.kernel.as_str()).collect();
        assert_eq!(names, ["Linux 6.1 (virtual)", "Linux 6.1 (wall)"]);
    }

    #[test]
    fn the_model_runs_the_kernels_seeds() {
        let mut study = crate::find::find("min-free-kbytes").unwrap();
        study.arms.truncate(2);
        let proofs = [7, 3].map(|seed| proof("6.1", "VM", seed, ""));
        let runs = the_same(&study, &proofs).into_iter();
        let runs: Vec<_> = runs.map(|run| (run.arm, run.seed)).collect();
        let of_both = ["default", "raised"].map(|arm| [(arm.to_owned(), 3), (arm.to_owned(), 7)]);
        assert_eq!(runs, of_both.concat(), "the arm that was not run too");
        let one = [proof("6.1", "VM", 7, "")];
        let one = the_same(&study, &[&one[..], &[record("default", 5)]].concat());
        assert_eq!((one[0].seed, one[1].seed, one.len()), (5, 7, 2));
    }

    #[test]
    fn what_the_model_refuses_on_many_runs_is_said_once() {
        let failure = |arm: &str, seed, why: &str| {
            let arm = arm.to_owned();
            (RunId { arm, seed }, why.to_owned())
        };
        let failures = [
            failure("a", 1, "no writes"),
            failure("b", 1, "no swap"),
            failure("a", 2, "no writes"),
            failure("c", 1, "no writes"),
        ];
        let expected = [
            "prediction for Linux 6.1, arms a, c: no writes",
            "prediction for Linux 6.1, arm b: no swap",
        ];
        assert_eq!(unpredicted("Linux 6.1", &failures), expected);
    }

    #[test]
    fn words_may_change_but_the_workload_may_not() {
        let study = crate::find::find("min-free-kbytes").unwrap();
        let after = |from: &str, to: &str| {
            assert!(study.text.contains(from));
            let study = Study::parse(&study.text.replace(from, to), "test").unwrap();
            belonging(&study, Path::new("a/record"), proof("6.1", "VM", 1, ""))
        };
        assert!(after("3.75 GiB?", "3.75 GiB now?").is_ok());
        assert!(after("\"1500000\"", "\"1400000\"").is_err());
        assert!(
            after("\"2355 MiB\"", "\"2411520 KiB\"").is_ok(),
            "the same size"
        );
        let problem = after("\"2355 MiB\"", "\"2300 MiB\"").unwrap_err();
        assert!(
            problem.starts_with("a/record: made with another version of the study"),
            "{problem}"
        );
    }

    /// The record's snapshot "idle" says that 42 kB are free.
    #[test]
    fn a_measure_that_came_later_is_read_from_older_records() {
        let study = crate::find::find("min-free-kbytes").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        store.write(&proof("6.1", "VM", 1, "")).unwrap();
        let measure = "[[measure]]\nname = \"later\"\nsnapshot = \"idle\"\nmeminfo = \"MemFree\"\n";
        let later = Study::parse(&format!("{}\n{measure}", study.text), "test").unwrap();
        let gathered = gather(&later, &store).unwrap();
        assert_eq!(gathered.problems, Vec::<String>::new());
        let rows = gathered.pairs[0].rows(&later);
        let row = rows
            .iter()
            .find(|row| (row.measure.as_str(), row.arm.as_str()) == ("later", "raised"));
        assert_eq!(row.unwrap().kernel.median(), Some(42.0 / 1024.0));
    }

    #[test]
    fn a_broken_record_is_a_problem_with_its_line_and_the_others_are_used() {
        let study = crate::find::find("min-free-kbytes").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        store.write(&proof("6.1", "VM", 1, "")).unwrap();
        let path = store.write(&proof("6.1", "VM", 2, "")).unwrap();
        let provenance = serde_json::to_string(&proof("6.1", "VM", 2, "").provenance).unwrap();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        write!(
            gzip,
            "{provenance}\nplimsoll-capture 1\n@ 5 idle\nno header\n"
        )
        .unwrap();
        std::fs::write(&path, gzip.finish().unwrap()).unwrap();
        let gathered = gather(&study, &store).unwrap();
        assert_eq!(gathered.pairs[0].proofs.len(), 1);
        let file = path.display().to_string();
        let problem = gathered
            .problems
            .iter()
            .find(|problem| problem.contains(&file))
            .unwrap();
        assert!(
            problem.contains("after line 1: line 3: expected"),
            "{problem}"
        );
    }
}
