//! What the guard holds set, in its state file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use change::hold::Restored;
use change::{Cell, Hold};
use host::changes::Changes;
use host::{Root, reason};
use mm::settings::Setting;

use crate::log;

/// The tunables of this guard.
#[derive(Debug)]
pub(crate) struct State {
    machine: Changes,
    hold: Hold,
}

impl State {
    /// Takes the file for this guard, and writes back what one that was killed had set. It stays
    /// locked as long as this guard runs, so that no other one takes its values for those of one
    /// that was killed.
    ///
    /// # Errors
    /// One line: another guard runs, or the file cannot be had.
    pub(crate) fn take(path: &Path) -> Result<Self, String> {
        let path = std::path::absolute(path).map_err(|error| failed(path, &error))?;
        let mut machine = Changes::locked_by(&Root::default(), lock(&path)?);
        let text = path.to_string_lossy();
        let hold = Hold::open(&mut machine, text.trim_start_matches('/'));
        let hold = hold.map_err(|error| error.to_string())?;
        let mut state = Self { machine, hold };
        state.restore()?;
        Ok(state)
    }

    /// Sets a tunable; what it was and becomes is in the file before.
    ///
    /// # Errors
    /// One line.
    pub(crate) fn set(&mut self, setting: &Setting) -> Result<(), String> {
        let set = self.hold.set(&mut self.machine, setting);
        set.map_err(|error| error.to_string())
    }

    /// Writes a tunable's old value back, if nobody else has written it since; whether it was held.
    ///
    /// # Errors
    /// One line.
    pub(crate) fn give_back(&mut self, tunable: &str) -> Result<bool, String> {
        let cell = Cell::of(tunable).map_or_else(String::new, |cell| cell.name);
        let restored = self.hold.let_go(&mut self.machine, &cell);
        restored
            .map(|it| it.is_some())
            .map_err(|error| error.to_string())
    }

    /// The tunables that are set, and what each was before.
    pub(crate) fn held(&self) -> impl Iterator<Item = (&str, String)> {
        self.hold.steps().map(|step| {
            let (old, new) = (&step.old, &step.new);
            // Of two that exclude each other the other one may have counted.
            let before = match old.path == new.path {
                true => old.text.clone(),
                false => format!("{} in /{}", old.text, old.path),
            };
            (step.cell.as_str(), before)
        })
    }

    /// Writes every old value back, and removes the file.
    ///
    /// # Errors
    /// One line: the first value that could not be written back; the file keeps it.
    pub(crate) fn restore(&mut self) -> Result<(), String> {
        let restored = self.hold.restore(&mut self.machine);
        for what in restored.map_err(|error| error.to_string())? {
            match what {
                Restored::Old(value) => {
                    log::line(format_args!("/{} = {} again", value.path, value.text));
                }
                Restored::Theirs(value) => log::line(format_args!(
                    "/{}: somebody else set it to {} since: it stays",
                    value.path, value.text
                )),
                Restored::Gone(path) => log::line(format_args!("/{path}: it is gone")),
            }
        }
        Ok(())
    }
}

/// `--restore`: writes back what a guard that ended had set.
///
/// # Errors
/// One line.
pub(crate) fn restore_alone(path: &Path) -> Result<(), String> {
    match path.exists() {
        true => State::take(path).map(drop),
        false => Ok(()),
    }
}

fn lock(path: &Path) -> Result<fs::File, String> {
    let own = beside(path, ".lock");
    let failed = |error: io::Error| failed(&own, &error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let file = fs::File::create(&own).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(format!(
            "{}: a guard runs: stop it first, it writes back what it set",
            path.display()
        )),
        Err(fs::TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// A file of this name and more, in the same folder.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn failed(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    format!(
        "{path}: {}; name another place with --state FILE",
        reason(error)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_state_file_is_left_alone_and_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state");
        fs::write(&path, "/proc/sys/vm/swappiness\t60\t0\n").expect("a file");
        let error = restore_alone(&path).expect_err("no state file");
        assert!(error.contains("line 1 is damaged"), "{error}");
        assert!(path.exists());
    }

    #[test]
    fn two_guards_do_not_share_a_state() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state");
        let first = State::take(&path).expect("the first");
        let second = State::take(&path).expect_err("the second");
        assert!(second.contains("a guard runs: stop it first"), "{second}");
        drop(first);
        State::take(&path).expect("after the first");
    }
}
