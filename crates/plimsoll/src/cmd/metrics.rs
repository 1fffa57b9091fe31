//! `plimsoll metrics`: figures over time, as Prometheus collects them.

mod here;
mod listen;

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use look::metrics::{Facts, Form, earlier};
use look::view::View;
use mm::snapshot::Snapshot;

use super::inspect::evidence::{self, Read};
use super::{lint, seconds, time};
use crate::exit::ExitCode;
use crate::server::Reach;
use crate::term;

use self::here::Machine;

/// Print figures for Prometheus: how far memory is from each line, and for how long
///
/// What node_exporter does not have: the distance of each zone, node and dirty limit in bytes, and
/// in seconds at the present rate where there are two readings; boosts, ages of generations, what
/// was reclaimed from the largest control groups and came back, what lint finds, what drifted from
/// what apply set, and whether the guard runs. A fact that cannot be read has no sample. Needs no
/// root and changes nothing; docs/metrics.md lists the names.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print those of this instead of this machine: evidence as for inspect; - is standard input
    #[arg(value_name = "EVIDENCE", conflicts_with_all = ["over", "listen"])]
    evidence: Vec<PathBuf>,
    /// Print those of the snapshot of this name [default: the last that has one]
    #[arg(long, value_name = "NAME", requires = "evidence")]
    at: Option<String>,
    #[command(flatten)]
    facts: evidence::Facts,
    /// Read this machine twice, this far apart, and tell in how many seconds each line is reached
    /// [default: read it once, and tell no seconds]
    #[arg(long, value_name = "TIME", value_parser = time(seconds(1, 3600)))]
    over: Option<Duration>,
    /// Print OpenMetrics 1.0 instead of the text format of Prometheus
    #[arg(long, conflicts_with = "listen")]
    openmetrics: bool,
    /// Write them into this file, whole or not at all, as the textfile collector needs it
    #[arg(long, value_name = "FILE", conflicts_with = "listen")]
    output: Option<PathBuf>,
    /// Serve them at http://ADDRESS/metrics until interrupted, with seconds by the time since the
    /// last request [address by default: 127.0.0.1:9753]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, conflicts_with = "over")]
    #[arg(default_missing_value = "127.0.0.1:9753")]
    listen: Option<SocketAddr>,
    /// Let other machines reach what --listen serves
    #[arg(long, requires = "listen")]
    expose: bool,
}

/// Prints, writes or serves.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(address) = args.listen {
        let reach = match args.expose {
            true => Reach::Others,
            false => Reach::Here,
        };
        listen::serve(address, reach)?;
        return Ok(ExitCode::Done);
    }
    let facts = match args.evidence.is_empty() {
        true => here(args.over)?,
        false => of_evidence(&args)?,
    };
    let text = facts.text(match args.openmetrics {
        true => Form::OpenMetrics,
        false => Form::Prometheus,
    });
    match &args.output {
        Some(path) => {
            let written = files::output::write(path, text.as_bytes());
            written.with_context(|| format!("{}: cannot be written", path.display()))?;
        }
        None => {
            let mut out = term::out();
            out.write_all(text.as_bytes())?;
            out.flush()?;
        }
    }
    Ok(ExitCode::Done)
}

/// The figures of this machine, read once, or twice.
fn here(over: Option<Duration>) -> anyhow::Result<Facts> {
    let mut machine = Machine::default();
    if let Some(over) = over {
        machine.look();
        std::thread::sleep(over);
    }
    machine.facts()
}

/// The figures of a piece of evidence.
fn of_evidence(args: &Args) -> anyhow::Result<Facts> {
    let name = evidence::names(&args.evidence);
    let Read::One(capture) = evidence::read(&args.evidence, &args.facts)? else {
        bail!("{name}: two machines or moments that do not fit: give one at a time");
    };
    let shown = View::frame(&capture, args.at.as_deref()).with_context(|| name.clone())?;
    Ok(Facts {
        now: Snapshot::parse(shown),
        before: earlier(&capture, shown).map(Snapshot::parse),
        lint: Some(Arc::new(lint::of_frame(shown, name.as_ref()))),
        ..Facts::default()
    })
}
