//! Studies that lie elsewhere: those of the benchmarks, and the example of `docs/studies.md`, which the
//! model can run.

use std::fs;
use std::path::{Path, PathBuf};

use answer::calibration;
use answer::model_bench::ModelBench;
use plimsoll_lab::experiment::Experiment;
use study::{BUILT_IN, Study};

const REFERENCE: &str = include_str!("../../../docs/studies.md");

#[test]
fn the_example_is_a_study_that_the_model_can_run() {
    let example = REFERENCE.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let study = Study::parse(example, "docs/studies.md").unwrap();
    let bench = ModelBench::new(calibration::built_in("6.1").unwrap());
    let experiment = Experiment {
        repetitions: 1,
        ..Experiment::new(&study)
    };
    let results = experiment.run(&bench, None, &|_| ()).unwrap();
    assert_eq!((results.records.len(), results.failures), (2, Vec::new()));
    for record in &results.records {
        for measure in &study.measures {
            measure.read(&record.outcome).unwrap();
        }
    }
}

/// On its own machine a study asks its question; a pressure that is never reached would rank nothing.
#[test]
fn every_built_in_study_reaches_its_own_pressure_on_every_kernel() {
    for (name, _) in BUILT_IN {
        let study = plimsoll_lab::find::find(name).unwrap();
        let Some(pressure) = &study.pressure else {
            continue;
        };
        for kernel in calibration::kernels() {
            let bench = ModelBench::new(calibration::built_in(kernel).unwrap());
            let experiment = Experiment {
                arms: vec![pressure.arm.clone()],
                repetitions: 1,
                ..Experiment::new(&study)
            };
            let results = experiment.run(&bench, None, &|_| ()).unwrap();
            let missed = answer::pressure::missed(&study, &results.records);
            assert_eq!(missed, None, "{name} on {kernel}");
        }
    }
}

/// A check of studies that came later must not leave benchmarks behind that nobody runs.
#[test]
fn the_studies_of_the_benchmarks_are_read_too() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("a folder");
        entries
            .map(|entry| entry.expect("an entry").path())
            .collect::<Vec<_>>()
    };
    let folders = entries(&folder).into_iter().filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| entries(&folder));
    let is_study = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "toml");
    let studies: Vec<PathBuf> = files.filter(is_study).collect();
    assert!(studies.len() >= 5, "{studies:?}");
    for path in studies {
        let text = fs::read_to_string(&path).expect("a study");
        if let Err(why) = Study::parse(&text, &path.to_string_lossy()) {
            panic!("{why}");
        }
    }
}
