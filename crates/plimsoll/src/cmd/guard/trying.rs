//! `plimsoll guard try`: one policy for a while, then everything is as it was.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, bail};
use guard::Policy;

use super::shared::{ConfigArg, StateArg};
use crate::cmd::{UP_TO_A_WEEK, time};
use crate::exit::ExitCode;
use crate::term;

/// The daemon's name.
const NAME: &str = "plimsoll-guard";

/// Run one policy of the guard for a while, and take back what it did; as root
///
/// It runs in the foreground and says what it does. It ends after the time, at Ctrl-C, and when
/// this command or its terminal ends, however that happens.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The policy: its section of the configuration counts, and no other
    #[arg(value_name = "POLICY", value_parser = Policy::WORDS.map(|(word, _)| word))]
    policy: String,
    /// How long, as in 90s, 10m or 2h
    #[arg(long = "for", value_name = "TIME", value_parser = time(UP_TO_A_WEEK))]
    lasts: Duration,
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    state: StateArg,
}

/// Runs it.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let policy = args.policy.as_str();
    let config = args.config.config.display();
    let of_policy = |key: &str| key.split('.').next() == Some(policy);
    if !args.config.read()?.iter().any(|(key, _)| of_policy(key)) {
        bail!("{config}: it has no [{policy}]; docs/guard.md lists the keys");
    }
    let daemon = daemon()?;
    // Ctrl-C is the daemon's, which says what it did and ends; this command waits for it.
    signal_hook::flag::register(
        signal_hook::consts::SIGINT,
        Arc::new(AtomicBool::new(false)),
    )?;
    let seconds = args.lasts.as_secs();
    term::talk(format_args!(
        "{policy} for {seconds} s; Ctrl-C ends it before"
    ));
    let mut command = Command::new(&daemon);
    command
        .arg("--config")
        .arg(&args.config.config)
        .arg("--state")
        .arg(&args.state.state)
        .args(["--only", policy, "--for", &format!("{seconds} s")])
        .stdin(Stdio::null());
    // It is no service here, even where this command is one's.
    for variable in ["JOURNAL_STREAM", "NOTIFY_SOCKET", "WATCHDOG_USEC"] {
        command.env_remove(variable);
    }
    let status = command.status();
    let status = status.with_context(|| daemon.display().to_string())?;
    if status.success() {
        return Ok(ExitCode::Done);
    }
    if status.signal().is_some() {
        // It was killed, so its locks are gone, but not what it set.
        let mut restore = Command::new(&daemon);
        restore
            .arg("--restore")
            .arg("--state")
            .arg(&args.state.state);
        restore
            .status()
            .with_context(|| daemon.display().to_string())?;
    }
    bail!("{NAME} did not run to its end ({status})")
}

/// The daemon beside this command, or on `PATH`.
fn daemon() -> anyhow::Result<PathBuf> {
    let beside = std::env::current_exe().map(|command| command.with_file_name(NAME));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(NAME));
    let mut places = beside.into_iter().chain(on_path);
    places.find(|place| place.is_file()).with_context(|| {
        format!("{NAME} is neither beside this command nor on PATH; docs/guard.md installs it")
    })
}
