//! How far predictions lie from what kernels did, by kind of measure and of machine: the model's
//! median over the kernel's, on every arm of every recorded study; and from which size on the effects
//! that it shows have the kernel's sign.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use anyhow::Result;
use study::compare::{self, Reading, Row};
use study::likely_error::{self, Of, Place, word};
use study::measure::Measure;
use study::stats;
use study::verdict::Thresholds;

use super::ask::{Asked, Benches};
use super::draw;

/// All seeds that may have records.
pub(super) const ALL: RangeInclusive<u64> = 1..=250;

/// The part of the figures of other studies that an interval is to hold, and of the effects of a
/// size that is to have the kernel's sign.
const HOLDS: f64 = 0.9;

/// What an interval leaves out on either side, the most first: figures of one study are off alike,
/// so that fewer may have to be left out for the studies to hold each other's.
const TAILS: [f64; 6] = [0.05, 0.04, 0.03, 0.02, 0.01, 0.0];

/// A ratio and the seed of its study.
type Ratio = (u64, f64);

/// An effect that the model shows.
struct Effect {
    /// The larger of both arms' figures over the other.
    size: f64,
    /// Whether the kernel has one of this sign.
    is_right: bool,
}

/// What was seen of all studies, by kind of measure.
#[derive(Default)]
struct Seen {
    figures: BTreeMap<(Place, &'static str), Vec<Ratio>>,
    effects: BTreeMap<&'static str, Vec<Effect>>,
}

/// `cargo xtask truth --errors`: a line for each kind.
pub(super) fn run(benches: &Benches, seeds: RangeInclusive<u64>) -> Result<()> {
    print!("{}", errors(benches, seeds)?);
    Ok(())
}

/// `cargo xtask truth --covered`: for each kind, the part of these studies' figures that lies where
/// `predict` says that nine of ten do.
pub(super) fn covered_by_kept(benches: &Benches, seeds: RangeInclusive<u64>) -> Result<()> {
    println!("of\tkind\tfigures\tcovered");
    for ((place, kind), ratios) in seen(benches, seeds)?.figures {
        let kept = likely_error::kept(place);
        let Some(kept) = kept.iter().find(|it| it.kind == kind) else {
            continue;
        };
        let is_held = |(_, ratio): &&Ratio| (kept.least..=kept.most).contains(&ratio.recip());
        let held = ratios.iter().filter(is_held).count();
        let (all, share) = (ratios.len(), held as f64 / ratios.len() as f64);
        println!("{}\t{kind}\t{all}\t{share:.2}", Of::Figure(place).word());
    }
    Ok(())
}

fn errors(benches: &Benches, seeds: RangeInclusive<u64>) -> Result<String> {
    Ok(table(&seen(benches, seeds)?))
}

fn seen(benches: &Benches, seeds: RangeInclusive<u64>) -> Result<Seen> {
    let mut seen = Seen::default();
    for seed in seeds {
        if let Some(asked) = benches.ask(draw::whole(seed))? {
            seen.add(&asked);
        }
    }
    Ok(seen)
}

impl Seen {
    fn add(&mut self, asked: &Asked) {
        let Ok(model) = &asked.model else {
            return;
        };
        let [model, kernel] = [model, &asked.kernel].map(|runs| {
            let runs = runs.iter().map(|(_, run)| run.clone());
            runs.collect::<Vec<Reading>>()
        });
        let study = &asked.study;
        let arms: Vec<String> = study.arms.iter().map(|arm| arm.name.clone()).collect();
        let rows = compare::compare(&study.measures, &arms, &model, &kernel);
        let scenario = study.scenario(&arms[0], 1).expect("it was run");
        let place = Place::of(&scenario.machine);
        for measure in &study.measures {
            let Some(kind) = word(measure) else { continue };
            let of_it = rows.iter().filter(|row| row.measure == measure.name);
            let of_it: Vec<&Row> = of_it.collect();
            let ratios = of_it.iter().filter_map(|row| ratio(row));
            let figures = self.figures.entry((place, kind)).or_default();
            figures.extend(ratios.map(|ratio| (asked.drawn.seed, ratio)));
            let effects = of_it.iter().skip(1);
            let effects = effects.filter_map(|row| effect(measure, of_it[0], row));
            self.effects.entry(kind).or_default().extend(effects);
        }
    }
}

/// The model over the kernel; `None` where a number lacks or both are as good as zero.
fn ratio(row: &Row) -> Option<f64> {
    let (model, kernel) = (row.model.median()?, row.kernel.median()?);
    let (most, model) = (model.max(kernel), model.max(row.floor));
    let ratio = model / kernel.max(row.floor);
    (most > row.floor && ratio.is_finite()).then_some(ratio)
}

/// An effect that the model shows; `None` where a number lacks or the model shows none.
fn effect(measure: &Measure, baseline: &Row, arm: &Row) -> Option<Effect> {
    let floor = measure.floor();
    let over = |arm: f64, baseline: f64| arm.max(floor) / baseline.max(floor);
    let model = over(arm.model.median()?, baseline.model.median()?);
    let kernel = over(arm.kernel.median()?, baseline.kernel.median()?);
    let shown = Thresholds::of(measure.unit, measure.noise_floor).noise_floor;
    let size = model.max(1.0 / model);
    let is_right = (kernel - 1.0).abs() >= shown && (kernel > 1.0) == (model > 1.0);
    ((model - 1.0).abs() >= shown && size.is_finite()).then_some(Effect { size, is_right })
}

fn table(seen: &Seen) -> String {
    let mut text = String::from("of\tkind\tfigures\tleast\tmedian\tmost\tcovered\n");
    for ((place, kind), all) in &seen.figures {
        let [low, high] = interval(all);
        let middle = quantile(all, 0.5);
        text += &format!(
            "{}\t{kind}\t{}\t{low:.3}\t{middle:.3}\t{high:.3}\t{:.2}\n",
            Of::Figure(*place).word(),
            all.len(),
            covered(all, tail(all)),
        );
    }
    for (kind, all) in &seen.effects {
        let (least, right) = sure(all);
        text += &format!(
            "{}\t{kind}\t{}\t{least:.2}\t-\t-\t{right:.2}\n",
            Of::Effect.word(),
            all.len()
        );
    }
    text
}

/// From which size on nine of ten effects have the sign that the model says, and the part of those
/// that have it. Where that is so of no size, the largest that was seen.
fn sure(all: &[Effect]) -> (f64, f64) {
    let mut sizes: Vec<f64> = all.iter().map(|it| it.size).collect();
    sizes.sort_by(f64::total_cmp);
    let right = |least: f64| {
        let large = all.iter().filter(|it| it.size >= least);
        let (right, all) = large.fold((0, 0), |(right, all), it| {
            (right + usize::from(it.is_right), all + 1)
        });
        (least, right as f64 / f64::from(all))
    };
    let is_sure = |(_, right): &(f64, f64)| *right >= HOLDS;
    let largest = sizes.last().map_or((f64::NAN, 0.0), |last| right(*last));
    sizes
        .iter()
        .map(|size| right(*size))
        .find(is_sure)
        .unwrap_or(largest)
}

/// Between which ratios those of another study lie, nine of ten.
fn interval(all: &[Ratio]) -> [f64; 2] {
    let tail = tail(all);
    [quantile(all, tail), quantile(all, 1.0 - tail)]
}

/// The most that may be left out for the studies to hold each other's figures.
fn tail(all: &[Ratio]) -> f64 {
    let holds = |tail: &&f64| covered(all, **tail) >= HOLDS;
    *TAILS.iter().find(holds).unwrap_or(&0.0)
}

/// The part of the figures that lies in the interval which the other studies give.
fn covered(all: &[Ratio], tail: f64) -> f64 {
    let is_held = |(seed, ratio): &&Ratio| {
        let others: Vec<Ratio> = all.iter().filter(|it| it.0 != *seed).copied().collect();
        let [low, high] = [tail, 1.0 - tail].map(|at| quantile(&others, at));
        (low..=high).contains(ratio)
    };
    all.iter().filter(is_held).count() as f64 / all.len() as f64
}

fn quantile(all: &[Ratio], at: f64) -> f64 {
    let mut ratios: Vec<f64> = all.iter().map(|it| it.1).collect();
    ratios.sort_by(f64::total_cmp);
    stats::quantile(&ratios, at).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Instead;
    use crate::root;
    use study::likely_error::TABLE;

    /// `UPDATE_EXPECT=1 cargo test -p plimsoll-lab --example truth` writes it: after new records, and
    /// when the model changed.
    #[test]
    fn the_errors_that_predictions_tell_are_those_of_the_records() {
        let benches = Benches {
            records: root().join("records/truth"),
            plimsoll: None,
            starts: 1,
            instead: Instead::default(),
        };
        let now = errors(&benches, ALL).expect("records/ can be read");
        match std::env::var_os("UPDATE_EXPECT") {
            Some(_) => std::fs::write(root().join("records/errors.tsv"), now).expect("a file"),
            None => assert_eq!(now, TABLE, "new records, another model? see above"),
        }
    }

    #[test]
    fn an_interval_leaves_out_the_ends_where_studies_hold_each_other() {
        let ratios: Vec<Ratio> = (0..=100)
            .map(|it| (it, f64::from(it as u32) / 100.0))
            .collect();
        assert_eq!(interval(&ratios), [0.04, 0.96]);
    }

    #[test]
    fn an_effect_is_sure_from_the_size_on_from_which_nine_of_ten_have_its_sign() {
        let of = |size, is_right| Effect { size, is_right };
        let mut all: Vec<Effect> = (0..9).map(|_| of(1.5, true)).collect();
        all.extend([of(1.1, false), of(1.2, false), of(1.3, true)]);
        assert_eq!(sure(&all), (1.2, 10.0 / 11.0));
        assert_eq!(sure(&[of(1.1, true), of(3.0, false)]), (3.0, 0.0));
    }

    #[test]
    fn figures_of_one_study_do_not_speak_for_each_other() {
        let mut ratios: Vec<Ratio> = (0..20).map(|seed| (seed, 1.0)).collect();
        ratios.extend([(20, 3.0); 4]);
        assert!(
            covered(&ratios, 0.05) < 0.9,
            "the last study is no accident"
        );
        assert_eq!(
            interval(&ratios),
            [1.0, 3.0],
            "all of it is in the interval"
        );
    }
}
