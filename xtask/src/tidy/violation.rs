//! What breaks a house rule.

use crate::tree::Source;

/// Something that breaks a house rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// The file, from the root.
    path: String,
    /// The line, from 1; `None` for the file as a whole.
    line: Option<usize>,
    /// What is wrong, and the way out.
    what: String,
}

impl Violation {
    pub(super) fn at(source: &Source, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: source.path.clone(),
            line: Some(line),
            what: what.into(),
        }
    }

    pub(super) fn of(path: &str, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: None,
            what: what.into(),
        }
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.what),
            None => write!(f, "{}: {}", self.path, self.what),
        }
    }
}
