//! `plimsoll advise`: what of the settings and the memory matters to a load.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use answer::advise::{Advice, Change, Effect, Enough, MATTERS, advise};
use answer::model_bench::ModelBench;
use answer::question::{Asked, Question, Ran};
use answer::refused::Refused;
use anyhow::Context as _;
use lab::experiment::{AtATime, Experiment};
use mm::settings::Setting;
use mm::text::counted;
use mm::units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;

use super::predict::machine::Machine;
use super::predict::{at_a_time, available, ran};
use crate::exit::ExitCode;
use crate::results::{heading, wrapped};
use crate::term::{self, dim};

/// Advise on a load: the settings that matter to it, at most three, and the memory that would do
///
/// Asks the model each change of a list, on the machine as it was recorded or as the study has it.
/// What changes no measure by 5 % is within the model's error and is left out, so the advice may be
/// to leave all as it is. `plimsoll trial` shows on the machine itself whether a change helps.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A recording, a study's file, or a built-in study's name
    #[arg(value_name = "RECORDING|STUDY")]
    study: String,
    /// Write the settings that are advised into this file, which `plimsoll apply` takes
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    machine: Machine,
}

/// Advises.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let study = lab::find::find(&args.study)?;
    if let Some(path) = &args.output {
        super::record::check_free(path)?;
        files::output::folder(files::output::folder_of(path))
            .with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    let question = Question {
        machine: args.machine.read()?,
        ..Question::new(study)
    };
    term::talk("asking the model each change by itself");
    let advice = advise(&question, available(), &mut on_all_cpus)?;
    let mut out = term::out();
    match args.json {
        true => writeln!(out, "{}", shapes::text(&Document::of(&advice)))?,
        false => write!(out, "{}", text(&question, &advice, term::columns()))?,
    }
    if let Some(path) = &args.output {
        write(path, &args.study, &advice)?;
    }
    Ok(ExitCode::Done)
}

/// Writes the settings, where there are any.
fn write(path: &Path, study: &str, advice: &Advice) -> anyhow::Result<()> {
    if advice.changes.is_empty() {
        term::talk(format_args!(
            "{}: not written, as nothing is to be set",
            path.display()
        ));
        return Ok(());
    }
    let written = files::output::write(path, plan(study, advice).as_bytes());
    written.with_context(|| format!("{}: cannot be written", path.display()))?;
    term::talk(format_args!("written: {}", path.display()));
    Ok(())
}

/// Every run, as many at a time as there are CPUs.
fn on_all_cpus(asked: &Asked, bench: &ModelBench) -> Result<Ran, Refused> {
    let (arms, available) = (asked.arms(), available());
    let study = &asked.study;
    asked.scale.check(study, &arms, at_a_time(), available)?;
    asked
        .runs(&arms, at_a_time())
        .check_for_the_model(available)?;
    let mut experiment = Experiment::new(&asked.study);
    experiment.arms.clone_from(&asked.arms);
    experiment.at_a_time = AtATime::EveryCpu;
    let results = experiment.run(bench, None, &|_| ());
    results.map(ran).map_err(|why| Refused(why.to_string()))
}

fn text(question: &Question, advice: &Advice, width: usize) -> String {
    let mut text = heading(&question.study, width) + "\n";
    for note in &advice.notes {
        text += &dim(wrapped(note, width)).to_string();
    }
    text += "\n";
    if let Some(memory) = &advice.memory {
        text += &wrapped(&memory_said(memory), width);
    }
    text + &changes(advice, width)
}

/// "memory: 5.2 GiB of 8 GiB would do: read from disk +3 %; with 4.9 GiB: +22 %".
fn memory_said(memory: &Enough) -> String {
    let Enough {
        has,
        enough,
        effects,
        too_little,
    } = memory;
    let less = match too_little {
        Some((size, effects)) => format!("; with {size}: {}", said(effects)),
        None => "; less was not tried, or does not hold what is used".to_owned(),
    };
    match enough == has {
        true => format!("memory: all of the {has} is needed{less}"),
        false => format!(
            "memory: {enough} of the {has} would do: {}{less}",
            said(effects)
        ),
    }
}

/// "read from disk +3.1 %, time of 1 sqlite3 +0.4 %".
fn said(effects: &[Effect]) -> String {
    let one = |it: &Effect| format!("{} {}", it.measure, change(it));
    effects.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn change(effect: &Effect) -> String {
    match effect.change() {
        _ if effect.then.is_infinite() => "not reached".to_owned(),
        it if it.is_infinite() => format!("{} from none", effect.unit.show(effect.then)),
        it if it >= 1.0 => format!("{:.1} times as much", it + 1.0),
        it => format!("{:+.1} %", it * 100.0),
    }
}

fn changes(advice: &Advice, width: usize) -> String {
    let (tried, least) = (counted(advice.tried as u64, "setting"), MATTERS * 100.0);
    if advice.changes.is_empty() {
        return wrapped(
            &format!(
                "settings: leave them as they are: of {tried} tried one by one, none makes a \
                 measure better by {least:.0} % or more and none worse"
            ),
            width,
        );
    }
    let kept = advice.changes.len();
    let mut text = wrapped(
        &format!("settings: of {tried} tried one by one, {kept} matter by {least:.0} % or more"),
        width,
    );
    for (number, Change { setting, effects }) in (1..).zip(&advice.changes) {
        let line = format!("{number}. {}: {}", setting_said(setting), said(effects));
        text += &wrapped(&line, width);
    }
    if !advice.together.is_empty() {
        text += &wrapped(&format!("together: {}", said(&advice.together)), width);
    }
    text
}

fn setting_said(setting: &Setting) -> String {
    format!("{} = {}", setting.tunable, setting.value)
}

/// The settings as `sysctl.d` has them, each with its reason.
fn plan(study: &str, advice: &Advice) -> String {
    let mut text = format!("# advised by `plimsoll advise {study}`\n");
    for Change { setting, effects } in &advice.changes {
        text += &format!("# {}\n{}\n", said(effects), setting_said(setting));
    }
    text
}

/// A measure, as it is and as it would be, as JSON has it.
#[derive(Debug, JsonSchema, Serialize)]
struct EffectLine {
    measure: String,
    unit: String,
    now: f64,
    /// Left out where no run comes to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    then: Option<f64>,
}

#[derive(Debug, JsonSchema, Serialize)]
struct ChangeLine {
    tunable: String,
    value: String,
    effects: Vec<EffectLine>,
}

/// Memory that would do, and the most tried that would not.
#[derive(Debug, JsonSchema, Serialize)]
struct MemoryLine {
    has_bytes: u64,
    enough_bytes: u64,
    effects: Vec<EffectLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    too_little_bytes: Option<u64>,
    too_little_effects: Vec<EffectLine>,
}

/// The advice.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Document {
    /// The one that gains most first.
    changes: Vec<ChangeLine>,
    /// All of them together; empty for one or none.
    together: Vec<EffectLine>,
    tried: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<MemoryLine>,
    notes: Vec<String>,
}

impl Shape for Document {
    const NAME: &'static str = "advice";
    const VERSION: u32 = 1;
}

impl Document {
    fn of(advice: &Advice) -> Self {
        let change = |it: &Change| ChangeLine {
            tunable: it.setting.tunable.clone(),
            value: it.setting.value.clone(),
            effects: lines(&it.effects),
        };
        Self {
            changes: advice.changes.iter().map(change).collect(),
            together: lines(&advice.together),
            tried: advice.tried,
            memory: advice.memory.as_ref().map(|it| MemoryLine {
                has_bytes: it.has.0,
                enough_bytes: it.enough.0,
                effects: lines(&it.effects),
                too_little_bytes: it.too_little.as_ref().map(|(Bytes(size), _)| *size),
                too_little_effects: it
                    .too_little
                    .as_ref()
                    .map_or_else(Vec::new, |it| lines(&it.1)),
            }),
            notes: advice.notes.clone(),
        }
    }
}

fn lines(effects: &[Effect]) -> Vec<EffectLine> {
    let line = |it: &Effect| EffectLine {
        measure: it.measure.clone(),
        unit: it.unit.word().to_owned(),
        now: it.now,
        then: Some(it.then).filter(|then| then.is_finite()),
    };
    effects.iter().map(line).collect()
}
