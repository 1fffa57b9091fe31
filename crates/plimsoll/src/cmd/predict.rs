//! `plimsoll predict`: a whole study on the model.

pub(super) mod at_hand;
mod recorded;
mod scale;
pub(super) mod work;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use lab::calibration;
use lab::experiment::{AtATime, Event, Experiment, More, Results, cpus};
use lab::model_bench::ModelBench;
use lab::report::{Pair, Report};
use mm::catalogue::{self, TypedError};
use mm::settings::{Setting, Settings};
use mm::text::counted;
use mm::units::PageSize;
use scenario::Scenario;
use scenario::calibration::Calibration;
use study::coverage;
use study::likely_error;
use study::{BUILT_IN, Cost, Study, roughly};

use self::at_hand::{Cpus, Machine, Placed};
use self::scale::Scale;
use super::page::Page;
use super::{seconds, time, whole};
use crate::exit::ExitCode;
use crate::progress::{Bar, Elsewhere, Firsts};
use crate::results::{self, Detail, View};
use crate::term::{self, dim};

/// The arm that `--set` makes.
const OWN_ARM: &str = "yours";

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
    let Placed {
        study,
        release,
        mut notes,
    } = args.asked.placed(Cpus::Any)?;
    let is_as_made = notes.is_empty();
    let (calibration, which) = args.calibration(release.as_deref())?;
    notes.insert(0, which);
    let kernel = calibration.kernel.clone();
    let mut experiment = args.choice.experiment(&study);
    args.asked.with_own_arms(&mut experiment);
    experiment.at_a_time = AtATime::EveryCpu;
    let arms = experiment.arms()?;
    let at_a_time = cpus().get() as u64;
    args.scale.check(&study, &arms, at_a_time)?;
    let runs = work::Runs {
        study: &study,
        arms: &arms,
        repetitions: experiment.repetitions,
        at_a_time,
        scale: args.scale,
    };
    if !args.even_so {
        runs.check()?;
    }
    let expected = match Cost::of(&study.name).filter(|_| is_as_made) {
        Some(cost) => cost.on_the_model(experiment.runs()?.len(), cpus()),
        None => runs.expected()?.all,
    };
    notes.extend(not_covered(&study, &arms, &calibration, args.scale)?);
    let bench = ModelBench::new(calibration.clone()).at_scale(args.scale.pages());
    check(&study, &arms, &bench)?;
    notes.splice(..0, recorded::notes(&args.asked.study, calibration)?);
    args.choice.page.prepare(&study)?;
    let results = watched(&experiment, &bench, &args.choice, expected)?;
    let failure = no_outcome(&results);
    if results.records.is_empty()
        && let Some(error) = failure
    {
        return Err(error);
    }
    notes.extend(results.said(&study));
    let sampled = args.scale.describe(&study, &arms)?;
    let pair = Pair {
        kernel: format!("Linux {kernel}{sampled}"),
        release: kernel,
        bench: String::new(),
        looks: results.repeats.looks.max(1),
        model: results.records,
        proofs: Vec::new(),
    };
    let problems = results.failures.iter();
    let problems = problems.map(|(id, why)| format!("{}: {why}", id.arm));
    let report = Report {
        study: &study,
        pairs: vec![pair],
        problems: problems.collect(),
        notes,
        arguments: args.asked.arguments(),
        no_record: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    match data(&report, args.choice.detail)? {
        Shown::Data => {}
        Shown::Nothing => show(&report, arms, args.choice.detail)?,
    }
    args.choice.page.write(&report, args.choice.detail)?;
    failure.map_or(Ok(ExitCode::Done), Err)
}

impl Args {
    /// The costs that the model takes, and in words which and why.
    fn calibration(&self, release: Option<&str>) -> anyhow::Result<(Calibration, String)> {
        if let Some(folder) = &self.calibration {
            let which = format!("by the calibration in {}", folder.display());
            return Ok((calibration::read(folder)?, which));
        }
        let (name, why) = at_hand::kernel(self.kernel.as_deref(), release);
        let calibration = calibration::built_in(&name)?;
        let which = format!("kernel: {}, {why}", calibration.kernel);
        Ok((calibration, which))
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
    /// The study on its machine, with the arm that `--set` makes.
    pub(crate) fn placed(&self, cpus: Cpus) -> anyhow::Result<Placed> {
        let placed = self.machine.place(lab::find::find(&self.study)?, cpus)?;
        Ok(Placed {
            study: with_settings(placed.study, &self.settings)?,
            ..placed
        })
    }

    /// What asked for another machine and an arm more, as it is typed.
    pub(crate) fn arguments(&self) -> String {
        let set = |it: &Setting| format!(" --set {}={}", it.tunable, it.value);
        let sets: String = self.settings.iter().map(set).collect();
        self.machine.arguments() + &sets
    }

    /// An arm of one's own takes part where only some of the others do.
    pub(crate) fn with_own_arms(&self, experiment: &mut Experiment<'_>) {
        if !self.settings.is_empty() && !experiment.arms.is_empty() {
            experiment.arms.extend(own_arms(experiment.study));
        }
    }
}

/// A setting for the model, whose pages have 4 KiB.
fn setting(text: &str) -> Result<Setting, TypedError> {
    catalogue::typed(text, PageSize::FOUR_KIB)
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

/// Refuses a study of which an arm asks for more than the model has, before any other arm is run.
fn check(study: &Study, arms: &[&str], bench: &ModelBench) -> anyhow::Result<()> {
    for arm in arms {
        let checked = bench.check(&study.scenario(arm, 1)?);
        checked.with_context(|| format!("arm `{arm}`"))?;
    }
    Ok(())
}

/// What of the prediction is extrapolated, distorted by the scale, or about what no model machine
/// has.
fn not_covered(
    study: &Study,
    arms: &[&str],
    calibration: &Calibration,
    scale: Scale,
) -> anyhow::Result<Vec<String>> {
    let scenarios = arms.iter().map(|arm| study.scenario(arm, 1));
    let scenarios = scenarios.collect::<Result<Vec<_>, _>>()?;
    let mut notes = coverage::notes(&scenarios, calibration, scale.pages());
    notes.extend(without_dentries(&scenarios));
    // Those that are built in have records, and the report their own error.
    if !BUILT_IN.iter().any(|(name, _)| *name == study.name) {
        notes.push(likely_error::note(study, &scenarios));
    }
    Ok(notes)
}

/// An arm that is about dentries and inodes has hardly any here, where a host may have GiB of them.
fn without_dentries(scenarios: &[Scenario]) -> Option<String> {
    let mut settings = scenarios.iter().flat_map(|it| &it.arm_settings.0);
    let found = settings.find(|it| it.tunable.starts_with("vm.vfs_cache_pressure"))?;
    Some(format!(
        "not covered: {} is about unused dentries and inodes; the model's machine has none, a VM \
         that has just booted 0.1 MiB, and a host may have GiB of them",
        found.tunable
    ))
}

fn with_settings(study: Study, settings: &[Setting]) -> anyhow::Result<Study> {
    if settings.is_empty() {
        return Ok(study);
    }
    for (index, setting) in settings.iter().enumerate() {
        mm::catalogue::check(setting).context("--set")?;
        let name = &setting.tunable;
        if settings[..index].iter().any(|other| other.tunable == *name) {
            bail!("--set: {name} is set twice; give it one value");
        }
    }
    let settings = Settings(settings.to_vec());
    study.with_arm(OWN_ARM, &settings).context("--set")
}

/// The names of the arm that `--set` makes: several where a sweep of the study takes all arms.
fn own_arms(study: &Study) -> impl Iterator<Item = String> {
    let names = study.arms.iter().map(|arm| &arm.name);
    let own = names.filter(|name| match name.strip_prefix(OWN_ARM) {
        Some(rest) => rest.is_empty() || rest.starts_with(", "),
        None => false,
    });
    own.cloned()
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

fn show(report: &Report<'_>, arms: Vec<&str>, detail: Detail) -> anyhow::Result<()> {
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
    fn a_setting_of_ones_own_becomes_an_arm() {
        let study = lab::find::find("min-free-kbytes").unwrap();
        let own = [setting("vm.min_free_kbytes=300000").unwrap()];
        let study = with_settings(study, &own).unwrap();
        let scenario = study.scenario(OWN_ARM, 1).unwrap();
        assert_eq!(
            scenario.arm_settings.get("vm.min_free_kbytes"),
            Some("300000")
        );
        let again = Study::parse(&study.text, "again").unwrap();
        assert_eq!(
            again.scenario(OWN_ARM, 1).unwrap(),
            scenario,
            "the text says so too"
        );
        let slip = setting("vm.swapiness=1").unwrap_err();
        assert!(slip.to_string().contains("did you mean vm.swappiness?"));
    }

    #[test]
    fn an_arm_of_ones_own_is_for_the_model_only_where_all_arms_are() {
        let own = [setting("vm.swappiness=60").unwrap()];
        for (name, model_only) in [("file-copy", true), ("min-free-kbytes", false)] {
            let study = with_settings(lab::find::find(name).unwrap(), &own).unwrap();
            assert_eq!(study.arm(OWN_ARM).unwrap().model_only, model_only, "{name}");
        }
    }

    #[test]
    fn an_arm_of_ones_own_takes_part_in_the_sweeps_of_all_arms() {
        let text = "name = \"s\"\ntitle = \"s\"\nquestion = \"s\"\n[machine]\nmemory = \"1 GiB\"\n\
                    [parameters]\nn = 1\n[[sweep]]\nparameter = \"n\"\nvalues = [1, 2]\n\
                    [[arm]]\nname = \"a\"\n\
                    [[process]]\nname = \"p\"\nsteps = [{ label = \"l\", sleep = \"1 s\" }]\n\
                    [[measure]]\nname = \"m\"\nstep = \"l\"\ntake = \"duration\"\n";
        let own = [setting("vm.swappiness=60").unwrap()];
        let study = with_settings(Study::parse(text, "s").unwrap(), &own).unwrap();
        let names: Vec<String> = own_arms(&study).collect();
        assert_eq!(names, ["yours, n 1", "yours, n 2"]);
    }

    #[test]
    fn what_is_wrong_with_a_setting_is_placed_at_the_option_and_at_no_line_of_the_study() {
        let study = lab::find::find("min-free-kbytes").unwrap();
        let lacking = [setting("bdi.disc.max_ratio=50").unwrap()];
        let error = with_settings(study, &lacking).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.starts_with("--set: unknown disk `disc`"), "{text}");
    }
}
