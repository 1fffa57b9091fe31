//! Where a setting is written down.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

/// A line of a file. It is shown as `/etc/sysctl.d/50-db.conf:3`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The file, as a capture writes paths: from `/`, without the leading slash. The name by which
    /// it was reached, which a link may give it.
    pub path: String,
    /// The line, counted from 1; 0 where the file as a whole is meant.
    pub line: usize,
}

impl Origin {
    /// A line of a file.
    #[must_use]
    pub fn new(path: &str, line: usize) -> Self {
        let path = path.to_owned();
        Self { path, line }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "/{}", self.path),
            line => write!(f, "/{}:{line}", self.path),
        }
    }
}
