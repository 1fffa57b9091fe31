//! Settings: a value for each of some tunables, in the order in which they are written.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// One value for one tunable, by the catalogue's name: `vm.min_free_kbytes` = `1500000`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// The tunable's name in the catalogue.
    pub tunable: String,
    /// The text that is written into its file.
    pub value: String,
}

/// A list of settings, written in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(pub Vec<Setting>);

impl Settings {
    /// The value for a tunable; the last one where it is named twice.
    #[must_use]
    pub fn get(&self, tunable: &str) -> Option<&str> {
        self.0
            .iter()
            .rev()
            .find(|s| s.tunable == tunable)
            .map(|s| s.value.as_str())
    }

    /// No settings at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.tunable, self.value)
    }
}
