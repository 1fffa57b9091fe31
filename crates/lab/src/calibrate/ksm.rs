//! Samepage merging: `calibration/ksm.toml`.

use mm::rules::{self, Mechanism};
use scenario::calibration::Costs;

use super::error::CalibrateError;
use super::figures::{Figures, positive, ps};

/// Pages of a region, and of the small one.
const PAGES: f64 = 8192.0;
const FEW: f64 = 512.0;
/// Batches of one page each.
const BATCHES: f64 = 200.0;
/// Half of a region: one of each twin.
const HALF: f64 = PAGES / 2.0;

/// Solves the passes' CPU times for the costs; `docs/calibration.md` has the equations.
pub(super) fn merging(
    costs: &mut Costs,
    figures: &Figures,
    release: &str,
) -> Result<(), CalibrateError> {
    let passes = Passes::of(figures)?;
    passes.costs(costs, rules::has(release, Mechanism::KsmChecksFirst));
    // A CPU's lists that hold a few batches are empty by then: each page is drawn from its zone.
    let draw = match rules::has(release, Mechanism::LargePcp) {
        true => 0,
        false => costs.draw_ps,
    };
    let store = figures.per_page("store")? - figures.per_page("store again")?;
    costs.ksm_cow_ps = ps(store).saturating_sub(draw);
    let store = figures.per_page("store to zero")? - figures.per_page("store to zero again")?;
    costs.ksm_cow_zero_ps = ps(store).saturating_sub(draw);
    // Of each twins the second one frees the merged page.
    let unmerge = ps(figures.duration("unmerge")? / PAGES);
    costs.ksm_unmerge_ps = unmerge.saturating_sub(costs.anon_free_ps / 2);
    costs.ksm_unmerge_zero_ps = ps(figures.duration("unmerge empty")? / PAGES);
    costs.ksm_look_ps = ps(figures.duration("look")? / PAGES);
    Ok(())
}

/// What observing takes where pages are offered for merging: runs note it themselves.
pub(super) fn observing(costs: &mut Costs, figures: &Figures) -> Result<(), CalibrateError> {
    costs.sample_ps = ps(figures.observing("samples")?);
    costs.snapshot_ps = ps(figures.observing("snapshots")?);
    Ok(())
}

/// What a snapshot takes longer for each of eight processes more; the first of each run is taken
/// before there are any.
pub(super) fn watching(
    costs: &mut Costs,
    alone: &Figures,
    nine: &Figures,
) -> Result<(), CalibrateError> {
    let longer = nine.observing("snapshots")? - alone.observing("snapshots")?;
    let looks = alone.observations("snapshots")?;
    costs.watch_ps = ps(longer * looks / (looks - 1.0) / 8.0);
    Ok(())
}

/// What a full scan takes longer for each of eight processes more, beyond the visit of its two
/// merged pages.
pub(super) fn going_on(
    costs: &mut Costs,
    alone: &Figures,
    nine: &Figures,
) -> Result<(), CalibrateError> {
    let scan = |figures: &Figures| {
        let scans = figures.growth_in(&mm::ksm::path("full_scans"), "scan 0", "scan n")?;
        let time = figures.thread("ksmd", "scan 0", "scan n")?;
        Ok::<_, CalibrateError>(time / positive(scans, "full scan")?)
    };
    let longer = scan(nine)? - scan(alone)?;
    costs.ksm_mm_ps = ps(longer / 8.0).saturating_sub(2 * costs.ksm_visit_ps);
    Ok(())
}

/// A pass that skips every page, one in which they leave the tree too, and one that skips none, as
/// all are merged.
pub(super) fn skipping(costs: &mut Costs, figures: &Figures) -> Result<(), CalibrateError> {
    let pass = |from: &str, to: &str| figures.thread("ksmd", from, to);
    let each = |from: &str, to: &str| pass(from, to).map(|nanos| ps(nanos / PAGES));
    costs.ksm_skip_ps = each("skipped 7", "skipped 8")?;
    costs.ksm_leave_ps = each("skipped 6", "skipped 7")?.saturating_sub(costs.ksm_skip_ps);
    costs.ksm_smart_ps = each("asked 3", "asked 4")?.saturating_sub(costs.ksm_visit_ps);
    Ok(())
}

/// CPU time of ksmd's passes, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Passes {
    /// The first over pages without twins.
    first: f64,
    /// A later one, which finds them unchanged.
    unchanged: f64,
    /// The same over few of them.
    few: f64,
    /// One that finds all of them gone.
    gone: f64,
    /// One that finds all pages changed.
    changed: f64,
    /// One that merges pages of one content.
    same: f64,
    /// One that finds all merged.
    merged: f64,
    /// So many batches over one merged page each.
    batches: f64,
    /// One that merges twins.
    twins: f64,
    /// The same, with each huge page's splitting.
    huge: f64,
    /// How many were split.
    splits: f64,
    /// One over pages half of which are merged and half of which have no twin.
    mixed: f64,
    /// One that merges empty pages with the zero page.
    zero: f64,
}

impl Passes {
    fn of(figures: &Figures) -> Result<Self, CalibrateError> {
        let pass = |from: &str, to: &str| figures.thread("ksmd", from, to);
        let splits = figures.growth("thp_split_page", "huge 1", "huge 2")?;
        Ok(Self {
            first: pass("many 0", "many 1")?,
            unchanged: pass("many 2", "many 3")?,
            few: pass("few 2", "few 3")?,
            gone: pass("many 3", "many gone")?,
            changed: pass("volatile 1", "volatile 2")?,
            same: pass("same 1", "same 2")?,
            merged: pass("same 2", "same 3")?,
            batches: pass("batch 0", "batch 200")?,
            twins: pass("twins 1", "twins 2")?,
            huge: pass("huge 1", "huge 2")?,
            splits: positive(splits, "split of a huge page")?,
            mixed: pass("mixed 2", "mixed 3")?,
            zero: pass("zero 1", "zero 2")?,
        })
    }

    /// A visit is paid by every page; then a checksum; then, where that is the old one, a search in
    /// the stable tree and one in the unstable tree, which grows by each page that it leaves. Where
    /// the stable tree is searched before the checksum is taken, a page that is found there pays
    /// for none.
    fn costs(&self, costs: &mut Costs, checks_first: bool) {
        let visit = self.merged / PAGES;
        let changed = self.changed / PAGES;
        let unchanged = self.unchanged / PAGES - changed;
        let level = (unchanged - (self.few / FEW - changed)) / (levels(PAGES) - levels(FEW));
        let insert = unchanged - level * levels(PAGES);
        let in_trees = (self.mixed - HALF * visit) / HALF - changed;
        let stable = (in_trees - insert - level * levels(HALF)) / (HALF / 2.0 + 1.0).log2();
        let left = HALF * (changed + insert + level * levels(HALF));
        let searches = stable * levels(HALF) + level * levels_to_hits(HALF);
        let met = (self.twins - left) / HALF - changed - searches;
        costs.ksm_batch_ps = ps(self.batches / BATCHES - visit);
        costs.ksm_visit_ps = ps(visit);
        costs.ksm_checksum_ps = ps(changed - visit);
        costs.ksm_item_ps = ps(self.first / PAGES - changed);
        costs.ksm_unstable_level_ps = ps(level);
        costs.ksm_stable_level_ps = ps(stable);
        costs.ksm_insert_ps = ps(insert);
        let seen = if checks_first { changed } else { visit };
        costs.ksm_merge_ps = ps(self.same / PAGES - seen - stable);
        costs.ksm_merge_two_ps = ps(met);
        costs.ksm_merge_zero_ps = ps(self.zero / PAGES - changed);
        costs.ksm_split_ps = ps((self.huge - self.twins) / self.splits);
        costs.ksm_forget_ps = ps(self.gone / PAGES);
    }
}

/// Levels of a search, log2(n + 1), on average over a tree that grows from nothing to n.
fn levels(pages: f64) -> f64 {
    let sum: f64 = (1..=pages as u64).map(|n| (n as f64).log2()).sum();
    sum / pages
}

/// Levels of a search that finds, on average over a tree that shrinks from n to one.
fn levels_to_hits(pages: f64) -> f64 {
    let hit = |n: f64| (n + 1.0).log2() * (1.0 + 1.0 / n) - 1.0;
    let sum: f64 = (1..=pages as u64).map(|n| hit(n as f64)).sum();
    sum / pages
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::calibration::Calibration;

    use crate::calibrate::{COMPANY, KSM, run};
    use answer::model_bench::ModelBench;

    /// The model knows its costs: calibrating it must find them.
    #[test]
    fn calibrating_the_model_finds_its_own_costs_of_merging() {
        for kernel in answer::calibration::kernels() {
            let known = answer::calibration::built_in(kernel).expect("the binary carries it");
            let found = costs_of_the_model(&known);
            let costs = found.iter().zip(known.costs.iter());
            for ((name, found), (_, known)) in costs.filter(|((it, _), _)| it.starts_with("ksm-")) {
                let apart = found.abs_diff(known);
                // What an insertion costs is what two long searches leave over; and the solver does
                // not know how many of the pages that replace zero pages come from their zone.
                let allowed = known / 40 + 50_000;
                assert!(apart <= allowed, "{kernel}, {name}: {found} for {known}");
            }
        }
    }

    fn costs_of_the_model(known: &Calibration) -> Costs {
        let bench = ModelBench::new(known.clone());
        let figures = |study: &str, arm: &str| {
            let capture = run(&bench, study, arm, &mut |_| ()).expect("the model runs the study");
            Figures::new(capture).expect("an outcome")
        };
        let mut found = Costs {
            anon_free_ps: known.costs.anon_free_ps,
            draw_ps: known.costs.draw_ps,
            ..Costs::default()
        };
        merging(&mut found, &figures(KSM, "stock"), &known.kernel).expect("figures");
        let [alone, nine] = ["one", "nine"].map(|arm| figures(COMPANY, arm));
        going_on(&mut found, &alone, &nine).expect("figures");
        if known.costs.ksm_skip_ps > 0 {
            skipping(&mut found, &figures(KSM, "smart scan")).expect("figures");
        }
        found
    }

    /// Passes put together from known costs give these back.
    #[test]
    fn the_costs_are_found_that_the_passes_are_made_of() {
        let (visit, checksum, item, skip, batch) = (1000.0, 3600.0, 350.0, 720.0, 4400.0);
        let (level, stable, insert) = (710.0, 140.0, 250.0);
        let (merge, two, zero, split) = (11_000.0, 13_000.0, 6800.0, 560_000.0);
        let changed = visit + checksum;
        let leaving = |pages: f64| pages * (changed + insert + level * levels(pages));
        let searches = stable * levels(HALF) + level * levels_to_hits(HALF);
        let twins = leaving(HALF) + HALF * (changed + searches + two);
        let searched = HALF * stable * (HALF / 2.0 + 1.0).log2();
        let passes = Passes {
            first: PAGES * (changed + item),
            unchanged: leaving(PAGES),
            few: leaving(FEW),
            gone: PAGES * skip,
            changed: PAGES * changed,
            same: PAGES * (changed + stable + merge),
            merged: PAGES * visit,
            batches: BATCHES * (batch + visit),
            twins,
            huge: twins + 16.0 * split,
            splits: 16.0,
            mixed: HALF * visit + leaving(HALF) + searched,
            zero: PAGES * (changed + zero),
        };
        let mut costs = Costs::default();
        passes.costs(&mut costs, true);
        for (what, found, known) in [
            ("batch", costs.ksm_batch_ps, batch),
            ("visit", costs.ksm_visit_ps, visit),
            ("checksum", costs.ksm_checksum_ps, checksum),
            ("item", costs.ksm_item_ps, item),
            ("unstable level", costs.ksm_unstable_level_ps, level),
            ("stable level", costs.ksm_stable_level_ps, stable),
            ("insert", costs.ksm_insert_ps, insert),
            ("merge", costs.ksm_merge_ps, merge),
            ("merge two", costs.ksm_merge_two_ps, two),
            ("merge zero", costs.ksm_merge_zero_ps, zero),
            ("split", costs.ksm_split_ps, split),
            ("forget", costs.ksm_forget_ps, skip),
        ] {
            assert!(
                found.abs_diff(ps(known)) <= 2,
                "{what}: {found} for {known}"
            );
        }
        passes.costs(&mut costs, false);
        let merge = merge + checksum;
        assert_eq!(costs.ksm_merge_ps, ps(merge), "no checksum was paid");
    }
}
