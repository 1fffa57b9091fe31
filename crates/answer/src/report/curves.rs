//! The measures over time, arm by arm.

use super::chart::{Ink, OverTime, Width, Words, both};
use super::html::Escaped;
use super::legend::{broad, key, legend, line};
use super::pair::Pair;
use study::Study;
use study::compare::Row;
use study::measure::Curve;

/// A section for each measure that is a curve: its heading, and a chart for every arm that has one.
pub(super) fn curves(
    study: &Study,
    pair: &Pair,
    rows: &[Row],
    prefix: &str,
) -> Vec<(String, String)> {
    let measures = study.measures.iter().enumerate();
    let curves = measures.filter(|(_, measure)| measure.kind().is_curve());
    let section = |(index, measure): (usize, &study::measure::Measure)| {
        let rows: Vec<&Row> = rows
            .iter()
            .filter(|row| row.measure == measure.name)
            .collect();
        let top = rows
            .iter()
            .flat_map(|row| row.curves.model.iter().chain(&row.curves.kernel));
        let top = top.map(Curve::peak).fold(0.0, f64::max) * 1.05;
        let figures = rows.iter().enumerate().filter_map(|(arm, row)| {
            figure(row, pair, top, &format!("{prefix}-curve-{index}-{arm}"))
        });
        let figures: String = figures.collect();
        (!figures.is_empty()).then(|| (measure.name.clone(), keys(pair) + &figures))
    };
    curves.filter_map(section).collect()
}

fn figure(row: &Row, pair: &Pair, top: f64, id: &str) -> Option<String> {
    let model = Curve::mean_of(&row.curves.model);
    let mean = Curve::mean_of(&row.curves.kernel);
    let shown = mean.as_ref().or(model.as_ref())?;
    let peak = row.unit.show(shown.peak());
    let description = match row.score().filter(|_| pair.is_proved()) {
        Some(score) => format!(
            "At most {peak}. Prediction and measurement: {}.",
            score.gap.show()
        ),
        None => format!("At most {peak}."),
    };
    let words = Words {
        id,
        title: &format!(
            "{} over time, arm {}, {}",
            row.measure, row.arm, pair.kernel
        ),
        description: &description,
    };
    let chart = OverTime {
        model: model.as_ref(),
        kernel: &row.curves.kernel,
        unit: row.unit.word(),
        top,
    };
    let svg = both(words, |width: Width| chart.draw(width));
    Some(format!(
        "<figure>\n<h4>Arm {}</h4>\n{svg}<figcaption>{}</figcaption>\n</figure>\n",
        Escaped(&row.arm),
        Escaped(&description)
    ))
}

fn keys(pair: &Pair) -> String {
    let mut keys = vec![key(
        &line(Ink::Free, 2, ""),
        "predicted, the mean of the runs",
    )];
    if pair.is_proved() {
        keys.push(key(
            &broad(Ink::Kernel, 1.0),
            "measured: the mean, and all runs around it",
        ));
    }
    legend(&keys)
}
