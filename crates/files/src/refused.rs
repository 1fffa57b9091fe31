//! Why a file is refused that the system would have opened.

use std::io;
use std::path::PathBuf;

use crate::Kind;

/// Why a file is refused that the system would have opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Only regular files are read and replaced.
    #[error("it is a {0}, and only a regular file is read")]
    Kind(Kind),
    /// A pipe without a writer has no end.
    #[error("nobody writes into this pipe")]
    Silent,
    /// Somebody other than root may have written it.
    #[error("{} belongs to user {uid}: only what belongs to root is believed", path.display())]
    Owner {
        /// The file or folder.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// Somebody other than root may write it.
    #[error(
        "{} is writable by others (mode {mode:03o}): only what root alone writes is believed; \
         chmod go-w it, if nobody has",
        path.display()
    )]
    Mode {
        /// The file or folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It has a second name, where somebody may have made it.
    #[error("{} has another name elsewhere: only a file with one name is believed", path.display())]
    Links {
        /// The file.
        path: PathBuf,
    },
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        Self::other(refused)
    }
}
