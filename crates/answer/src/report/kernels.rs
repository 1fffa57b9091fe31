//! Which figures of two kernels differ, so that they are not told as the same.

use study::Study;
use study::compare::{Row, row_of};
use study::stats;

/// Figures that are nearer to each other, as a part of the larger one, are told as the same.
const NEAR: f64 = 0.1;
/// The most that are listed.
const MOST: usize = 4;

/// The headline figures that differ by more than a tenth while the ranges of their runs do not
/// meet, the farthest apart first: "kept on default: 54.0 %, not 91.0 %".
pub(super) fn differing(study: &Study, first: &[Row], other: &[Row]) -> Vec<String> {
    let headline = study.headline();
    let is_headline = |row: &&Row| headline.iter().any(|measure| measure.name == row.measure);
    let apart = |row: &Row| {
        let before = row_of(first, &row.measure, &row.arm)?;
        let by = distance(before, row)?;
        let (now, before) = (row.figure().show(row.unit), before.figure().show(row.unit));
        let text = format!("{} on {}: {now}, not {before}", row.measure, row.arm);
        (by > NEAR && now != before).then_some((by, text))
    };
    let mut found: Vec<(f64, String)> =
        other.iter().filter(is_headline).filter_map(apart).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let more = found.len().saturating_sub(MOST);
    let mut texts: Vec<String> = found.into_iter().take(MOST).map(|(_, text)| text).collect();
    match more {
        0 => {}
        1 => texts.push("and one figure more".to_owned()),
        _ => texts.push(format!("and {more} figures more")),
    }
    texts
}

/// How far two figures are apart, as a part of the larger; none where their runs meet.
fn distance(one: &Row, other: &Row) -> Option<f64> {
    let (one, other) = (one.figure(), other.figure());
    let (a, b) = (stats::spread(one.values())?, stats::spread(other.values())?);
    let meet = a.0 <= b.1 && b.0 <= a.1;
    let (one, other) = (one.median()?, other.median()?);
    let larger = one.abs().max(other.abs());
    (!meet && larger > 0.0).then(|| (one - other).abs() / larger)
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::compare::{Curves, Figure};
    use study::measure::{Kind, Unit};

    fn kept(arm: &str, share: f64) -> Row {
        Row {
            measure: "kept".to_owned(),
            arm: arm.to_owned(),
            unit: Unit::Percent,
            kind: Kind::Time,
            floor: 0.0,
            published: None,
            model: Figure::known(share),
            kernel: Figure::NoRun,
            curves: Curves::default(),
        }
    }

    #[test]
    fn ninety_one_and_fifty_four_percent_are_not_the_same() {
        let study = Study::built_in("memory-hogs").unwrap();
        let first = [kept("default", 91.0), kept("mlock", 99.0)];
        let other = [kept("default", 54.0), kept("mlock", 98.0)];
        let found = differing(&study, &first, &other);
        assert_eq!(found, ["kept on default: 54.0 %, not 91.0 %"]);
        assert!(differing(&study, &first, &first).is_empty());
    }
}
