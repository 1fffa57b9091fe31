//! Where the daemon writes: a folder that nobody but root can write, held open from the start. And
//! the lock that only one guard of a machine has.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use files::{Folder, Refused};
use host::reason;

/// The folder of the machine's lock, wherever a guard's state lies: two guards would take each
/// other's values for an administrator's, and leave them set.
const LOCKS: &str = "/run/plimsoll";
const LOCK: &str = "guard.lock";
const WAY_OUT: &str = "; name another place with --state FILE";

/// The folder, and the names in it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) folder: Folder,
    state: OsString,
}

/// Takes the machine's lock; it is held as long as the file is open.
///
/// # Errors
/// One line: another guard runs, or the lock cannot be had.
pub(crate) fn only_one() -> Result<fs::File, String> {
    let folder = root().and_then(|root| root.make_trusted(LOCKS));
    let folder = folder.map_err(|error| failed(Path::new(LOCKS), &error))?;
    only_one_in(&folder)
}

pub(crate) fn only_one_in(folder: &Folder) -> Result<fs::File, String> {
    let path = folder.path().join(LOCK);
    let failed = |error: io::Error| failed(&path, &error);
    let file = folder.lock_file(OsStr::new(LOCK)).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(format!(
            "{}: a guard runs, and a machine has one: stop it first, it writes back what it set",
            path.display()
        )),
        Err(fs::TryLockError::Error(error)) => Err(failed(error)),
    }
}

impl Place {
    /// Opens the folder of a state file, which is made where it is missing.
    ///
    /// # Errors
    /// One line: it cannot be had, or somebody else may write it.
    pub(crate) fn make(state: &Path) -> Result<Self, String> {
        Self::at(state, |root, folder| root.make_trusted(folder))
    }

    /// The same for one that is there; `None` where there is no state file.
    ///
    /// # Errors
    /// Those of [`Place::make`].
    pub(crate) fn find(state: &Path) -> Result<Option<Self>, String> {
        match fs::symlink_metadata(state) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            _ => Self::at(state, |root, folder| root.trusted(folder)).map(Some),
        }
    }

    fn at(
        state: &Path,
        open: impl FnOnce(&Folder, &Path) -> io::Result<Folder>,
    ) -> Result<Self, String> {
        let failed = |error: &io::Error| failed(state, error) + WAY_OUT;
        let path = std::path::absolute(state).map_err(|error| failed(&error))?;
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(failed(&io::ErrorKind::IsADirectory.into()));
        };
        let folder = root().and_then(|root| open(&root, folder));
        Ok(Self {
            folder: folder.map_err(|error| failed(&error))?,
            state: name.to_owned(),
        })
    }

    /// The name of the state file.
    pub(crate) fn state(&self) -> &OsStr {
        &self.state
    }

    /// The name of a file beside it, by its end.
    pub(crate) fn beside(&self, end: &str) -> OsString {
        Path::new(&self.state).with_extension(end).into()
    }

    /// Where a file of the folder lies.
    pub(crate) fn path(&self, name: &OsStr) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn root() -> io::Result<Folder> {
    Folder::at(Path::new("/"))
}

/// One line; why something is not believed names it already.
pub(crate) fn failed(path: &Path, error: &io::Error) -> String {
    let refused = error.get_ref().and_then(|inner| inner.downcast_ref());
    match refused {
        Some(Refused::Owner { .. } | Refused::Mode { .. } | Refused::Links { .. }) => reason(error),
        _ => format!("{}: {}", path.display(), reason(error)),
    }
}
