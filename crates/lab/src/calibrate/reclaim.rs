//! What kswapd takes: `calibration/reclaim.toml` and `calibration/pass.toml`.

use mm::rules::{self, Mechanism};
use scenario::calibration::Costs;

use super::error::CalibrateError;
use super::figures::{Figures, nanos, positive, ps, two_costs};

pub(super) const STUDY: &str = include_str!("../../../../calibration/reclaim.toml");
pub(super) const PASS: &str = include_str!("../../../../calibration/pass.toml");

/// Disks of [`pass_with_disks`].
const DISKS: usize = 8;

/// Passes of a run of kswapd that frees nothing: priorities 12 to 1.
const PRIORITIES: f64 = 12.0;

/// [`PASS`] on a machine with disks, to see what the shrinkers of their file systems take.
pub(super) fn pass_with_disks() -> String {
    let disk = |number| {
        format!(
            "\n[[machine.disk]]\nname = \"disk {number}\"\nsize = \"64 MiB\"\n\
             bandwidth = \"100 GiB/s\"\n"
        )
    };
    let disks: String = (0..DISKS).map(disk).collect();
    format!("{PASS}{disks}")
}

/// Solves kswapd's CPU time for the costs; `docs/calibration.md` has the equations.
pub(super) fn costs(
    costs: &mut Costs,
    pages: &Figures,
    pass: &Figures,
    pass_with_disks: &Figures,
) -> Result<(), CalibrateError> {
    let (reclaim, deactivate) = two_costs(
        &[
            interval(pages, "before reclaim", "after reclaim")?,
            interval(pages, "before deactivation", "after deactivation")?,
        ],
        "deactivation by kswapd",
    )?;
    costs.reclaim_file_ps = ps(reclaim);
    costs.deactivate_ps = ps(deactivate);
    let alone = one_pass(pass, costs)?;
    costs.pass_ps = ps(alone);
    costs.pass_disk_ps = ps((one_pass(pass_with_disks, costs)? - alone) / DISKS as f64);
    Ok(())
}

/// Adds what the arm "generations" tells: nothing is deactivated there.
pub(super) fn generations(costs: &mut Costs, pages: &Figures) -> Result<(), CalibrateError> {
    let (stolen, _, time) = interval(pages, "before reclaim", "after reclaim")?;
    costs.evict_file_ps = ps(time / positive(stolen, "page reclaimed by kswapd")?);
    Ok(())
}

/// kswapd's CPU time is reclaim a page stolen and deactivate a page deactivated: two intervals, of
/// which the first deactivates next to nothing.
fn interval(figures: &Figures, from: &str, to: &str) -> Result<(f64, f64, f64), CalibrateError> {
    let stolen = figures.growth("pgsteal_kswapd", from, to)?;
    let deactivated = figures.growth("pgdeactivate", from, to)?;
    Ok((stolen, deactivated, figures.kswapd(from, to)?))
}

/// Runs of kswapd that find next to nothing: 12 passes each, one at each priority. Since 6.10 a run
/// begins again that went for the page cache alone, in vain, as it does where there is any: the
/// blocks that a file system keeps.
fn one_pass(figures: &Figures, costs: &Costs) -> Result<f64, CalibrateError> {
    let (before, after) = ("before fruitless", "after fruitless");
    let runs = figures.growth("pageoutrun", before, after)?;
    let stolen = figures.growth("pgsteal_kswapd", before, after)?;
    let time = figures.kswapd(before, after)? - stolen * nanos(costs.reclaim_file_ps);
    let has_cache = figures.counter("nr_inactive_file", after)? > 0;
    let begins_anew = has_cache && rules::has(figures.release(after)?, Mechanism::KswapdRetries);
    let passes = PRIORITIES * if begins_anew { 2.0 } else { 1.0 };
    Ok(time / positive(runs * passes, "fruitless run of kswapd")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::run;
    use answer::model_bench::ModelBench;

    /// The model knows its costs: calibrating it must find them.
    #[test]
    fn calibrating_the_model_finds_its_own_costs_of_reclaim() {
        for kernel in ["6.1", "6.12"] {
            let known = answer::calibration::built_in(kernel).expect("the binary carries it");
            let bench = ModelBench::new(known.clone());
            let figures = |study: &str, arm: &str| {
                let capture = run(&bench, study, arm, &mut |_| ());
                Figures::new(capture.expect("the model runs the study")).expect("an outcome")
            };
            let mut found = Costs::default();
            costs(
                &mut found,
                &figures(STUDY, "stock"),
                &figures(PASS, "stock"),
                &figures(&pass_with_disks(), "stock"),
            )
            .expect("figures");
            generations(&mut found, &figures(STUDY, "generations")).expect("figures");
            let known = known.costs;
            for (what, found, known) in [
                ("reclaim-file", found.reclaim_file_ps, known.reclaim_file_ps),
                ("evict-file", found.evict_file_ps, known.evict_file_ps),
                ("deactivate", found.deactivate_ps, known.deactivate_ps),
                ("pass", found.pass_ps, known.pass_ps),
                ("pass-disk", found.pass_disk_ps, known.pass_disk_ps),
            ] {
                let apart = found.abs_diff(known);
                assert!(
                    apart <= known / 50 + 2000,
                    "{kernel}, {what}: {found} for {known}"
                );
            }
        }
    }
}
