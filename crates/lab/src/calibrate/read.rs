//! The end of a read: `calibration/read.toml`.

use scenario::calibration::Costs;

use super::error::CalibrateError;
use super::figures::{Figures, ps, two_costs};

/// What the interrupts take is what a task beside them lacks: `interrupt` a request and `read_done`
/// a page, from requests of 32 pages and from many of few. Both are parts of what is known in all,
/// `request` and `read_in`.
pub(super) fn costs(costs: &mut Costs, figures: &Figures) -> Result<(), CalibrateError> {
    let first = beside(figures, "the first")?;
    let more = |requests| {
        let all = beside(figures, requests)?;
        Ok::<_, CalibrateError>((all.0 - first.0, all.1 - first.1, all.2 - first.2))
    };
    let equations = [more("windows")?, more("gaps")?];
    let (interrupt, read_done) = two_costs(&equations, "number of requests")?;
    costs.interrupt_ps = ps(interrupt);
    costs.read_done_ps = ps(read_done);
    Ok(())
}

/// Requests and pages that are read beside a step, and its duration in nanoseconds. Each round has
/// the same requests.
fn beside(figures: &Figures, requests: &str) -> Result<(f64, f64, f64), CalibrateError> {
    let (before, after) = (format!("before {requests}"), format!("after {requests}"));
    Ok((
        figures.reads(&before, &after)?,
        figures.growth("pgpgin", &before, &after)? / 4.0,
        figures.median_duration(&format!("beside {requests}"))?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::{READ, run};
    use answer::model_bench::ModelBench;

    /// The model knows its costs: calibrating it must find them.
    #[test]
    fn calibrating_the_model_finds_its_own_costs_of_the_end_of_a_read() {
        for kernel in ["6.1", "6.12"] {
            let known = answer::calibration::built_in(kernel).expect("the binary carries it");
            let bench = ModelBench::new(known.clone());
            let capture = run(&bench, READ, "stock", &mut |_| ()).expect("the model runs it");
            let figures = Figures::new(capture).expect("an outcome");
            let mut found = Costs::default();
            costs(&mut found, &figures).expect("figures");
            for (what, found, known) in [
                ("interrupt", found.interrupt_ps, known.costs.interrupt_ps),
                ("page", found.read_done_ps, known.costs.read_done_ps),
            ] {
                let apart = found.abs_diff(known);
                assert!(apart <= 100, "{kernel} {what}: {found} for {known}");
            }
        }
    }
}
