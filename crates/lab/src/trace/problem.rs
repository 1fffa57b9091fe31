//! Why a file cannot be read as a trace.

use std::io;

/// Most pages of a trace: an index must leave room for a replay's own marks.
pub const PAGES_MAX: u32 = 1 << 31;

/// Why a file cannot be read as a trace.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It holds no access.
    #[error("the trace is empty")]
    Empty,
    /// It is a directory or a device.
    #[error("it is neither a file nor a pipe; name the file of a trace")]
    NoFile,
    /// It is compressed.
    #[error("the trace is compressed; unpack it first (`{tool} FILE`)")]
    Compressed {
        /// The command that unpacks it.
        tool: &'static str,
    },
    /// It is text, and nobody said that it is not.
    #[error(
        "it is text, not oracleGeneral records; say how it is written with --format csv (or \
         --format oracleGeneral)"
    )]
    Text,
    /// It is binary and no trace, and nobody said that it is one.
    #[error(
        "it is no oracleGeneral trace: {what}; if it is one all the same, say --format \
         oracleGeneral"
    )]
    NoTrace {
        /// What is not as in a trace.
        what: String,
    },
    /// A format of libCacheSim's that is not read.
    #[error(
        "it is a {name} trace, which is not read; convert it to oracleGeneral with libCacheSim's \
         traceConv, or name its --format"
    )]
    OtherFormat {
        /// The format.
        name: &'static str,
    },
    /// It was said to be of `vscsiStats`, or is called so.
    #[error(
        "its records are of neither version 1 nor 2 of vscsiStats; if it is another format, name \
         its --format"
    )]
    NoVscsi,
    /// `--object` of what has no columns.
    #[error("--object chooses a column of a CSV trace, and this is none; drop it, or --format csv")]
    NoColumns,
    /// Every record was passed over.
    #[error("no access is left: {skipped} records, all of size 0")]
    NoSize {
        /// The records.
        skipped: u64,
    },
    /// The file ends inside a binary record.
    #[error(
        "record {record} at byte {offset} has {left} of {size} bytes: \
         the file was cut off, or it is no {of} trace; copy it again, name its --format, \
         or keep what is whole with `truncate -s {offset} FILE`"
    )]
    Truncated {
        /// The format it was read as.
        of: &'static str,
        /// Number of the record, from 1.
        record: u64,
        /// Where it begins.
        offset: u64,
        /// Bytes that are there.
        left: usize,
        /// Bytes of a record.
        size: usize,
    },
    /// A line of CSV that names no object.
    #[error("line {line}: {what}")]
    Line {
        /// Line number, from 1.
        line: u64,
        /// What is wrong, and the way out.
        what: String,
    },
    /// More objects than page indices.
    #[error("more than {PAGES_MAX} distinct objects; replay a sample of the trace")]
    TooManyPages,
    /// The second reading met an object that the first had not.
    #[error("the file changed while it was read; replay it again when it is complete")]
    Changed,
}
