//! A capture is kernel files as text, and when they were read.
//!
//! One format for `inspect --save`, for what a VM hands back, for what the model emits, for bug
//! reports and for test fixtures:
//!
//! ```text
//! plimsoll-capture 1
//! @ 1500000000 idle
//! = proc/meminfo 1342
//! MemTotal:        3764232 kB
//! …
//! ```
//!
//! A frame begins with `@`, the time in nanoseconds and an optional label; a file with `=`, its
//! path without the leading slash, and the length of its text in bytes. The text follows, then a
//! newline of the format's own. Paths that begin with `plimsoll/` are not kernel files but the
//! bench's notes. A control character of a path or label is written as `\u000a`, so that no name
//! ends its header (`capture/name.rs`).

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use crate::units::Nanos;

mod name;
mod recover;

pub use recover::{Fault, Recovered};

/// The first line of a capture.
pub const MAGIC: &str = "plimsoll-capture 1";

/// Frames in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// The frames.
    pub frames: Vec<Frame>,
}

/// Files that were read at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// When: nanoseconds since the run began, or since boot for a live machine.
    pub at: Nanos,
    /// The snapshot's name; `None` for a periodic sample.
    pub label: Option<String>,
    /// Text by path; the path has no leading slash.
    pub files: BTreeMap<String, String>,
}

/// Why a text is not a capture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// The first line is another one.
    #[error("line 1: not a capture: the first line must be \"{MAGIC}\"")]
    Magic,
    /// A line that is neither a frame nor a file.
    #[error("line {line}: expected \"@ TIME [LABEL]\" or \"= PATH LENGTH\", found \"{found}\"")]
    Header {
        /// Line number, from 1.
        line: usize,
        /// The line's beginning.
        found: String,
    },
    /// A file before the first frame.
    #[error("line {line}: a file before the first frame (\"@ TIME\")")]
    NoFrame {
        /// Line number, from 1.
        line: usize,
    },
    /// The text ends inside a file.
    #[error(
        "line {line}: the capture ends inside {path}: {wanted} bytes were announced, {left} are \
         left"
    )]
    Truncated {
        /// Line number of the file's header, from 1.
        line: usize,
        /// The file.
        path: String,
        /// Announced length.
        wanted: usize,
        /// What is there.
        left: usize,
    },
}

impl Capture {
    /// The first frame with this label.
    #[must_use]
    pub fn labelled(&self, label: &str) -> Option<&Frame> {
        self.frames
            .iter()
            .find(|frame| frame.label.as_deref() == Some(label))
    }

    /// Writes the capture's text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::from(MAGIC);
        text.push('\n');
        for frame in &self.frames {
            frame.write(&mut text);
        }
        text
    }

    /// Reads a capture's text.
    ///
    /// # Errors
    /// A [`CaptureError`] with the line where the text stops being a capture.
    pub fn parse(text: &str) -> Result<Self, CaptureError> {
        let mut reader = Reader {
            rest: text,
            line: 0,
        };
        if reader.next_line() != Some(MAGIC) {
            return Err(CaptureError::Magic);
        }
        let mut capture = Self::default();
        while let Some(header) = reader.next_line() {
            if let Some(frame) = Frame::from_header(header) {
                capture.frames.push(frame);
            } else if let Some((path, length)) = file_header(header) {
                let line = reader.line;
                let frame = capture
                    .frames
                    .last_mut()
                    .ok_or(CaptureError::NoFrame { line })?;
                let content = reader.take(path, length)?;
                frame.files.insert(name::read(path), content);
            } else {
                let found = header.chars().take(60).collect();
                return Err(CaptureError::Header {
                    line: reader.line,
                    found,
                });
            }
        }
        Ok(capture)
    }
}

impl Frame {
    /// The text of a file, by path without the leading slash.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Appends the frame's text.
    pub fn write(&self, text: &mut String) {
        let label = name::written(self.label.as_deref().unwrap_or_default());
        let gap = if label.is_empty() { "" } else { " " };
        let _ = writeln!(text, "@ {}{gap}{label}", self.at.0);
        for (path, content) in &self.files {
            let _ = writeln!(
                text,
                "= {} {}\n{content}",
                name::written(path),
                content.len()
            );
        }
    }

    fn from_header(header: &str) -> Option<Self> {
        let rest = header.strip_prefix("@ ")?;
        let (time, label) = rest
            .split_once(' ')
            .map_or((rest, None), |(t, l)| (t, Some(l)));
        let at = Nanos(time.parse().ok()?);
        // Written again there is no telling one that is empty.
        let label = label.filter(|label| !label.is_empty());
        Some(Self {
            at,
            label: label.map(name::read),
            files: BTreeMap::new(),
        })
    }
}

/// A file's path, as it is written, and the length of its text.
fn file_header(header: &str) -> Option<(&str, usize)> {
    let (path, length) = header.strip_prefix("= ")?.rsplit_once(' ')?;
    Some((path, length.parse().ok()?))
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Reader<'a> {
    fn next_line(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        self.line += 1;
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        Some(line)
    }

    fn take(&mut self, path: &str, length: usize) -> Result<String, CaptureError> {
        let content = self
            .rest
            .get(..length)
            .ok_or_else(|| CaptureError::Truncated {
                line: self.line,
                path: path.to_owned(),
                wanted: length,
                left: self.rest.len(),
            })?;
        self.line += content.matches('\n').count() + 1;
        let rest = &self.rest[length..];
        self.rest = rest.strip_prefix('\n').unwrap_or(rest);
        Ok(content.to_owned())
    }
}
