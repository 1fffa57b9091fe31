//! What the guard holds set, in its state file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use change::hold::Restored;
use change::machine::Value;
use change::{Cell, Hold};
use guard::{Event, Policy};
use host::changes::Changes;
use host::{Root, reason};
use mm::catalogue;
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
        state.restore("a guard that is gone left it set")?;
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
        let steps = self.hold.steps();
        steps.map(|step| (step.cell.as_str(), before(&step.old, &step.new)))
    }

    /// Writes every old value back, and removes the file.
    ///
    /// # Errors
    /// One line: the first value that could not be written back; the file keeps it.
    pub(crate) fn restore(&mut self, why: &str) -> Result<(), String> {
        let restored = self.hold.restore(&mut self.machine);
        for what in restored.map_err(|error| error.to_string())? {
            say(&what, why);
        }
        Ok(())
    }
}

/// The value before, with its file where that is another one: `vm.dirty_ratio` counts again when
/// `vm.dirty_bytes` is given back.
fn before(old: &Value, new: &Value) -> String {
    match old.path == new.path {
        true => old.text.clone(),
        false => format!("{} in /{}", old.text, old.path),
    }
}

fn say(restored: &Restored, why: &str) {
    let (path, what) = match restored {
        Restored::Old(value) => (&value.path, format!("= {} again", value.text)),
        Restored::Theirs(value) => {
            let value = (&value.path, &value.text);
            (
                value.0,
                format!("is {}: somebody else set it since: it stays", value.1),
            )
        }
        Restored::Gone(path) => (path, "is gone".to_owned()),
    };
    let event = Event {
        policy: policy(path).map_or("", Policy::word).to_owned(),
        action: "give_back".to_owned(),
        what: format!("/{path} {what}"),
        why: why.to_owned(),
        ..Event::default()
    };
    let times = u64::from(matches!(restored, Restored::Old(_)));
    log::say(event, times);
}

/// Whose tunable lies there.
fn policy(path: &str) -> Option<Policy> {
    let tunable = catalogue::resolve(path).ok()?.to_string();
    let tunables = [
        ("vm.swappiness", Policy::Floor),
        ("vm.watermark_", Policy::Watermarks),
        ("vm.dirty_", Policy::Writeback),
        ("bdi.", Policy::Writeback),
        ("ksm.", Policy::Ksm),
    ];
    let mut found = tunables.into_iter();
    let found = found.find(|(start, _)| tunable.starts_with(start));
    found.map(|(_, policy)| policy)
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
    fn every_tunable_that_the_policies_set_has_its_policy() {
        for (tunable, expected) in [
            ("vm.swappiness", Policy::Floor),
            ("vm.watermark_scale_factor", Policy::Watermarks),
            ("vm.dirty_bytes", Policy::Writeback),
            ("vm.dirty_background_ratio", Policy::Writeback),
            ("bdi.sda.max_ratio_fine", Policy::Writeback),
            ("ksm.pages_to_scan", Policy::Ksm),
        ] {
            let path = catalogue::named(tunable).expect("a tunable").path();
            assert_eq!(policy(&path), Some(expected), "{tunable}");
        }
    }

    #[test]
    fn a_value_before_in_another_file_is_told_with_that() {
        let value = |path: &str, text: &str| Value {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let bytes = value("vm/bytes", "4096");
        assert_eq!(before(&value("vm/ratio", "20"), &bytes), "20 in /vm/ratio");
        assert_eq!(before(&value("vm/bytes", "8192"), &bytes), "8192");
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
