//! `docs/studies.md` against the code: its example is a study, and the study can be run.

use plimsoll_lab::study::Study;

const REFERENCE: &str = include_str!("../../../docs/studies.md");

#[test]
fn the_example_is_a_study() {
    let example = REFERENCE.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let study = Study::parse(example, "docs/studies.md").unwrap();
    assert_eq!((study.arms.len(), study.measures.len()), (2, 2));
    study.scenario("low", 1).unwrap();
}
