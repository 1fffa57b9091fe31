//! The table of arms: what each one is worth, what it does besides, and what it asks for.

use super::html::Escaped;
use super::pair::Pair;
use super::prose;
use study::compare::{Figure, Row, row_of};
use study::measure::{Better, Class};
use study::stats;
use study::verdict::{BySeed, Verdict};
use study::verdicts::ArmVerdict;
use study::{Arm, ArmTable, Effect, Study};

/// What a rank is.
const RANK: &str = "Rank: from the best place to the worst that the arm's runs allow. Arms whose \
                    runs overlap are not ranked against each other.";
/// What stands in place of a median that would be a coin toss.
const TWO_OUTCOMES: &str = "1 (2/5) or 9 (3/5): the runs have two outcomes, with 2 of 5 seeds \
                            about 1 and with 3 about 9.";

/// A table of arms with its figures, for a page or a terminal.
#[derive(Clone, Debug, PartialEq)]
pub struct Arms {
    /// What it shows.
    pub title: String,
    /// What a row is: "remedy".
    pub row: String,
    /// The arm that the side effects are seen against.
    pub baseline: String,
    /// The measures in its columns.
    pub columns: Vec<String>,
    /// One an arm, in the order that the study asks for.
    pub rows: Vec<ArmRow>,
    /// Whether a kernel was run, so that there are measured figures.
    pub is_proved: bool,
}

/// What one arm came to.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmRow {
    /// The arm's name.
    pub arm: String,
    /// Why it has no measured figures: "Not available here: vm.x", "For the model only".
    pub note: Option<String>,
    /// One a column.
    pub cells: Vec<Row>,
    /// Its place among the arms with a figure for what they are sorted by: "1", or "2 to 5" where
    /// the runs of several arms overlap, which does not rank them. Empty where nothing sorts them.
    pub rank: String,
    /// What differs from the baseline, in the study's words, each with how much.
    pub effects: Vec<String>,
    /// What it asks of the administrator; empty where the study does not say.
    pub asks: String,
}

/// The study's table of those `arms` for one kernel; `None` where the study has none. `verdicts`
/// are of the kernel's runs, or of the model's where no kernel was run.
#[must_use]
pub fn arms(
    study: &Study,
    arms: &[&str],
    pair: &Pair,
    rows: &[Row],
    verdicts: &[ArmVerdict],
) -> Option<Arms> {
    let asked = study.shown.table.as_ref()?;
    let is_wanted =
        |arm: &&Arm| arms.contains(&arm.name.as_str()) && !asked.except.contains(&arm.name);
    let wanted = study.arms.iter().filter(is_wanted);
    let line = |arm: &Arm| {
        let cells = asked.columns.iter();
        let cells = cells.filter_map(|measure| row_of(rows, measure, &arm.name).cloned());
        let cells: Vec<Row> = cells.collect();
        ArmRow {
            note: note(arm.model_only, pair, &cells),
            effects: effects(asked, &arm.name, rows, verdicts),
            arm: arm.name.clone(),
            asks: arm.asks.clone().unwrap_or_default(),
            rank: String::new(),
            cells,
        }
    };
    let mut lines: Vec<ArmRow> = wanted.map(line).collect();
    if pair.missed_pressure(study).is_none() {
        sort(&mut lines, study, asked, rows);
        rank(&mut lines, study, asked, (pair, rows));
    }
    let baseline = verdicts.first().map(|verdict| &verdict.baseline);
    let baseline = baseline.filter(|_| !asked.effects.is_empty());
    Some(Arms {
        title: asked.title.clone(),
        row: asked.row.clone(),
        baseline: baseline.cloned().unwrap_or_default(),
        columns: asked.columns.clone(),
        rows: lines,
        is_proved: pair.is_proved(),
    })
}

fn note(model_only: bool, pair: &Pair, cells: &[Row]) -> Option<String> {
    if model_only && pair.is_proved() {
        return Some("For the model only".to_owned());
    }
    let figure = |row: &Row| match pair.is_proved() {
        true => row.kernel.clone(),
        false => row.model.clone(),
    };
    let figures: Vec<Figure> = cells.iter().map(figure).collect();
    match figures.iter().find_map(Figure::unavailable) {
        Some(what) => Some(format!("Not available here: {what}")),
        None if figures.iter().all(|figure| *figure == Figure::NoRun) => {
            Some("Not run here".to_owned())
        }
        None => None,
    }
}

/// The best first; what was not measured behind what was, what has no number at the end.
fn sort(lines: &mut [ArmRow], study: &Study, asked: &ArmTable, rows: &[Row]) {
    let Some(by) = &asked.sort else { return };
    let measure = study.measures.iter().find(|measure| measure.name == *by);
    let sign = match measure.and_then(|measure| measure.better) {
        Some(Better::Lower) => 1.0,
        Some(Better::Higher) | None => -1.0,
    };
    let key = |line: &ArmRow| {
        let row = row_of(rows, by, &line.arm);
        let (kernel, model) = row.map_or((None, None), |r| (r.kernel.middle(), r.model.middle()));
        let number = kernel.or(model).map_or(f64::INFINITY, |it| sign * it);
        (kernel.is_none(), number)
    };
    let order = |a: &ArmRow, b: &ArmRow| {
        let ((no_a, a), (no_b, b)) = (key(a), key(b));
        no_a.cmp(&no_b).then(a.total_cmp(&b))
    };
    lines.sort_by(order);
}

/// The best and the worst place that the ranges of the runs allow each arm.
fn rank(lines: &mut [ArmRow], study: &Study, asked: &ArmTable, (pair, rows): (&Pair, &[Row])) {
    let Some(by) = &asked.sort else { return };
    let measure = study.measures.iter().find(|measure| measure.name == *by);
    let lower = measure.is_some_and(|measure| measure.better == Some(Better::Lower));
    let range = |line: &ArmRow| {
        let row = row_of(rows, by, &line.arm)?;
        // A prediction is not ranked among what was measured.
        let figure = match pair.is_proved() {
            true => &row.kernel,
            false => &row.model,
        };
        let values = figure.values();
        // By what is shown of them: what reads the same is the same.
        let shown = |value: f64| row.unit.number(value).parse().unwrap_or(value);
        let (least, most) = stats::spread(values)?;
        let (least, most): (f64, f64) = (shown(least), shown(most));
        Some(if lower {
            (-most, -least)
        } else {
            (least, most)
        })
    };
    let ranges: Vec<Option<(f64, f64)>> = lines.iter().map(range).collect();
    let known: Vec<(f64, f64)> = ranges.iter().flatten().copied().collect();
    for (line, range) in lines.iter_mut().zip(ranges) {
        let Some((least, most)) = range else { continue };
        let better = known.iter().filter(|other| other.0 > most).count();
        let worse = known.iter().filter(|other| other.1 < least).count();
        let (first, last) = (better + 1, known.len() - worse);
        line.rank = match first == last {
            true => first.to_string(),
            false => format!("{first} to {last}"),
        };
    }
}

/// What the verdicts of an arm say in the study's words, and what no run of it finished.
fn effects(asked: &ArmTable, arm: &str, rows: &[Row], verdicts: &[ArmVerdict]) -> Vec<String> {
    let effects = asked.effects.iter();
    let said = effects.filter_map(|effect| {
        let of = |verdict: &&ArmVerdict| verdict.arm == arm && verdict.measure == effect.measure;
        let row = row_of(rows, &effect.measure, arm)?;
        unfinished(row).or_else(|| said(effect, row, verdicts.iter().find(of)?))
    });
    said.collect()
}

fn said(effect: &Effect, row: &Row, verdict: &ArmVerdict) -> Option<String> {
    let difference = verdict.difference;
    let words = match difference.verdict {
        Verdict::NotDecided => return now_and_then(effect, difference.by_seed),
        Verdict::NoDifferenceShown | Verdict::NotSure | Verdict::TooFewRuns => return None,
        _ if difference.shift > 0.0 => effect.more.as_ref(),
        _ => effect.less.as_ref(),
    }?;
    Some(match difference.relative.abs() {
        _ if row.unit.class() == Class::Count => format!("{words}: {}", figure(row)),
        by if by.is_infinite() => format!("{words}: {}", figure(row)),
        by if by >= 2.0 => format!("{words}, {:.1} times as much", by + 1.0),
        by if by < 0.095 => format!("{words} by {:.1} %", by * 100.0),
        by => format!("{words} by {:.0} %", by * 100.0),
    })
}

/// An effect that some seeds have and others have not, or have the other way round.
fn now_and_then(effect: &Effect, by_seed: BySeed) -> Option<String> {
    let said = |words: &Option<String>, runs: usize| {
        let words = words.as_ref().filter(|_| runs > 0)?;
        Some(format!("{words} with {runs} of {} seeds", by_seed.seeds))
    };
    let more = said(&effect.more, by_seed.higher);
    more.or_else(|| said(&effect.less, by_seed.lower))
}

/// The figure that the verdict rests on: the kernel's where it has one.
fn figure(row: &Row) -> String {
    match row.kernel.median() {
        Some(_) => row.kernel.show(row.unit),
        None => row.model.show(row.unit),
    }
}

/// Runs that have no number for the measure: the step was killed, or never ended.
fn unfinished(row: &Row) -> Option<String> {
    let figure = match row.kernel {
        Figure::NoRun => &row.model,
        _ => &row.kernel,
    };
    let name = &row.measure;
    match figure {
        Figure::Missing(_, runs) => Some(format!("{name}: no figure in {runs} runs")),
        Figure::Known { values, without } if *without > 0 => {
            let runs = values.len() + without;
            Some(format!("{name}: no figure in {without} of {runs} runs"))
        }
        _ => None,
    }
}

impl Arms {
    /// As HTML: a line of figures for each arm, and a line of words below it.
    pub(super) fn to_html(&self) -> String {
        let kinds: &[&str] = match self.is_proved {
            true => &["predicted", "measured"],
            false => &["predicted"],
        };
        let span = kinds.len();
        let measure = |name: &String| {
            let name = Escaped(name);
            format!("<th scope=\"colgroup\" class=\"number\" colspan=\"{span}\">{name}</th>")
        };
        let measures: String = self.columns.iter().map(measure).collect();
        let rank = match self.is_ranked() {
            true => "<th scope=\"col\" class=\"number\" rowspan=\"2\">rank</th>",
            false => "",
        };
        let kind = |kind: &&str| format!("<th scope=\"col\" class=\"number\">{kind}</th>");
        let kinds: String = kinds.iter().map(kind).collect();
        let kinds = kinds.repeat(self.columns.len());
        let full = self.full_bar();
        let rows: String = self.rows.iter().map(|row| self.lines(row, full)).collect();
        let row = Escaped(&self.row);
        format!(
            "<div class=\"arms-frame\">\n<table class=\"stack arms\">\n<thead><tr>\
             <th scope=\"col\" rowspan=\"2\">{row}</th>\
             {rank}{measures}</tr>\n<tr>{kinds}</tr></thead>\n{rows}</table>\n</div>\n{}",
            match self.legend() {
                none if none.is_empty() => none,
                legend => format!("<p class=\"note\">{legend}</p>\n"),
            }
        )
    }

    /// Whether the study says what the arms are ranked by, and any has a figure for it.
    #[must_use]
    pub fn is_ranked(&self) -> bool {
        self.rows.iter().any(|row| !row.rank.is_empty())
    }

    /// What a rank is, and two outcomes, where there are any; empty where there is neither.
    #[must_use]
    pub fn legend(&self) -> String {
        let figures = self.rows.iter().flat_map(|row| &row.cells);
        let mut figures = figures.flat_map(|cell| [&cell.model, &cell.kernel]);
        let lines = [
            (self.is_ranked(), RANK),
            (figures.any(|it| it.two_outcomes().is_some()), TWO_OUTCOMES),
        ];
        let lines = lines.iter().filter(|(is_there, _)| *is_there);
        lines.map(|(_, line)| *line).collect::<Vec<_>>().join(" ")
    }

    /// The largest number of the first column: its bar is a full one.
    fn full_bar(&self) -> f64 {
        let first = self.rows.iter().filter_map(|row| row.cells.first());
        let medians = first.flat_map(|row| [row.model.middle(), row.kernel.middle()]);
        medians.flatten().fold(0.0, f64::max)
    }

    fn lines(&self, row: &ArmRow, full: f64) -> String {
        let mut cells = match self.is_ranked() {
            true => format!(
                "<td data-name=\"rank\" class=\"number\">{}</td>",
                Escaped(&row.rank)
            ),
            false => String::new(),
        };
        for (index, cell) in row.cells.iter().enumerate() {
            let full = if index == 0 { full } else { 0.0 };
            cells += &number(cell, "predicted", &cell.model, full);
            if self.is_proved {
                cells += &number(cell, "measured", &cell.kernel, full);
            }
        }
        let note = |note: &String| format!("<b>{}.</b> ", Escaped(note));
        let note: String = row.note.iter().map(note).collect();
        let (arm, words) = (
            Escaped(&row.arm),
            Escaped(prose::unbroken(&self.words(row))),
        );
        let kinds = if self.is_proved { 2 } else { 1 };
        let span = 1 + usize::from(self.is_ranked()) + self.columns.len() * kinds;
        format!(
            "<tbody><tr><th scope=\"row\">{arm}</th>{cells}</tr>\n\
             <tr class=\"words\"><td colspan=\"{span}\">{note}{words}</td></tr></tbody>\n"
        )
    }

    /// An arm's side effects, and what it asks for: one sentence each.
    #[must_use]
    pub fn words(&self, row: &ArmRow) -> String {
        let mut words = Vec::new();
        if row.arm == self.baseline {
            words.push("The side effects of the others are seen against it.".to_owned());
        }
        if !row.effects.is_empty() {
            words.push(format!("Side effects: {}.", row.effects.join(", ")));
        }
        if !row.asks.is_empty() {
            words.push(format!("Asks for {}.", row.asks));
        }
        words.join(" ")
    }
}

/// A figure in its column, on a bar where the column has bars.
fn number(row: &Row, kind: &str, figure: &Figure, full: f64) -> String {
    let name = Escaped(&row.measure);
    // The note below the arm says why there is no figure.
    let shown = match figure.unavailable() {
        Some(_) => "–".to_owned(),
        None => Escaped(figure.show(row.unit))
            .to_string()
            .replace(" or ", "<br>or "),
    };
    let range = figure
        .range(row.unit)
        .filter(|_| figure.two_outcomes().is_none());
    let range = range.map(|range| format!("<small>{}</small>", Escaped(range)));
    let bar = figure.middle().filter(|_| full > 0.0).map(|median| {
        let share = (median / full * 100.0).clamp(0.0, 100.0);
        format!("<span class=\"bar {kind}\" style=\"width:{share:.0}%\"></span>")
    });
    format!(
        "<td data-name=\"{name}, {kind}\" class=\"number\">{shown}{}{}</td>",
        range.unwrap_or_default(),
        bar.unwrap_or_default()
    )
}
