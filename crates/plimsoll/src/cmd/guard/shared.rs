//! What the guard's verbs share: where its files are, and how they are told of.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use files::named;
use guard::Figures;
use guard::text::{self, Pairs};
use host::drop_ins::{self, Writer};
use host::{Root, processes};

/// The longest text of the daemon's that is read, in bytes.
const LONGEST: u64 = 4 << 20;

/// The configuration.
#[derive(Debug, clap::Args)]
pub(super) struct ConfigArg {
    /// The configuration, with FILE.d/*.toml
    #[arg(long, value_name = "FILE", default_value = "/etc/plimsoll/guard.toml")]
    pub(super) config: PathBuf,
}

/// Where the daemon writes.
#[derive(Debug, clap::Args)]
pub(super) struct StateArg {
    /// The state file of the daemon; its other files are beside it
    #[arg(long, value_name = "FILE", default_value = "/run/plimsoll/guard.state")]
    pub(super) state: PathBuf,
}

impl ConfigArg {
    /// Its keys and texts.
    pub(super) fn read(&self) -> anyhow::Result<Pairs> {
        let files =
            drop_ins::read(&self.config, Writer::Anybody).map_err(|error| anyhow!(error))?;
        let names: Vec<String> = files.iter().map(|it| it.0.display().to_string()).collect();
        let texts = files.iter().map(|(_, text)| text.as_str());
        Ok(text::of_files(names.iter().map(String::as_str).zip(texts))?)
    }
}

impl StateArg {
    /// A file beside it, by its end.
    pub(super) fn beside(&self, end: &str) -> PathBuf {
        self.state.with_extension(end)
    }

    /// What the guard that runs says of itself; `None` where none runs.
    pub(super) fn figures(&self) -> anyhow::Result<Option<Figures>> {
        let figures = read(&self.beside("prom"))?.map(|text| Figures::parse(&text));
        Ok(figures.filter(runs))
    }

    /// What is said where no guard runs, with the way out.
    pub(super) fn nobody(&self) -> String {
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

/// Whether the guard that wrote them is still there: one that was killed left its file, and another
/// process may have its number.
fn runs(figures: &Figures) -> bool {
    let Some(info) = figures.of("info").next() else {
        return false;
    };
    let pid = info.label("pid").parse().ok();
    let started = pid.and_then(|pid| processes::started(&Root::default(), pid));
    started.is_some_and(|ticks| info.label("ticks") == ticks.to_string())
}

/// The text of a file; `None` where there is none.
pub(super) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match named::text(path, LONGEST) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(anyhow!(
            "{}: it tells of files that others may not read: run as root",
            path.display()
        )),
        Err(error) => Err(anyhow!("{}: {}", path.display(), host::reason(&error))),
    }
}

/// A paragraph that begins at a column, its other lines two columns behind it.
pub(super) fn item(text: &str, at: usize, width: usize) -> String {
    let lines = crate::results::wrapped(text, width.saturating_sub(at + 2));
    let mut said = String::new();
    for (number, line) in lines.lines().enumerate() {
        let indent = if number == 0 { at } else { at + 2 };
        said += &format!("{:indent$}{line}\n", "");
    }
    said
}

/// Whether a policy leaves a tunable alone.
pub(super) fn stands_down(figures: &Figures, policy: &str) -> bool {
    let mut found = figures.of("policy_standing_down");
    found.any(|it| it.label("policy") == policy && it.value == 1)
}

/// What a tunable was before the guard set it; `None` where it holds none of the name.
pub(super) fn before<'a>(figures: &'a Figures, tunable: &str) -> Option<&'a str> {
    let mut held = figures.of("setting_held");
    let held = held.find(|it| it.label("tunable") == tunable);
    held.map(|it| it.label("before"))
}
