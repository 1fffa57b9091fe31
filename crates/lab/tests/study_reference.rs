//! `docs/studies.md` against the code: its example is a study, and the model can run it.

use plimsoll_lab::calibration;
use plimsoll_lab::experiment::Experiment;
use plimsoll_lab::model_bench::ModelBench;
use study::Study;

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
