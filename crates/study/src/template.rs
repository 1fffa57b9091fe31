//! The study author's words with this run's numbers in them.
//!
//! A placeholder names a measure and an arm: `{available after setting/raised}`. It may calculate,
//! from left to right, with ` - `, ` + `, ` * ` and ` / ` between spaces, with literal amounts, and
//! end in the unit to be shown: `{idle/raised - set/raised / 1500000 kB}`, `{free/raised in GiB}`.
//! The number is the kernel's where a kernel was measured, else the model's; where the kernel gave
//! others but not this one, it says "(predicted)".

use crate::compare::{Figure, Row, row_of};
use crate::measure::{Class, Unit};
use crate::stats::{self, Group};

/// What stands for a number that no run has.
const NO_FIGURE: &str = "(no figure)";

/// Why a text cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("placeholder \"{{{placeholder}}}\": {what}")]
pub struct TemplateError {
    /// The text between the braces.
    pub placeholder: String,
    /// What is wrong with it, and the way out.
    pub what: String,
}

/// Fills in every placeholder from the rows of a comparison.
///
/// # Errors
/// The first placeholder that names no measure or arm, or mixes classes.
pub fn fill(text: &str, rows: &[Row]) -> Result<String, TemplateError> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        let error = |what: String| TemplateError {
            placeholder: behind.chars().take(80).collect(),
            what,
        };
        let (placeholder, after) = behind
            .split_once('}')
            .ok_or_else(|| error("it has no closing brace".to_owned()))?;
        let placeholder = placeholder.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown = evaluate(&placeholder, rows).map_err(|what| TemplateError {
            placeholder: placeholder.clone(),
            what,
        })?;
        out += before;
        out += &shown;
        rest = after;
    }
    Ok(out + rest)
}

/// Whether every arm that the text names was run, or predicted: else it is full of holes.
#[must_use]
pub fn is_whole(text: &str, rows: &[Row]) -> bool {
    let placeholders = text.split('{').skip(1);
    let placeholders = placeholders.filter_map(|piece| Some(piece.split_once('}')?.0));
    let is_there = |token: &String| {
        let named = token.rsplit_once('/');
        named.is_none_or(|(measure, arm)| {
            let row = row_of(rows, measure, arm);
            row.is_none_or(|row| [&row.model, &row.kernel] != [&Figure::NoRun; 2])
        })
    };
    placeholders
        .flat_map(|placeholder| tokens(placeholder.split(" in ").next().unwrap_or_default()))
        .all(|token| is_there(&token))
}

/// An amount in base units, and the unit it is shown in.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Amount {
    base: f64,
    unit: Unit,
    precise: Precise,
    origin: Origin,
}

/// Whose number it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The kernel's, or the author's, or the model's where no kernel was run.
    Usual,
    /// The model's, for want of the kernel's.
    Predicted,
}

/// Whether a plain number is a ratio, which has decimals, or a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precise {
    Count,
    Ratio,
}

fn evaluate(placeholder: &str, rows: &[Row]) -> Result<String, String> {
    let (expression, wanted) = match placeholder.rsplit_once(" in ") {
        Some((expression, word)) if unit(word).is_some() => (expression, unit(word)),
        _ => (placeholder, None),
    };
    let tokens = tokens(expression);
    let (first, rest) = tokens
        .split_first()
        .ok_or("it is empty; write MEASURE/ARM")?;
    let mut value = operand(first, rows)?;
    for pair in rest.chunks(2) {
        let [operator, word] = pair else {
            return Err("it ends in an operator".to_owned());
        };
        let operand = operand(word, rows)?;
        if operator == "/" && literal(word).is_some_and(|literal| literal.base == 0.0) {
            return Err(format!("it is divided by \"{word}\", which is nothing"));
        }
        value = match (value, operand) {
            // A ratio to a figure that is zero is none.
            (Some(_), Some(operand)) if operator == "/" && operand.base == 0.0 => None,
            (Some(value), Some(operand)) => Some(value.apply(operator, operand)?),
            _ => None,
        };
    }
    if let Some(shown) = two_outcomes(&tokens, wanted, rows) {
        return Ok(shown);
    }
    let value = value.filter(|value| value.base.is_finite());
    let shown = value.map_or(Ok(NO_FIGURE.to_owned()), |value| value.show(wanted))?;
    let range = range(&tokens, rows).filter(|_| wanted.is_none());
    Ok(shown + &range.unwrap_or_default())
}

/// The figure that a placeholder without a calculation stands for.
fn figure_of<'a>(tokens: &[String], rows: &'a [Row]) -> Option<(&'a Row, &'a Figure)> {
    let [token] = tokens else { return None };
    let (measure, arm) = token.rsplit_once('/')?;
    let row = row_of(rows, measure, arm)?;
    Some(match row.kernel.median() {
        Some(_) => (row, &row.kernel),
        None => (row, &row.model),
    })
}

/// "54.5 % or 91.0 % (with 2 and 3 of 5 seeds)" for a figure whose runs have two outcomes.
fn two_outcomes(tokens: &[String], wanted: Option<Unit>, rows: &[Row]) -> Option<String> {
    let (row, figure) = figure_of(tokens, rows)?;
    let two = figure.two_outcomes()?;
    let unit = wanted
        .filter(|unit| unit.class() == row.unit.class())
        .unwrap_or(row.unit);
    let show = |group: Group| unit.show(group.median * row.unit.worth() / unit.worth());
    Some(format!(
        "{} or {} (with {} and {} of {} seeds)",
        show(two.low),
        show(two.high),
        two.low.runs,
        two.high.runs,
        figure.values().len()
    ))
}

/// " (54.0 % to 93.1 %)" behind a figure whose runs differ widely: its median alone would pass for
/// what always happens.
fn range(tokens: &[String], rows: &[Row]) -> Option<String> {
    let (row, figure) = figure_of(tokens, rows)?;
    let range = figure.range(row.unit);
    let range = range.filter(|_| stats::is_wide(figure.values()))?;
    Some(format!(" ({range})"))
}

/// Operators and what stands between them; an operand may be several words.
fn tokens(expression: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for word in expression.split_whitespace() {
        match tokens.last_mut() {
            Some(last) if !is_operator(last) && !is_operator(word) => *last += &format!(" {word}"),
            _ => tokens.push(word.to_owned()),
        }
    }
    tokens
}

fn is_operator(word: &str) -> bool {
    matches!(word, "-" | "+" | "*" | "/")
}

/// A measure on an arm, or a literal; `None` where no run has the number.
fn operand(token: &str, rows: &[Row]) -> Result<Option<Amount>, String> {
    if let Some(literal) = literal(token) {
        return Ok(Some(literal));
    }
    let Some((measure, arm)) = token.rsplit_once('/') else {
        return Err(format!("\"{token}\" is neither MEASURE/ARM nor an amount"));
    };
    let row = row_of(rows, measure, arm);
    let row =
        row.ok_or_else(|| format!("the study has no measure \"{measure}\" on an arm \"{arm}\""))?;
    let is_proved = rows.iter().any(|row| row.kernel.median().is_some());
    let (median, origin) = match row.kernel.median() {
        None if is_proved => (row.model.median(), Origin::Predicted),
        None => (row.model.median(), Origin::Usual),
        measured => (measured, Origin::Usual),
    };
    Ok(median.map(|median| Amount {
        base: median * row.unit.worth(),
        unit: row.unit,
        precise: Precise::Count,
        origin,
    }))
}

fn literal(token: &str) -> Option<Amount> {
    let (number, word) = token.split_once(' ').unwrap_or((token, "count"));
    let (number, unit): (f64, Unit) = (number.parse().ok()?, unit(word)?);
    number.is_finite().then_some(Amount {
        base: number * unit.worth(),
        unit,
        precise: Precise::Count,
        origin: Origin::Usual,
    })
}

fn unit(word: &str) -> Option<Unit> {
    let found = Unit::WORDS.iter().find(|(known, _)| *known == word);
    found.map(|&(_, unit)| unit)
}

impl Amount {
    fn apply(self, operator: &str, other: Self) -> Result<Self, String> {
        let alike = self.unit.class() == other.unit.class();
        let plain = other.unit.class() == Class::Count;
        let origin = match other.origin {
            Origin::Predicted => Origin::Predicted,
            Origin::Usual => self.origin,
        };
        let with = |base| Self {
            base,
            origin,
            ..self
        };
        match operator {
            "-" if alike => Ok(with(self.base - other.base)),
            "+" if alike => Ok(with(self.base + other.base)),
            "*" if plain => Ok(with(self.base * other.base)),
            "/" if plain && !alike => Ok(with(self.base / other.base)),
            "/" if alike => Ok(Self {
                base: self.base / other.base,
                unit: Unit::Count,
                precise: Precise::Ratio,
                origin,
            }),
            _ => Err(format!(
                "\"{operator}\" between a size, a time and a count; both must be alike"
            )),
        }
    }

    fn show(self, wanted: Option<Unit>) -> Result<String, String> {
        let unit = wanted.unwrap_or(self.unit);
        if unit.class() != self.unit.class() {
            return Err(format!("it cannot be shown in {}", unit.word()));
        }
        let number = match self.precise {
            Precise::Ratio if self.base.abs() >= 10.0 => format!("{:.0}", self.base),
            Precise::Ratio => format!("{:.2}", self.base),
            Precise::Count => unit.show(self.base / unit.worth()),
        };
        Ok(match self.origin {
            Origin::Usual => number,
            Origin::Predicted => format!("{number} (predicted)"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Curves;
    use crate::measure::Kind;

    fn rows() -> Vec<Row> {
        let known = Figure::known;
        let row = |measure: &str, unit, model, kernel| Row {
            measure: measure.to_owned(),
            arm: "raised".to_owned(),
            unit,
            kind: Kind::Size,
            floor: 0.0,
            published: None,
            model,
            kernel,
            curves: Curves::default(),
        };
        vec![
            row("before", Unit::Mib, known(3519.0), Figure::NoRun),
            row("after", Unit::Mib, known(1.0), known(1429.0)),
            row("re-read", Unit::Seconds, known(1.0), known(22.36)),
            row("reset", Unit::Seconds, known(1.0), known(0.61)),
            row(
                "lost",
                Unit::Count,
                Figure::Missing("why".to_owned(), 1),
                Figure::NoRun,
            ),
        ]
    }

    fn filled(text: &str) -> String {
        match fill(text, &rows()) {
            Ok(text) => text,
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_kernels_number_goes_before_the_models() {
        assert_eq!(filled("left: {after/raised}."), "left: 1429 MiB.");
        assert_eq!(
            filled("{re-read/raised}, {reset/raised}"),
            "22.4 s, 0.610 s"
        );
    }

    #[test]
    fn a_figure_whose_runs_differ_widely_is_not_told_as_its_median_alone() {
        let mut rows = rows();
        rows[2].kernel = Figure::Known {
            values: vec![10.0, 20.0, 30.0],
            without: 0,
        };
        let text = fill("{re-read/raised}, {re-read/raised / 2}", &rows);
        assert_eq!(text.as_deref(), Ok("20.0 s (10.0 s to 30.0 s), 10.0 s"));
    }

    #[test]
    fn a_figure_of_two_outcomes_is_told_as_both() {
        let mut rows = rows();
        rows[2].kernel = Figure::Known {
            values: vec![1.0, 1.1, 9.0, 9.0, 9.1],
            without: 0,
        };
        let text = fill("{re-read/raised}; {re-read/raised in ms}", &rows);
        let expected = "1.05 s or 9.00 s (with 2 and 3 of 5 seeds); 1050 ms or 9000 ms (with 2 and \
                        3 of 5 seeds)";
        assert_eq!(text.as_deref(), Ok(expected));
    }

    #[test]
    fn a_number_that_is_not_the_kernels_says_so_where_others_are() {
        let one = filled("{before/raised}, {before/raised - after/raised}");
        assert_eq!(one, "3519 MiB (predicted), 2090 MiB (predicted)");
        let mut rows = rows();
        rows.iter_mut().for_each(|row| row.kernel = Figure::NoRun);
        assert_eq!(fill("{before/raised}", &rows).as_deref(), Ok("3519 MiB"));
    }

    #[test]
    fn placeholders_calculate_from_left_to_right() {
        assert_eq!(filled("{re-read/raised / reset/raised}"), "37");
        assert_eq!(filled("{after/raised / 952.6667 MiB}"), "1.50");
        assert_eq!(filled("{after/raised - 405 MiB in GiB}"), "1.00 GiB");
        assert_eq!(filled("{67584 kB / 3}"), "22528 kB");
        assert_eq!(filled("{512 * 11 * 3}"), "16896");
    }

    #[test]
    fn a_text_about_an_arm_that_was_not_run_has_holes() {
        let mut rows = rows();
        let texts = ["{before/raised in GiB}", "{3 - lost/raised}", "none"];
        assert!(texts.iter().all(|text| is_whole(text, &rows)));
        rows.iter_mut().for_each(|row| row.model = Figure::NoRun);
        assert!(is_whole("{after/raised}", &rows), "the kernel has a number");
        assert!(texts[..2].iter().all(|text| !is_whole(text, &rows)));
    }

    #[test]
    fn a_number_that_no_run_has_is_said() {
        assert_eq!(filled("{lost/raised} of 3"), "(no figure) of 3");
        assert_eq!(filled("{3 - lost/raised}"), "(no figure)");
    }

    #[test]
    fn nothing_is_divided_by_zero() {
        let mut rows = rows();
        rows[3].kernel = Figure::known(0.0);
        let shown = |text| fill(text, &rows).map_err(|error| error.to_string());
        let none = Ok("(no figure)".to_owned());
        assert_eq!(shown("{re-read/raised / reset/raised}"), none);
        assert_eq!(shown("{reset/raised / reset/raised * 3}"), none);
        let error = shown("{re-read/raised / 0 s}").unwrap_err();
        assert!(
            error.contains("divided by \"0 s\", which is nothing"),
            "{error}"
        );
        assert!(shown("{re-read/raised * inf}").is_err());
        assert!(shown("{re-read/raised * 1e999}").is_err());
    }

    #[test]
    fn mistakes_name_their_placeholder() {
        assert_eq!(
            filled("{after/lowered}"),
            "placeholder \"{after/lowered}\": the study has no measure \"after\" on an arm \
             \"lowered\""
        );
        assert_eq!(
            filled("{after/raised - reset/raised}"),
            "placeholder \"{after/raised - reset/raised}\": \"-\" between a size, a time and a \
             count; \
             both must be alike"
        );
        assert_eq!(
            filled("{after/raised in s}"),
            "placeholder \"{after/raised in s}\": it cannot be shown in s"
        );
        assert_eq!(
            filled("open {after"),
            "placeholder \"{after}\": it has no closing brace"
        );
        assert_eq!(
            filled("{}"),
            "placeholder \"{}\": it is empty; write MEASURE/ARM"
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[{}a-z/ +*é0-9-]{0,60}") {
            let _ = fill(&text, &rows());
        }
    }
}
