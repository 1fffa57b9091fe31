//! `plimsoll predict`: a whole study on the model.

pub(super) mod machine;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use answer::model_bench::ModelBench;
use answer::question::{Costs, Question, Ran};
use answer::report::Report;
use answer::scale::Scale;
use anyhow::anyhow;
use host::{Root, facts};
use lab::calibration;
use lab::experiment::{AtATime, Event, Experiment, More, Results, cpus};
use mm::catalogue::{self, TypedError};
use mm::quantity;
use mm::settings::Setting;
use mm::text::counted;
use mm::units::{Bytes, PageSize};
use study::{Beside, Cost, Limit, Study, roughly};

use self::machine::Machine;
use super::page::Page;
use super::{seconds, time, whole};
use crate::exit::ExitCode;
use crate::progress::{Bar, Elsewhere, Firsts};
use crate::results::{self, Detail, View};
use crate::term::{self, dim};

/// Predict what a study's settings will do, on the model: no root, no VM, in seconds
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    asked: Asked,
    #[command(flatten)]
    choice: Choice,
    /// The kernel to model: one that has a calibration in the binary [default: with --like the
    /// nearest, else 6.1]
    #[arg(long)]
    kernel: Option<String>,
    /// A calibration made by `plimsoll calibrate`, in place of a built-in one
    #[arg(long, value_name = "DIR", conflicts_with = "kernel")]
    calibration: Option<PathBuf>,
    /// Real pages that a simulated one stands for: a power of two, or auto, which is 1 up to 32 GiB
    /// of memory and files and keeps the simulated pages below two million beyond, or below 262144
    /// where all accesses are in order
    #[arg(long, value_name = "N", default_value = "auto", value_parser = Scale::parse)]
    scale: Scale,
    /// Predict even where the runs are expected to take more than 5 minutes, or more memory than
    /// this machine has available
    #[arg(long)]
    even_so: bool,
}

/// Which study is asked, of which machine; the same for `predict` and `prove`.
#[derive(Debug, clap::Args)]
pub(crate) struct Asked {
    /// A built-in study's name, or the path of a study's file
    study: String,
    /// Add an arm of your own with this setting (repeatable); a size may have a unit, as in 64M
    #[arg(long = "set", value_name = "TUNABLE=VALUE", value_parser = setting)]
    settings: Vec<Setting>,
    /// Which LRU lists the arm of your own has: the same as a --set of lru_gen.enabled
    #[arg(long, value_name = "LRU", value_parser = lru)]
    lru: Option<Setting>,
    /// Add an arm in which this runs beside a recorded load: backup:100G reads a file of that size,
    /// copy:10G writes one, hog:2G uses that much memory (repeatable)
    #[arg(long = "add", value_name = "LOAD:SIZE", value_parser = beside)]
    beside: Vec<(Beside, Bytes)>,
    /// Give a control group of a recording this much memory in that arm (repeatable): its path, or
    /// the last name of it
    #[arg(long = "limit", value_name = "GROUP=SIZE", value_parser = limit)]
    limits: Vec<Limit>,
    #[command(flatten)]
    machine: Machine,
}

/// Which runs of a study are wanted, and where the report goes; the same for `predict` and `prove`.
#[derive(Debug, clap::Args)]
pub(crate) struct Choice {
    /// Run only this arm (repeatable) [default: all]
    #[arg(long = "arm", value_name = "ARM")]
    arms: Vec<String>,
    /// Runs of each arm, each with its own seed, and no more of them [default: what the study
    /// says, and with `predict` more of arms whose verdict or rank is open]
    #[arg(long, visible_alias = "seeds", value_name = "N", value_parser = whole(1..=10_000_u32))]
    #[arg(allow_negative_numbers = true)]
    repetitions: Option<u32>,
    /// Run arms whose verdict or rank is open more often, up to 40 times, but begin no round that
    /// is not likely to end within this time; 0 for no further runs [default: no limit for predict,
    /// 0 for prove]
    #[arg(long, value_name = "TIME", value_parser = time(seconds(0, 604_800)))]
    time: Option<Duration>,
    /// The seed of the first run
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(0..=u64::MAX))]
    #[arg(allow_negative_numbers = true)]
    seed: u64,
    #[command(flatten)]
    pub(crate) page: Page,
    #[command(flatten)]
    pub(crate) detail: Detail,
}

/// Predicts.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let asked = args.question()?.asked()?;
    let arms = asked.arms();
    let runs = asked.runs(&arms, at_a_time());
    let available = available();
    args.scale
        .check(&asked.study, &arms, runs.at_a_time, available)?;
    if !args.even_so {
        runs.check(available)?;
    }
    let expected = match Cost::of(&asked.study.name).filter(|_| asked.is_as_made) {
        Some(cost) => cost.on_the_model(arms.len() * asked.repetitions as usize, cpus()),
        None => runs.expected()?.all,
    };
    let bench = asked.bench();
    let asked = asked.clone().noted(&bench, available)?;
    args.choice.page.prepare(&asked.study)?;
    let mut experiment = args.choice.experiment(&asked.study);
    experiment.arms.clone_from(&asked.arms);
    experiment.at_a_time = AtATime::EveryCpu;
    let results = watched(&experiment, &bench, &args.choice, expected)?;
    let failure = no_outcome(&results);
    if results.records.is_empty()
        && let Some(error) = failure
    {
        return Err(error);
    }
    let more = results.said(&asked.study);
    let report = asked.report(ran(results), more)?;
    if data(&report, args.choice.detail)? == Shown::Nothing {
        show(&report, asked.arms(), args.choice.detail)?;
    }
    args.choice.page.write(&report, args.choice.detail)?;
    failure.map_or(Ok(ExitCode::Done), Err)
}

/// `MemAvailable` of this machine; no limit where it cannot be read.
pub(crate) fn available() -> Bytes {
    facts::available(&Root::default()).unwrap_or(Bytes(u64::MAX))
}

/// Runs of the model that go on at a time.
pub(crate) fn at_a_time() -> u64 {
    cpus().get() as u64
}

/// What the experiment came to, as an answer takes it.
pub(super) fn ran(results: Results) -> Ran {
    Ran {
        records: results.records,
        failures: results.failures,
        looks: results.repeats.looks,
    }
}

impl Args {
    fn question(&self) -> anyhow::Result<Question> {
        Ok(Question {
            costs: match (&self.calibration, &self.kernel) {
                (Some(folder), _) => {
                    let costs = Box::new(calibration::read(folder)?);
                    Costs::Of(costs, folder.display().to_string())
                }
                (None, Some(kernel)) => Costs::Kernel(kernel.clone()),
                (None, None) => Costs::Nearest,
            },
            scale: self.scale,
            ..self.asked.question(&self.choice)?
        })
    }
}

/// Runs the experiment with a bar, after a line on how long it is likely to take.
fn watched(
    experiment: &Experiment<'_>,
    bench: &ModelBench,
    choice: &Choice,
    expected: Duration,
) -> anyhow::Result<Results> {
    let more = choice.more(More::UntilSettled);
    let runs = experiment.runs()?.len();
    let about = roughly(expected);
    term::talk(format_args!("{runs} runs on the model, about {about}"));
    let bar = Bar::new(runs, Elsewhere::Tenths("runs"));
    let firsts = Firsts::of(experiment.study, runs);
    let tell = |event: Event<'_>| {
        bar.tell(&event);
        if let Some(lines) = firsts.lines(&event) {
            bar.aside(&lines);
        }
    };
    let results = experiment.run_until_settled(bench, None, more, &tell);
    bar.finish();
    Ok(results?)
}

impl Asked {
    /// The question, of the costs that are nearest.
    pub(crate) fn question(&self, choice: &Choice) -> anyhow::Result<Question> {
        Ok(Question {
            machine: self.machine.read()?,
            settings: self.settings.iter().chain(&self.lru).cloned().collect(),
            beside: self.beside.clone(),
            limits: self.limits.clone(),
            arms: choice.arms.clone(),
            repetitions: choice.repetitions,
            first_seed: choice.seed,
            ..Question::new(lab::find::find(&self.study)?)
        })
    }
}

/// A setting for the model, whose pages have 4 KiB.
fn setting(text: &str) -> Result<Setting, TypedError> {
    catalogue::typed(text, PageSize::FOUR_KIB)
}

/// The setting that chooses the kernel's LRU lists.
fn lru(text: &str) -> Result<Setting, String> {
    let value = match text {
        "classic" => "0",
        "mglru" => "7",
        _ => return Err("give classic or mglru".to_owned()),
    };
    Ok(Setting {
        tunable: "lru_gen.enabled".to_owned(),
        value: value.to_owned(),
    })
}

fn beside(text: &str) -> Result<(Beside, Bytes), String> {
    let parts = text.split_once(':');
    let found = parts.and_then(|(word, size)| {
        let found = Beside::WORDS.iter().find(|(known, _)| *known == word);
        let size = quantity::size(size).ok().filter(|size| size.0 > 0);
        Some((found?.1, size?))
    });
    found.ok_or_else(|| "give backup, copy or hog and a size, as in backup:100G".to_owned())
}

fn limit(text: &str) -> Result<Limit, String> {
    let parts = text.rsplit_once('=');
    let parts = parts.and_then(|(group, size)| Some((group, quantity::size(size).ok()?)));
    let (group, memory) = parts.ok_or("give a group and its memory, as in db.service=8G")?;
    Ok(Limit {
        group: group.to_owned(),
        memory,
    })
}

impl Choice {
    /// The experiment that is wanted.
    pub(crate) fn experiment<'a>(&self, study: &'a Study) -> Experiment<'a> {
        Experiment {
            arms: self.arms.clone(),
            repetitions: self.repetitions.unwrap_or(study.repetitions),
            first_seed: self.seed,
            ..Experiment::new(study)
        }
    }

    /// Which further runs there may be: none where the number of runs was asked for.
    pub(crate) fn more(&self, usual: More) -> More {
        match (self.time, self.repetitions) {
            (Some(Duration::ZERO), _) | (None, Some(_)) => More::None,
            (Some(time), _) => More::Within(time),
            (None, None) => usual,
        }
    }
}

/// What of a study's results stands on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Nothing yet: the text is wanted.
    Nothing,
    /// JSON or CSV.
    Data,
}

/// Writes the data where they are wanted in place of the text.
pub(crate) fn data(report: &Report<'_>, detail: Detail) -> anyhow::Result<Shown> {
    let (notes, problems) = (&report.notes, &report.problems);
    match detail.data(report.study, &report.pairs, notes, problems)? {
        Some(text) => {
            write!(term::out(), "{text}")?;
            Ok(Shown::Data)
        }
        None => Ok(Shown::Nothing),
    }
}

pub(crate) fn show(report: &Report<'_>, arms: Vec<&str>, detail: Detail) -> anyhow::Result<()> {
    let (study, notes) = (report.study, &report.notes);
    let Some(pair) = report.pairs.first() else {
        return Ok(());
    };
    let width = term::columns();
    let cpus = arms.first().and_then(|arm| study.arm(arm).ok());
    let cpus = counted(cpus.map_or(1, |arm| arm.machine.cpus), "CPU");
    let view = View::new(study, arms, pair, width);
    let mut out = term::out();
    writeln!(out, "{}", results::heading(study, width))?;
    let unlike = pair.unlike_boot(study).map(|what| format!("; {what}"));
    let unlike = unlike.unwrap_or_default();
    let predicted = format!("predicted for {}, {cpus}{unlike}", pair.kernel);
    write!(out, "{}", dim(results::wrapped(&predicted, width)))?;
    for note in notes {
        write!(out, "{}", dim(results::wrapped(note, width)))?;
    }
    writeln!(out)?;
    write!(out, "{}", view.body(detail))?;
    Ok(())
}

/// The error that says which runs have no outcome.
pub(crate) fn no_outcome(results: &Results) -> Option<anyhow::Error> {
    let (id, why) = results.failures.first()?;
    let (failed, all) = (
        results.failures.len(),
        results.failures.len() + results.records.len(),
    );
    let run = format!("arm `{}` with seed {}: {why}", id.arm, id.seed);
    Some(match failed {
        _ if all == 1 => anyhow!("the run has no outcome; {run}"),
        1 => anyhow!("1 of {all} runs has no outcome; {run}"),
        _ => anyhow!("{failed} of {all} runs have no outcome; the first, {run}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_in_a_setting_is_told_with_what_was_meant() {
        let slip = setting("vm.swapiness=1").unwrap_err();
        assert!(slip.to_string().contains("did you mean vm.swappiness?"));
    }
}
