//! A line of a log, taken apart: when, from where, and the message.

use alloc::borrow::Cow;
use alloc::string::String;

use crate::units::Nanos;

/// Which program a line is from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Source {
    /// Nothing says.
    #[default]
    Unknown,
    /// The kernel.
    Kernel,
    /// Another program, by name.
    Program(String),
}

/// Where a line comes from: the lines of one report have the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin {
    /// The host that a log of several names.
    pub(super) host: String,
    /// The task or the CPU that printed it, where the kernel says so (`CONFIG_PRINTK_CALLER`):
    /// "T12", "C0".
    pub(super) caller: String,
}

impl Origin {
    /// Whether nothing says where a line comes from.
    pub(super) fn is_unknown(&self) -> bool {
        self.host.is_empty() && self.caller.is_empty()
    }
}

impl Line<'_> {
    /// The same of another message in the line.
    pub(super) fn without_text(&self) -> Line<'static> {
        Line {
            at: self.at,
            origin: self.origin.clone(),
            source: self.source.clone(),
            prefixed: self.prefixed,
            text: Cow::Borrowed(""),
        }
    }
}

/// A line without its prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Nanoseconds since boot, or since 1970 where the stamp is a date with its year; 0 where there
    /// is none.
    pub(super) at: Nanos,
    /// Where it comes from.
    pub(super) origin: Origin,
    /// Which program wrote it.
    pub(super) source: Source,
    /// Whether anything but quoting stood before the text.
    pub(super) prefixed: bool,
    /// The message.
    pub(super) text: Cow<'a, str>,
}
