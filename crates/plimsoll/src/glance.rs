//! What a study asks to be shown first, as text for a terminal: its charts and its table of arms.

use lab::measure::Unit;
use lab::report::Pair;
use lab::report::arms::{ArmRow, Arms};
use lab::report::compare::{Figure, Row, row_of};
use lab::study::{Chart, Study};

use crate::columns::{Column, Columns, Line};
use crate::results::wrapped;
use crate::term::bold;

/// The figures of each chart, those of a point below each other; of the `arms` only, and no chart
/// with fewer than two of them.
pub(crate) fn charts(
    study: &Study,
    arms: &[&str],
    pair: &Pair,
    rows: &[Row],
    width: usize,
) -> String {
    let of_chart = |asked: &Chart| chart(asked, arms, pair, rows, width);
    study.shown.charts.iter().map(of_chart).collect()
}

fn chart(asked: &Chart, arms: &[&str], pair: &Pair, rows: &[Row], width: usize) -> String {
    let points = asked.points.iter();
    let points = points.filter(|(arm, _)| arms.contains(&arm.as_str()));
    let points = points.filter_map(|(arm, at)| Some((row_of(rows, &asked.measure, arm)?, *at)));
    let points: Vec<(&Row, f64)> = points.collect();
    let Some((first, _)) = points.first().filter(|_| points.len() > 1) else {
        return String::new();
    };
    let columns = points.iter();
    let columns = columns.map(|(row, at)| point(row, *at, pair.is_proved()));
    let line = |name: &str| Line {
        name: name.to_owned(),
        words: String::new(),
    };
    let mut lines = vec![line("predicted")];
    lines.extend(pair.is_proved().then(|| line("measured")));
    let columns = Columns {
        corner: String::new(),
        lines,
        columns: columns.collect(),
    };
    let measure = with_unit(&asked.measure, first.unit);
    let mut text = format!("{}\n", bold(&asked.title));
    text += &wrapped(&format!("{measure}, by {}", asked.along), width);
    text += &columns.to_text(width);
    if let Some(published) = &asked.published {
        text += &wrapped(&format!("published: {published}"), width);
    }
    text + "\n"
}

fn point(row: &Row, at: f64, is_proved: bool) -> Column {
    let mut numbers = vec![vec![number(&row.model, row.unit)]];
    numbers.extend(is_proved.then(|| vec![number(&row.kernel, row.unit)]));
    Column {
        head: at.to_string(),
        parts: &[],
        numbers,
    }
}

/// A line of figures for each arm, and below it what it does besides and what it asks for.
///
/// Where the publication's own machine is modelled, its figures stand beside ours.
pub(crate) fn table(study: &Study, arms: &Arms, width: usize) -> String {
    let parts: &'static [&'static str] = match (arms.is_proved, study.models_its_publication()) {
        (true, _) => &["model", "kernel"],
        (false, true) => &["model", "published", "off"],
        (false, false) => &[],
    };
    let measures = arms.columns.iter().enumerate();
    let line = |row: &ArmRow| Line {
        name: row.arm.clone(),
        words: words(arms, row),
    };
    let columns = Columns {
        corner: arms.row.clone(),
        lines: arms.rows.iter().map(line).collect(),
        columns: measures
            .map(|(index, name)| column(arms, index, name, parts))
            .collect(),
    };
    format!("{}\n{}", bold(&arms.title), columns.to_text(width))
}

fn column(arms: &Arms, index: usize, measure: &str, parts: &'static [&'static str]) -> Column {
    let cells = arms.rows.iter().map(|row| row.cells.get(index));
    let unit = cells
        .clone()
        .flatten()
        .next()
        .map_or(Unit::Count, |cell| cell.unit);
    let numbers = |cell: Option<&Row>| {
        let of_cell = |cell: &Row| match parts {
            [] => vec![number(&cell.model, unit)],
            [_, _] => vec![number(&cell.model, unit), number(&cell.kernel, unit)],
            _ => published(cell),
        };
        cell.map(of_cell).unwrap_or_default()
    };
    Column {
        head: with_unit(measure, unit),
        parts,
        numbers: cells.map(numbers).collect(),
    }
}

/// The prediction, what was published, and how far they are apart.
fn published(cell: &Row) -> Vec<String> {
    let published = cell.published.as_ref();
    let published = published.map(|published| cell.unit.number(published.amount));
    vec![
        number(&cell.model, cell.unit),
        published.unwrap_or_default(),
        cell.published_error().map(percent).unwrap_or_default(),
    ]
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

fn words(arms: &Arms, row: &ArmRow) -> String {
    let note = row.note.iter().map(|note| format!("{note}. "));
    note.collect::<String>() + &arms.words(row)
}

/// The number alone: its unit stands in the head.
fn number(figure: &Figure, unit: Unit) -> String {
    match (figure.median(), figure) {
        (Some(median), _) => unit.number(median),
        (None, Figure::NoRun) => String::new(),
        (None, _) => "–".to_owned(),
    }
}

fn with_unit(measure: &str, unit: Unit) -> String {
    match unit.word() {
        "" => measure.to_owned(),
        word => format!("{measure} ({word})"),
    }
}
