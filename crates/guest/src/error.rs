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
