//! A tunable: a row of the catalogue.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

use super::{Kernels, Unit, Values};

/// A thing that can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunable {
    /// Its name: group, dot, the kernel's own name; `DEVICE` stands between them where every device
    /// has one.
    pub name: &'static str,
    /// Its file, without the leading slash; `DEVICE` stands in it where every device has one.
    pub path: &'static str,
    /// What the number counts.
    pub unit: Unit,
    /// What may be written.
    pub values: Values,
    /// What the kernel chooses.
    pub default: DefaultRule,
    /// The tunable that is switched off by writing this one, and the other way round.
    pub partner: Option<&'static str>,
    /// The files that show one value in several units or places, this one among them, the one that
    /// holds it exactly first; empty where it is the only one.
    pub views: &'static [&'static str],
    /// Others that the kernel changes by itself when this one is written.
    pub touches: &'static [&'static str],
    /// Whether the kernel may hold another value than the one that was written: it rounds it, or
    /// can do a part of it.
    pub is_adjusted: bool,
    /// What of its effect stays when the old value is written back; `None` where nothing does for
    /// longer than the caches remember. What has it cannot be tried in turn with another value.
    pub outlives: Option<&'static str>,
    /// Which kernels have it.
    pub kernels: Kernels,
    /// What a bad value can do.
    pub risk: Risk,
    /// What it does, in one sentence.
    pub effect: &'static str,
}

/// What the kernel chooses where nobody sets a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultRule {
    /// Always this value.
    Fixed(&'static str),
    /// By a rule, in words.
    Rule(&'static str),
    /// 0: its partner rules.
    Partner,
    /// None: a write acts once and leaves no value.
    Action,
}

/// What a bad value can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// Cost some speed, until it is set back.
    Low,
    /// Stall the machine or waste much of its memory.
    Medium,
    /// Make allocations fail and processes be killed.
    High,
}

impl Risk {
    /// The words of [`Risk::word`].
    pub const WORDS: [&str; 3] = ["low", "medium", "high"];

    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

impl Tunable {
    /// The part of the name before the dot.
    #[must_use]
    pub fn group(&self) -> &'static str {
        self.name
            .split_once('.')
            .map_or(self.name, |(group, _)| group)
    }

    /// The name of its file: the kernel's own.
    #[must_use]
    pub fn kernel_name(&self) -> &'static str {
        self.path
            .rsplit_once('/')
            .map_or(self.path, |(_, name)| name)
    }

    /// Whether a write of it acts once and leaves no value: it is no setting.
    #[must_use]
    pub fn is_action(&self) -> bool {
        self.default == DefaultRule::Action
    }

    /// Whether its value is one number.
    #[must_use]
    pub fn is_number(&self) -> bool {
        matches!(self.values, Values::Integer { .. })
    }

    /// The value that the text of its file shows, as it would be written.
    #[must_use]
    pub fn value_in(&self, text: &str) -> String {
        let text = text.trim_ascii();
        let marked = text
            .split_ascii_whitespace()
            .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
        match (self.values, marked) {
            (Values::Words(_), Some(word)) => word.to_owned(),
            (Values::Integers, _) => {
                let words: alloc::vec::Vec<_> = text.split_ascii_whitespace().collect();
                words.join(" ")
            }
            _ => text.to_owned(),
        }
    }
}

impl fmt::Display for DefaultRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(value) => f.write_str(value),
            Self::Rule(words) => f.write_str(words),
            Self::Partner => f.write_str("0: its partner rules"),
            Self::Action => f.write_str("none: a write acts once"),
        }
    }
}
