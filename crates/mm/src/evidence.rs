//! Evidence: what people hold of a machine, as text, and the kernel files that are in it.
//!
//! A file, a paste of several, a log or a table of a tool is split into [`Piece`]s, each with the
//! path that its text has in a frame. What a text is follows from its lines ([`kind`]), and from a
//! heading before it or its name where the lines alone do not say. Nothing is lost without a word:
//! what was not taken is in [`Reading::passed`], with the line and the reason.

pub mod clean;
mod close;
pub mod command;
pub mod free;
pub mod gather;
pub mod heading;
pub mod kind;
mod lines;
pub mod log;
pub mod path;
pub mod redact;
mod split;
mod tables;
mod zones;

use alloc::string::String;
use alloc::vec::Vec;

pub use gather::frames;
pub use split::split;

/// Path of the note that says what evidence was taken for and what of it was passed over:
/// `KIND<tab>SOURCE<tab>WHAT` per line, where KIND is `read` or `passed`.
pub const NOTE: &str = "plimsoll/evidence";

/// Folder of what tools printed: `plimsoll/tools/free` and the like.
pub const TOOLS: &str = "plimsoll/tools/";

/// A kernel file, or what a tool printed, that was found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its path in a frame, without the leading slash.
    pub path: String,
    /// What it is, for the summary: `meminfo`, `free`.
    pub what: String,
    /// Its text.
    pub text: String,
    /// The line on which it begins, from 1.
    pub line: usize,
}

/// Lines that were not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The first of them, from 1; 0 where it is the whole.
    pub line: usize,
    /// How many follow each other.
    pub lines: usize,
    /// The beginning of the first, and why it was not taken.
    pub why: String,
}

/// What one source held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Where it came from: a file's name, `standard input`, a member of an archive.
    pub source: String,
    /// The part of the name before `proc`, `sys` or `etc`: files of one tree share it.
    pub tree: String,
    /// What was taken.
    pub pieces: Vec<Piece>,
    /// What was not.
    pub passed: Vec<Passed>,
}

impl Reading {
    /// A reading of nothing yet.
    #[must_use]
    pub fn of(source: &str) -> Self {
        Self {
            source: source.into(),
            ..Self::default()
        }
    }

    /// Notes that something of the whole was not taken.
    pub fn pass(&mut self, why: String) {
        self.passed.push(Passed {
            line: 0,
            lines: 0,
            why,
        });
    }
}

#[cfg(test)]
mod tests;
