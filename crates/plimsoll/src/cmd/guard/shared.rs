//! What the guard's verbs share: where its files are, and how they are told of.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use files::named;
use guard::Figures;
use guard::text::{self, Pairs};
use host::drop_ins::{self, Writer};
use host::{Root, processes};
use look::metrics::Guard;

/// The longest text of the daemon's that is read, in bytes.
const LONGEST: u64 = 4 << 20;

/// Where the configuration is.
pub(super) const CONFIG: &str = "/etc/plimsoll/guard.toml";

/// Where the daemon's state is.
pub(super) const STATE: &str = "/run/plimsoll/guard.state";

/// The configuration.
#[derive(Debug, clap::Args)]
pub(super) struct ConfigArg {
    /// The configuration, with FILE.d/*.toml
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    pub(super) config: PathBuf,
}

/// Where the daemon writes.
#[derive(Debug, clap::Args)]
pub(super) struct StateArg {
    /// The state file of the daemon; its other files are beside it
    #[arg(long, value_name = "FILE", default_value = STATE)]
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

/// The guard of a configuration and a state file; `None` where there is neither, or where what it
/// writes cannot be read.
pub(super) fn standing(config: &Path, state: &Path) -> Option<Guard> {
    let arg = StateArg {
        state: state.to_owned(),
    };
    match arg.figures().ok()? {
        Some(_) => Some(Guard::Runs),
        // It is removed when a guard ends in order.
        None if state.exists() => Some(Guard::Killed),
        None => config.exists().then_some(Guard::Stopped),
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_guard_stands_as_its_files_say() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let standing = || standing(&at("guard.toml"), &at("guard.state"));
        assert_eq!(standing(), None);
        fs::write(at("guard.toml"), "").expect("a file");
        assert_eq!(standing(), Some(Guard::Stopped));
        fs::write(at("guard.state"), "").expect("a file");
        assert_eq!(standing(), Some(Guard::Killed));
        let pid = std::process::id();
        let ticks = processes::started(&Root::default(), pid).expect("this process");
        let pid = pid.to_string();
        let mut figures = Figures::default();
        let labels = [("pid", pid.as_str()), ("ticks", &ticks.to_string())];
        figures.add("info", &labels, 1);
        fs::write(at("guard.prom"), figures.to_string()).expect("a file");
        assert_eq!(standing(), Some(Guard::Runs));
    }
}
