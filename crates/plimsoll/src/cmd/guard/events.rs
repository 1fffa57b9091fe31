//! `plimsoll guard events`: what the guard did, and why.

use std::io::Write as _;
use std::time::Duration;

use guard::Event;
use host::facts::since_1970;

use super::json;
use super::shared::{StateArg, read};
use crate::cmd::{UP_TO_A_WEEK, time};
use crate::exit::ExitCode;
use crate::term;

/// Show what the guard did, each with its reason and figure; as root
///
/// The latest 256 to 512 KiB of events are kept until the next boot. With systemd the journal has
/// them too, with the fields PLIMSOLL_POLICY, PLIMSOLL_ACTION, PLIMSOLL_FILE, PLIMSOLL_BYTES and
/// PLIMSOLL_WHY. A file is named by its file system and inode number.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only those of this time, as in 90s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = time(UP_TO_A_WEEK))]
    since: Option<Duration>,
    #[command(flatten)]
    state: StateArg,
    /// Write JSON, one document in a line
    #[arg(long)]
    json: bool,
}

/// Shows.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut events = all(&args.state)?;
    if let Some(since) = args.since {
        let after = since_1970().saturating_sub(since).as_millis();
        events.retain(|event| u128::from(event.at) >= after);
    }
    let mut out = term::out();
    if args.json {
        writeln!(out, "{}", json::events(&events))?;
        return Ok(ExitCode::Done);
    }
    if events.is_empty() {
        writeln!(out, "no guard did anything in that time")?;
    }
    for event in &events {
        let date = crate::changing::told::date(event.at / 1000);
        writeln!(out, "{date}  {}", event.said())?;
    }
    Ok(ExitCode::Done)
}

/// The events that are kept, the oldest first.
pub(super) fn all(state: &StateArg) -> anyhow::Result<Vec<Event>> {
    let mut text = String::new();
    for end in ["events.1", "events"] {
        text += &read(&state.beside(end))?.unwrap_or_default();
    }
    Ok(text.lines().filter_map(Event::parse).collect())
}
