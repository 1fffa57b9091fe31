//! What a study came to, as text for a terminal.

use answer::report::arms::arms;
use answer::report::{Pair, data, prose};
use study::Study;
use study::compare::{Figure, PublishedError, Row, row_of};
use study::measure::Unit;
use study::stats;
use study::template;
use study::verdict::{Thresholds, Verdict};
use study::verdicts::{self, ArmVerdict, sum_up};

use crate::glance;
use crate::table::{Cell, Mood, Table};
use crate::term::{bad, bold};

/// How much of a study is listed.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Detail {
    /// List every measure of every arm, also where the study says what to show first
    #[arg(long)]
    all: bool,
    /// Write JSON, one document in a line, in place of the text
    #[arg(long, conflicts_with = "all")]
    json: bool,
    /// Write CSV, a line for each measure of each arm, in place of the text
    #[arg(long, conflicts_with_all = ["all", "json"])]
    csv: bool,
}

impl Detail {
    /// Whether data are wanted in place of the text.
    pub(crate) fn is_data(self) -> bool {
        self.json || self.csv
    }

    /// The data in place of the text, where it is asked for.
    pub(crate) fn data(
        self,
        study: &Study,
        pairs: &[Pair],
        notes: &[String],
        problems: &[String],
    ) -> anyhow::Result<Option<String>> {
        Ok(match (self.json, self.csv) {
            (true, _) => Some(data::json(study, pairs, notes, problems) + "\n"),
            (false, true) => Some(data::csv(study, pairs)),
            (false, false) => None,
        })
    }
}

/// The runs of one kernel that are to be shown.
pub(crate) struct View<'a> {
    pub(crate) study: &'a Study,
    /// The arms that were wanted, in the study's order.
    pub(crate) arms: Vec<&'a str>,
    pub(crate) pair: &'a Pair,
    /// Every measure on every arm.
    pub(crate) rows: Vec<Row>,
    /// Each arm against the first, by the kernel's runs, or the model's where there are none.
    pub(crate) verdicts: Vec<ArmVerdict>,
    /// Why nothing is ranked, where the study's pressure was not reached.
    missed: Option<String>,
    /// The columns of the terminal.
    pub(crate) width: usize,
}

impl<'a> View<'a> {
    pub(crate) fn new(study: &'a Study, arms: Vec<&'a str>, pair: &'a Pair, width: usize) -> Self {
        Self {
            study,
            arms,
            pair,
            rows: pair.rows(study),
            verdicts: pair.verdicts(study),
            missed: pair.missed_pressure(study),
            width,
        }
    }

    /// The author's answer with this kernel's numbers; empty where there is none, or where it
    /// speaks of arms that were not run. Where the pressure was not reached, that in its place.
    fn answer(&self) -> String {
        if let Some(missed) = &self.missed {
            return bad(wrapped(&sentence(missed), self.width)).to_string() + "\n";
        }
        let Some(answer) = &self.study.answer else {
            return self.spoken();
        };
        if !template::is_whole(answer, &self.rows) {
            return String::new();
        }
        match template::fill(answer, &self.rows) {
            Ok(text) if !text.is_empty() => wrapped(&text, self.width) + "\n",
            _ => String::new(),
        }
    }

    /// The verdicts in sentences, where the author has no answer.
    fn spoken(&self) -> String {
        let lines = verdicts::spoken(self.study, &self.verdicts);
        let lines: String = lines.iter().map(|line| wrapped(line, self.width)).collect();
        match lines.is_empty() {
            true => lines,
            false => lines + "\n",
        }
    }

    /// The answer, and as much of the figures as is wanted.
    pub(crate) fn body(&self, detail: Detail) -> String {
        let figures = match detail.all {
            true => self.every_figure(),
            false => self.glance(),
        };
        self.answer() + &figures
    }

    /// What the study asks to be shown first; every figure where it asks for no table.
    fn glance(&self) -> String {
        let Self {
            study,
            pair,
            rows,
            width,
            ..
        } = self;
        let Some(table) = arms(study, &self.arms, pair, rows, &self.verdicts) else {
            return self.every_figure();
        };
        let is_shown = |row: &&Row| table.columns.contains(&row.measure);
        let shown: Vec<Row> = rows.iter().filter(is_shown).cloned().collect();
        let missing = missing(&shown).into_iter();
        let missing = missing.map(|line| format!("no figure for {line}"));
        let lines = self.limits().chain(missing);
        let measures = study.measures.len();
        let arms = match self.arms.len() {
            1 => "on the arm".to_owned(),
            arms => format!("on each of {arms} arms"),
        };
        let hint = match measures {
            1 => format!("with --all: the measure {arms}"),
            _ => format!("with --all: each of {measures} measures {arms}"),
        };
        glance::charts(study, &self.arms, pair, rows, *width)
            + &glance::table(study, &table, *width)
            + &paragraphs(lines.chain(self.published_error()).chain([hint]), *width)
    }

    /// How far the prediction is from what was published of the machine that is modelled.
    fn published_error(&self) -> Option<String> {
        let modelled = self.study.models_its_publication();
        let error = PublishedError::of(&self.rows).filter(|_| modelled);
        error.map(|error| error.show())
    }

    /// Every measure of every arm, and what is to be said of them.
    fn every_figure(&self) -> String {
        let Self {
            study,
            rows,
            verdicts,
            width,
            ..
        } = self;
        let table = match self.pair.is_proved() {
            true => proved(study, &self.arms, rows, *width),
            false => predicted(study, &self.arms, rows, verdicts, *width),
        };
        let remarks = remarks(&self.arms, verdicts, rows);
        table + "\n" + &paragraphs(self.limits().chain(remarks), *width)
    }

    /// Where the recording is cut off, and what the dirty limits of the wanted arms come to where
    /// they are not what they say.
    fn limits(&self) -> impl Iterator<Item = String> {
        let of_these = |arm: &str| self.arms.contains(&arm);
        let limits = self.study.limits().into_iter();
        let limits =
            limits.filter_map(move |(arm, what)| of_these(&arm).then(|| format!("{arm}: {what}")));
        let cut = self.study.recorded.cut.iter();
        cut.map(|cut| format!("the recording: {cut}")).chain(limits)
    }
}

fn paragraphs(lines: impl IntoIterator<Item = String>, width: usize) -> String {
    lines
        .into_iter()
        .map(|line| wrapped(&line, width))
        .collect()
}

/// The study's title and question.
pub(crate) fn heading(study: &Study, width: usize) -> String {
    format!(
        "{}\n{}",
        bold(&study.title),
        wrapped(&study.question, width)
    )
}

/// What the model foretells: measures down, arms across, and where there are two arms, the change.
/// Arms that do not fit across go down.
fn predicted(
    study: &Study,
    arms: &[&str],
    rows: &[Row],
    verdicts: &[ArmVerdict],
    width: usize,
) -> String {
    let table = across(study, arms, rows, verdicts);
    if table.width() <= width {
        return table.to_string();
    }
    down(study, arms, rows, verdicts)
        .without_empty_columns()
        .to_text(width)
}

fn across(study: &Study, arms: &[&str], rows: &[Row], verdicts: &[ArmVerdict]) -> Table {
    let mut head: Vec<Cell> = vec!["".into()];
    head.extend(arms.iter().map(Cell::from));
    if arms.len() == 2 {
        head.push("change".into());
    }
    let mut table = Table::new(head);
    for measure in &study.measures {
        let of_arm = |arm: &&str| row_of(rows, &measure.name, arm);
        let figure = |row: Option<&Row>| row.map_or_else(dash, |row| row.model.show(row.unit));
        let mut cells: Vec<Cell> = vec![(&measure.name).into()];
        cells.extend(arms.iter().map(|arm| Cell::from(figure(of_arm(arm)))));
        if arms.len() == 2 {
            cells.push(change(verdicts, &measure.name, arms[1]));
        }
        table.row(cells);
        let ranges = arms.iter().map(|arm| {
            let row = of_arm(arm).filter(|row| matters(&row.model));
            range(row.map(|row| (&row.model, row.unit)))
        });
        let ranges: Vec<String> = ranges.collect();
        if ranges.iter().any(|range| !range.is_empty()) {
            let mut cells: Vec<Cell> = vec!["  min to max".into()];
            cells.extend(ranges.into_iter().map(Cell::from));
            table.row(cells);
        }
        let published = |arm: &&str| of_arm(arm).and_then(|row| row.published.as_ref());
        if arms.iter().any(|arm| published(arm).is_some()) {
            let texts = arms
                .iter()
                .map(|arm| published(arm).map_or("", |p| p.text.as_str()));
            let mut cells: Vec<Cell> = vec!["  published".into()];
            cells.extend(texts.map(Cell::from));
            table.row(cells);
        }
    }
    table
}

fn down(study: &Study, arms: &[&str], rows: &[Row], verdicts: &[ArmVerdict]) -> Table {
    let head = ["", "predicted", "min to max", "published", "change"];
    let mut table = Table::new(head.into_iter().map(Cell::from).collect());
    for measure in &study.measures {
        table.row(vec![(&measure.name).into()]);
        for arm in arms {
            let Some(row) = row_of(rows, &measure.name, arm) else {
                continue;
            };
            let published = row.published.as_ref().map_or("", |p| p.text.as_str());
            table.row(vec![
                format!("  {arm}").into(),
                row.model.show(row.unit).into(),
                range(Some((&row.model, row.unit))).into(),
                published.into(),
                change(verdicts, &measure.name, arm),
            ]);
        }
    }
    table
}

/// What was published, what the kernel did and what the model foretold, side by side; what there is
/// nothing of is left out.
fn proved(study: &Study, arms: &[&str], rows: &[Row], width: usize) -> String {
    let measured = rows.iter().any(|row| row.kernel != Figure::NoRun);
    let foretold = rows.iter().any(|row| row.model != Figure::NoRun);
    let reported = rows.iter().any(|row| row.published.is_some());
    let columns = |name: String, published: &str, kernel: [String; 2], model: [String; 2], gap| {
        let mut cells: Vec<Cell> = vec![name.into()];
        let of = |texts: [String; 2]| texts.into_iter().map(Cell::from);
        cells.extend(reported.then(|| published.into()));
        cells.extend(measured.then(|| of(kernel)).into_iter().flatten());
        cells.extend(foretold.then(|| of(model)).into_iter().flatten());
        let gap: [Cell; 2] = gap;
        cells.extend((measured && foretold).then_some(gap).into_iter().flatten());
        cells
    };
    let head = |name: &str| [name, "min to max"].map(str::to_owned);
    let [kernel, model] = ["measured", "predicted"].map(head);
    let gap_head = ["gap".into(), Cell::default()];
    let mut table = Table::new(columns(String::new(), "published", kernel, model, gap_head));
    for measure in &study.measures {
        table.row(vec![(&measure.name).into()]);
        for row in arms
            .iter()
            .filter_map(|arm| row_of(rows, &measure.name, arm))
        {
            let published = row.published.as_ref().map_or("", |p| p.text.as_str());
            let figure = |figure: &Figure| [figure.show(row.unit), range(Some((figure, row.unit)))];
            let (kernel, model) = (figure(&row.kernel), figure(&row.model));
            table.row(columns(
                format!("  {}", row.arm),
                published,
                kernel,
                model,
                gap(row),
            ));
        }
    }
    table.without_empty_columns().to_text(width)
}

/// How many figures are within their tolerance, and which tolerances hold.
pub(crate) fn fidelity(rows: &[Row]) -> String {
    let compared: Vec<bool> = rows.iter().filter_map(Row::holds).collect();
    let held = compared.iter().filter(|holds| **holds).count();
    format!(
        "the prediction holds in {held} of {} figures ({})",
        compared.len(),
        study::score::rules()
    )
}

/// Whether every figure that can be compared is within its tolerance.
pub(crate) fn holds(rows: &[Row]) -> bool {
    rows.iter().filter_map(Row::holds).all(|holds| holds)
}

/// What is to be said below a table: how each arm compares with the first, and why figures are
/// missing.
fn remarks(arms: &[&str], verdicts: &[ArmVerdict], rows: &[Row]) -> Vec<String> {
    let verdicts = arms.iter().filter_map(|arm| sum_up(verdicts, arm));
    let gaps = missing(rows).into_iter();
    verdicts
        .chain(unavailable(rows))
        .chain(gaps.map(|line| format!("no figure for {line}")))
        .collect()
}

/// The arms that were not run because a kernel lacks what they ask for.
fn unavailable(rows: &[Row]) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        for (figure, of) in [(&row.kernel, ""), (&row.model, " to the model")] {
            let line = |what| format!("{}: not available here{of}: {what}", row.arm);
            let line = figure.unavailable().map(line);
            lines.extend(line.filter(|line| !lines.contains(line)));
        }
    }
    lines
}

/// Why some figures are missing, each reason once.
fn missing(rows: &[Row]) -> Vec<String> {
    let mut reasons = Vec::new();
    for row in rows {
        for figure in [&row.model, &row.kernel] {
            if let Figure::Missing(why, _) = figure {
                let reason = format!("{} on {}: {why}", row.measure, row.arm);
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
        }
    }
    reasons
}

/// Whether the runs differ by more than a verdict's noise floor.
fn matters(figure: &Figure) -> bool {
    let floor = Thresholds::default().noise_floor;
    let (spread, median) = (stats::spread(figure.values()), figure.median());
    let spread = spread.zip(median);
    spread.is_some_and(|((least, most), median)| most - least > floor * median.abs())
}

/// The least and the most of the runs; empty where they do not differ, and where two outcomes say
/// more.
fn range(figure: Option<(&Figure, Unit)>) -> String {
    let figure = figure.filter(|(figure, _)| figure.two_outcomes().is_none());
    let range = figure.and_then(|(figure, unit)| figure.range(unit));
    range.unwrap_or_default()
}

fn change(verdicts: &[ArmVerdict], measure: &str, arm: &str) -> Cell {
    let found = verdicts
        .iter()
        .find(|it| it.measure == measure && it.arm == arm);
    let Some(verdict) = found else {
        return Cell::default();
    };
    let by = verdict.by();
    match verdict.difference.verdict {
        Verdict::Better => Cell::new(format!("{by}, better"), Mood::Good),
        Verdict::Worse => Cell::new(format!("{by}, worse"), Mood::Bad),
        Verdict::Differs => by.into(),
        Verdict::NotDecided => "not decided".into(),
        Verdict::NotSure => format!("{by}, not sure").into(),
        Verdict::NoDifferenceShown if verdict.difference.shift == 0.0 => "same".into(),
        Verdict::NoDifferenceShown => "no difference shown".into(),
        Verdict::TooFewRuns => "too few runs".into(),
    }
}

fn gap(row: &Row) -> [Cell; 2] {
    let Some(score) = row.score() else {
        return [Cell::default(), Cell::default()];
    };
    let mood = match score.holds() {
        true => Mood::Good,
        false => Mood::Bad,
    };
    [score.gap.show().into(), Cell::new(score.word(), mood)]
}

/// With a capital letter and a stop.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase());
    let first: String = first.into_iter().flatten().collect();
    format!("{first}{}.", letters.as_str())
}

fn dash() -> String {
    "–".to_owned()
}

/// The text broken between words to fit `width` columns, paragraph by paragraph, a newline at its
/// end.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let paragraphs = prose::paragraphs(text);
    let filled = paragraphs.iter().map(|words| filled(words, width));
    filled.collect::<Vec<_>>().join("\n")
}

fn filled(words: &[String], width: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in words {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_fits_its_width() {
        assert_eq!(wrapped("a bc def g", 4), "a bc\ndef\ng\n");
        assert_eq!(wrapped("a 12 %\n\nb", 5), "a\n12 %\n\nb\n");
        assert!(
            wrapped("toolongaword x", 4)
                .lines()
                .eq(["toolongaword", "x"])
        );
    }
}
