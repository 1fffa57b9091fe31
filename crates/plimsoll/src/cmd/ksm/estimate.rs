//! `plimsoll ksm estimate`: what merging would save in running processes, and what it would cost.

use std::io::Write as _;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use host::pages::{self, Limits, Reading};
use host::processes::Process;
use host::{Root, facts};
use mm::ksm::{DIR, Ksm};
use mm::notes::Facts;
use mm::units::{Bytes, Nanos, Pages};

use super::chosen::{self, Which};
use super::figures::{Figures, Looked};
use super::text;
use crate::cmd::{seconds, time};
use crate::exit::ExitCode;
use crate::term;

/// Estimate what merging equal pages would save in running processes, before it is switched on
///
/// Reads the anonymous pages of the processes that are in memory, and compares them by hash, twice,
/// so that pages that keep changing do not count. It neither stops nor changes the processes, swaps
/// nothing in and keeps no content. But every page that it reads is marked accessed, so reclaim and
/// idle page tracking take it to be in use. A process that may not be read, such as another user's
/// without root, gives an upper bound. The time and the share of a CPU that ksmd would need follow
/// from costs measured on this machine. docs/ksm.md says what each figure means.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Look at these processes, separated by commas (repeatable) [default: all]
    #[arg(
        long,
        value_name = "PID",
        value_delimiter = ',',
        value_parser = pid,
        allow_negative_numbers = true,
        conflicts_with = "cgroup"
    )]
    pid: Vec<u32>,
    /// Look at the processes of this control group and of its descendants
    #[arg(long, value_name = "PATH", value_parser = cgroup)]
    cgroup: Option<String>,
    /// Time from the first look at the pages to the second; what changes meanwhile does not
    /// merge
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time(seconds(0, 3600)))]
    pub(super) sample_time: Duration,
    /// CPU time that the estimate may take; what is not reached by then widens the
    /// interval
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time(SOME))]
    cpu_limit: Duration,
    /// Pages kept for comparison, at 24 bytes each; where there are more, one content in 2, 4, …
    /// is kept and the interval says what that costs
    #[arg(long, value_name = "PAGES", default_value = "4194304", value_parser = pages)]
    keep: u32,
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
}

/// Without CPU time nothing is read.
const SOME: RangeInclusive<Nanos> = Nanos(1)..=Nanos(3600 * Nanos::SECOND.0);

/// CPU time of a page of 4 KiB in both looks: the slower figure of `docs/benchmarks.md`.
const TWO_LOOKS: Nanos = Nanos(2250);

/// Estimates.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (root, started) = (Root::default(), Instant::now());
    let spent = pages::cpu_time();
    let which = match &args.cgroup {
        Some(group) => Which::Group(group),
        None if args.pid.is_empty() => Which::All,
        None => Which::Pids(&args.pid),
    };
    let processes = chosen::processes(&root, which)?;
    let Facts { page, reader, .. } = facts::read(&root);
    term::talk(beforehand(&processes, &args));
    let limits = Limits {
        cpu: Nanos(u64::try_from(args.cpu_limit.as_nanos()).unwrap_or(u64::MAX)),
        keep: args.keep as usize,
        between: args.sample_time,
    };
    let reading = pages::read(&root, &processes, page, &limits);
    if reading.lost.len() == processes.len() {
        bail!("every process ended before it could be read");
    }
    let looked = Looked {
        processes: &processes,
        reading: &reading,
        page,
        ksm: ksm(&root)?,
        visit: pages::visit_cost(&root, page),
        between: args.sample_time,
        limit: args.cpu_limit,
        place: facts::place(&root),
        reader,
    };
    let mut figures = Figures::of(&looked);
    figures.took(
        started.elapsed(),
        Nanos(pages::cpu_time().0 - spent.0),
        peak(&root),
    );
    show(&figures, args.json)?;
    match &figures.estimate {
        Some(_) => Ok(ExitCode::Done),
        None => bail!(
            "nothing could be read: {}",
            why(&figures, &reading, args.cpu_limit)
        ),
    }
}

/// What it is about to do to the processes, and how long it takes.
fn beforehand(processes: &[Process], args: &Args) -> String {
    let memory: Bytes = processes.iter().map(|process| process.rss_anon).sum();
    let whose = match processes.len() {
        1 => "one process".to_owned(),
        count => format!("{count} processes"),
    };
    let limit = args.cpu_limit.as_secs_f64();
    let reading = Nanos(memory.0 / 4096 * TWO_LOOKS.0).seconds().min(limit);
    format!(
        "reading {memory} of {whose} twice, {} s apart: about {reading:.1} s of CPU time, at most \
         {limit} s; each page read is marked accessed, so reclaim and idle page tracking take it \
         for used",
        args.sample_time.as_secs_f64()
    )
}

/// Why there is no estimate, and the way out.
fn why(figures: &Figures, reading: &Reading, limit: Duration) -> String {
    match &figures.unread {
        Some(unread) => format!("{}; {}", unread.reason, unread.way_out),
        None if reading.all == Pages::ZERO => {
            "no anonymous page of theirs is in memory; choose other processes".to_owned()
        }
        None => format!(
            "{} s of CPU time were not enough to begin; give a longer --cpu-limit",
            limit.as_secs_f64()
        ),
    }
}

/// The tunables and counters of KSM; `None` on a kernel without it.
fn ksm(root: &Root) -> anyhow::Result<Option<Ksm>> {
    if !root.is_directory(DIR) {
        return Ok(None);
    }
    let mut ksm = Ksm::default();
    for name in root.names(DIR) {
        let path = mm::ksm::path(&name);
        let text = root.read(&path).with_context(|| format!("/{path}"))?;
        ksm.read(&path, &text)?;
    }
    Ok(Some(ksm))
}

/// The most memory that this process had.
fn peak(root: &Root) -> Option<Bytes> {
    let path = "proc/self/status";
    let status = mm::process::Status::parse(path, &root.read(path).ok()?);
    status.ok()?.peak
}

fn show(figures: &Figures, json: bool) -> anyhow::Result<()> {
    let mut out = term::out();
    match json {
        true => {
            writeln!(out, "{}", shapes::text(figures))?;
        }
        false => out.write_all(text::page(figures, term::canvas()).as_bytes())?,
    }
    Ok(out.flush()?)
}

fn pid(text: &str) -> Result<u32, String> {
    let pid = text.parse().ok().filter(|&pid| pid > 0);
    pid.ok_or_else(|| "expected the number of a process, as in 1234".to_owned())
}

fn cgroup(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("expected a path, as in system.slice; / has all processes".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// Without any time nothing can be read.
fn pages(text: &str) -> Result<u32, String> {
    let refused = || "expected pages from 1000 to 67108864".to_owned();
    let pages: u32 = text.parse().map_err(|_| refused())?;
    match pages {
        1000..=67_108_864 => Ok(pages),
        _ => Err(refused()),
    }
}
