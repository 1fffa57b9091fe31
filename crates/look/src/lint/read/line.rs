//! What a file says, as its readers hand it on.

use crate::lint::setting::Setting;

/// A line of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Which text of the scope.
    pub text: usize,
    /// Its number, from 1.
    pub number: usize,
    /// What stands there.
    pub what: String,
}

/// What a text holds.
#[derive(Debug, Default)]
pub struct Read {
    /// Its settings, in order.
    pub settings: Vec<Setting>,
    /// Lines that are no setting and no comment.
    pub strays: Vec<Line>,
    /// The line from which on it could not be read, and why.
    pub breaks_off: Option<Line>,
}

#[cfg(test)]
impl Read {
    /// The name, value and line of each setting.
    pub(super) fn shown(&self) -> Vec<(&str, &str, usize)> {
        let settings = self.settings.iter();
        settings
            .map(|s| (s.name.as_str(), s.value.as_str(), s.line))
            .collect()
    }
}
