//! `predict`, `report` and `prove` show the same figures of the model for the same arm and seed,
//! whatever program made the records that stand beside them.

use std::path::Path;

use answer::calibration;
use answer::model_bench::ModelBench;
use answer::report::Pair;
use answer::run::RunId;
use plimsoll_lab::experiment::{AtATime, Experiment};
use plimsoll_lab::gather::gather;
use plimsoll_lab::store::Store;
use study::record::Record;
use study::{BUILT_IN, Study};

/// A built-in study with its first arm alone and one run of it: each run takes its time.
fn first_arm(name: &str) -> Study {
    let mut study = plimsoll_lab::find::find(name).expect("a built-in study");
    study.arms.truncate(1);
    study.repetitions = 1;
    study
}

/// A committed record of the study's first arm on each kernel, in a store of their own.
fn some_records(study: &Study, folder: &Path) -> Store {
    let committed = Store::new(testkit::checkout("records"));
    let store = Store::new(folder);
    for kernel in calibration::kernels() {
        let is_one = |record: &Record| {
            let from = &record.provenance;
            from.arm == study.arms[0].name && from.kernel.starts_with(&format!("{kernel}."))
        };
        let all = committed.load_each(&study.name).expect("records/");
        let mut all = all.filter_map(|(_, record)| record.ok());
        if let Some(record) = all.find(is_one) {
            store.write(&record).expect("it is written");
        }
    }
    store
}

/// The runs of a pair as `predict` makes them.
fn predicted(study: &Study, pair: &Pair) -> Vec<Record> {
    let same = pair.model.iter().map(|record| RunId {
        arm: record.provenance.arm.clone(),
        seed: record.provenance.seed,
    });
    let kernel = pair.kernel.trim_start_matches("Linux ");
    let bench = ModelBench::of_kernel(kernel).expect("a calibration");
    let experiment = Experiment {
        at_a_time: AtATime::EveryCpu,
        ..Experiment::new(study)
    };
    let results = experiment.run_these(same.collect(), &bench, None, &|_| ());
    results.expect("predictions").records
}

#[test]
fn a_report_predicts_as_predict_does() {
    for (name, _) in BUILT_IN {
        let (study, folder) = (first_arm(name), tempfile::tempdir().expect("a folder"));
        let gathered = gather(&study, &some_records(&study, folder.path())).expect("a report");
        // Without proofs every kernel that is calibrated.
        let pairs = match study.is_for_the_model() {
            true => calibration::kernels().count(),
            false => 2,
        };
        assert_eq!(
            gathered.pairs.len(),
            pairs,
            "{name}: {:?}",
            gathered.problems
        );
        for pair in &gathered.pairs {
            assert_eq!(pair.model.len(), 1, "{name} on {}", pair.kernel);
            assert_eq!(pair.is_proved(), !study.is_for_the_model(), "{name}");
            let outcomes = |records: &[Record]| -> Vec<_> {
                records
                    .iter()
                    .map(|record| record.outcome.clone())
                    .collect()
            };
            let (report, predict) = (outcomes(&pair.model), outcomes(&predicted(&study, pair)));
            assert!(report == predict, "{name} on {} differs", pair.kernel);
        }
    }
}
