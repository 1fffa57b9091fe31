//! The order of arms: does the model rank settings as the kernel does?
//!
//! Only pairs of arms count whose medians on the kernel lie further apart than twice the spread of
//! either arm, and than the noise floor of a verdict: of arms that a verdict on the kernel's own
//! runs shows no difference between, none comes first. The spread of an arm with one run is not
//! known; what a figure of its kind may be off takes its place.

use std::cmp::Ordering;

use super::{FACTOR, REACH, SCAN, SHARE, SIZE, TIME};
use crate::compare::{Figure, Row};
use crate::measure::{Better, Kind, Measure};
use crate::stats::{self, Concordance};
use crate::verdict::Thresholds;

/// How many times its spread a gap must exceed.
const CLEAR: f64 = 2.0;

/// How the arms are ordered by one measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The measure's name.
    pub measure: String,
    /// Which direction is an improvement.
    pub better: Better,
    /// The pairs of arms that count.
    pub pairs: Concordance,
}

/// The measures that say which direction is better, with the pairs of arms that count.
#[must_use]
pub fn orders(measures: &[Measure], rows: &[Row]) -> Vec<Order> {
    let order = |measure: &Measure| {
        let better = measure.better?;
        let of_measure = rows.iter().filter(|row| row.measure == measure.name);
        Some(Order {
            measure: measure.name.clone(),
            better,
            pairs: concordance(measure.noise_floor, &of_measure.collect::<Vec<_>>()),
        })
    };
    measures.iter().filter_map(order).collect()
}

/// All pairs of all measures.
#[must_use]
pub fn together(orders: &[Order]) -> Concordance {
    let mut all = Concordance::default();
    for order in orders {
        all.add(order.pairs);
    }
    all
}

fn concordance(noise_floor: Option<f64>, rows: &[&Row]) -> Concordance {
    let floor = noise_floor.unwrap_or(Thresholds::default().noise_floor);
    let mut pairs = Concordance::default();
    for (index, one) in rows.iter().enumerate() {
        for other in &rows[..index] {
            let (Some(a), Some(b)) = (one.kernel.median(), other.kernel.median()) else {
                continue;
            };
            let noise = scatter(one.kind, &one.kernel).max(scatter(other.kind, &other.kernel));
            let least = (CLEAR * noise).max(floor * a.abs().min(b.abs()));
            if (a - b).abs() <= least || as_good_as_zero(one, a, b) {
                continue;
            }
            let foretold = one.model.median().zip(other.model.median());
            // What the model does not predict is in no order.
            let foretold = foretold.and_then(|(a, b)| a.partial_cmp(&b));
            pairs.count(a.total_cmp(&b), foretold.unwrap_or(Ordering::Equal));
        }
    }
    pairs
}

fn as_good_as_zero(row: &Row, a: f64, b: f64) -> bool {
    a.abs() <= row.floor && b.abs() <= row.floor
}

/// The width of an arm's range; of one run, what a figure of its kind may be off.
fn scatter(kind: Kind, figure: &Figure) -> f64 {
    match (figure.values(), stats::spread(figure.values())) {
        ([_], _) if kind == Kind::Share => SHARE,
        ([one], _) => one.abs() * allowed(kind),
        (_, Some((min, max))) => max - min,
        (_, None) => 0.0,
    }
}

fn allowed(kind: Kind) -> f64 {
    match kind {
        Kind::Line | Kind::Fate | Kind::Share => 0.0,
        Kind::Size | Kind::Curve | Kind::Merging => SIZE,
        Kind::Time => TIME,
        Kind::Reach => REACH,
        Kind::Scan => SCAN,
        Kind::Pages | Kind::Events => FACTOR - 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Curves;
    use crate::measure::Unit;

    fn row(arm: &str, model: &[f64], kernel: &[f64]) -> Row {
        let figure = |values: &[f64]| match values {
            [] => Figure::NoRun,
            _ => Figure::Known {
                values: values.to_vec(),
                without: 0,
            },
        };
        Row {
            measure: "kept".to_owned(),
            arm: arm.to_owned(),
            unit: Unit::Percent,
            kind: Kind::Time,
            floor: 0.0,
            published: None,
            model: figure(model),
            kernel: figure(kernel),
            curves: Curves::default(),
        }
    }

    fn of(rows: &[Row]) -> Concordance {
        concordance(None, &rows.iter().collect::<Vec<_>>())
    }

    #[test]
    fn arms_whose_gap_is_within_twice_the_spread_do_not_count() {
        let plain = row("a", &[1.0], &[100.0, 110.0]);
        let near = row("b", &[2.0], &[80.0, 90.0]);
        let far = row("c", &[2.0], &[80.0, 89.0]);
        assert_eq!(of(&[plain.clone(), near]).pairs(), 0, "20 is twice 10");
        let found = of(&[plain, far]);
        assert_eq!((found.pairs(), found.tau()), (1, Some(-1.0)));
    }

    #[test]
    fn arms_that_a_verdict_would_not_tell_apart_do_not_count() {
        let rows = |other: f64| [row("a", &[2.0], &[100.0; 2]), row("b", &[1.0], &[other; 2])];
        assert_eq!(of(&rows(101.9)).pairs(), 0);
        assert_eq!(of(&rows(102.1)).pairs(), 1);
    }

    #[test]
    fn the_models_order_is_what_is_counted() {
        let rows = [
            row("a", &[10.0], &[100.0, 101.0]),
            row("b", &[20.0], &[200.0, 201.0]),
            row("c", &[15.0], &[300.0, 301.0]),
        ];
        let found = of(&rows);
        assert_eq!((found.agree, found.disagree, found.tied), (2, 1, 0));
    }

    #[test]
    fn what_is_not_predicted_or_equal_is_a_tie() {
        let rows = [
            row("a", &[], &[100.0, 101.0]),
            row("b", &[20.0], &[200.0, 201.0]),
            row("c", &[20.0], &[300.0, 301.0]),
        ];
        let found = of(&rows);
        assert_eq!((found.agree, found.disagree, found.tied), (0, 0, 3));
        assert_eq!(found.tau(), Some(0.0));
    }

    #[test]
    fn one_run_must_differ_by_twice_what_it_may_be_off() {
        let (a, b) = (row("a", &[1.0], &[100.0]), row("b", &[2.0], &[109.0]));
        assert_eq!(of(&[a.clone(), b]).pairs(), 0);
        assert_eq!(of(&[a, row("b", &[2.0], &[112.0])]).agree, 1);
    }
}
