//! `plimsoll fidelity`: how far the model is off, over all records, the worst figure first.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::bail;
use lab::record::Store;
use lab::report::compare::{Fidelity, Gap, Row, worst_first};
use lab::report::gather::gather;
use lab::study::{BUILT_IN, Study};

use crate::exit::ExitCode;
use crate::results;
use crate::table::{Cell, Mood, Table};
use crate::term::{self, Canvas};

/// Compare the model with every recorded kernel, measure by measure, the worst first
///
/// The exit code is 1 when a figure is outside its tolerance, or was measured but not predicted.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Studies by name or path [default: all built-in ones]
    studies: Vec<String>,
    /// The folder below which `prove` wrote its records
    #[arg(long, value_name = "DIR", default_value = "records")]
    records: PathBuf,
}

/// Compares.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut figures = Vec::new();
    for name in studies(args.studies) {
        figures.extend(of_study(&Study::find(&name)?, &args.records)?);
    }
    if figures.is_empty() {
        let folder = args.records.display();
        bail!("nothing to compare: no record in {folder}; `plimsoll prove STUDY` makes them");
    }
    if figures.iter().all(|figure| figure.row.gap().is_none()) {
        bail!("nothing to compare: the model predicts none of the kernels in the records");
    }
    let rows: Vec<Row> = figures.iter().map(|figure| figure.row.clone()).collect();
    let mut out = term::out();
    write!(out, "{}", table(figures))?;
    let line = results::wrapped(&results::fidelity(&rows), Canvas::detect().width);
    write!(out, "\n{line}")?;
    let predicted = |row: &Row| row.gap().is_some() || row.kernel.median().is_none();
    match results::holds(&rows) && rows.iter().all(predicted) {
        true => Ok(ExitCode::Done),
        false => Ok(ExitCode::No),
    }
}

/// One measure on one arm, and where it was taken.
struct Figure {
    study: String,
    kernel: String,
    row: Row,
}

fn studies(named: Vec<String>) -> Vec<String> {
    match named.is_empty() {
        true => BUILT_IN
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect(),
        false => named,
    }
}

/// The figures of all kernels that the study was proved on.
fn of_study(study: &Study, records: &Path) -> anyhow::Result<Vec<Figure>> {
    let gathered = gather(study, &Store::new(records))?;
    for problem in &gathered.problems {
        anstream::eprintln!("plimsoll: not used: {problem}");
    }
    let mut figures = Vec::new();
    for pair in gathered.pairs.iter().filter(|pair| pair.is_proved()) {
        figures.extend(pair.rows(study).into_iter().map(|row| Figure {
            study: study.name.clone(),
            kernel: pair.kernel.clone(),
            row,
        }));
    }
    Ok(figures)
}

fn table(mut figures: Vec<Figure>) -> Table {
    worst_first(&mut figures, |figure| &figure.row);
    let head = [
        "measure",
        "arm",
        "study",
        "kernel",
        "predicted",
        "measured",
        "gap",
        "",
    ];
    let mut table = Table::new(head.map(Cell::from).into());
    for Figure { study, kernel, row } in figures {
        let verdict = match row.fidelity() {
            Some(Fidelity::Holds) => Cell::new(Fidelity::Holds.word(), Mood::Good),
            Some(Fidelity::Misses) => Cell::new(Fidelity::Misses.word(), Mood::Bad),
            None => Cell::default(),
        };
        table.row(vec![
            row.measure.as_str().into(),
            row.arm.as_str().into(),
            study.into(),
            kernel.into(),
            row.model.show(row.unit).into(),
            row.kernel.show(row.unit).into(),
            row.gap().map_or_else(|| "–".to_owned(), Gap::show).into(),
            verdict,
        ]);
    }
    table
}
