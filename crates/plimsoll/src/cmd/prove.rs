//! `plimsoll prove`: a whole study on a real kernel in a throwaway VM, beside the prediction.

mod jobs;
pub(crate) mod traced;

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use answer::bench::{Bench as _, BenchError};
use answer::calibration::{self, CalibrationError};
use answer::cpus::Cpus;
use answer::lacks;
use answer::machine::{self, Placed};
use answer::model_bench::ModelBench;
use answer::report::{Pair, Report};
use answer::room::with_room;
use answer::run::RunId;
use answer::runs::Runs;
use lab::experiment::{AtATime, Event, Experiment, ExperimentError, More, Results};
use lab::gather;
use lab::store::Store;
use lab::vm::{Clock, KernelChoice, MOST_CPUS_BY_TURNS, VmBench, VmOptions};
use scenario::calibration::Calibration;
use study::compare::Row;
use study::{Cost, Study, roughly};

use self::traced::Tracing;
use super::predict::{Asked, Choice, Shown, at_a_time, available, data, no_outcome};
use super::{bootable, seconds, time, whole};
use crate::exit::ExitCode;
use crate::progress::{Bar, Elsewhere};
use crate::results::{self, Detail, View};
use crate::term::{self, dim};

/// Prove a study on a real kernel in a throwaway VM, and compare with the prediction
///
/// Every run is recorded as it ends; interrupted, the same command resumes. The exit code is 1 when
/// a figure of the prediction is outside its tolerance.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    asked: Asked,
    #[command(flatten)]
    choice: Choice,
    #[arg(long, help = bootable(" [default: with --like the nearest that is modelled, else 6.1]"))]
    kernel: Option<KernelChoice>,
    /// Modules of the kernel, where they are not found beside the image
    #[arg(long, value_name = "DIR", requires = "kernel")]
    modules: Option<PathBuf>,
    /// Whose time counts: that of the guest's instructions, which repeats exactly, or the host's
    #[arg(long, value_enum, default_value = "virtual")]
    clock: ClockArg,
    /// Write the records below this folder
    #[arg(long, value_name = "DIR", default_value = "records")]
    records: PathBuf,
    /// Predict by a calibration made by `plimsoll calibrate`, in place of a built-in one
    #[arg(long, value_name = "DIR")]
    calibration: Option<PathBuf>,
    /// Give up a VM after this much of the host's time
    #[arg(long, value_name = "TIME", default_value = "1h")]
    #[arg(value_parser = time(seconds(1, 604_800)))]
    deadline: Duration,
    /// Run this many VMs at a time [default: one per CPU in virtual time, as far as memory is
    /// available; 1 in wall-clock time]
    #[arg(long, value_name = "N", value_parser = whole(NonZeroUsize::MIN..=NonZeroUsize::MAX))]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    tracing: Tracing,
}

/// Whose time counts.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ClockArg {
    /// One nanosecond an instruction: the same in every run, on any host
    Virtual,
    /// The host's time, by KVM where it works
    Wall,
}

/// Proves.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let question = args.asked.question(&args.choice)?;
    let Placed {
        study,
        release,
        mut notes,
    } = question.placed(args.clock.cpus())?;
    let (kernel, why) = args.kernel(release.as_deref())?;
    notes.insert(0, why);
    let study = roomy(study, release.as_deref(), &mut notes)?;
    let mut experiment = args.choice.experiment(&study);
    experiment.arms = question.wanted(&study);
    let arms = experiment.arms()?;
    let provable = provable(&study, &arms)?;
    let usual = || jobs::usual(args.clock.into(), &study, &provable);
    experiment.at_a_time = AtATime::Number(args.jobs.unwrap_or_else(usual));
    let runs = Runs::at_automatic_scale(&study, &provable, experiment.repetitions, at_a_time());
    runs.check_for_a_vm(args.deadline)?;
    experiment.arms = provable.iter().map(|&arm| arm.to_owned()).collect();
    let options = args.options(kernel, most_cpus(&study, &provable));
    if args.tracing.is_wanted() {
        return args.tracing.run(&experiment, options);
    }
    let named = args.named_calibration()?;
    args.choice.page.prepare(&study)?;
    let bar = begun(&experiment, args.jobs.unwrap_or_else(usual).get())?;
    notes.extend(args.by_turns(options.cpus));
    let bench = VmBench::new(&options, &mut |news| bar.say("", &news))?;
    let store = Store::new(&args.records);
    let tell = |event: Event<'_>| bar.tell(&event);
    let more = args.choice.more(More::None);
    let results = experiment.run_until_settled(&bench, Some(&store), more, &tell);
    bar.finish();
    let results = results.map_err(|error| interrupted(error, &args.records))?;
    let failure = no_outcome(&results);
    let mut problems = problems(&results, "");
    let calibration = named.map_or_else(|| calibration::built_in(&bench.kernel()), Ok);
    notes.extend(lacking(&study, &bench, &calibration));
    notes.extend(results.said(&study));
    let model = foretold(&experiment, &arms, &results, calibration, args.clock);
    match &model {
        Ok(model) => problems.extend(self::problems(model, "prediction for ")),
        Err(why) => problems.push(format!("no prediction: {why:#}")),
    }
    let pair = pair(&bench, &model, results);
    if pair.is_empty()
        && let Some(error) = failure
    {
        return Err(error);
    }
    let rows = pair.rows(&study);
    let report = Report {
        study: &study,
        pairs: vec![pair],
        problems,
        notes,
        arguments: question.arguments(),
        no_record: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    if data(&report, args.choice.detail)? == Shown::Nothing {
        show(&report, arms, &model, args.choice.detail)?;
    }
    args.choice.page.write(&report, args.choice.detail)?;
    match failure {
        Some(error) => Err(error),
        None if results::holds(&rows) => Ok(ExitCode::Done),
        None => Ok(ExitCode::No),
    }
}

/// The study with the memory that the VM's kernel takes more, as the model of the nearest has it.
fn roomy(study: Study, release: Option<&str>, notes: &mut Vec<String>) -> anyhow::Result<Study> {
    let nearest = machine::kernel(None, release).0;
    let (study, said) = with_room(study, &ModelBench::of_kernel(&nearest)?)?;
    notes.extend(said);
    Ok(study)
}

/// What of the kernel the prediction beside the proof is not about.
fn lacking(
    study: &Study,
    bench: &VmBench,
    calibration: &Result<Calibration, CalibrationError>,
) -> Vec<String> {
    let machines = study.arms.iter().map(|arm| &arm.machine);
    let of = |it: &Calibration| lacks::notes(&bench.kernel(), &it.kernel, machines);
    calibration.as_ref().map(of).unwrap_or_default()
}

/// The CPUs of the arm that has most.
fn most_cpus(study: &Study, arms: &[&str]) -> u32 {
    let arms = study
        .arms
        .iter()
        .filter(|arm| arms.contains(&arm.name.as_str()));
    arms.map(|arm| arm.machine.cpus).max().unwrap_or(1)
}

/// A bar, below a line on how long all runs are likely to take.
fn begun(experiment: &Experiment<'_>, at_a_time: usize) -> anyhow::Result<Bar> {
    let runs = experiment.runs()?.len();
    let cost = Cost::of(&experiment.study.name);
    let expected = cost.and_then(|cost| cost.in_vms(runs, at_a_time));
    let expected = expected.map_or_else(String::new, |it| format!(", about {}", roughly(it)));
    let line = format!("{runs} runs in VMs, {at_a_time} at a time{expected}");
    term::talk(&line);
    Ok(Bar::new(runs, Elsewhere::Lines))
}

/// The arms that a real kernel can run; a line is said of each that none can.
fn provable<'a>(study: &Study, arms: &[&'a str]) -> anyhow::Result<Vec<&'a str>> {
    let is_for_the_model = |arm: &str| study.arm(arm).is_ok_and(|arm| arm.model_only);
    let (skipped, provable): (Vec<&str>, Vec<&str>) =
        arms.iter().partition(|arm| is_for_the_model(arm));
    if provable.is_empty() {
        let arm = skipped.first().copied().unwrap_or_default();
        anyhow::bail!("arm `{arm}` is for the model only; run it with `plimsoll predict`");
    }
    for arm in skipped {
        term::warn(format_args!("arm {arm}: for the model only, not proved"));
    }
    Ok(provable)
}

impl From<ClockArg> for Clock {
    fn from(clock: ClockArg) -> Self {
        match clock {
            ClockArg::Virtual => Self::Virtual,
            ClockArg::Wall => Self::Wall,
        }
    }
}

impl ClockArg {
    fn cpus(self) -> Cpus {
        match self {
            Self::Virtual => Cpus::UpTo(MOST_CPUS_BY_TURNS),
            Self::Wall => Cpus::Any,
        }
    }
}

impl Args {
    fn named_calibration(&self) -> anyhow::Result<Option<Calibration>> {
        let named = self.calibration.as_deref().map(lab::calibration::read);
        Ok(named.transpose()?)
    }

    /// The kernel that is booted, and a line on why it is this one.
    fn kernel(&self, release: Option<&str>) -> anyhow::Result<(KernelChoice, String)> {
        if let Some(kernel) = &self.kernel {
            return Ok((kernel.clone(), "kernel: as asked".to_owned()));
        }
        let (name, why) = machine::kernel(None, release);
        let kernel = name.parse().map_err(anyhow::Error::msg)?;
        Ok((kernel, format!("kernel: {name}, {why}")))
    }

    fn options(&self, kernel: KernelChoice, cpus: u32) -> VmOptions {
        VmOptions {
            kernel,
            cpus,
            modules: self.modules.clone(),
            clock: self.clock.into(),
            deadline: self.deadline,
            ..VmOptions::default()
        }
    }

    /// What such a VM does not show of a machine with several CPUs.
    fn by_turns(&self, cpus: u32) -> Option<String> {
        let turns = matches!(self.clock, ClockArg::Virtual) && cpus > 1;
        turns.then(|| {
            format!(
                "virtual time: {cpus} CPUs take turns, here and in the prediction beside it, so \
                 two busy ones have half the speed"
            )
        })
    }
}

/// One line for each run without an outcome.
fn problems(results: &Results, of: &str) -> Vec<String> {
    let failures = results.failures.iter();
    failures
        .map(|(id, why)| format!("{of}arm {}, seed {}: {why}", id.arm, id.seed))
        .collect()
}

/// The runs of the kernel on the model, and those of the other arms that are wanted; an error is
/// told, not fatal: the proof stands by itself.
fn foretold(
    experiment: &Experiment<'_>,
    arms: &[&str],
    proofs: &Results,
    calibration: Result<Calibration, CalibrationError>,
    clock: ClockArg,
) -> anyhow::Result<Results> {
    let mut same = gather::the_same(experiment.study, &proofs.records);
    same.retain(|id| arms.contains(&id.arm.as_str()));
    let of_arm = |id: &RunId| same.iter().filter(|it| it.arm == id.arm).count();
    let most = same.iter().map(of_arm).max().unwrap_or_default();
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    Runs::at_automatic_scale(experiment.study, arms, most, at_a_time())
        .check_for_the_model(available())?;
    let bench = ModelBench::new(calibration?);
    let bench = match clock {
        ClockArg::Virtual => bench.by_turns(),
        ClockArg::Wall => bench,
    };
    let experiment = Experiment {
        at_a_time: AtATime::EveryCpu,
        ..experiment.clone()
    };
    let results = experiment.run_these(same, &bench, None, &|_| ())?;
    match no_outcome(&results) {
        Some(error) if results.records.is_empty() => Err(error),
        _ => Ok(results),
    }
}

fn pair(bench: &VmBench, model: &anyhow::Result<Results>, proofs: Results) -> Pair {
    let model = model
        .as_ref()
        .map_or_else(|_| Vec::new(), |results| results.records.clone());
    Pair {
        kernel: format!("Linux {}", bench.kernel()),
        release: bench.kernel(),
        bench: bench.describe(),
        model,
        looks: proofs.repeats.looks.max(1),
        proofs: proofs.records,
    }
}

fn show(
    report: &Report<'_>,
    arms: Vec<&str>,
    model: &anyhow::Result<Results>,
    detail: Detail,
) -> anyhow::Result<()> {
    let (study, width) = (report.study, term::columns());
    let Some(pair) = report.pairs.first() else {
        return Ok(());
    };
    let view = View::new(study, arms, pair, width);
    let mut out = term::out();
    writeln!(out, "{}", results::heading(study, width))?;
    if let Some(record) = view.pair.proofs.first() {
        let bench = &record.provenance.bench;
        let unlike = pair.unlike_boot(study).map(|what| format!("; {what}"));
        let bench = format!("measured on: {bench}{}", unlike.unwrap_or_default());
        write!(out, "{}", dim(results::wrapped(&bench, width)))?;
    }
    for note in &report.notes {
        write!(out, "{}", dim(results::wrapped(note, width)))?;
    }
    writeln!(out)?;
    write!(out, "{}", view.body(detail))?;
    for line in predicted(model, &view.rows) {
        write!(out, "{}", results::wrapped(&line, width))?;
    }
    Ok(())
}

/// What is to be said of the prediction: what it lacks, and how it did.
fn predicted(model: &anyhow::Result<Results>, rows: &[Row]) -> Vec<String> {
    let mut lines = match model {
        Ok(results) => problems(results, "no prediction for "),
        Err(why) => vec![format!("no prediction to compare with: {why:#}")],
    };
    if rows.iter().any(|row| row.score().is_some()) {
        lines.push(results::fidelity(rows));
    }
    lines
}

/// An interruption says what is kept.
fn interrupted(error: ExperimentError, records: &Path) -> anyhow::Error {
    match error {
        ExperimentError::Bench(BenchError::Interrupted) => anyhow::anyhow!(
            "interrupted; what was recorded is kept in {}: the same command resumes",
            records.display()
        ),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_for_the_model_only_is_not_proved() {
        let text = "name = \"m\"\ntitle = \"m\"\nquestion = \"m\"\n[machine]\nmemory = \"1 GiB\"\n\
                    [[arm]]\nname = \"now\"\n[[arm]]\nname = \"then\"\nmodel-only = true\n\
                    settings = { \"model.kswapd\" = \"before 3.11\" }\n\
                    [[process]]\nname = \"p\"\nsteps = [{ label = \"s\", sleep = \"1 s\" }]\n\
                    [[measure]]\nname = \"m\"\nstep = \"s\"\ntake = \"duration\"\n";
        let study = Study::parse(text, "test").unwrap();
        assert_eq!(provable(&study, &["now", "then"]).unwrap(), ["now"]);
        let error = provable(&study, &["then"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "arm `then` is for the model only; run it with `plimsoll predict`"
        );
        let real = text.replace("model-only = true\n", "");
        let error = Study::parse(&real, "test").unwrap_err().to_string();
        assert_eq!(
            error,
            "test:10:31: model.kswapd is a setting of the model, not of a kernel; give the arm \
             `model-only = true`"
        );
    }

    #[test]
    fn what_the_model_lacks_is_said_and_no_score_is_given_for_nothing() {
        let id = RunId {
            arm: "raised".into(),
            seed: 1,
        };
        let partial = Results {
            failures: vec![(id, "no swap".into())],
            ..Results::default()
        };
        let said = predicted(&Ok(partial), &[]);
        assert_eq!(said, ["no prediction for arm raised, seed 1: no swap"]);
        let said = predicted(&Err(anyhow::anyhow!("no calibration")), &[]);
        assert_eq!(said, ["no prediction to compare with: no calibration"]);
        assert!(predicted(&Ok(Results::default()), &[]).is_empty());
    }
}
