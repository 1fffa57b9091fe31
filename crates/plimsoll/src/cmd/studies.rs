//! `plimsoll studies`: which questions the built-in studies answer, and what an answer takes.

use std::io::Write as _;

use answer::calibration;
use anyhow::bail;
use lab::experiment::cpus;
use mm::text::counted;
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;
use study::{BUILT_IN, Cost, memory, roughly};

use crate::exit::ExitCode;
use crate::results::wrapped;
use crate::term::{self, bold};

/// List the built-in studies: the question each answers, the time and memory it takes, and what can
/// run it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List only those that have this word in name, title, question or settings
    #[arg(value_name = "WORD")]
    word: Option<String>,
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
    /// Write CSV, one line a study
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// A study in a line, as JSON has it.
#[derive(Debug, JsonSchema, Serialize)]
struct Line {
    name: String,
    title: String,
    question: String,
    arms: usize,
    runs: usize,
    machine_memory_bytes: u64,
    machine_cpus: u32,
    /// On all CPUs of this machine.
    predict_seconds: Option<f64>,
    predict_memory_bytes: u64,
    /// One VM after the other.
    prove_seconds: Option<f64>,
    kernels: Vec<&'static str>,
    benches: Vec<&'static str>,
}

#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Document {
    studies: Vec<Line>,
}

impl Shape for Document {
    const NAME: &'static str = "studies";
    const VERSION: u32 = 2;
}

/// Lists.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let names = BUILT_IN
        .iter()
        .filter(|(_, text)| has(text, args.word.as_deref()));
    let lines = names.map(|(name, _)| Line::of(name));
    let lines = lines.collect::<anyhow::Result<Vec<Line>>>()?;
    if let (Some(word), true) = (&args.word, lines.is_empty()) {
        bail!("{word}: no built-in study has this word; plimsoll studies lists all");
    }
    let mut out = term::out();
    match (args.json, args.csv) {
        (true, _) => {
            let document = Document { studies: lines };
            writeln!(out, "{}", shapes::text(&document))?;
        }
        (false, true) => write!(out, "{}", csv(&lines))?,
        (false, false) => {
            let width = term::columns();
            let texts = lines.iter().map(|line| line.to_text(width));
            write!(out, "{}", texts.collect::<Vec<_>>().join("\n"))?;
        }
    }
    Ok(ExitCode::Done)
}

/// Whether a study's text has a word, in upper or lower case.
fn has(text: &str, word: Option<&str>) -> bool {
    let text = || text.to_ascii_lowercase();
    word.is_none_or(|word| text().contains(&word.to_ascii_lowercase()))
}

impl Line {
    fn of(name: &str) -> anyhow::Result<Self> {
        let study = lab::find::find(name)?;
        let model_only = study.is_for_the_model();
        let runs = study.arms.len() * usize::try_from(study.repetitions).unwrap_or(usize::MAX);
        let cost = Cost::of(name);
        let machine = study.arms.first().map(|arm| &arm.machine);
        Ok(Self {
            arms: study.arms.len(),
            runs,
            machine_memory_bytes: machine.map_or(0, |machine| machine.memory.0),
            machine_cpus: machine.map_or(0, |machine| machine.cpus),
            predict_seconds: cost.map(|cost| cost.on_the_model(runs, cpus()).as_secs_f64()),
            predict_memory_bytes: memory(&study, cpus()).0,
            prove_seconds: cost
                .and_then(|cost| cost.in_vms(runs, 1))
                .map(|time| time.as_secs_f64()),
            kernels: calibration::kernels().collect(),
            benches: if model_only {
                vec!["model"]
            } else {
                vec!["model", "vm"]
            },
            name: study.name,
            title: study.title,
            question: study.question,
        })
    }

    fn to_text(&self, width: usize) -> String {
        let time = |seconds: Option<f64>| {
            let time = seconds.map(std::time::Duration::from_secs_f64);
            time.map_or_else(|| "an unknown time".to_owned(), roughly)
        };
        let machine = mm::units::Bytes(self.machine_memory_bytes);
        let predicting = mm::units::Bytes(self.predict_memory_bytes.next_multiple_of(1 << 20));
        let cpus = counted(self.machine_cpus, "CPU");
        let proof = match self.prove_seconds {
            Some(_) => format!("prove: about {} for one VM", time(self.prove_seconds)),
            None => "for the model only".to_owned(),
        };
        let what = format!(
            "machine of {machine}, {cpus}; {} arms, {} runs; predict: about {} and {predicting} of \
             memory; {proof}; kernels {}",
            self.arms,
            self.runs,
            time(self.predict_seconds),
            self.kernels.join(", "),
        );
        format!(
            "{}\n{}{}",
            bold(&self.name),
            indented(&self.question, width),
            indented(&what, width)
        )
    }
}

fn indented(text: &str, width: usize) -> String {
    let lines = wrapped(text, width.saturating_sub(2));
    lines.lines().map(|line| format!("  {line}\n")).collect()
}

fn csv(lines: &[Line]) -> String {
    let head = [
        "name",
        "question",
        "arms",
        "runs",
        "machine_memory_bytes",
        "machine_cpus",
        "predict_seconds",
        "predict_memory_bytes",
        "prove_seconds",
        "kernels",
        "benches",
    ];
    let number = |number: Option<f64>| number.map_or_else(String::new, |n| n.to_string());
    let line = |line: &Line| {
        vec![
            line.name.clone(),
            line.question.clone(),
            line.arms.to_string(),
            line.runs.to_string(),
            line.machine_memory_bytes.to_string(),
            line.machine_cpus.to_string(),
            number(line.predict_seconds),
            line.predict_memory_bytes.to_string(),
            number(line.prove_seconds),
            line.kernels.join(" "),
            line.benches.join(" "),
        ]
    };
    let head = head.map(str::to_owned).to_vec();
    let lines = std::iter::once(head).chain(lines.iter().map(line));
    lines.map(|cells| answer::csv::line(&cells)).collect()
}
