//! The answer to a question: the document of `plimsoll predict --json`, and the report's page.

use std::cell::RefCell;
use std::collections::BTreeMap;

use answer::bench::{Bench as _, BenchError, Run};
use answer::model_bench::ModelBench;
use answer::report::data;
use answer::run;
use mm::units::Bytes;
use scenario::Scenario;
use scenario::outcome::Outcome;

use crate::asked::Predict;

/// What a browser's page has for a run: less than the 4 GiB that can be addressed.
const AVAILABLE: Bytes = Bytes(3 << 30);
/// Outcomes that are kept: those of the arms beside the one that is changed.
const KEPT: usize = 100;

thread_local! {
    /// Outcomes by the kernel and the bytes of what was run.
    static OUTCOMES: RefCell<BTreeMap<(String, Vec<u8>), Outcome>> = RefCell::default();
}

/// A line of JSON, and the page behind it.
pub(crate) fn predicted(predict: Predict) -> Result<String, String> {
    let asked = predict.question()?.asked().map_err(text)?;
    let arms = asked.arms();
    let runs = asked.runs(&arms, 1);
    runs.check_for_the_model(AVAILABLE).map_err(text)?;
    let bench = asked.bench();
    let asked = asked.clone().noted(&bench, AVAILABLE).map_err(text)?;
    let ran = asked.run_by(&bench, &mut |scenario| outcome(&bench, scenario));
    let report = asked.report(ran.map_err(text)?, None).map_err(text)?;
    let (notes, problems) = (&report.notes, &report.problems);
    let document = data::json(report.study, &report.pairs, notes, problems);
    Ok(format!("{document}\n{}", report.to_html()))
}

/// The outcome of a run; a run that was asked for before is not done again.
fn outcome(bench: &ModelBench, scenario: &Scenario) -> Result<Outcome, BenchError> {
    let key = (bench.kernel(), scenario.to_bytes());
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
