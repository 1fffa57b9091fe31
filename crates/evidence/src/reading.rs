//! What one source held.

use alloc::string::String;
use alloc::vec::Vec;

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
