//! Dirty pages of files, and their writing: `calibration/write.toml` and `flush.toml`.

use scenario::calibration::Costs;

use super::error::CalibrateError;
use super::figures::{Figures, nanos, ps};

/// Pages of a `write()` of 128 KiB, and of the file.
const WRITE_PAGES: f64 = 32.0;
const FILE_PAGES: f64 = 16_384.0;
/// Requests that write the file, of 1280 KiB each; `fsync` waits for each.
const REQUESTS: f64 = 52.0;
/// The same of what the flusher writes.
const FLUSH_PAGES: f64 = 4096.0;
const FLUSH_REQUESTS: f64 = 13.0;
/// Requests of an `fsync` of one page: the page, for which it waits, the journal's blocks and its
/// record.
const COMMIT_REQUESTS: f64 = 3.0;

/// Solves the steps' durations for the costs; `docs/calibration.md` has the equations. The costs of
/// a request, a system call, a store and the time between two operations are known.
pub(super) fn costs(
    costs: &mut Costs,
    figures: &Figures,
    flush: &Figures,
) -> Result<(), CalibrateError> {
    flusher(costs, flush)?;
    let large = figures.per_page("overwrite")?;
    let single = figures.per_page("overwrite by page")?;
    let call = (single - large) * WRITE_PAGES / (WRITE_PAGES - 1.0);
    costs.write_call_ps = ps(call - nanos(costs.loop_ps));
    costs.write_ps = ps(single - call);
    let dirty = figures.per_page("overwrite clean")? - large;
    costs.dirty_ps = ps(dirty);
    costs.write_in_ps = ps(figures.per_page("write in")? - large - dirty);
    let fault = figures.per_page("make writable")? - figures.per_page("store")?;
    costs.mkwrite_ps = ps(fault - dirty);
    let fsync_call = figures.duration("flush nothing")?;
    costs.fsync_call_ps = ps(fsync_call - nanos(costs.syscall_ps));
    let requests = REQUESTS * nanos(costs.request_ps + costs.wait_ps);
    let written = (figures.duration("flush")? - requests) / FILE_PAGES;
    costs.fsync_ps = ps(written - nanos(costs.writeback_ps + costs.written_ps));
    let mapped = (figures.duration("flush mapped")? - requests) / FILE_PAGES;
    costs.mkclean_ps = ps(mapped - written);
    let requests = COMMIT_REQUESTS * nanos(costs.request_ps) + nanos(costs.wait_ps);
    let commit = figures.median_duration("commit")? - fsync_call;
    costs.commit_ps = ps(commit - written - requests);
    Ok(())
}

/// What the flusher takes, and what the interrupts take, is what a task beside them lacks.
fn flusher(costs: &mut Costs, figures: &Figures) -> Result<(), CalibrateError> {
    let nothing = figures.median_duration("beside nothing")?;
    let lacks = |label| Ok::<f64, CalibrateError>(figures.median_duration(label)? - nothing);
    let requests = FLUSH_REQUESTS * nanos(costs.request_ps);
    costs.writeback_ps = ps((lacks("beside handing over")? - requests) / FLUSH_PAGES);
    costs.written_ps = ps(lacks("beside completion")? / FLUSH_PAGES);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::{FLUSH, WRITE, run};
    use answer::model_bench::ModelBench;

    /// The model knows its costs: calibrating it must find them.
    #[test]
    fn calibrating_the_model_finds_its_own_costs_of_writing() {
        let known = answer::calibration::built_in("6.12").expect("the binary carries 6.12");
        let bench = ModelBench::new(known.clone());
        let figures = |study| {
            let capture = run(&bench, study, "stock", &mut |_| ());
            Figures::new(capture.expect("the model runs the study")).expect("an outcome")
        };
        let mut found = known.costs;
        costs(&mut found, &figures(WRITE), &figures(FLUSH)).expect("figures");
        for (what, found, known) in [
            ("call", found.write_call_ps, known.costs.write_call_ps),
            ("write", found.write_ps, known.costs.write_ps),
            ("dirty", found.dirty_ps, known.costs.dirty_ps),
            ("write in", found.write_in_ps, known.costs.write_in_ps),
            ("make writable", found.mkwrite_ps, known.costs.mkwrite_ps),
            ("hand over", found.writeback_ps, known.costs.writeback_ps),
            ("complete", found.written_ps, known.costs.written_ps),
            (
                "call of fsync",
                found.fsync_call_ps,
                known.costs.fsync_call_ps,
            ),
            ("fsync", found.fsync_ps, known.costs.fsync_ps),
            ("make clean", found.mkclean_ps, known.costs.mkclean_ps),
            ("commit", found.commit_ps, known.costs.commit_ps),
        ] {
            let apart = found.abs_diff(known);
            // `fsync` is what is left of a sum that is thirty times as large.
            let rest = if what == "fsync" { 10_000 } else { 2000 };
            assert!(apart <= known / 50 + rest, "{what}: {found} for {known}");
        }
    }
}
