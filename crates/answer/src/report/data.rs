//! What a study came to, as JSON and as CSV.

use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;
use study::Study;
use study::compare::{Figure, Row};
use study::measure::Unit;
use study::stats;
use study::verdict::{self, Basis};
use study::verdicts::ArmVerdict;

use super::arms::arms;
use super::pair::Pair;

/// The document: what every arm came to on each kernel.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Document<'a> {
    study: &'a str,
    title: &'a str,
    question: &'a str,
    /// On which machine and kernel it was asked, and why.
    notes: &'a [String],
    /// Runs without an outcome, and what could not be used.
    problems: &'a [String],
    kernels: Vec<Kernel>,
}

impl Shape for Document<'_> {
    const NAME: &'static str = "study";
    const VERSION: u32 = 3;
}

#[derive(Debug, JsonSchema, Serialize)]
struct Kernel {
    kernel: String,
    release: String,
    /// What the kernel ran on; absent where it was predicted only.
    bench: Option<String>,
    /// What every arm sets that the kernel does not boot with.
    base_unlike_boot: Option<String>,
    /// Why nothing is ranked, where the study's pressure was not reached.
    pressure_not_reached: Option<String>,
    figures: Vec<Line>,
    verdicts: Vec<Verdict>,
    /// The table of arms, the best first; none where the study has none.
    ranks: Vec<Rank>,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Line {
    measure: String,
    arm: String,
    /// "count" where it is a plain number.
    unit: &'static str,
    predicted: Option<Runs>,
    measured: Option<Runs>,
    published: Option<f64>,
    /// Whether prediction and measurement are as near as the rules ask.
    holds: Option<bool>,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Runs {
    /// Absent where the runs have two outcomes.
    median: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    runs: usize,
    /// Runs that have no number.
    without: usize,
    two_outcomes: Option<[Outcome; 2]>,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Outcome {
    median: f64,
    runs: usize,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Verdict {
    measure: String,
    arm: String,
    baseline: String,
    verdict: &'static str,
    shift: f64,
    /// Absent where the baseline is zero.
    relative: Option<f64>,
    seeds: usize,
    seeds_lower: usize,
    seeds_higher: usize,
    p: Option<f64>,
    effect: Option<f64>,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Rank {
    arm: String,
    /// "2 to 5" where runs overlap.
    rank: String,
}

/// One line of JSON, without its end.
#[must_use]
pub fn json(study: &Study, pairs: &[Pair], notes: &[String], problems: &[String]) -> String {
    let document = Document {
        study: &study.name,
        title: &study.title,
        question: &study.question,
        notes,
        problems,
        kernels: pairs.iter().map(|pair| Kernel::of(study, pair)).collect(),
    };
    shapes::text(&document)
}

/// A line for each measure of each arm on each kernel, below a head.
#[must_use]
pub fn csv(study: &Study, pairs: &[Pair]) -> String {
    let figure = |of: &str| ["median", "min", "max", "runs"].map(|it| format!("{of}_{it}"));
    let mut head: Vec<String> = ["study", "kernel", "measure", "arm", "unit"]
        .map(str::to_owned)
        .to_vec();
    head.extend(figure("predicted"));
    head.extend(figure("measured"));
    let more = [
        "published",
        "verdict",
        "predicted_two_outcomes",
        "measured_two_outcomes",
    ];
    head.extend(more.map(str::to_owned));
    let mut text = crate::csv::line(&head);
    for pair in pairs {
        let verdicts = pair.verdicts(study);
        for row in pair.rows(study) {
            let mut cells = vec![study.name.clone(), pair.kernel.clone()];
            cells.extend([
                row.measure.clone(),
                row.arm.clone(),
                unit(row.unit).to_owned(),
            ]);
            cells.extend(cells_of(&row.model));
            cells.extend(cells_of(&row.kernel));
            let published = row.published.as_ref().map(|published| published.amount);
            cells.push(number(published));
            let of_row = |it: &&ArmVerdict| it.measure == row.measure && it.arm == row.arm;
            let found = verdicts.iter().find(of_row);
            cells.push(
                found
                    .map_or("", |it| word(it.difference.verdict))
                    .to_owned(),
            );
            cells.extend([&row.model, &row.kernel].map(|it| two_outcomes(it, row.unit)));
            text += &crate::csv::line(&cells);
        }
    }
    text
}

impl Kernel {
    fn of(study: &Study, pair: &Pair) -> Self {
        let (rows, verdicts) = (pair.rows(study), pair.verdicts(study));
        let names: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
        let table = arms(study, &names, pair, &rows, &verdicts);
        let ranks = table.into_iter().flat_map(|table| table.rows);
        let ranks = ranks.map(|row| Rank {
            arm: row.arm,
            rank: row.rank,
        });
        Self {
            kernel: pair.kernel.clone(),
            release: pair.release.clone(),
            bench: pair.is_proved().then(|| pair.bench.clone()),
            base_unlike_boot: pair.unlike_boot(study),
            pressure_not_reached: pair.missed_pressure(study),
            figures: rows.iter().map(Line::of).collect(),
            verdicts: verdicts.iter().map(Verdict::of).collect(),
            ranks: ranks.filter(|rank| !rank.rank.is_empty()).collect(),
        }
    }
}

impl Line {
    fn of(row: &Row) -> Self {
        Self {
            measure: row.measure.clone(),
            arm: row.arm.clone(),
            unit: unit(row.unit),
            predicted: Runs::of(&row.model),
            measured: Runs::of(&row.kernel),
            published: row.published.as_ref().map(|published| published.amount),
            holds: row.holds(),
        }
    }
}

impl Runs {
    fn of(figure: &Figure) -> Option<Self> {
        let without = match figure {
            Figure::NoRun | Figure::Unavailable(_) => return None,
            Figure::Missing(_, without) | Figure::Known { without, .. } => *without,
        };
        let values = figure.values();
        let range = stats::spread(values);
        let outcome = |group: stats::Group| Outcome {
            median: group.median,
            runs: group.runs,
        };
        let two = figure.two_outcomes();
        Some(Self {
            median: figure.median().filter(|_| two.is_none()),
            min: range.map(|(min, _)| min),
            max: range.map(|(_, max)| max),
            runs: values.len(),
            without,
            two_outcomes: two.map(|two| [outcome(two.low), outcome(two.high)]),
        })
    }
}

impl Verdict {
    fn of(verdict: &ArmVerdict) -> Self {
        let difference = &verdict.difference;
        let (p, effect) = match difference.basis {
            Basis::Deterministic { .. } => (None, None),
            Basis::Statistics { p, effect, .. } => (Some(p), Some(effect)),
        };
        Self {
            measure: verdict.measure.clone(),
            arm: verdict.arm.clone(),
            baseline: verdict.baseline.clone(),
            verdict: word(difference.verdict),
            shift: difference.shift,
            relative: Some(difference.relative).filter(|relative| relative.is_finite()),
            seeds: difference.by_seed.seeds,
            seeds_lower: difference.by_seed.lower,
            seeds_higher: difference.by_seed.higher,
            p,
            effect,
        }
    }
}

fn word(verdict: verdict::Verdict) -> &'static str {
    match verdict {
        verdict::Verdict::Better => "better",
        verdict::Verdict::Worse => "worse",
        verdict::Verdict::Differs => "differs",
        verdict::Verdict::NotDecided => "not_decided",
        verdict::Verdict::NotSure => "not_sure",
        verdict::Verdict::NoDifferenceShown => "no_difference_shown",
        verdict::Verdict::TooFewRuns => "too_few_runs",
    }
}

fn unit(unit: Unit) -> &'static str {
    match unit.word() {
        "" => "count",
        word => word,
    }
}

fn cells_of(figure: &Figure) -> [String; 4] {
    let range = stats::spread(figure.values());
    let runs = figure.values().len();
    let two = figure.two_outcomes();
    [
        number(figure.median().filter(|_| two.is_none())),
        number(range.map(|(min, _)| min)),
        number(range.map(|(_, max)| max)),
        match figure {
            Figure::NoRun => String::new(),
            _ => runs.to_string(),
        },
    ]
}

/// "54.5 (2/5) or 91.0 (3/5)"; empty where the runs have not two outcomes.
fn two_outcomes(figure: &Figure, unit: Unit) -> String {
    let two = figure.two_outcomes();
    two.map_or_else(String::new, |_| figure.number(unit))
}

fn number(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}
