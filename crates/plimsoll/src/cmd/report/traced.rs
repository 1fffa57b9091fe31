//! `plimsoll report --trace`: a traced run of a kernel beside the model's, task by task, and where
//! they part first.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use answer::model_bench::ModelBench;
use anyhow::{Context as _, bail};
use lab::traced;
use mm::units::Nanos;
use scenario::outcome::{Outcome, StepOutcome};
use scenario::traced::{Figure, Unit};
use schemars::JsonSchema;
use serde::Serialize;
use shapes::Shape;
use study::Study;
use study::record::Record;
use study::traced::parting::{Row, Windows, rows};
use study::traced::{Kept, read, tells};

use crate::cmd::prove::traced::said;
use crate::cmd::time;
use crate::exit::ExitCode;
use crate::results::wrapped;
use crate::term::{self, bold, dim};

/// Windows that are shown before the first in which the two part, and from it on.
const BEFORE: usize = 2;
const AFTER: usize = 4;

/// The trace that is compared, and how.
#[derive(Debug, clap::Args)]
pub(super) struct Compared {
    /// Compare a run that `prove --trace` traced with the model's, task by task, and say where the
    /// two part first: where a count is off by more than 5 (256 pages, 20 ms; an OOM kill) and by
    /// more than a quarter, whether a window earlier or later
    #[arg(long, value_name = "FILE", conflicts_with_all = ["report", "out", "all", "csv"])]
    pub(super) trace: Option<PathBuf>,
    /// The length of a window
    #[arg(long, value_name = "TIME", default_value = "100ms", requires = "trace")]
    #[arg(value_parser = time(Nanos(Nanos::MILLI.0)..=Nanos(3600 * Nanos::SECOND.0)))]
    window: Duration,
    /// Compare from the beginning of this labelled step on, of each side [default: of the run]
    #[arg(long, value_name = "LABEL", requires = "trace")]
    from: Option<String>,
}

/// What is printed as JSON.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Document<'a> {
    study: &'a str,
    arm: &'a str,
    seed: u64,
    /// What was traced, and what it is compared with.
    bench: &'a str,
    model: String,
    window_ns: u64,
    /// The step from which on both are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
    /// How long both are compared.
    span_ns: u64,
    /// Events in the kernel's buffer, those that found it full, and tracepoints that it lacks.
    events: &'a BTreeMap<String, u64>,
    lost: u64,
    absent: &'a [String],
    /// Those that part first come first.
    counts: Vec<CountsView<'a>>,
}

/// A figure of a task.
#[derive(Debug, JsonSchema, Serialize)]
struct CountsView<'a> {
    task: &'a str,
    figure: &'static str,
    /// `times`, `pages` of 4 KiB or `ns`.
    unit: &'static str,
    kernel: u64,
    model: u64,
    /// Where the window begins in which they part.
    #[serde(skip_serializing_if = "Option::is_none")]
    parts_at_ns: Option<u64>,
    /// How much in each window: on the kernel, on the model.
    windows: &'a [[u64; 2]],
}

impl Shape for Document<'_> {
    const NAME: &'static str = "trace";
    const VERSION: u32 = 1;
}

/// Both sides of a run.
struct Both {
    record: Record,
    kept: Kept,
    model: String,
    windows: Windows,
    rows: Vec<Row>,
}

impl Compared {
    /// Compares and shows.
    pub(super) fn run(
        &self,
        file: &Path,
        study: Option<&str>,
        is_json: bool,
    ) -> anyhow::Result<ExitCode> {
        let both = self.both(file, study)?;
        let mut out = term::out();
        match is_json {
            true => writeln!(out, "{}", shapes::text(&self.document(&both)))?,
            false => self.show(&mut out, &both)?,
        }
        Ok(ExitCode::Done)
    }

    fn both(&self, file: &Path, study: Option<&str>) -> anyhow::Result<Both> {
        let record = traced::read(file)?;
        let study = study_of(&record, file, study)?;
        let made = &record.provenance;
        let scenario = study.scenario(&made.arm, made.seed)?;
        let shown = || file.display().to_string();
        let (kernel, kept) = read(&scenario, &record.outcome).with_context(shown)?;
        let bench = ModelBench::of_kernel(&made.kernel)?;
        let (capture, model) = bench.trace(&scenario)?;
        let predicted = Outcome::from_capture(capture)?;
        let windows = self.windows(&record.outcome, &predicted, &kept)?;
        let mut rows = rows(&kernel, &model, windows);
        let asked = record.traced().unwrap_or_default();
        let asked = asked.split(',').map(|event| event.trim_end_matches('?'));
        let events: Vec<&str> = asked
            .filter(|event| !kept.absent.iter().any(|absent| absent == event))
            .collect();
        rows.retain(|row| tells(row.figure, &events));
        let model = answer::bench::Bench::describe(&bench);
        Ok(Both {
            record,
            kept,
            model,
            windows,
            rows,
        })
    }

    /// Both from the same moment on, as long as both go on and the buffer had room.
    fn windows(&self, kernel: &Outcome, model: &Outcome, kept: &Kept) -> anyhow::Result<Windows> {
        let begins = |outcome: &Outcome| match &self.from {
            None => Ok(Nanos::ZERO),
            Some(label) => begins(outcome, label),
        };
        let from = [begins(kernel)?, begins(model)?];
        let mut ends = [end(kernel), end(model)];
        if kept.lost > 0 {
            ends[0] = ends[0].min(kept.last);
        }
        let spans = [0, 1].map(|side| ends[side].saturating_sub(from[side]));
        Ok(Windows {
            length: Nanos(u64::try_from(self.window.as_nanos()).unwrap_or(u64::MAX)),
            from,
            span: spans[0].min(spans[1]),
        })
    }

    fn document<'a>(&'a self, both: &'a Both) -> Document<'a> {
        let Both {
            record,
            kept,
            windows,
            ..
        } = both;
        let length = windows.length.0;
        let view = |row: &'a Row| {
            let [kernel, model] = row.before(row.counts.len());
            CountsView {
                task: &row.task,
                figure: row.figure.name(),
                unit: match row.figure.unit() {
                    Unit::Times => "times",
                    Unit::Pages => "pages",
                    Unit::Nanos => "ns",
                },
                kernel,
                model,
                parts_at_ns: row.parts.map(|window| window as u64 * length),
                windows: &row.counts,
            }
        };
        Document {
            study: &record.provenance.study,
            arm: &record.provenance.arm,
            seed: record.provenance.seed,
            bench: &record.provenance.bench,
            model: both.model.clone(),
            window_ns: length,
            from: self.from.as_deref(),
            span_ns: windows.span.0,
            events: &kept.events,
            lost: kept.lost,
            absent: &kept.absent,
            counts: both.rows.iter().map(view).collect(),
        }
    }

    fn show(&self, out: &mut impl Write, both: &Both) -> io::Result<()> {
        let width = term::columns();
        let made = &both.record.provenance;
        let head = format!("{}, arm {}, seed {}", made.study, made.arm, made.seed);
        writeln!(out, "{}", bold(head))?;
        let traced = format!("traced: {}, which is no record; {}", made.bench, both.model);
        let since = self.from.as_ref();
        let since = since.map_or_else(|| "the run".to_owned(), |label| format!("step {label}"));
        let windows = both.windows;
        let compared = format!(
            "compared: {:.1} s from the beginning of {since} on, in windows of {} ms",
            windows.span.seconds(),
            windows.length.0 / Nanos::MILLI.0
        );
        let lines = [traced]
            .into_iter()
            .chain(said(&both.kept))
            .chain([compared]);
        for line in lines {
            write!(out, "{}", dim(wrapped(&line, width)))?;
        }
        writeln!(out)?;
        match both.rows.first().and_then(|row| Some((row, row.parts?))) {
            Some((row, window)) => first(out, row, window, windows)?,
            None => writeln!(out, "They part nowhere.")?,
        }
        writeln!(out)?;
        totals(out, both)
    }
}

/// The study that was run: the one of the trace, whose text it has, or one that asks for the same.
fn study_of(record: &Record, file: &Path, named: Option<&str>) -> anyhow::Result<Study> {
    let made = &record.provenance;
    let Some(name) = named else {
        let text = Study::parse(&made.study_text, &file.display().to_string());
        return Ok(text?);
    };
    let study = lab::find::find(name)?;
    if study.asked(&made.arm) != Some(made.asked()) {
        let (file, of, arm) = (file.display(), &made.study, &made.arm);
        bail!(
            "{file} is a trace of another study than {name}: of {of}, arm {arm}; without a name, \
             `report --trace` takes the study from the trace"
        );
    }
    Ok(study)
}

/// When the first step with this label began.
fn begins(outcome: &Outcome, label: &str) -> anyhow::Result<Nanos> {
    if let Some(step) = outcome.labelled(label).next() {
        return Ok(step.start);
    }
    let mut known: Vec<&str> = outcome.steps.iter().map(|it| it.label.as_str()).collect();
    known.dedup();
    bail!(
        "--from {label}: no such step ended; there are: {}",
        known.join(", ")
    )
}

/// When a run ended.
fn end(outcome: &Outcome) -> Nanos {
    let last = outcome.capture.frames.last();
    let steps = outcome.steps.iter().map(|step: &StepOutcome| step.end);
    steps.chain(last.map(|it| it.at)).max().unwrap_or_default()
}

/// The first window in which the two part, and those around it.
fn first(out: &mut impl Write, row: &Row, window: usize, windows: Windows) -> io::Result<()> {
    let at = |window: usize| format!("{:.3} s", windows.length.seconds() * window as f64);
    let (task, what) = (&row.task, named(row.figure));
    writeln!(out, "They part first at {}: {task}, {what}", at(window))?;
    writeln!(
        out,
        "{:>14} {:>12} {:>12}",
        "window from", "kernel", "model"
    )?;
    let [kernel, model] = row.before(window).map(|amount| shown(row.figure, amount));
    writeln!(out, "{:>14} {kernel:>12} {model:>12}", "all before")?;
    let around = window.saturating_sub(BEFORE)..row.counts.len().min(window + AFTER);
    for around in around {
        let [kernel, model] = row.counts[around].map(|amount| shown(row.figure, amount));
        let mark = if around == window { "  <" } else { "" };
        writeln!(out, "{:>14} {kernel:>12} {model:>12}{mark}", at(around))?;
    }
    Ok(())
}

/// All counts, those that part first before the others.
fn totals(out: &mut impl Write, both: &Both) -> io::Result<()> {
    let names = both.rows.iter().map(|row| row.task.chars().count());
    let left = names.max().unwrap_or(0).clamp(4, 16);
    let head = format!(
        "{:left$}  {:<27} {:>9} {:>9}  {}",
        "task", "what", "kernel", "model", "part at"
    );
    writeln!(out, "{}", bold(head))?;
    for row in &both.rows {
        let task: String = row.task.chars().take(left).collect();
        let [kernel, model] = row.before(row.counts.len()).map(|it| shown(row.figure, it));
        let parts = row.parts.map_or_else(String::new, |window| {
            format!("{:.3} s", both.windows.length.seconds() * window as f64)
        });
        let what = named(row.figure);
        let line = format!("{task:left$}  {what:<27} {kernel:>9} {model:>9}  {parts}");
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// A figure with its unit.
fn named(figure: Figure) -> String {
    let unit = match figure.unit() {
        Unit::Times => "",
        Unit::Pages => ", pages",
        Unit::Nanos => ", ms",
    };
    format!("{}{unit}", figure.name())
}

fn shown(figure: Figure, amount: u64) -> String {
    match figure.unit() {
        Unit::Nanos => format!("{:.1}", amount as f64 / Nanos::MILLI.0 as f64),
        Unit::Times | Unit::Pages => amount.to_string(),
    }
}
