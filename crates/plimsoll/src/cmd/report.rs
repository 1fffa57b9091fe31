//! `plimsoll report`: prediction and proof side by side, from the records.

pub(crate) mod traced;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use answer::report::{Pair, Report};
use answer::runs::Runs;
use anyhow::{Context as _, bail};
use lab::gather::gather;
use lab::store::Store;
use study::Study;

use super::page::Page;
use super::predict::{Shown, at_a_time, available, data};
use crate::exit::ExitCode;
use crate::results::{self, Detail, View};
use crate::term::{self, bold, dim};
use traced::Compared;

/// Show prediction and proof side by side, with the calibration error of every figure
///
/// The model predicts every kernel that a record was made on; without records the report holds the
/// prediction alone and says so. A record that cannot be used is named, and the others are used.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A built-in study's name, or the path of a study's file
    #[arg(required_unless_present = "trace")]
    study: Option<String>,
    /// The folder below which `prove` wrote its records
    #[arg(long, value_name = "DIR", default_value = "records")]
    records: PathBuf,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    detail: Detail,
    #[command(flatten)]
    compared: Compared,
}

/// Reports.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(file) = &args.compared.trace {
        let (study, is_json) = (args.study.as_deref(), args.detail.is_data());
        return args.compared.run(file, study, is_json);
    }
    let study = lab::find::find(args.study.as_deref().unwrap_or_default())?;
    args.page.prepare(&study)?;
    check(&study)?;
    let gathered = gather(&study, &Store::new(&args.records))?;
    for problem in &gathered.problems {
        term::warn(format_args!("plimsoll: not used: {problem}"));
    }
    let none = no_record(&args.records, gathered.has_useless);
    if gathered.pairs.is_empty() {
        let (name, records) = (&study.file, &none);
        bail!("nothing to report: {records}, and no prediction; try `plimsoll prove {name}`");
    }
    let report = Report {
        study: &study,
        pairs: gathered.pairs,
        problems: gathered.problems,
        notes: gathered.notes,
        arguments: String::new(),
        no_record: Some(none.clone()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    if data(&report, args.detail)? == Shown::Nothing {
        show(&report, args.detail, &none)?;
    }
    args.page.write(&report, args.detail)?;
    Ok(ExitCode::Done)
}

/// Refuses a report whose predictions would take hours or all memory.
fn check(study: &Study) -> anyhow::Result<()> {
    let arms: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
    let runs = Runs::at_automatic_scale(study, &arms, study.repetitions, at_a_time());
    let checked = runs.check_for_the_model(available());
    checked.context("its predictions; ask for less in the study")
}

/// Why the folder gave no record: it has some that are of no use, which was said, or none.
pub(crate) fn no_record(folder: &Path, has_useless: bool) -> String {
    let shown = folder.display();
    match has_useless {
        _ if !folder.exists() => format!("there is no folder {shown}"),
        true => format!("no record in {shown} can be used, as said above"),
        false => format!("no record in {shown}"),
    }
}

fn show(report: &Report<'_>, detail: Detail, no_record: &str) -> anyhow::Result<()> {
    let (study, width) = (report.study, term::columns());
    let mut out = term::out();
    writeln!(out, "{}", results::heading(study, width))?;
    for note in &report.notes {
        write!(out, "{}", dim(results::wrapped(note, width)))?;
    }
    for pair in &report.pairs {
        let arms = study.arms.iter().map(|arm| arm.name.as_str()).collect();
        let view = View::new(study, arms, pair, width);
        writeln!(out, "{}", bold(whence(pair)))?;
        if let Some(what) = pair.unlike_boot(study) {
            write!(out, "{}", dim(results::wrapped(&what, width)))?;
        }
        writeln!(out)?;
        write!(out, "{}", view.body(detail))?;
        if view.rows.iter().any(|row| row.score().is_some()) {
            write!(
                out,
                "{}",
                results::wrapped(&results::fidelity(&view.rows), width)
            )?;
        }
        writeln!(out)?;
    }
    if !report.pairs.iter().any(Pair::is_proved) && !study.is_for_the_model() {
        let name = &study.file;
        let line = format!(
            "Nothing was proved yet ({no_record}): `plimsoll prove {name}` runs it on a real \
             kernel."
        );
        write!(out, "{}", results::wrapped(&line, width))?;
    }
    Ok(())
}

fn whence(pair: &Pair) -> String {
    match pair.is_proved() {
        true => format!("{}: {}", pair.kernel, pair.bench),
        false => format!("{}: predicted, not proved", pair.kernel),
    }
}
