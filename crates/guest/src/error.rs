//! Why a run could not be performed.

use rustix::io::Errno;

/// Why a run could not be performed: one line, what and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    /// What was being done when the system said no.
    pub(crate) fn on(what: impl std::fmt::Display) -> impl FnOnce(Errno) -> Self {
        move |errno| Self::new(what, std::io::Error::from(errno))
    }

    /// What was being done, and what stands against it.
    pub(crate) fn new(what: impl std::fmt::Display, why: impl std::fmt::Display) -> Self {
        Self(format!("{what}: {why}"))
    }
}

/// Why a step failed.
#[derive(Debug)]
pub(crate) struct Why {
    pub(crate) errno: Errno,
    pub(crate) text: String,
}

impl Why {
    /// What the system said about a file below the root.
    pub(crate) fn of(path: &str, error: &std::io::Error) -> Self {
        Self {
            errno: Errno::from_io_error(error).unwrap_or(Errno::IO),
            text: format!("/{path}: {error}"),
        }
    }
}

impl From<Errno> for Why {
    fn from(errno: Errno) -> Self {
        let text = std::io::Error::from(errno).to_string();
        Self { errno, text }
    }
}

/// Whether a write was refused because this kernel does not know what was written.
pub(crate) fn is_unknown(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::OPNOTSUPP)
}
