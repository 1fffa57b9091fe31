//! `plimsoll top`: the state of memory as a live screen.

mod here;
mod live;
mod reel;
mod screen;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::inspect::evidence::{self, Read};
use super::{seconds, time};
use crate::exit::ExitCode;
use crate::term::{self, Charset};

use self::reel::Reel;
use self::screen::Room;

/// Watch memory against its lines: a live screen
///
/// What is wrong, free pages of each zone against its watermarks, dirty pages and those of each
/// device against their limits, who waits, who holds memory, to which control groups it comes back,
/// and what the guard did. The last 300 looks are kept: space stops, the arrow keys go back and on.
/// Of evidence with several moments each is a look. Needs no root and changes nothing; as root it
/// shows what each device holds, too.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show the moments of this instead of this machine: evidence as for inspect
    #[arg(value_name = "EVIDENCE")]
    evidence: Vec<PathBuf>,
    #[command(flatten)]
    facts: evidence::Facts,
    /// Time from one look to the next
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1s",
        conflicts_with = "evidence"
    )]
    #[arg(value_parser = time(seconds(1, 3600)))]
    interval: Duration,
    /// Print one screen as text, and end
    #[arg(long)]
    once: bool,
    /// Draw with these characters [default: what the locale says]
    #[arg(long, value_name = "SET", value_parser = term::charsets())]
    charset: Option<Charset>,
}

/// Shows.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let terminal = term::terminal().filter(|_| !args.once);
    if terminal.is_none() && !args.once {
        bail!("standard output is no terminal: plimsoll top --once prints one screen as text");
    }
    let mut reel = reel(&args)?;
    let charset = args.charset.unwrap_or(term::canvas().charset);
    match terminal {
        Some(out) => live::show(out, &mut reel, args.interval, charset)?,
        None => once(&mut reel, args.interval, charset)?,
    }
    Ok(ExitCode::Done)
}

fn reel(args: &Args) -> anyhow::Result<Reel> {
    if args.evidence.is_empty() {
        return Ok(Reel::live());
    }
    let name = evidence::names(&args.evidence);
    match evidence::read(&args.evidence, &args.facts)? {
        Read::One(capture) => Reel::of(short(&args.evidence), capture).with_context(|| name),
        Read::Two(_) => bail!("{name}: two machines or moments that do not fit: give one"),
    }
}

/// The names of the evidence without their folders.
fn short(paths: &[PathBuf]) -> String {
    let last = paths
        .iter()
        .map(|path| path.file_name().unwrap_or(path.as_os_str()));
    evidence::names(&last.map(PathBuf::from).collect::<Vec<_>>())
}

/// Prints one screen, as long as it is.
fn once(reel: &mut Reel, interval: Duration, charset: Charset) -> anyhow::Result<()> {
    if reel.is_live() {
        reel.look();
        std::thread::sleep(interval);
        reel.look();
    }
    let room = Room {
        width: term::columns(),
        height: None,
        charset,
    };
    let mut out = term::out();
    for line in screen::lines(&reel.shown(), room) {
        writeln!(out, "{}", line.to_string().trim_end())?;
    }
    Ok(out.flush()?)
}
