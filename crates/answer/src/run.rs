//! One run of a study, and what a record says of it.

use scenario::Scenario;
use scenario::outcome::Outcome;
use study::Study;
use study::record::{self, Provenance};

use crate::bench::{Bench, BenchError, Progress, Run};

/// One run of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunId {
    /// The arm's name.
    pub arm: String,
    /// The seed.
    pub seed: u64,
}

/// Runs a scenario to its outcome.
///
/// # Errors
/// As [`Bench::run`], and a capture that is no outcome.
pub fn outcome(
    bench: &dyn Bench,
    run: Run<'_>,
    tell: &mut dyn FnMut(Progress),
) -> Result<Outcome, BenchError> {
    let capture = bench.run(run, tell)?;
    Outcome::from_capture(capture).map_err(|why| BenchError::Failed(why.to_string()))
}

/// What a record says of a run, but for when it was made; `program` is the hash of the program that
/// makes it.
#[must_use]
pub fn provenance(
    study: &Study,
    scenario: &Scenario,
    bench: &dyn Bench,
    program: &str,
) -> Provenance {
    let details = bench.details(scenario);
    Provenance {
        schema: record::SCHEMA,
        study: study.name.clone(),
        arm: scenario.arm.clone(),
        seed: scenario.seed,
        bench: bench.describe(),
        kernel: bench.kernel(),
        command_line: details
            .iter()
            .find(|(name, _)| name == "kernel-command-line")
            .map(|(_, text)| text.clone()),
        machine: record::machine_of(scenario),
        settings: record::pairs(&scenario.arm_settings),
        base: record::pairs(&scenario.base),
        details,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program: program.to_owned(),
        study_sha256: study::hash::sha256(study.text.as_bytes()),
        study_text: study.text.clone(),
        date: String::new(),
    }
}
