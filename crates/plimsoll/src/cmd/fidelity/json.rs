//! The score as JSON.

use lab::fidelity::StudyScore;
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;
use study::compare::{Figure, Row, worst_first};
use study::measure::Unit;

/// What is printed.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Document<'a> {
    scores: Vec<Score<'a>>,
    /// Studies without any record.
    unproved: &'a [String],
}

impl Shape for Document<'_> {
    const NAME: &'static str = "fidelity";
    const VERSION: u32 = 2;
}

#[derive(Debug, JsonSchema, Serialize)]
struct Score<'a> {
    study: &'a str,
    kernel: &'a str,
    bench: &'a str,
    records: usize,
    held: usize,
    figures: usize,
    tau: Option<f64>,
    pairs: usize,
    orders: Vec<Order<'a>>,
    /// Arms that are not compared.
    absent: Vec<Absent<'a>>,
    /// The worst first.
    rows: Vec<Line>,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Absent<'a> {
    arm: &'a str,
    reason: &'a str,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Order<'a> {
    measure: &'a str,
    tau: Option<f64>,
    pairs: usize,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Line {
    measure: String,
    arm: String,
    kind: &'static str,
    unit: &'static str,
    predicted: Runs,
    measured: Runs,
    holds: bool,
    /// The distance in words.
    distance: String,
    /// The distance over what is allowed, at most 1 where it holds; absent where it is infinite.
    excess: Option<f64>,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Runs {
    median: Option<f64>,
    /// Of every run that has a number, in ascending order.
    values: Vec<f64>,
    /// Why there is none.
    why: Option<String>,
}

impl<'a> Document<'a> {
    pub(super) fn of(scores: impl Iterator<Item = &'a StudyScore>, unproved: &'a [String]) -> Self {
        Self {
            scores: scores.map(Score::of).collect(),
            unproved,
        }
    }
}

impl<'a> Score<'a> {
    fn of(of_study: &'a StudyScore) -> Self {
        let total = of_study.total();
        let mut rows: Vec<&Row> = of_study.figures().collect();
        worst_first(&mut rows, |row| row);
        let orders = of_study.orders.iter().map(|order| Order {
            measure: &order.measure,
            tau: order.pairs.tau(),
            pairs: order.pairs.pairs(),
        });
        let absent = of_study.absent.iter().map(|it| Absent {
            arm: &it.arm,
            reason: &it.why,
        });
        Self {
            study: &of_study.study,
            kernel: &of_study.kernel,
            bench: &of_study.bench,
            records: total.records,
            held: total.held,
            figures: total.figures,
            tau: total.tau,
            pairs: total.pairs,
            orders: orders.collect(),
            absent: absent.collect(),
            rows: rows.into_iter().map(Line::of).collect(),
        }
    }
}

impl Line {
    fn of(row: &Row) -> Self {
        let score = row.score();
        let words = score.map(|score| score.gap.show());
        Self {
            measure: row.measure.clone(),
            arm: row.arm.clone(),
            kind: row.kind.word(),
            unit: unit(row.unit),
            predicted: Runs::of(&row.model),
            measured: Runs::of(&row.kernel),
            holds: row.holds() == Some(true),
            distance: words.unwrap_or_else(|| "not predicted".to_owned()),
            excess: score
                .map(|it| it.excess)
                .filter(|excess| excess.is_finite()),
        }
    }
}

fn unit(unit: Unit) -> &'static str {
    match unit.word() {
        "" => "count",
        word => word,
    }
}

impl Runs {
    fn of(figure: &Figure) -> Self {
        Self {
            median: figure.median(),
            values: figure.values().to_vec(),
            why: match figure {
                Figure::Missing(why, _) => Some(why.clone()),
                Figure::Unavailable(what) => Some(format!("not available here: {what}")),
                _ => None,
            },
        }
    }
}
