//! `plimsoll inspect`: the state of this machine in the mechanism's own terms.
//!
//! A live machine is read into a capture, and so is whatever evidence there is of another; from
//! there on both take the same path.

pub(super) mod evidence;
pub(crate) mod recorded;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use ::evidence::redact::redacted;
use anyhow::{Context as _, bail};
use host::Root;
use mm::capture::{Capture, Frame};
use mm::page_cache::PageCache;

use super::{seconds, time};
use crate::exit::ExitCode;
use crate::pages;
use crate::term::{self, Canvas, Charset};
use look::compare::Compare;
use look::findings;
use look::sections::{self, Extent, Section};
use look::view::View;

/// Show the state of this machine's memory in the kernel's own terms
///
/// Shows what is wrong first. Then for each zone the free pages against the watermarks, the terms
/// of MemAvailable, the dirty thresholds, the page lists and what the next pass of reclaim scans,
/// reclaim, refaults and pressure over an interval, swap, huge pages, LRU, KSM, and the control
/// groups that bind memory, with the ancestor that cuts a protection. Computes again what the
/// kernel computes, and compares. Needs no root; what could not be read is listed at the end.
/// Files of one machine are shown together; two pieces of evidence with the same kernel file are
/// compared.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show this instead of this machine: a capture or record, a folder or archive with files of
    /// /proc and /sys, a text of such files, a kernel log; - is standard input. Or a recording, by
    /// itself: who read and wrote how much, and what more memory would save
    #[arg(value_name = "EVIDENCE", conflicts_with = "watch")]
    evidence: Vec<PathBuf>,
    /// Show a saved capture: what EVIDENCE does
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "watch")]
    from: Vec<PathBuf>,
    /// Show the snapshot of this name [default: the last that has one]
    #[arg(long, value_name = "NAME", conflicts_with = "watch")]
    at: Option<String>,
    #[command(flatten)]
    facts: evidence::Facts,
    /// Save what was read as a capture, to show later, for a bug report or for a colleague
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    save: Option<PathBuf>,
    /// Save it without command lines and the names of processes, control groups, hosts and files
    #[arg(long, requires = "save")]
    redact: bool,
    /// Time over which rates are taken; 0 takes none
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time(seconds(0, 3600)))]
    interval: Duration,
    /// Show the state again after every interval, until interrupted
    #[arg(long)]
    watch: bool,
    /// Show everything, and not one screen
    #[arg(long, conflicts_with_all = ["section", "json"])]
    all: bool,
    /// Show only these sections [default: one screen, the diagnosis first]
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        value_parser = term::one_of(sections::all())
    )]
    section: Vec<Section>,
    /// Show only the diagnosis
    #[arg(long, conflicts_with_all = ["section", "all", "json"])]
    brief: bool,
    /// Write JSON, one document in a line: all sections, and of --section only files beside them
    #[arg(long)]
    json: bool,
    /// Answer by the exit code whether every recomputed number equals the kernel's: 0 yes, 1 no, 2
    /// nothing could be recomputed
    #[arg(long)]
    check: bool,
    /// Show the page of a finding; without a name all findings
    #[arg(long, value_name = "FINDING", num_args = 0..=1, exclusive = true)]
    explain: Option<Option<String>>,
    /// Draw with these characters [default: what the locale says]
    #[arg(long, value_name = "SET", value_parser = term::charsets())]
    charset: Option<Charset>,
}

impl Args {
    /// The evidence, in order; none for this machine.
    fn sources(&self) -> Vec<PathBuf> {
        self.from.iter().chain(&self.evidence).cloned().collect()
    }

    fn wants_files(&self) -> bool {
        self.section.contains(&Section::Files)
    }

    /// Only a machine that runs says whose pages it holds, and JSON has every other section.
    fn check_sections(&self) -> anyhow::Result<()> {
        if self.wants_files() && !self.sources().is_empty() {
            bail!("--section files: it is asked of this machine alone; leave the evidence out");
        }
        if self.json && self.section.iter().any(|it| *it != Section::Files) {
            bail!("--json writes all sections; leave --section out, or say --section files");
        }
        Ok(())
    }
}

/// How long files are looked for.
const FILES_WITHIN: Duration = Duration::from_secs(5);

/// Inspects.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(name) = &args.explain {
        return pages::show(&findings::pages(), name.as_deref());
    }
    args.check_sections()?;
    if args.watch {
        return watch(&args);
    }
    if let [path] = &args.sources()[..]
        && let Some(study) = lab::find::recording(path)?
    {
        return recorded::show(path, &study, &args);
    }
    let capture = match args.sources().is_empty() {
        true => read(args.interval),
        false => match evidence::read(&args.sources(), &args.facts)? {
            evidence::Read::One(capture) => capture,
            evidence::Read::Two(captures) => return compare(&captures, &args),
        },
    };
    if let Some(path) = &args.save {
        let text = match args.redact {
            true => redacted(&capture).to_text(),
            false => capture.to_text(),
        };
        let saved = files::output::write(path, text.as_bytes());
        saved.with_context(|| format!("{}: cannot be saved", path.display()))?;
    }
    let view = view(&capture, &args)?;
    show(&view, &args)?;
    match args.check {
        true => checked(&view, &args),
        false => Ok(ExitCode::Done),
    }
}

/// Shows what changed between two pieces of evidence.
fn compare(captures: &[Capture; 2], args: &Args) -> anyhow::Result<ExitCode> {
    if args.save.is_some() || args.check {
        bail!(
            "{}: two that are compared are neither saved nor checked",
            place(args)
        );
    }
    let sources = args.sources();
    let at = args.at.as_deref();
    let mut sides = Vec::new();
    for (capture, source) in captures.iter().zip(&sources) {
        let name = evidence::names(std::slice::from_ref(source));
        sides.push((
            View::frame(capture, at).with_context(|| name.clone())?,
            name,
        ));
    }
    let [(before, first), (after, second)] = sides.as_slice() else {
        bail!("two pieces of evidence are compared, not {}", sides.len());
    };
    let compare = Compare::of((first, before), (second, after));
    let text = match args.json {
        true => shapes::text(&compare) + "\n",
        false => compare.text(canvas(args)),
    };
    let mut out = term::out();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::Done)
}

/// The answer to `--check`: without a number to compare there is none.
fn checked(view: &View, args: &Args) -> anyhow::Result<ExitCode> {
    match view.all_equal() {
        Some(true) => Ok(ExitCode::Done),
        Some(false) => Ok(ExitCode::No),
        None => bail!(
            "{}: nothing could be recomputed that tests a rule; what it takes is not all there: {}",
            place(args),
            view.unchecked().join(", ")
        ),
    }
}

/// Reads this machine twice, `interval` apart; once where that is zero.
fn read(interval: Duration) -> Capture {
    let mut frames = vec![frame()];
    if !interval.is_zero() {
        std::thread::sleep(interval);
        frames.push(frame());
    }
    Capture { frames }
}

/// Times that the machine is read until the numbers that move agree with each other.
const READINGS: usize = 5;

/// Reads this machine now. Its files are read one after the other while memory moves; a reading in
/// which they agree is taken, or else the last.
pub(super) fn frame() -> Frame {
    let read = || host::read::full(&Root::default(), host::facts::since_boot());
    let agrees = |frame: &Frame| {
        let capture = Capture {
            frames: vec![frame.clone()],
        };
        View::of(&capture, None).is_ok_and(|view| view.moving_equal())
    };
    let mut frame = read();
    for _ in 1..READINGS {
        if agrees(&frame) {
            break;
        }
        frame = read();
    }
    frame
}

fn view(capture: &Capture, args: &Args) -> anyhow::Result<View> {
    let view = View::of(capture, args.at.as_deref()).with_context(|| place(args))?;
    match args.sources().is_empty() {
        true if args.wants_files() => Ok(view.with_files(&page_cache(), capture)?),
        true => Ok(view),
        false => Ok(view.of_evidence()),
    }
}

/// Whose pages this machine holds in its page cache.
fn page_cache() -> PageCache {
    let root = Root::default();
    host::page_cache::read(&root, host::facts::read(&root).page, FILES_WITHIN)
}

/// What is looked at, for errors.
fn place(args: &Args) -> String {
    let sources = args.sources();
    match sources.is_empty() {
        true => "this machine".to_owned(),
        false => evidence::names(&sources),
    }
}

fn show(view: &View, args: &Args) -> anyhow::Result<()> {
    let mut out = term::out();
    match args.json {
        // The exit code answers.
        _ if args.check && term::is_quiet() => return Ok(()),
        true => writeln!(out, "{}", shapes::text(view))?,
        false => out.write_all(view.text(canvas(args), &extent(args)).as_bytes())?,
    }
    Ok(out.flush()?)
}

/// How much was asked for.
fn extent(args: &Args) -> Extent {
    match (args.brief, args.all || args.check, args.section.is_empty()) {
        (true, ..) => Extent::Some(vec![Section::Diagnosis]),
        (.., false) => Extent::Some(args.section.clone()),
        (_, true, _) => Extent::All,
        _ => Extent::Screen,
    }
}

fn show_live(view: &View, args: &Args, rows: usize) -> anyhow::Result<()> {
    let mut out = term::out();
    out.home()?;
    let text = view.live_text(canvas(args));
    let lines: Vec<&str> = text.lines().take(rows.saturating_sub(1)).collect();
    writeln!(out, "{}", lines.join("\n"))?;
    Ok(out.flush()?)
}

fn canvas(args: &Args) -> Canvas {
    let canvas = term::canvas();
    Canvas {
        charset: args.charset.unwrap_or(canvas.charset),
        ..canvas
    }
}

/// Shows the state again and again: on a terminal what moves, as much as fits; to a pipe
/// everything.
fn watch(args: &Args) -> anyhow::Result<ExitCode> {
    if args.interval.is_zero() {
        bail!("--watch needs an interval above 0");
    }
    let mut before = frame();
    loop {
        std::thread::sleep(args.interval);
        let now = frame();
        let frames = vec![before, now.clone()];
        let view = view(&Capture { frames }, args)?;
        match term::rows().filter(|_| !args.json) {
            Some(rows) => show_live(&view, args, rows)?,
            None => show(&view, args)?,
        }
        before = now;
    }
}

#[cfg(test)]
mod mutations;
