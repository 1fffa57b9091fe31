//! A capture that mail, an editor or a cut has damaged, read as far as it goes.
//!
//! The announced lengths are followed where they fit. Where they do not, because every line grew by
//! a CR or somebody edited a file, the text goes on to the next header. No kernel file has a CR or
//! a NUL in it: CRs before a newline and NULs at the end of a file are dropped.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::{Capture, CaptureError, Frame, MAGIC, file_header, name};
use crate::text::shown;

/// A capture and what of it could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// What could be read.
    pub capture: Capture,
    /// What could not.
    pub faults: Vec<Fault>,
}

/// A place of a capture that is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A file is longer or shorter than its header says, and was read to the next header.
    Length {
        /// The file.
        path: String,
    },
    /// The capture ends inside a file.
    CutOff {
        /// The file.
        path: String,
        /// Announced bytes.
        wanted: usize,
        /// Bytes that are there.
        left: usize,
    },
    /// A line has a NUL in it and was left out.
    Nul {
        /// The file.
        path: String,
        /// The line of the file, from 1.
        line: usize,
    },
    /// A line that is no header where one should be.
    Header {
        /// The line of the capture, from 1.
        line: usize,
        /// Its beginning.
        found: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { path } => {
                write!(
                    f,
                    "{path}: not as long as announced, read to the next header"
                )
            }
            Self::CutOff { path, wanted, left } => {
                write!(f, "{path}: cut off, {left} of {wanted} bytes are there")
            }
            Self::Nul { path, line } => {
                write!(
                    f,
                    "{path}, line {line}: a NUL byte within the line, left out"
                )
            }
            Self::Header { line, found } => {
                write!(
                    f,
                    "line {line}: \"{found}\" is no header of a frame or file"
                )
            }
        }
    }
}

impl Capture {
    /// Reads a capture's text as far as it goes.
    ///
    /// # Errors
    /// The text does not begin as a capture does.
    pub fn recover(text: &str) -> Result<Recovered, CaptureError> {
        let mut reader = Reader {
            text: super::Reader {
                rest: text.trim_start_matches(['\u{feff}', ' ', '\n', '\r', '\0']),
                line: 0,
            },
            found: Recovered::default(),
        };
        if reader.text.next_line().map(str::trim_end) != Some(MAGIC) {
            return Err(CaptureError::Magic);
        }
        while let Some(header) = reader.text.next_line() {
            reader.header(header.trim_end_matches(['\r', '\0']));
        }
        Ok(reader.found)
    }
}

struct Reader<'a> {
    text: super::Reader<'a>,
    found: Recovered,
}

impl<'a> Reader<'a> {
    fn header(&mut self, header: &str) {
        if let Some(frame) = Frame::from_header(header) {
            return self.found.capture.frames.push(frame);
        }
        match file_header(header) {
            Some((path, length)) => self.file(path, length),
            None if header.trim_matches(['\0', ' ']).is_empty() => {}
            None => self.stray(header),
        }
    }

    /// Notes a line that is no header; those that follow it are not noted.
    fn stray(&mut self, header: &str) {
        if !matches!(self.found.faults.last(), Some(Fault::Header { .. })) {
            let (line, found) = (self.text.line, shown(header));
            self.found.faults.push(Fault::Header { line, found });
        }
    }

    fn file(&mut self, path: &str, length: usize) {
        let text = self.take(path, length);
        self.text.line += text.matches('\n').count();
        let text = self.cleaned(path, text);
        let frames = &mut self.found.capture.frames;
        if frames.is_empty() {
            frames.push(Frame::default());
        }
        if let Some(frame) = frames.last_mut() {
            frame.files.insert(name::read(path), text);
        }
    }

    /// The file's raw text; the rest begins at the next header.
    fn take(&mut self, path: &str, length: usize) -> &'a str {
        let exact = self.text.rest.get(..length).filter(|text| {
            let rest = &self.text.rest[length..];
            // A CR before a newline is one line's end.
            is_end(rest) && !(text.ends_with('\r') && rest.starts_with('\n'))
        });
        let text = exact.or_else(|| without_crs(self.text.rest, length));
        let (text, fault) = match text {
            Some(text) => (text, None),
            None => self.to_next_header(path, length),
        };
        self.found.faults.extend(fault);
        let rest = &self.text.rest[text.len()..];
        let rest = rest.strip_prefix('\r').unwrap_or(rest);
        self.text.line += usize::from(rest.starts_with('\n'));
        self.text.rest = rest.strip_prefix('\n').unwrap_or(rest);
        text
    }

    fn to_next_header(&self, path: &str, wanted: usize) -> (&'a str, Option<Fault>) {
        let path = path.to_owned();
        match next_header(self.text.rest) {
            // The format's own newline stands before the header.
            Some(at) => {
                let text = &self.text.rest[..at];
                let text = text.strip_suffix('\n').unwrap_or(text);
                (text, Some(Fault::Length { path }))
            }
            None => {
                let left = self.text.rest.len();
                let fault = match left < wanted {
                    true => Fault::CutOff { path, wanted, left },
                    false => Fault::Length { path },
                };
                (self.text.rest, Some(fault))
            }
        }
    }

    /// The text without what no kernel file has.
    fn cleaned(&mut self, path: &str, text: &str) -> String {
        let text = text.trim_end_matches('\0');
        if !text.contains(['\r', '\0']) {
            return text.to_owned();
        }
        let mut kept = String::new();
        for (raw, line) in text.split_inclusive('\n').zip(1..) {
            let bare = raw.strip_suffix('\n').unwrap_or(raw);
            let plain = bare.trim_matches('\0').trim_end_matches('\r');
            if plain.contains('\0') {
                let path = path.to_owned();
                self.found.faults.push(Fault::Nul { path, line });
                continue;
            }
            kept.push_str(plain);
            kept.push_str(&raw[bare.len()..]);
        }
        kept
    }
}

/// Whether a file can end here: at the text's end, or before a newline and a header.
fn is_end(rest: &str) -> bool {
    let rest = rest.trim_start_matches('\0');
    let rest = rest.strip_prefix('\r').unwrap_or(rest);
    let Some(behind) = rest.strip_prefix('\n') else {
        return rest.is_empty();
    };
    // The last header may be cut off.
    let cut = !behind.contains('\n') && behind.starts_with(['=', '@']);
    cut || behind.trim_end_matches(['\n', '\r', '\0']).is_empty() || is_header(behind)
}

fn is_header(text: &str) -> bool {
    let line = text.split('\n').next().unwrap_or_default().trim_end();
    file_header(line).is_some() || Frame::from_header(line).is_some()
}

/// The offset of the next line that is a header.
fn next_header(text: &str) -> Option<usize> {
    let mut starts = core::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    starts.find(|&at| text[at..].starts_with(['@', '=']) && is_header(&text[at..]))
}

/// The text of `length` bytes when CRs before newlines are not counted.
fn without_crs(text: &str, length: usize) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut counted = 0;
    let mut at = 0;
    while counted < length {
        let cr = bytes.get(at) == Some(&b'\r') && bytes.get(at + 1) == Some(&b'\n');
        counted += usize::from(!cr);
        bytes.get(at)?;
        at += 1;
    }
    text.get(..at).filter(|_| is_end(&text[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;

    const PLAIN: &str = "plimsoll-capture 1\n@ 5 idle\n= proc/meminfo 31\n\
        MemTotal: 80 kB\nMemFree: 10 kB\n\n= proc/sys/vm/min_free_kbytes 5\n1227\n\n";

    fn plain() -> Capture {
        Capture::parse(PLAIN).expect("a capture")
    }

    fn recovered(text: &str) -> Recovered {
        Capture::recover(text).expect("it begins as a capture")
    }

    #[test]
    fn a_whole_capture_is_what_the_strict_reader_gives() {
        let found = recovered(PLAIN);
        assert_eq!((found.capture, found.faults), (plain(), Vec::new()));
    }

    #[test]
    fn line_ends_of_windows_change_nothing_with_either_length() {
        let all = PLAIN.replace('\n', "\r\n");
        assert_eq!(recovered(&all).capture, plain());
        let counted = all
            .replace("meminfo 31", "meminfo 33")
            .replace("kbytes 5", "kbytes 6");
        assert_eq!(recovered(&counted).capture, plain());
    }

    #[test]
    fn nuls_behind_a_file_are_dropped_and_one_inside_costs_its_line() {
        let nuls = PLAIN.replace("kbytes 5\n1227\n", "kbytes 9\n1227\n\0\0\0\0");
        assert_eq!(recovered(&nuls).capture, plain());
        let inside = recovered(
            &PLAIN
                .replace("MemFree: 10", "MemFree:\x001")
                .replace("info 31", "info 30"),
        );
        assert_eq!(inside.faults.len(), 1);
        assert_eq!(
            inside.faults[0].to_string(),
            "proc/meminfo, line 2: a NUL byte within the line, left out"
        );
        assert_eq!(
            inside.capture.frames[0].file("proc/meminfo"),
            Some("MemTotal: 80 kB\n")
        );
    }

    #[test]
    fn a_capture_that_is_cut_anywhere_is_read_as_far_as_it_goes() {
        for end in MAGIC.len()..PLAIN.len() {
            let found = recovered(&PLAIN[..end]);
            let text = found
                .capture
                .frames
                .iter()
                .find_map(|frame| frame.file("proc/meminfo"));
            let whole =
                text.is_none_or(|text| "MemTotal: 80 kB\nMemFree: 10 kB\n".starts_with(text));
            assert!(whole, "cut at {end}: {text:?}");
        }
        let cut = recovered(&PLAIN[..62]);
        assert!(
            cut.faults[0]
                .to_string()
                .starts_with("proc/meminfo: cut off"),
            "{:?}",
            cut.faults
        );
    }

    #[test]
    fn a_file_that_was_edited_ends_before_the_next_header() {
        let edited = PLAIN.replace("MemFree: 10 kB\n", "MemFree: 10 kB\nCached: 7 kB\n");
        let found = recovered(&edited);
        let meminfo = found.capture.frames[0].file("proc/meminfo");
        assert_eq!(
            meminfo,
            Some("MemTotal: 80 kB\nMemFree: 10 kB\nCached: 7 kB\n")
        );
        assert_eq!(found.capture.frames[0].files.len(), 2);
        let expected = format!(
            "{}: not as long as announced, read to the next header",
            "proc/meminfo"
        );
        assert_eq!(found.faults[0].to_string(), expected);
    }
}
