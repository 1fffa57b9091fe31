//! `plimsoll explain`: what a tunable is, what its value comes to here, and what changing it does.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use conf::Tree;
use host::Root;
use mm::capture::{Capture, Frame};
use mm::catalogue::{self, KeyError, folder};
use mm::snapshot::Snapshot;

use super::inspect::evidence::{self, Facts, Read};
use crate::exit::ExitCode;
use crate::term::{self, Canvas, Charset};
use crate::view::View;
use crate::view::explain::overview::Overview;
use crate::view::explain::{Explanation, Looked, boot};

/// Folders of which each file should be a tunable or a counter that is known.
const FOLDERS: [&str; 6] = [
    folder::VM,
    folder::KSM,
    folder::LRU_GEN,
    folder::THP,
    folder::KHUGEPAGED,
    folder::ZSWAP,
];

/// Explain a tunable: its value in bytes here, the kernel's own choice, what goes with it
///
/// KEY may be written in any spelling: vm.swappiness, vm/swappiness, /proc/sys/vm/swappiness,
/// swappiness, ksm.run, /sys/kernel/mm/lru_gen/min_ttl_ms, bdi.sda.max_ratio,
/// system.slice/memory.high, MemoryHigh. Without KEY it lists the tunables that differ from what
/// this kernel chooses on this machine, the largest effect first. Needs no root and changes
/// nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The tunable [default: all that differ from the kernel's own choice]
    #[arg(value_name = "KEY")]
    key: Option<String>,
    /// Explain it for the machine that this evidence comes from: whatever `inspect` reads; - is
    /// standard input
    #[arg(long = "of", value_name = "EVIDENCE")]
    evidence: Vec<PathBuf>,
    #[command(flatten)]
    facts: Facts,
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
    /// Draw with these characters [default: what the locale says]
    #[arg(long, value_name = "SET")]
    charset: Option<Charset>,
}

/// Explains.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    // A key that means nothing is said before anything is read.
    let key = args.key.as_deref();
    let named = key.map(catalogue::resolve).transpose().map_err(way_out)?;
    let frame = frame(&args)?;
    let snapshot = Snapshot::parse(&frame);
    let canvas = canvas(&args);
    let text = match named {
        Some(named) => {
            let explanation = Explanation::of(Looked {
                frame: &frame,
                snapshot: &snapshot,
                named,
                evidence: &in_a_command(&args.evidence),
                configuration: configuration(&args, &frame).as_ref(),
            });
            match args.json {
                true => explanation.json() + "\n",
                false => explanation.text(canvas),
            }
        }
        None => {
            let overview = Overview::of(&frame, &snapshot, strange(&args, &frame));
            match args.json {
                true => overview.json() + "\n",
                false => overview.text(canvas),
            }
        }
    };
    let mut out = term::out();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::Done)
}

/// The evidence as a further command names it; a word in its place where that cannot be typed.
fn in_a_command(sources: &[PathBuf]) -> String {
    let names: Vec<String> = sources
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let plain = |name: &String| {
        let fine = |c: char| c.is_ascii_alphanumeric() || "/._-+:@".contains(c);
        name != "-" && name.chars().all(fine)
    };
    match names.iter().all(plain) {
        true => names.join(" "),
        false => "EVIDENCE".to_owned(),
    }
}

/// An error of a key with what to do.
fn way_out(error: KeyError) -> anyhow::Error {
    match &error {
        KeyError::Unknown {
            suggestion: None, ..
        } => {
            anyhow::anyhow!("{error}; docs/tunables.md lists those there are")
        }
        _ => error.into(),
    }
}

/// The machine's files, or those of the evidence.
fn frame(args: &Args) -> anyhow::Result<Frame> {
    if args.evidence.is_empty() {
        return Ok(host::read::full(
            &Root::default(),
            host::facts::since_boot(),
        ));
    }
    match evidence::read(&args.evidence, &args.facts)? {
        Read::One(capture) => last(&capture, args),
        Read::Two(_) => bail!(
            "{}: two moments or machines; explain looks at one",
            evidence::names(&args.evidence)
        ),
    }
}

fn last(capture: &Capture, args: &Args) -> anyhow::Result<Frame> {
    let frame = View::frame(capture, None);
    let frame = frame.with_context(|| evidence::names(&args.evidence))?;
    Ok(frame.clone())
}

/// The files that set tunables at boot: of this machine, or those that the evidence has.
fn configuration(args: &Args, frame: &Frame) -> Option<Tree> {
    match args.evidence.is_empty() {
        true => Some(host::configuration::read(&Root::default())),
        false => boot::tree_of(frame),
    }
}

/// Files beside the tunables that the catalogue does not know.
fn strange(args: &Args, frame: &Frame) -> Vec<String> {
    let root = Root::default();
    let live = FOLDERS.iter().flat_map(|folder| {
        let names = root.names(folder).into_iter();
        names.map(move |name| format!("{folder}/{name}"))
    });
    let paths: Vec<String> = match args.evidence.is_empty() {
        true => live.filter(|path| root.is_file(path)).collect(),
        false => {
            let beside = |path: &&String| {
                let folder = path.rsplit_once('/').map(|(folder, _)| folder);
                folder.is_some_and(|folder| FOLDERS.contains(&folder))
            };
            frame.files.keys().filter(beside).cloned().collect()
        }
    };
    let is_strange = |path: &String| {
        let path = format!("/{path}");
        let known = catalogue::resolve(&path);
        !matches!(known, Ok(_) | Err(KeyError::Counter { .. }))
    };
    let strange = paths.into_iter().filter(is_strange);
    strange.map(|path| format!("/{path}")).collect()
}

fn canvas(args: &Args) -> Canvas {
    let canvas = Canvas::detect();
    Canvas {
        charset: args.charset.unwrap_or(canvas.charset),
        ..canvas
    }
}
