//! A recording: what processes did to files and when, with the study that performs it again.
//!
//! ```text
//! # plimsoll recording 1
//! name = "web-3"
//! …                                  the study, as docs/studies.md has it
//! \0
//! blocks
//! ```
//!
//! The text up to the first zero byte is a study; it can be read with any pager and written to a
//! file of its own. Behind it follow blocks, each with a header of six little-endian 32-bit
//! numbers: the word `PLRB`, the number of the stream, how many items it holds, its length unpacked
//! and packed, and the CRC-32 of all that and of the packed bytes. Where both lengths are equal it
//! is not packed; else it is in raw deflate. A block refers to no other, so a recording that was
//! cut off, or damaged, is used up to there.
//!
//! A stream is what one task did, in order: [`Run`]s. The stream [`FILES`] has the size of each
//! file when it was first met; files are named by their numbers in it.

mod code;
mod container;
mod thin;
mod waits;
mod writer;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use mm::units::{Bytes, Nanos};

pub use code::Cursor;
pub use container::{Cut, LARGEST, LONGEST_TEXT, Recording, RecordingError, Unpack, is_recording};
pub use thin::{OwnTime, Thinner, place};
pub use writer::{Pack, Part, Writer};

/// The first line of a recording.
pub const MAGIC: &str = "# plimsoll recording 1";

/// How the names of its files begin there.
pub const FILE_NAME: &str = "recorded-";

/// The name of a file of a recording on the disk of a bench.
#[must_use]
pub fn file_name(number: u32) -> String {
    format!("{FILE_NAME}{number:07}")
}

/// The stream with the sizes of the files.
pub const FILES: u32 = u32::MAX;

/// The most that a block may have when it is unpacked.
pub const BLOCK: usize = 64 << 10;

/// What a task did to one range of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// CPU time that the task used since its last run ended; in steps of 100 ns.
    pub compute: Nanos,
    /// How long it slept meanwhile of its own accord; in steps of a microsecond.
    pub sleep: Nanos,
    /// How long its last run took; in steps of a microsecond, zero where that was not recorded.
    pub took: Nanos,
    /// What it did.
    pub kind: Kind,
    /// The file, by its number; of [`Kind::Wait`] the stream that is waited for.
    pub file: u32,
    /// The first byte; zero where the kind has no range. Of [`Kind::Wait`] how many times that
    /// stream must have woken tasks ([`Kind::Wake`]) since it began.
    pub offset: u64,
    /// Bytes asked for.
    pub length: u64,
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `read` through the page cache.
    Read,
    /// `write` through the page cache; the file grows where it goes beyond the end.
    Write,
    /// Loads through a mapping: the pages of the range.
    Load,
    /// Stores through a mapping.
    Store,
    /// `fsync`.
    Sync,
    /// It is opened: what was known of its reader is forgotten.
    Open,
    /// It is made so short that it ends at the offset; at 0 it is empty, or removed.
    Truncate,
    /// `POSIX_FADV_DONTNEED` of the range.
    DontNeed,
    /// It wakes another task: through a socket, a pipe, a futex, by its end.
    Wake,
    /// It slept until another task woke it.
    Wait,
}

/// A file that a recording names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedFile {
    /// Its size when it was first met.
    pub size: Bytes,
    /// The largest that runs make it.
    pub largest: Bytes,
    /// Whether runs reach it through a mapping.
    pub is_mapped: bool,
    /// Whether runs make it longer or shorter.
    pub is_resized: bool,
}

/// What was recorded, without the study's text.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The files, by their numbers.
    pub files: Vec<RecordedFile>,
    /// The streams, by their numbers.
    pub streams: Vec<Stream>,
    /// One page of `1 << level` is in it, as [`Self::thinned`] leaves it.
    pub level: u32,
    /// Whether its streams wait for each other in a circle, which no bench does: none waits then.
    pub is_circular: bool,
}

/// What one task did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// Unpacked.
    blocks: Vec<Vec<u8>>,
    runs: u64,
    longest: Bytes,
    /// Whether it waits for another.
    waits: bool,
}

impl Kind {
    /// What is done to files, by the codes.
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::Write,
        Self::Load,
        Self::Store,
        Self::Sync,
        Self::Open,
        Self::Truncate,
        Self::DontNeed,
    ];

    /// Whether it is done to a file.
    #[must_use]
    pub fn is_of_file(self) -> bool {
        !matches!(self, Self::Wake | Self::Wait)
    }

    /// Whether it is about a range of the file, and not the file as a whole.
    #[must_use]
    pub fn has_range(self) -> bool {
        self.is_of_file() && !matches!(self, Self::Sync | Self::Open)
    }

    /// Whether it copies from or to a buffer of the task.
    #[must_use]
    pub fn copies(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    /// Whether it leaves something to be written to a disk.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Store | Self::Sync)
    }
}

impl Stream {
    /// How many runs it has.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.runs
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs == 0
    }

    /// The most bytes that one of its runs copies.
    #[must_use]
    pub fn longest(&self) -> Bytes {
        self.longest
    }

    /// All runs in order.
    pub fn iter(&self) -> impl Iterator<Item = Run> + '_ {
        let mut cursor = Cursor::default();
        core::iter::from_fn(move || self.next(&mut cursor))
    }
}

impl Recorded {
    /// The stream with this number.
    #[must_use]
    pub fn stream(&self, number: u32) -> Option<&Stream> {
        self.streams.get(number as usize)
    }

    /// The memory that its streams take when they are unpacked.
    #[must_use]
    pub fn size(&self) -> Bytes {
        let streams = self.streams.iter().flat_map(|stream| &stream.blocks);
        let files = size_of_val(&*self.files) as u64;
        Bytes(streams.map(|block| block.len() as u64).sum::<u64>() + files)
    }
}

impl fmt::Debug for Recorded {
    /// Without the runs, which are many.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs: u64 = self.streams.iter().map(Stream::len).sum();
        let (files, streams) = (self.files.len(), self.streams.len());
        write!(to, "{runs} runs in {streams} streams on {files} files")
    }
}

#[cfg(test)]
mod tests;
