//! `plimsoll guard`: the daemon that keeps memory as its configuration says.

mod check;
mod checked;
mod events;
mod explain;
pub(crate) mod json;
mod ksm;
mod machine;
mod others;
mod release;
mod shared;
mod status;
mod trying;
mod watermarks;
mod writeback;

use std::path::Path;

use crate::exit::ExitCode;

/// The guard plimsoll-guard: what it would do here, what it does, and why; docs/guard.md says more
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = false)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Check(check::Args),
    Try(trying::Args),
    Status(status::Args),
    Explain(explain::Args),
    Events(events::Args),
    Release(release::Args),
    Keep(release::KeepArgs),
}

/// Runs the verb below.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Check(args) => check::run(args),
        Verb::Try(args) => trying::run(args),
        Verb::Status(args) => status::run(args),
        Verb::Explain(args) => explain::run(args),
        Verb::Events(args) => events::run(args),
        Verb::Release(args) => release::run(args),
        Verb::Keep(args) => release::keep(args),
    }
}

/// The guard of this machine, as metrics have it; `None` where none is set up, or what it writes
/// cannot be read.
pub(super) fn standing() -> Option<look::metrics::Guard> {
    shared::standing(Path::new(shared::CONFIG), Path::new(shared::STATE))
}

/// What stands of the guard, and the last things that it did, the latest first; nothing where none
/// is set up.
pub(super) fn recent(count: usize) -> Vec<String> {
    use look::metrics::Guard;
    let state = shared::StateArg {
        state: shared::STATE.into(),
    };
    let stands = match standing() {
        Some(Guard::Runs) => "it runs",
        Some(Guard::Stopped) => "it is configured, and does not run",
        Some(Guard::Killed) => {
            "it was killed, and left tunables set: plimsoll-guard --restore writes them back"
        }
        None if state.state.exists() => "what it says is for root",
        None => return Vec::new(),
    };
    let did = match events::all(&state) {
        Ok(events) => events,
        Err(_) => return vec![stands.to_owned(), "what it did is for root".to_owned()],
    };
    let did = did.iter().rev().take(count).map(|event| {
        let date = crate::changing::told::date(event.at / 1000);
        format!("{date}  {}", event.said())
    });
    [stands.to_owned()].into_iter().chain(did).collect()
}
