//! What the guard has set, written down before it is set: `PATH<tab>OLD<tab>NEW` a line.
//!
//! An old value is written back only while the tunable holds what the guard wrote: what somebody
//! else wrote since stays.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use host::{Root, reason};
use mm::catalogue::{self, Tunable};
use mm::settings::Setting;

use crate::log;

/// The file, and what stands in it.
#[derive(Debug)]
pub(crate) struct State {
    path: PathBuf,
    entries: Vec<Entry>,
    /// Locked as long as this guard runs, so that no other one takes its values for those of one
    /// that was killed.
    _lock: fs::File,
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// The tunable's file.
    path: String,
    old: String,
    new: String,
}

impl State {
    /// Takes the file for this guard, and writes back what one that was killed had set.
    ///
    /// # Errors
    /// One line: another guard runs, or the file cannot be had.
    pub(crate) fn take(path: &Path) -> Result<Self, String> {
        let mut state = Self {
            _lock: lock(path)?,
            path: path.to_owned(),
            entries: Vec::new(),
        };
        state.entries = match fs::read_to_string(path) {
            Ok(text) => text.lines().filter_map(Entry::parse).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(state),
            Err(error) => return Err(format!("{}: {}", path.display(), reason(&error))),
        };
        state.restore()?;
        Ok(state)
    }

    /// Sets a tunable; what it was and becomes is on disk before.
    ///
    /// # Errors
    /// One line.
    pub(crate) fn set(&mut self, setting: &Setting) -> Result<(), String> {
        let root = Root::default();
        let known = catalogue::all().find(|tunable| tunable.name == setting.tunable);
        let tunable = known.ok_or_else(|| format!("{}: not the machine's", setting.tunable))?;
        let path = format!("/{}", tunable.path);
        let failed = |error: io::Error| format!("{path}: {}", reason(&error));
        let held = root.read(tunable.path).map_err(failed)?;
        let held = tunable.value_in(&held);
        let ours = self.entries.iter().rev();
        let mut ours = ours.filter(|entry| entry.path == path);
        let ours = ours.find(|entry| tunable.means_same(&entry.new, &held));
        let old = ours.map_or(held, |entry| entry.old.clone());
        let goes_back = tunable.means_same(&old, &setting.value);
        if !goes_back {
            self.entries.push(Entry {
                path: path.clone(),
                old,
                new: setting.value.clone(),
            });
            self.save()?;
        }
        let written = host::write::write(&root, setting).map_err(|error| error.to_string());
        match written {
            Ok(_) if goes_back => self.entries.retain(|entry| entry.path != path),
            // Only the last line still stands.
            Ok(_) => {
                let last = self.entries.pop();
                self.entries.retain(|entry| entry.path != path);
                self.entries.extend(last);
            }
            Err(_) if !goes_back => drop(self.entries.pop()),
            Err(_) => {}
        }
        self.save()?;
        written.map(drop)
    }

    /// The tunables that are set, and what each was before.
    pub(crate) fn held(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|entry| {
            let name = tunable_at(&entry.path).map_or(entry.path.as_str(), |it| it.name);
            (name, entry.old.as_str())
        })
    }

    /// Writes every old value back, and removes the file.
    ///
    /// # Errors
    /// One line: the first value that could not be written back; the file keeps it.
    pub(crate) fn restore(&mut self) -> Result<(), String> {
        let mut failed = None;
        self.entries.retain(|entry| match entry.restore() {
            Ok(()) => false,
            Err(error) => {
                failed.get_or_insert(error);
                true
            }
        });
        self.save()?;
        failed.map_or(Ok(()), Err)
    }

    fn save(&self) -> Result<(), String> {
        let saved = match self.entries.is_empty() {
            true => match fs::remove_file(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
            false => self.write(),
        };
        saved.map_err(|error| {
            let path = self.path.display();
            format!("{path}: {}; name another with --state FILE", reason(&error))
        })
    }

    /// All or nothing, and on disk when it returns.
    fn write(&self) -> io::Result<()> {
        let aside = beside(&self.path, ".new");
        let mut file = fs::File::create(&aside)?;
        for Entry { path, old, new } in &self.entries {
            writeln!(file, "{path}\t{old}\t{new}")?;
        }
        file.sync_all()?;
        fs::rename(&aside, &self.path)?;
        match self
            .path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            Some(folder) => fs::File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }
}

impl Entry {
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.split('\t').map(str::to_owned);
        let entry = Self {
            path: parts.next()?,
            old: parts.next()?,
            new: parts.next()?,
        };
        parts.next().is_none().then_some(entry)
    }

    fn restore(&self) -> Result<(), String> {
        let Some(tunable) = tunable_at(&self.path) else {
            log::line(format_args!(
                "{}: no tunable's file: passed over",
                self.path
            ));
            return Ok(());
        };
        let root = Root::default();
        let held = root.read(tunable.path);
        let held = held.map_err(|error| format!("{}: {}", self.path, reason(&error)))?;
        if !tunable.means_same(&tunable.value_in(&held), &self.new) {
            log::line(format_args!(
                "{}: somebody else set it since: it stays",
                tunable.name
            ));
            return Ok(());
        }
        let setting = Setting {
            tunable: tunable.name.to_owned(),
            value: self.old.clone(),
        };
        host::write::write(&root, &setting).map_err(|error| error.to_string())?;
        log::line(format_args!("{setting} again"));
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

fn tunable_at(path: &str) -> Option<&'static Tunable> {
    let path = path.strip_prefix('/')?;
    catalogue::all().find(|tunable| tunable.path == path)
}

fn lock(path: &Path) -> Result<fs::File, String> {
    let own = beside(path, ".lock");
    let failed = |error: io::Error| {
        let own = own.display();
        format!(
            "{own}: {}; name another place with --state FILE",
            reason(&error)
        )
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_three_parts() {
        let entry = Entry::parse("/a\t60\t0").expect("a line");
        assert_eq!((entry.old.as_str(), entry.new.as_str()), ("60", "0"));
        for line in ["", "/a\t60", "/a\t60\t0\t1"] {
            assert_eq!(Entry::parse(line), None);
        }
    }

    #[test]
    fn a_path_that_is_no_tunables_is_passed_over() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state");
        let other = directory.path().join("other");
        fs::write(&other, "0\n").expect("a file");
        fs::write(&path, format!("{}\t60\t0\n", other.display())).expect("a file");
        restore_alone(&path).expect("nothing to do");
        assert_eq!(fs::read_to_string(other).expect("a file"), "0\n");
        assert!(!path.exists());
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
