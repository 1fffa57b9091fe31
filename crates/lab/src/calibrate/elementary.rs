//! Reading, touching, and processes: `calibration/costs.toml`.

use scenario::calibration::Costs;

use super::error::CalibrateError;
use super::figures::{Figures, positive, ps};
use super::sleep;

/// Pages of a `read()` of 128 KiB, and of 1 MiB.
const READ_PAGES: f64 = 32.0;
const MIB_PAGES: f64 = 256.0;

/// Solves the steps' durations for the costs; `docs/calibration.md` has the equations.
pub(super) fn costs(
    figures: &Figures,
    pauses: &Figures,
    short: &Figures,
) -> Result<Costs, CalibrateError> {
    let touching = touching(figures)?;
    let faulting = faulting(figures)?;
    let sleeping = sleep::sleeping(pauses)?;
    let reading = reading(figures, sleeping.read_beside)?;
    let spawn = figures.duration("spawn")? / 20.0;
    let set = figures.duration("spawn to set")? / 20.0 - spawn;
    Ok(Costs {
        loop_ps: ps(touching.between),
        syscall_ps: ps(reading.syscall - touching.between),
        cached_read_ps: ps(reading.cached),
        activate_ps: ps(reading.activate),
        read_in_ps: ps(reading.read_in),
        drop_ps: ps(reading.drop),
        slowpath_ps: ps(slowpath(short)?),
        request_ps: ps(reading.request),
        wait_ps: ps(reading.wait),
        operation_ps: ps(touching.operation),
        load_ps: ps(touching.load),
        touch_ps: ps(touching.touch),
        anon_fault_ps: ps(faulting.fault),
        huge_fault_ps: ps(faulting.huge),
        anon_free_ps: ps(faulting.free),
        sleep_ps: ps(sleeping.sleep),
        switch_ps: ps(sleeping.switch),
        spawn_ps: ps(spawn),
        set_ps: ps(set),
        ..Costs::default()
    })
}

struct Reading {
    syscall: f64,
    cached: f64,
    activate: f64,
    read_in: f64,
    drop: f64,
    request: f64,
    wait: f64,
}

/// A read of n pages costs syscall + n cached; one from a disk that takes no time, read_in a page
/// and request once more, and wait where nothing was read ahead. Beside others it waits for a slow
/// disk, once for each window. Dropping what was brought in, a mebibyte at a time, costs drop a
/// page.
fn reading(figures: &Figures, beside: f64) -> Result<Reading, CalibrateError> {
    let large = figures.per_page("cached")?;
    let single = figures.per_page("cached by page")?;
    let syscall = (single - large) * READ_PAGES / (READ_PAGES - 1.0);
    let cached = single - syscall;
    let activate = figures.per_page("activate")? - figures.per_page("mark")?;
    let brought_in = |what: &str| {
        let (before, after) = (format!("before {what}"), format!("after {what}"));
        positive(figures.growth("pgpgin", &before, &after)? / 4.0, what)
    };
    let in_windows = figures.per_page("read in")? - large;
    let reads = figures.duration("drop behind")? / figures.per_page("drop behind")?;
    let advised = reads / MIB_PAGES * syscall;
    let not_copying = figures.duration("drop behind")? - reads * large - advised;
    let drop = not_copying / brought_in("drop")? - in_windows;
    let pages = brought_in("scattered")?;
    let reads = figures.duration("scattered")? / figures.per_page("scattered")?;
    let one_by_one = (figures.duration("scattered")? - reads * single) / pages;
    let wait = (beside - figures.per_page("read in")?) * READ_PAGES;
    let request = (one_by_one - wait - in_windows) * READ_PAGES / (READ_PAGES - 1.0);
    Ok(Reading {
        syscall,
        cached,
        activate,
        read_in: one_by_one - wait - request,
        drop,
        request,
        wait,
    })
}

struct Touching {
    between: f64,
    operation: f64,
    load: f64,
    touch: f64,
}

/// An operation on n pages of a region costs operation + n touch, of which its latency holds all
/// but what lies between two operations.
fn touching(figures: &Figures) -> Result<Touching, CalibrateError> {
    let large = figures.per_page("touch")?;
    let single = figures.per_page("touch by page")?;
    let operation = (single - large) * MIB_PAGES / (MIB_PAGES - 1.0);
    let touch = single - operation;
    let between = single - figures.median_latency("touch by page")?;
    Ok(Touching {
        between,
        operation: operation - between,
        load: figures.per_page("load")? - (large - touch),
        touch,
    })
}

struct Faulting {
    fault: f64,
    huge: f64,
    free: f64,
}

/// A page that is not there costs a fault more than its touch; of a region that does not begin at a
/// huge page's boundary the ends are base pages.
fn faulting(figures: &Figures) -> Result<Faulting, CalibrateError> {
    let large = figures.per_page("touch")?;
    let fault = figures.per_page("fault")? - large;
    let pages = figures.duration("huge fault")? / figures.per_page("huge fault")?;
    let faults = figures.growth("thp_fault_alloc", "before huge", "after huge")?;
    let base_pages = (pages - 512.0 * faults).max(0.0);
    let in_huge_pages = figures.duration("huge fault")? - pages * large - base_pages * fault;
    let huge = in_huge_pages / positive(faults, "huge page fault")?;
    let freed = figures.duration("fault")? / figures.per_page("fault")?;
    Ok(Faulting {
        fault,
        huge,
        free: figures.duration("free")? / freed,
    })
}

/// What first touches take longer for each page that is allocated under the low watermark.
fn slowpath(figures: &Figures) -> Result<f64, CalibrateError> {
    Ok(figures.per_page("under")? - figures.per_page("above")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::{COSTS, SLOWPATH, draw, run};
    use answer::model_bench::ModelBench;

    /// The model knows its costs: calibrating it must find them.
    #[test]
    fn calibrating_the_model_finds_its_own_costs() {
        let known = answer::calibration::built_in("6.1").expect("the binary carries 6.1");
        let bench = ModelBench::new(known.clone());
        let capture = run(&bench, COSTS, "stock", &mut |_| ()).expect("the model runs the study");
        let figures = Figures::new(capture).expect("an outcome");
        let pauses = run(&bench, sleep::STUDY, "stock", &mut |_| ()).expect("the model runs it");
        let sleeping = sleep::sleeping(&Figures::new(pauses).expect("an outcome"));
        let sleeping = sleeping.expect("figures");
        let reading = reading(&figures, sleeping.read_beside).expect("figures");
        let near = |found: f64, known_ps: u64, what: &str| {
            let known = known_ps as f64 / 1000.0;
            assert!(
                (found - known).abs() <= known * 0.02 + 2.0,
                "{what}: {found} for {known}"
            );
        };
        near(reading.cached, known.costs.cached_read_ps, "cached");
        let touching = touching(&figures).expect("figures");
        near(touching.between, known.costs.loop_ps, "loop");
        near(touching.operation, known.costs.operation_ps, "operation");
        near(touching.load, known.costs.load_ps, "load");
        near(touching.touch, known.costs.touch_ps, "touch");
        let syscall = known.costs.syscall_ps + known.costs.loop_ps;
        near(reading.syscall, syscall, "syscall");
        near(reading.activate, known.costs.activate_ps, "activate");
        near(reading.read_in, known.costs.read_in_ps, "read in");
        near(reading.request, known.costs.request_ps, "request");
        near(reading.wait, known.costs.wait_ps, "wait");
        let short = run(&bench, SLOWPATH, "stock", &mut |_| ()).expect("the model runs it");
        let slowpath = slowpath(&Figures::new(short).expect("an outcome")).expect("figures");
        near(slowpath, known.costs.slowpath_ps, "slowpath");
        let drawn = run(&bench, draw::STUDY, "stock", &mut |_| ()).expect("the model runs it");
        let at_once = Figures::new(drawn).expect("an outcome");
        let drawn = draw::draw(&at_once).expect("figures");
        near(drawn, known.costs.draw_ps, "draw");
        let listed = draw::lru_add(&at_once).expect("figures");
        near(listed, known.costs.lru_add_ps, "lru-add");
        // Until 6.10 a mebibyte takes a request more: its first page may lie at the mark of a window
        // that was dropped. A kernel's `drop` holds that, too.
        let alone = (reading.request + reading.wait) / MIB_PAGES;
        near(reading.drop + drawn - alone, known.costs.drop_ps, "drop");
        near(sleeping.sleep, known.costs.sleep_ps, "sleep");
        near(sleeping.switch, known.costs.switch_ps, "switch");
    }
}
