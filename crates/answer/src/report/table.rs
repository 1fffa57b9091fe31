//! The tables: predicted against measured, and published beside ours.

use super::html::Escaped;
use super::pair::Pair;
use study::Study;
use study::compare::{Figure, PublishedError, Row};
use study::measure::{Class, Kind, Unit};
use study::score;
use study::stats;

/// Predicted, measured and the calibration error of every measure on every arm; without a proof
/// there is only the prediction, and without anything published no column for it.
pub(super) fn comparison(rows: &[Row], arms: usize, pair: &Pair) -> String {
    let columns = Columns::of(rows, pair);
    let measures = rows.chunks(arms.max(1));
    let body: String = measures.map(|rows| measure(rows, &columns)).collect();
    let head = |column: &Column| {
        let (class, name) = (column.class(), column.name());
        format!("<th scope=\"col\" class=\"{class}\">{name}</th>")
    };
    let head: String = columns.0.iter().map(head).collect();
    format!(
        "<table class=\"stack compare\">\n<thead><tr><th scope=\"col\">Measure</th>{head}</tr>\
         </thead>\n{body}</table>\n"
    )
}

/// The columns behind the measure's name that a comparison has.
struct Columns(Vec<Column>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Arm,
    Published,
    Predicted,
    Measured,
    Error,
}

impl Columns {
    fn of(rows: &[Row], pair: &Pair) -> Self {
        let mut columns = vec![Column::Arm];
        if rows.iter().any(|row| row.published.is_some()) {
            columns.push(Column::Published);
        }
        columns.push(Column::Predicted);
        if pair.is_proved() {
            columns.extend([Column::Measured, Column::Error]);
        }
        Self(columns)
    }
}

impl Column {
    fn name(self) -> &'static str {
        match self {
            Self::Arm => "Arm",
            Self::Published => "Published",
            Self::Predicted => "Predicted",
            Self::Measured => "Measured",
            Self::Error => "Calibration error",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Arm | Self::Error => "words",
            Self::Published | Self::Predicted | Self::Measured => "number",
        }
    }

    fn cell(self, row: &Row) -> String {
        match self {
            Self::Arm => Escaped(&row.arm).to_string(),
            Self::Published => {
                let text = row
                    .published
                    .as_ref()
                    .map_or("", |published| &published.text);
                Escaped(text).to_string()
            }
            Self::Predicted => figure(&row.model, row.unit),
            Self::Measured => figure(&row.kernel, row.unit),
            Self::Error => calibration_error(row),
        }
    }
}

/// The rows of one measure.
fn measure(rows: &[Row], columns: &Columns) -> String {
    let mut text = String::from("<tbody>\n");
    for (index, row) in rows.iter().enumerate() {
        text += "<tr>";
        if index == 0 {
            let (span, name, allowed) = (rows.len(), Escaped(&row.measure), allowed(row.kind));
            text += &format!(
                "<th scope=\"rowgroup\" rowspan=\"{span}\">{name}<small>{allowed}</small></th>"
            );
        }
        for column in &columns.0 {
            let (name, class, cell) = (column.name(), column.class(), column.cell(row));
            text += &format!("<td data-name=\"{name}\" class=\"{class}\">{cell}</td>");
        }
        text += "</tr>\n";
    }
    text + "</tbody>\n"
}

fn figure(figure: &Figure, unit: Unit) -> String {
    let shown = Escaped(figure.show(unit));
    match figure {
        Figure::NoRun => String::new(),
        Figure::Unavailable(what) => format!("{shown} here<small>{}</small>", Escaped(what)),
        Figure::Missing(why, _) => format!("{shown}<small>{}</small>", Escaped(why)),
        Figure::Known { values, .. } => figure.range(unit).map_or_else(
            || shown.to_string(),
            |range| {
                let (runs, range) = (values.len(), Escaped(range));
                format!("{shown}<small>{range} in {runs} runs</small>")
            },
        ),
    }
}

/// The kind of a figure and how far model and kernel may be apart.
fn allowed(kind: Kind) -> String {
    match kind {
        Kind::Line => "a watermark or tunable, equal".to_owned(),
        Kind::Size => format!("a size, at most {:.0} % off", score::SIZE * 100.0),
        Kind::Time => format!("a time, at most {:.0} % off", score::TIME * 100.0),
        Kind::Pages | Kind::Events => format!("a counter, at most {} times", score::FACTOR),
        Kind::Fate => "a count, equal shares".to_owned(),
        Kind::Curve => over_time(score::CURVE),
        Kind::Merging => over_time(score::MERGING),
        Kind::Reach => format!(
            "a time until something is reached, at most {:.0} % off",
            score::REACH * 100.0
        ),
        Kind::Share => format!("a share, at most {} points off", score::SHARE),
        Kind::Scan => format!("ksmd's CPU time, at most {:.0} % off", score::SCAN * 100.0),
    }
}

fn over_time(tolerance: f64) -> String {
    format!(
        "the mean over time; at every moment, at most {:.0} % of the highest off",
        tolerance * 100.0
    )
}

fn calibration_error(row: &Row) -> String {
    match row.score() {
        Some(score) => {
            let (gap, word) = (Escaped(score.gap.show()), score.word());
            let class = match score.holds() {
                true => "good",
                false => "bad",
            };
            format!("<span class=\"mark {class}\">{gap}, {word}</span>")
        }
        None => "<small>no figure to compare</small>".to_owned(),
    }
}

/// How far the model is off, in a sentence.
pub(super) fn calibration_summary(rows: &[Row]) -> String {
    let compared: Vec<&Row> = rows.iter().filter(|row| row.score().is_some()).collect();
    if compared.is_empty() {
        return "no figure has both a prediction and a measurement.".to_owned();
    }
    let holds = compared
        .iter()
        .filter(|row| row.holds() == Some(true))
        .count();
    let errors = |kind: Kind| {
        let gaps = compared.iter().filter(|row| row.kind == kind);
        let gaps = gaps.filter_map(|row| row.score()?.gap.relative().map(f64::abs));
        let mut gaps: Vec<f64> = gaps.map(|gap| gap * 100.0).collect();
        gaps.sort_by(f64::total_cmp);
        let shown = |share| Some(Unit::Percent.show(stats::quantile(&gaps, share)?));
        Some(format!(
            "{} in the median, {} in nine of ten",
            shown(0.5)?,
            shown(0.9)?
        ))
    };
    let mut text = format!(
        "{holds} of {} figures are within their tolerance",
        compared.len()
    );
    for (kind, name) in [(Kind::Size, "sizes"), (Kind::Time, "times")] {
        if let Some(errors) = errors(kind) {
            text += &format!("; {name} are off by {errors} figures");
        }
    }
    text + "."
}

/// What was published, beside what came out here.
pub(super) fn published(study: &Study, pair: &Pair, rows: &[Row]) -> Option<String> {
    let digits = usize::from(study.models_its_publication());
    let mut body = String::new();
    for row in rows {
        let Some(published) = &row.published else {
            continue;
        };
        let (ours, whose) = match (&row.kernel, pair.is_proved()) {
            (Figure::NoRun | Figure::Unavailable(_), true) => (&row.model, " (predicted)"),
            (kernel, true) => (kernel, ""),
            (_, false) => (&row.model, ""),
        };
        let ratio = ours.median().map(|median| match row.unit.class() {
            _ if median.total_cmp(&published.amount).is_eq() => "equal".to_owned(),
            Class::Count => format!("{:+}", median - published.amount),
            _ => format!(
                "{:+.*} %",
                digits,
                (median / published.amount - 1.0) * 100.0
            ),
        });
        body += &format!(
            "<tr><th scope=\"row\">{}</th><td data-name=\"Arm\">{}</td>\
             <td data-name=\"Published\" class=\"number\">{}</td>\
             <td data-name=\"Ours\" class=\"number\">{}</td>\
             <td data-name=\"Difference\" class=\"number\">{}</td></tr>\n",
            Escaped(&row.measure),
            Escaped(&row.arm),
            Escaped(&published.text),
            Escaped(ours.show(row.unit) + whose),
            Escaped(ratio.unwrap_or_default()),
        );
    }
    let source = study
        .publication
        .as_deref()
        .map(super::html::paragraphs)
        .unwrap_or_default();
    let kind = if pair.is_proved() {
        "measured"
    } else {
        "predicted"
    };
    let table = format!(
        "<table class=\"stack\">\n<thead><tr><th scope=\"col\">Measure</th>\
         <th scope=\"col\">Arm</th><th scope=\"col\" class=\"number\">Published</th>\
         <th scope=\"col\" class=\"number\">Ours, {kind}</th>\
         <th scope=\"col\" class=\"number\">Difference</th></tr></thead>\n\
         <tbody>\n{body}</tbody></table>\n{}",
        published_error(study, rows)
    );
    match (source.is_empty(), body.is_empty()) {
        (true, true) => None,
        (false, true) => Some(source),
        (_, false) => Some(source + &table),
    }
}

/// How far off the prediction is, where the publication's own machine is modelled.
fn published_error(study: &Study, rows: &[Row]) -> String {
    let error = PublishedError::of(rows).filter(|_| study.models_its_publication());
    error.map_or_else(String::new, |error| format!("<p>{}</p>\n", error.show()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_compared_is_no_score() {
        let said = calibration_summary(&[]);
        assert_eq!(said, "no figure has both a prediction and a measurement.");
    }
}
