//! What a study asks to be shown first, as text for a terminal: its charts and its table of arms.

use answer::report::Pair;
use answer::report::arms::{ArmRow, Arms};
use study::compare::{Figure, Row, row_of};
use study::measure::Unit;
use study::stats;
use study::{Chart, Study};

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
    let lines = lines(&points, pair.is_proved());
    let columns = points.iter().enumerate().map(|(index, (_, at))| Column {
        head: at.to_string(),
        parts: &[],
        numbers: lines
            .iter()
            .map(|line| vec![line.1[index].clone()])
            .collect(),
    });
    let columns = columns.collect();
    let line = |(name, _): &(&str, Vec<String>)| Line {
        name: (*name).to_owned(),
        words: String::new(),
    };
    let columns = Columns {
        corner: String::new(),
        lines: lines.iter().map(line).collect(),
        columns,
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

/// The figures of the points, and below them the least and the most of the runs where they differ.
fn lines(points: &[(&Row, f64)], is_proved: bool) -> Vec<(&'static str, Vec<String>)> {
    let of_points = |text: &dyn Fn(&Row) -> String| -> Vec<String> {
        points.iter().map(|(row, _)| text(row)).collect()
    };
    let model = [
        ("predicted", of_points(&|row| number(&row.model, row.unit))),
        ("min to max", of_points(&|row| range(&row.model, row.unit))),
    ];
    let kernel = [
        ("measured", of_points(&|row| number(&row.kernel, row.unit))),
        ("min to max", of_points(&|row| range(&row.kernel, row.unit))),
    ];
    let lines = model
        .into_iter()
        .chain(kernel.into_iter().filter(|_| is_proved));
    let says_something = |line: &(&str, Vec<String>)| line.1.iter().any(|text| !text.is_empty());
    lines.filter(says_something).collect()
}

/// A line of figures for each arm, and below it what it does besides and what it asks for.
///
/// Where the publication's own machine is modelled, its figures stand beside ours.
pub(crate) fn table(study: &Study, arms: &Arms, width: usize) -> String {
    let is_published = !arms.is_proved && study.models_its_publication();
    let measures = arms.columns.iter().enumerate();
    let line = |row: &ArmRow| Line {
        name: row.arm.clone(),
        words: words(arms, row),
    };
    let measures = measures.map(|(index, name)| match is_published {
        true => published(arms, index, name),
        false => column(arms, index, name),
    });
    let columns = Columns {
        corner: arms.row.clone(),
        lines: arms.rows.iter().map(line).collect(),
        columns: rank(arms).into_iter().chain(measures).collect(),
    };
    let legend = match arms.legend() {
        none if none.is_empty() => none,
        legend => wrapped(&legend, width),
    };
    format!(
        "{}\n{}{}",
        bold(&arms.title),
        columns.to_text(width),
        legend
    )
}

fn rank(arms: &Arms) -> Option<Column> {
    let numbers = arms.rows.iter().map(|row| vec![row.rank.clone()]);
    arms.is_ranked().then(|| Column {
        head: "rank".to_owned(),
        parts: &[],
        numbers: numbers.collect(),
    })
}

/// The medians of a measure, with the least and the most of the runs where these differ.
fn column(arms: &Arms, index: usize, measure: &str) -> Column {
    let cells: Vec<Option<&Row>> = arms.rows.iter().map(|row| row.cells.get(index)).collect();
    let differ = |figure: fn(&Row) -> &Figure| {
        let mut cells = cells.iter().flatten();
        cells.any(|cell| !range(figure(cell), cell.unit).is_empty())
    };
    let (model, kernel) = (differ(|row| &row.model), differ(|row| &row.kernel));
    let parts: &'static [&'static str] = match (arms.is_proved, model || kernel) {
        (false, false) => &[],
        (false, true) => &["median", "min to max"],
        (true, false) => &["model", "kernel"],
        (true, true) => &["model", "min to max", "kernel", "min to max"],
    };
    let of_figure = |figure: &Figure, unit: Unit| {
        let range = (model || kernel).then(|| range(figure, unit));
        [Some(number(figure, unit)), range]
    };
    let numbers = |cell: &Row| {
        let mut figures = vec![of_figure(&cell.model, cell.unit)];
        figures.extend(arms.is_proved.then(|| of_figure(&cell.kernel, cell.unit)));
        figures.into_iter().flatten().flatten().collect()
    };
    let numbers = |cell: &Option<&Row>| cell.map(numbers).unwrap_or_default();
    Column {
        head: with_unit(measure, unit_of(&cells)),
        parts,
        numbers: cells.iter().map(numbers).collect(),
    }
}

/// The predictions of a measure, what was published, and how far they are apart.
fn published(arms: &Arms, index: usize, measure: &str) -> Column {
    let cells: Vec<Option<&Row>> = arms.rows.iter().map(|row| row.cells.get(index)).collect();
    let numbers = |cell: &Row| {
        let published = cell.published.as_ref();
        let published = published.map(|published| cell.unit.number(published.amount));
        vec![
            number(&cell.model, cell.unit),
            published.unwrap_or_default(),
            cell.published_error().map(percent).unwrap_or_default(),
        ]
    };
    let numbers = |cell: &Option<&Row>| cell.map(numbers).unwrap_or_default();
    Column {
        head: with_unit(measure, unit_of(&cells)),
        parts: &["model", "published", "off"],
        numbers: cells.iter().map(numbers).collect(),
    }
}

fn unit_of(cells: &[Option<&Row>]) -> Unit {
    let first = cells.iter().flatten().next();
    first.map_or(Unit::Count, |cell| cell.unit)
}

/// The least and the most of the runs, without their unit; empty where they do not differ, and
/// where two outcomes say more.
fn range(figure: &Figure, unit: Unit) -> String {
    let spread = stats::spread(figure.values());
    let Some((least, most)) = spread.filter(|_| figure.two_outcomes().is_none()) else {
        return String::new();
    };
    let (least, most) = (unit.number(least), unit.number(most));
    match least == most {
        true => String::new(),
        false => format!("{least} to {most}"),
    }
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

fn words(arms: &Arms, row: &ArmRow) -> String {
    let note = row.note.iter().map(|note| format!("{note}. "));
    note.collect::<String>() + &arms.words(row)
}

/// The numbers alone: their unit stands in the head.
fn number(figure: &Figure, unit: Unit) -> String {
    match figure {
        Figure::NoRun => String::new(),
        Figure::Unavailable(_) => "–".to_owned(),
        _ => figure.number(unit),
    }
}

fn with_unit(measure: &str, unit: Unit) -> String {
    match unit.word() {
        "" => measure.to_owned(),
        word => format!("{measure} ({word})"),
    }
}
