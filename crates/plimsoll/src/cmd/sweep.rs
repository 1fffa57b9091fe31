//! `plimsoll sweep`: a study at every point of a space of settings, on the model.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use answer::bench::Bench;
use answer::model_bench::ModelBench;
use answer::question::{Asked, Costs, Question, Ran};
use answer::run::RunId;
use answer::scale::Scale;
use anyhow::{Context as _, bail};
use lab::experiment::{AtATime, Event, Experiment, Results};
use lab::kept::{Kept, Outcomes};
use lab::sweep::{Shard, Space};

use super::page::Page;
use super::predict::machine::Machine;
use super::predict::{Shown, at_a_time, available, data, no_outcome, show};
use super::whole;
use crate::exit::ExitCode;
use crate::progress::{Bar, Elsewhere};
use crate::results::Detail;
use crate::term;

/// The longest space that is read.
const MOST_BYTES: u64 = 1 << 20;

/// Predict a study at every point of a space of settings, on one machine or on many
///
/// Every point is an arm, held against the study's first. With --store each outcome is kept under
/// the hash of what it hangs on: a sweep that was interrupted goes on where it was, and stores that
/// are copied into one folder are one. Many machines share a sweep by that: each runs a --shard,
/// and then the command without --shard on their stores together shows the answer.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A built-in study's name, or the path of a study's file
    study: String,
    /// The tunables and their values: a file of TOML with lines such as "vm.swappiness" = [1, 60]
    #[arg(long, value_name = "FILE")]
    space: PathBuf,
    /// Runs of each point, each with its own seed [default: what the study says]
    #[arg(long, value_name = "N", value_parser = whole(1..=10_000_u32))]
    seeds: Option<u32>,
    /// The seed of the first run
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(0..=u64::MAX))]
    seed: u64,
    /// Keep the outcomes in this folder, and run only what it lacks
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Run only the Ith of N parts, and keep what it comes to
    #[arg(long, value_name = "I/N", value_parser = Shard::parse, requires = "store")]
    #[arg(conflicts_with_all = ["all", "json", "csv", "report", "out"])]
    shard: Option<Shard>,
    #[command(flatten)]
    machine: Machine,
    /// The kernel to model: one that has a calibration in the binary [default: with --like the
    /// nearest, else 6.1]
    #[arg(long)]
    kernel: Option<String>,
    /// Real pages that a simulated one stands for: a power of two, or auto, as predict has it
    #[arg(long, value_name = "N", default_value = "auto", value_parser = Scale::parse)]
    scale: Scale,
    /// Run it even where one run needs more memory than this machine has available
    #[arg(long)]
    even_so: bool,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    detail: Detail,
}

/// Sweeps.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let asked = args.question()?.asked()?;
    if !args.even_so {
        args.scale
            .check(&asked.study, &asked.arms(), at_a_time(), available())?;
    }
    let model = asked.bench();
    let outcomes = args.store.as_deref().map(Outcomes::new);
    match (args.shard, &outcomes) {
        (Some(shard), Some(outcomes)) => share(&asked, shard, &model, outcomes),
        (_, Some(outcomes)) => {
            let (model, outcomes) = (&model, outcomes);
            whole_of(&args, asked, model, &Kept { model, outcomes })
        }
        (_, None) => whole_of(&args, asked, &model, &model),
    }
}

impl Args {
    /// The study with an arm for every point.
    fn question(&self) -> anyhow::Result<Question> {
        let space = space(&self.space).with_context(|| self.space.display().to_string())?;
        let study = lab::find::find(&self.study)?;
        let (study, arms) = space.arms_of(&study)?;
        Ok(Question {
            machine: self.machine.read()?,
            costs: self.kernel.clone().map_or(Costs::Nearest, Costs::Kernel),
            arms,
            repetitions: self.seeds,
            first_seed: self.seed,
            scale: self.scale,
            ..Question::new(study)
        })
    }
}

fn space(path: &Path) -> anyhow::Result<Space> {
    let text = files::named::text(path, MOST_BYTES)?;
    Ok(Space::parse(&text)?)
}

/// Runs one part of it, whose outcomes are kept.
fn share(
    asked: &Asked,
    shard: Shard,
    model: &ModelBench,
    outcomes: &Outcomes,
) -> anyhow::Result<ExitCode> {
    let experiment = experiment(asked);
    let runs = shard.of(experiment.runs()?);
    let count = runs.len();
    let results = watched(&experiment, runs, &Kept { model, outcomes })?;
    if let Some(failure) = no_outcome(&results) {
        return Err(failure);
    }
    writeln!(
        term::out(),
        "shard {shard}: all of its {count} runs are kept"
    )?;
    Ok(ExitCode::Done)
}

/// Runs all of it, and shows what it came to.
fn whole_of(
    args: &Args,
    asked: Asked,
    model: &ModelBench,
    bench: &(dyn Bench + Sync),
) -> anyhow::Result<ExitCode> {
    let asked = asked.noted(model, available())?;
    args.page.prepare(&asked.study)?;
    let experiment = experiment(&asked);
    let results = watched(&experiment, experiment.runs()?, bench)?;
    let failure = no_outcome(&results);
    if results.records.is_empty() {
        match failure {
            Some(failure) => return Err(failure),
            None => bail!("there is no run"),
        }
    }
    let ran = Ran {
        records: results.records,
        failures: results.failures,
        looks: 1,
    };
    let report = asked.report(ran, None)?;
    if data(&report, args.detail)? == Shown::Nothing {
        show(&report, asked.arms(), args.detail)?;
    }
    args.page.write(&report, args.detail)?;
    failure.map_or(Ok(ExitCode::Done), Err)
}

fn experiment(asked: &Asked) -> Experiment<'_> {
    Experiment {
        arms: asked.arms.clone(),
        repetitions: asked.repetitions,
        first_seed: asked.first_seed,
        at_a_time: AtATime::EveryCpu,
        ..Experiment::new(&asked.study)
    }
}

/// Makes these runs with a bar, which has their expected end.
fn watched(
    experiment: &Experiment<'_>,
    runs: Vec<RunId>,
    bench: &(dyn Bench + Sync),
) -> anyhow::Result<Results> {
    let bar = Bar::new(runs.len(), Elsewhere::Tenths("runs"));
    let tell = |event: Event<'_>| bar.tell(&event);
    let results = experiment.run_these(runs, bench, None, &tell);
    bar.finish();
    Ok(results?)
}
