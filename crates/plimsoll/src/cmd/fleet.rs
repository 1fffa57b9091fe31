//! `plimsoll fleet`: the captures of many machines, judged one by one and compared.
//!
//! One thread finds hosts and gives them in batches; all CPUs judge a batch; what is said of it is
//! kept in the order of the hosts, so the answer does not depend on the number of CPUs.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use anyhow::{Context as _, bail};
use lab::evidence::hosts::{self, Host};
use look::fleet::{self, Extent, Fleet};
use mm::capture::Capture;
use rayon::prelude::*;

use super::lint;
use crate::exit::ExitCode;
use crate::progress::{Bar, Elsewhere};
use crate::term;

/// Look at many machines: what is found on how many of them, and which differ from the others
///
/// Every entry of a folder or an archive is a host: a capture, a folder or an archive with its
/// kernel files, a sosreport. Says by rule on which hosts inspect and lint find something, and
/// which hosts hold a value where at least three quarters share another. What cannot be read is
/// named. Answers by the exit code: 0 some host was read, 2 none.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  plimsoll fleet captures/
  plimsoll fleet --json captures.tar.gz | jq -r 'select(.host).host'
  plimsoll fleet sosreport-*.tar.xz --html fleet.html")]
pub(crate) struct Args {
    /// Folders and archives whose entries are hosts, or the evidence of one host
    #[arg(value_name = "DIR|TAR|EVIDENCE", required = true)]
    what: Vec<PathBuf>,
    /// Name every host and every difference
    #[arg(long)]
    all: bool,
    /// Write JSON: a document in a line for each host, as it was read, and at the end one of all
    #[arg(long, conflicts_with = "all")]
    json: bool,
    /// Write a page too, into this file; it needs nothing beside it
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Hosts that are judged together.
const BATCH: usize = 128;

/// Bytes that a batch holds before it is judged, and the host that fills it.
const HEAVY: u64 = 32 << 20;

/// What became of the evidence of a host.
enum Judged {
    Host(fleet::Host),
    Fault(String, String),
}

/// Looks at them.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut fleet = Fleet::default();
    let (give, take) = sync_channel(1);
    let what = args.what;
    let bar = bar(&what, args.json);
    let read = std::thread::scope(|scope| {
        scope.spawn(move || find(&what, &give));
        judge_all(take, &mut fleet, (args.json, bar.as_ref()))
    });
    bar.iter().for_each(Bar::finish);
    read?;
    let document = fleet.document();
    if let Some(path) = &args.html {
        let written = files::output::write(path, document.html().as_bytes());
        written.with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    if fleet.is_empty() {
        bail!("no host could be read: {}", document.first_fault());
    }
    let text = match args.json {
        true => shapes::text(&document) + "\n",
        false => document.text(extent(args.all), term::canvas()),
    };
    let mut out = term::out();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::Done)
}

/// A bar where somebody watches, it is known how many hosts there are, and no lines of JSON go to
/// the same terminal.
fn bar(what: &[PathBuf], json: bool) -> Option<Bar> {
    let is_free = term::is_watched() && !(json && term::terminal().is_some());
    let count = || what.iter().map(|path| hosts::count(path)).sum();
    let hosts: usize = is_free.then(count).flatten()?;
    (hosts > BATCH).then(|| Bar::new(hosts, Elsewhere::Nothing))
}

fn extent(all: bool) -> Extent {
    match all {
        true => Extent::All,
        false => Extent::Screen,
    }
}

/// A host that was found, or why there are no more at a place.
type Place = Result<Host, (String, String)>;

/// Gives all hosts in batches, until nobody takes them.
fn find(what: &[PathBuf], give: &SyncSender<Vec<Place>>) {
    let (mut batch, mut heavy) = (Vec::new(), 0);
    let mut put = |place: Place| {
        heavy += place.as_ref().map_or(0, Host::weight);
        batch.push(place);
        if batch.len() < BATCH && heavy < HEAVY {
            return true;
        }
        heavy = 0;
        give.send(std::mem::take(&mut batch)).is_ok()
    };
    for path in what {
        if let Err(error) = hosts::each(path, &mut |host| put(Ok(host))) {
            put(Err((path.display().to_string(), error.to_string())));
        }
    }
    // Nobody takes it where the reader of the answer went away.
    give.send(batch).ok();
}

/// Judges what is given; where the answer cannot be written, nothing more is taken.
fn judge_all(
    take: Receiver<Vec<Place>>,
    fleet: &mut Fleet,
    (json, bar): (bool, Option<&Bar>),
) -> anyhow::Result<()> {
    for batch in take {
        let judged = batch.into_par_iter().map(judge);
        let judged: Vec<Judged> = judged
            .inspect(|_| bar.into_iter().for_each(Bar::step))
            .collect();
        for judged in judged {
            match judged {
                Judged::Host(host) => {
                    if json {
                        writeln!(term::out(), "{}", shapes::text(&host))?;
                    }
                    fleet.add(host);
                }
                Judged::Fault(path, why) => fleet.add_fault(&path, &why),
            }
        }
    }
    Ok(())
}

fn judge(place: Place) -> Judged {
    let host = match place {
        Ok(host) => host,
        Err((path, why)) => return Judged::Fault(path, why),
    };
    let path = host.path.clone();
    match judged(host) {
        Ok(host) => Judged::Host(host),
        Err(error) => Judged::Fault(path, format!("{error:#}")),
    }
}

fn judged(host: Host) -> anyhow::Result<fleet::Host> {
    let path = host.path.clone();
    let found = host.read()?;
    let capture = Capture {
        frames: found.frames,
    };
    let name = PathBuf::from(&path);
    let judged = fleet::Host::of(found.host.as_deref(), &path, &capture, |frame| {
        lint::of_frame(frame, &name)
    });
    Ok(judged?)
}
