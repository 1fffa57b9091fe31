//! How far predictions lie from what kernels did, by kind of measure: the model's median over the
//! kernel's, on every arm of every recorded study.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use anyhow::Result;
use study::compare::{self, Reading, Row};
use study::likely_error::word;
use study::stats;

use super::ask::{Asked, Benches};
use super::draw;

/// `cargo xtask truth --errors`: a line for each kind.
pub(super) fn run(benches: &Benches, seeds: RangeInclusive<u64>) -> Result<()> {
    print!("{}", errors(benches, seeds)?);
    Ok(())
}

fn errors(benches: &Benches, seeds: RangeInclusive<u64>) -> Result<String> {
    let mut ratios: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    for seed in seeds {
        if let Some(asked) = benches.ask(draw::whole(seed))? {
            gather(&asked, &mut ratios);
        }
    }
    Ok(table(&ratios))
}

fn gather(asked: &Asked, ratios: &mut BTreeMap<&'static str, Vec<f64>>) {
    let Ok(model) = &asked.model else {
        return;
    };
    let [model, kernel] = [model, &asked.kernel].map(|runs| {
        runs.iter()
            .map(|(_, run)| run.clone())
            .collect::<Vec<Reading>>()
    });
    let arms: Vec<String> = asked
        .study
        .arms
        .iter()
        .map(|arm| arm.name.clone())
        .collect();
    let measures = &asked.study.measures;
    for row in compare::compare(measures, &arms, &model, &kernel) {
        let measure = measures.iter().find(|measure| measure.name == row.measure);
        if let (Some(word), Some(ratio)) = (measure.and_then(word), ratio(&row)) {
            ratios.entry(word).or_default().push(ratio);
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

fn table(ratios: &BTreeMap<&'static str, Vec<f64>>) -> String {
    let mut text = String::from("kind\tfigures\t5 %\tmedian\t95 %\n");
    for (word, all) in ratios {
        let mut all = all.clone();
        all.sort_by(f64::total_cmp);
        let at = |q| stats::quantile(&all, q).unwrap_or(f64::NAN);
        let [low, middle, high] = [0.05, 0.5, 0.95].map(at);
        text += &format!("{word}\t{}\t{low:.3}\t{middle:.3}\t{high:.3}\n", all.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
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
        };
        let now = errors(&benches, 1..=60).expect("records/ can be read");
        match std::env::var_os("UPDATE_EXPECT") {
            Some(_) => std::fs::write(root().join("records/errors.tsv"), now).expect("a file"),
            None => assert_eq!(now, TABLE, "new records, another model? see above"),
        }
    }

    #[test]
    fn a_line_has_the_quantiles_of_its_kind() {
        let ratios = (0..=100)
            .map(|percent| f64::from(percent) / 100.0)
            .collect();
        let text = table(&BTreeMap::from([("sizes", ratios)]));
        assert_eq!(text.lines().last(), Some("sizes\t101\t0.050\t0.500\t0.950"));
    }
}
