//! What the daemon is asked at its socket, as a line: to let go of a file system or a file before
//! an `umount`, and to keep it again.

use core::fmt;

/// The longest line, in bytes.
pub const LONGEST: usize = 128;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Let go, and do not lock there again.
    Release(Place),
    /// Lock there again.
    Keep(Place),
}

/// What is meant: a file system, or one file of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file system's number, `f_fsid`.
    pub fsid: u64,
    /// The file's inode number.
    pub inode: Option<u64>,
}

impl Request {
    /// The request of a line without its end; `None` for any other line.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let line = core::str::from_utf8(line).ok()?;
        let (verb, place) = line.split_once(' ')?;
        let place = Place::parse(place)?;
        match verb {
            "release" => Some(Self::Release(place)),
            "keep" => Some(Self::Keep(place)),
            _ => None,
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Release(place) => write!(f, "release {place}"),
            Self::Keep(place) => write!(f, "keep {place}"),
        }
    }
}

impl Place {
    /// `00ab` or `00ab/12`, the file system in hexadecimal.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (fsid, inode) = match text.split_once('/') {
            Some((fsid, inode)) => (fsid, Some(inode.parse().ok()?)),
            None => (text, None),
        };
        let fsid = u64::from_str_radix(fsid, 16).ok()?;
        Some(Self { fsid, inode })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.inode {
            Some(inode) => write!(f, "{:016x}/{inode}", self.fsid),
            None => write!(f, "{:016x}", self.fsid),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn a_place_is_written_as_events_name_files() {
        for text in ["00000000000000ab", "00000000000000ab/12"] {
            let place = Place::parse(text).expect("a place");
            assert_eq!(place.to_string(), text);
        }
        for text in [
            "",
            "/12",
            "x",
            "ab/",
            "ab/-1",
            "ab/1/2",
            "10000000000000000",
        ] {
            assert_eq!(Place::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_request_is_read_as_it_is_written() {
        let place = Place {
            fsid: u64::MAX,
            inode: Some(u64::MAX),
        };
        for request in [Request::Release(place), Request::Keep(place)] {
            let line = request.to_string();
            assert!(line.len() < LONGEST);
            assert_eq!(Request::parse(line.as_bytes()), Some(request));
        }
        for line in [&b"releas ab"[..], b"release \xff", b"release", b""] {
            assert_eq!(Request::parse(line), None);
        }
    }
}
