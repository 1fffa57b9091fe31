//! The answer to a question: the document of `plimsoll predict --json`, and the report's page.

use std::cell::RefCell;
use std::collections::BTreeMap;

use answer::bench::{Bench as _, BenchError, Run};
use answer::model_bench::ModelBench;
use answer::report::{Report, data};
use answer::run;
use mm::units::Bytes;
use scenario::Scenario;
use scenario::outcome::Outcome;
use serde_json::Value;
use study::hash::sha256;
use study::{BUILT_IN, likely_error, template};

use crate::asked::Predict;

/// What a browser's page has for a run: less than the 4 GiB that can be addressed.
const AVAILABLE: Bytes = Bytes(3 << 30);
/// Outcomes that are kept: those of the arms beside the one that is changed.
const KEPT: usize = 100;

thread_local! {
    /// Outcomes by the kernel with the hash of a recording, and the bytes of what was run.
    static OUTCOMES: RefCell<BTreeMap<(String, Vec<u8>), Outcome>> = RefCell::default();
}

/// A line of JSON, a text with the numbers in it as another, and the page behind them.
pub(crate) fn predicted(mut predict: Predict, file: &[u8]) -> Result<String, String> {
    let says = std::mem::take(&mut predict.says);
    let asked = predict.question(file)?.asked().map_err(text)?;
    let arms = asked.arms();
    let runs = asked.runs(&arms, 1);
    runs.check_for_the_model(AVAILABLE).map_err(text)?;
    let bench = asked.bench();
    let asked = asked.clone().noted(&bench, AVAILABLE).map_err(text)?;
    let recorded = sha256(file);
    let known = &mut |scenario: &Scenario| outcome(&bench, scenario, &recorded);
    let ran = asked.run_by(&bench, known).map_err(text)?;
    let mut report = asked.report(ran, None).map_err(text)?;
    let (notes, problems) = (&report.notes, &report.problems);
    let document = data::json(report.study, &report.pairs, notes, problems);
    let says = Value::from(filled(&says, &report)?);
    // The command has it for studies without records; here none has them.
    if BUILT_IN.iter().any(|(name, _)| *name == asked.study.name) {
        let arms = asked.arms.iter().map(|arm| asked.study.scenario(arm, 1));
        let scenarios = arms.collect::<Result<Vec<_>, _>>().map_err(text)?;
        let note = likely_error::note(&asked.study, &scenarios, &asked.calibration.kernel);
        report.notes.push(note);
    }
    Ok(format!("{document}\n{says}\n{}", report.to_html()))
}

/// A text with the numbers of the answer in the place of its names for them.
fn filled(text: &str, report: &Report<'_>) -> Result<String, String> {
    let rows = report.spoken_of().map(|pair| pair.rows(report.study));
    let filled = template::fill(text, &rows.unwrap_or_default());
    filled.map_err(|why| why.to_string())
}

/// The outcome of a run; a run that was asked for before is not done again.
fn outcome(bench: &ModelBench, scenario: &Scenario, recorded: &str) -> Result<Outcome, BenchError> {
    let key = (bench.kernel() + recorded, scenario.to_bytes());
    if let Some(known) = OUTCOMES.with_borrow(|known| known.get(&key).cloned()) {
        return Ok(known);
    }
    let outcome = run::outcome(bench, Run { scenario }, &mut |_| ())?;
    OUTCOMES.with_borrow_mut(|known| {
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(key, outcome.clone());
    });
    Ok(outcome)
}

fn text(why: impl ToString) -> String {
    why.to_string()
}
