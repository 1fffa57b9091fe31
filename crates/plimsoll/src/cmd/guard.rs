//! `plimsoll guard`: the daemon that keeps files in memory and the page cache below a ceiling.

mod check;
mod checked;
mod events;
mod explain;
mod json;
mod others;
mod release;
mod status;
mod trial;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use guard::Figures;
use guard::text::{self, Pairs};
use host::Root;

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
    Try(trial::Args),
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
        Verb::Try(args) => trial::run(args),
        Verb::Status(args) => status::run(args),
        Verb::Explain(args) => explain::run(args),
        Verb::Events(args) => events::run(args),
        Verb::Release(args) => release::run(args),
        Verb::Keep(args) => release::keep(args),
    }
}

/// The configuration.
#[derive(Debug, clap::Args)]
struct ConfigArg {
    /// The configuration, with FILE.d/*.toml
    #[arg(long, value_name = "FILE", default_value = "/etc/plimsoll/guard.toml")]
    config: PathBuf,
}

/// Where the daemon writes.
#[derive(Debug, clap::Args)]
struct StateArg {
    /// The state file of the daemon; what it writes lies beside it
    #[arg(long, value_name = "FILE", default_value = "/run/plimsoll/guard.state")]
    state: PathBuf,
}

impl ConfigArg {
    /// Its keys and texts.
    fn read(&self) -> anyhow::Result<Pairs> {
        let files = host::drop_ins::read(&self.config).map_err(|error| anyhow!(error))?;
        let names: Vec<String> = files.iter().map(|it| it.0.display().to_string()).collect();
        let texts = files.iter().map(|(_, text)| text.as_str());
        Ok(text::of_files(names.iter().map(String::as_str).zip(texts))?)
    }
}

impl StateArg {
    /// A file beside it, by its end.
    fn beside(&self, end: &str) -> PathBuf {
        self.state.with_extension(end)
    }

    /// What the guard that runs says of itself; `None` where none runs.
    fn figures(&self) -> anyhow::Result<Option<Figures>> {
        let figures = read(&self.beside("prom"))?.map(|text| Figures::parse(&text));
        Ok(figures.filter(runs))
    }

    /// What is said where no guard runs, with the way out.
    fn nobody(&self) -> String {
        let state = self.state.display();
        match self.state.exists() {
            // It is removed when a guard ends in order.
            true => format!(
                "no guard runs, and one that was killed has left tunables set ({state}): \
                 plimsoll-guard --restore writes them back"
            ),
            false => format!(
                "no guard runs (it would write beside {state}): plimsoll guard check says what \
                 one would do, plimsoll guard try runs one for a while"
            ),
        }
    }
}

/// Whether the guard that wrote them is still there: one that was killed left its file.
fn runs(figures: &Figures) -> bool {
    let info = figures.of("info").next();
    let pid = info.and_then(|info| info.label("pid").parse::<u32>().ok());
    let name = pid.and_then(|pid| Root::default().read(&format!("proc/{pid}/comm")).ok());
    name.is_some_and(|name| name.trim() == "plimsoll-guard")
}

/// The text of a file; `None` where there is none.
fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(anyhow!("{}: {}", path.display(), host::reason(&error))),
    }
}

/// A paragraph that begins at a column, its other lines two columns behind it.
fn item(text: &str, at: usize, width: usize) -> String {
    let lines = crate::results::wrapped(text, width.saturating_sub(at + 2));
    let mut said = String::new();
    for (number, line) in lines.lines().enumerate() {
        let indent = if number == 0 { at } else { at + 2 };
        said += &format!("{:indent$}{line}\n", "");
    }
    said
}
