//! `plimsoll fidelity`: how far the model is off, over all records, study by study.

pub(crate) mod json;
mod tables;

use std::io::Write as _;
use std::path::PathBuf;

use answer::bench::Progress;
use anyhow::{anyhow, bail};
use lab::fidelity::{self, Against, StudyScore};
use lab::store::Store;
use study::BUILT_IN;
use study::compare::Row;

use super::report::no_record;
use crate::exit::ExitCode;
use crate::progress::{Bar, Elsewhere};
use crate::{results, term};

/// Compare the model with every recorded kernel, study by study, and list what it misses
///
/// The model runs each arm with the seeds that the kernel ran. Watermarks must be equal, sizes
/// within 1 %, times within 5 %, counters within a factor of 1.5 (or inside the range of the
/// kernel's own starts, where that is wider), survivors alike by Fisher's exact test; arms that
/// differ on a kernel must come in the same order. Misses are listed below, the worst first. The
/// exit code is 1 when there is one.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Studies by name or path [default: all built-in ones]
    studies: Vec<String>,
    /// The folder below which `prove` wrote its records
    #[arg(long, value_name = "DIR", default_value = "records")]
    records: PathBuf,
    /// The folder with records of further starts of the same kernels, arms and seeds; the range of
    /// a kernel covers all its starts [default: `starts` below the records]
    #[arg(long, value_name = "DIR")]
    starts: Option<PathBuf>,
    /// Compare the records with those below this folder, other runs of the same kernels, instead
    /// of with the model: no model can be better than a kernel is against itself
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// List every figure, not only those that miss
    #[arg(long)]
    all: bool,
    /// Write JSON, one document in a line
    #[arg(long, conflicts_with = "all")]
    json: bool,
}

/// Compares.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = Store::new(&args.records);
    let starts = args
        .starts
        .as_ref()
        .map_or_else(|| store.starts(), Store::new);
    let others = args.against.as_ref().map(Store::new);
    let against = others.as_ref().map_or(Against::Model, Against::Records);
    let (mut scores, mut unproved, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    let names = studies(&args.studies);
    let bar = Bar::new(names.len(), Elsewhere::Nothing);
    for name in names {
        let study = lab::find::find(&name)?;
        bar.say("", &Progress::Stage(study.name.clone()));
        let gathered = fidelity::of_study(&study, &store, Some(&starts), against)?;
        for problem in &gathered.problems {
            bar.aside(&format!("plimsoll: not used: {problem}"));
        }
        match gathered.scores.is_empty() {
            true if study.is_for_the_model() => {}
            true => unproved.push(study.name),
            false => scores.push(gathered.scores),
        }
        problems.extend(gathered.problems);
        bar.step();
    }
    bar.finish();
    let all = || scores.iter().flatten();
    if all().next().is_none() {
        return Err(nothing(&args, &unproved, &problems));
    }
    if all()
        .flat_map(StudyScore::figures)
        .all(|row| row.score().is_none())
    {
        match &args.against {
            None => {
                bail!("nothing to compare: the model predicts none of the kernels in the records")
            }
            Some(folder) => bail!(
                "nothing to compare: {} has no record of an arm and kernel in {}; `plimsoll prove \
                 STUDY --records DIR` makes them",
                folder.display(),
                args.records.display()
            ),
        }
    }
    scores.sort_by_key(|of_study| of_study.iter().map(thousandth).min());
    let missed = scores
        .iter()
        .flatten()
        .any(|one| one.misses().next().is_some());
    match args.json {
        true => write_json(&scores, &unproved)?,
        false => show(&scores, &unproved, &args)?,
    }
    match missed {
        true => Ok(ExitCode::No),
        false => Ok(ExitCode::Done),
    }
}

/// Why there is nothing to compare, and the way out.
fn nothing(args: &Args, unproved: &[String], problems: &[String]) -> anyhow::Error {
    let Some(study) = unproved.first() else {
        let named = args.studies.join(", ");
        let example = args.studies.first().map_or("STUDY", String::as_str);
        return anyhow!(
            "nothing to compare: {named}: for the model only, no kernel runs it; see `plimsoll \
             predict {example}`"
        );
    };
    let records = no_record(&args.records, !problems.is_empty());
    let study = match unproved {
        [_] => study.as_str(),
        _ => "STUDY",
    };
    anyhow!("nothing to compare: {records}; `plimsoll prove {study}` makes them")
}

fn studies(named: &[String]) -> Vec<String> {
    match named.is_empty() {
        true => BUILT_IN
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect(),
        false => named.to_vec(),
    }
}

/// The share of figures that hold, in thousandths; the study with the least comes first.
fn thousandth(score: &StudyScore) -> usize {
    let total = score.total();
    total.held * 1000 / total.figures.max(1)
}

fn show(scores: &[Vec<StudyScore>], unproved: &[String], args: &Args) -> anyhow::Result<()> {
    let (mut out, width) = (term::out(), term::columns());
    for of_study in scores {
        writeln!(out, "{}", tables::summary(of_study))?;
        for line in tables::absent(of_study) {
            write!(out, "{}", results::wrapped(&line, width))?;
        }
    }
    for study in unproved {
        let line =
            format!("not compared: {study} has no record; `plimsoll prove {study}` makes them");
        write!(out, "{}", results::wrapped(&line, width))?;
    }
    let listed = |one: &'_ StudyScore| -> Vec<Row> {
        match args.all {
            true => one.figures().cloned().collect(),
            false => one.misses().cloned().collect(),
        }
    };
    let held = match args.against {
        None => "predicted",
        Some(_) => "others",
    };
    match tables::figures(scores.iter().flatten(), held, listed) {
        Some(table) if args.all => writeln!(out, "every figure, the worst first:\n{table}")?,
        Some(table) => writeln!(out, "what misses, the worst first:\n{table}")?,
        None => writeln!(out, "nothing misses")?,
    }
    write!(out, "{}", results::wrapped(&study::score::rules(), width))?;
    Ok(())
}

fn write_json(scores: &[Vec<StudyScore>], unproved: &[String]) -> anyhow::Result<()> {
    let document = json::Document::of(scores.iter().flatten(), unproved);
    writeln!(term::out(), "{}", shapes::text(&document))?;
    Ok(())
}
