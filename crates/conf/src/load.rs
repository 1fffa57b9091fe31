//! What a program that sets tunables does with a tree: its writes in order, the lines that lead to
//! none, and the files that it reads or passes over.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::origin::Origin;

/// Writes after which no pattern is followed any more: files with more matches are made to
/// fill the memory.
pub(crate) const MOST_MATCHES: usize = 1 << 16;

/// What a program does with a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// What it writes, in order.
    pub writes: Vec<Write>,
    /// The lines that lead to no write.
    pub lost: Vec<Lost>,
    /// The files that it reads, in order, then those that it does not read, each with the reason.
    pub sources: Vec<Source>,
}

/// A value that is written into a tunable's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The file, as a capture writes it: `proc/sys/vm/swappiness`. It need not exist.
    pub path: String,
    /// What is written, without the end of line.
    pub value: String,
    /// The line that says so.
    pub origin: Origin,
    /// The pattern in that line, where the path is a match of one.
    pub pattern: Option<String>,
    /// Whether a leading `-` says that a failure does not matter.
    pub may_fail: bool,
    /// Whether the value was live at that point, so that nothing is written.
    pub is_live: bool,
}

/// A line that was read and leads to no write, or to none for one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The line.
    pub origin: Origin,
    /// The path or pattern that it names; what stands there where that is no path.
    pub path: String,
    /// The value it would have set.
    pub value: Option<String>,
    /// Why nothing comes of it.
    pub why: Why,
}

/// Why a line that was read leads to no write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// A later line sets the same key, and only the last one is written (systemd-sysctl).
    SetAgain(Origin),
    /// An earlier line sets the key to the same value and keeps its place in the order
    /// (systemd-sysctl).
    SetBefore(Origin),
    /// An earlier line names the path, and the first one counts (systemd-tmpfiles).
    NamedBefore(Origin),
    /// It sets nothing: `-key` keeps patterns off the key.
    Excludes,
    /// A later `-key` takes it back (systemd-sysctl).
    TakenBack(Origin),
    /// The pattern passes over this path: another line names it.
    Named(Origin),
    /// The program refuses or cannot reach such a path, such as one with `..`.
    BadPath,
    /// It depends on something that is not known here.
    Unknown(String),
    /// It does not set the tunable at boot, but this does while the machine runs.
    AtRunTime(&'static str),
    /// It is nothing that the program understands.
    Nonsense,
}

/// A file where settings could stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its path: from `/`, without the leading slash, as the program names it.
    pub path: String,
    /// What becomes of it.
    pub fate: Fate,
}

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is read. Where its path is a link: the file that it leads to.
    Read(Option<String>),
    /// It masks its name: it is empty, a link to `/dev/null`, or leads nowhere, or is a directory.
    Empty,
    /// It cannot be read here, and why; so what it says is not known.
    Unreadable(String),
    /// A file of this name, in a directory that comes first, hides it.
    HiddenBy(String),
    /// Its name does not end as it must, or begins with a dot.
    BadName,
    /// The program does not read this file, and no link leads to it.
    NotRead,
    /// The program would read it but does not run at boot, and why.
    NotRun(String),
}

impl Load {
    /// The same of a program that does not run.
    #[must_use]
    pub(crate) fn not_run(self, why: &str) -> Self {
        let fate = |source: Source| match source.is_opened() {
            true => Source {
                fate: Fate::NotRun(why.to_owned()),
                ..source
            },
            false => source,
        };
        Self {
            sources: self.sources.into_iter().map(fate).collect(),
            ..Self::default()
        }
    }
}

impl Write {
    /// A plain write, as a line says it.
    #[must_use]
    pub fn new(path: impl Into<String>, value: impl Into<String>, origin: Origin) -> Self {
        Self {
            path: path.into(),
            value: value.into(),
            origin,
            pattern: None,
            may_fail: false,
            is_live: false,
        }
    }
}

impl Source {
    /// Whether the program opens it, whatever it finds.
    #[must_use]
    pub fn is_opened(&self) -> bool {
        matches!(self.fate, Fate::Read(_) | Fate::Empty | Fate::Unreadable(_))
    }
}

impl Lost {
    /// A line that is not understood.
    #[must_use]
    pub fn nonsense(text: &str, origin: Origin) -> Self {
        Self {
            origin,
            path: text.to_owned(),
            value: None,
            why: Why::Nonsense,
        }
    }
}

impl Fate {
    /// Whether the program reads lines from it.
    #[must_use]
    pub fn is_read(&self) -> bool {
        matches!(self, Self::Read(_))
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetAgain(by) => write!(f, "{by} sets it again"),
            Self::SetBefore(by) => write!(f, "{by} sets it to the same value, at its own place"),
            Self::NamedBefore(by) => write!(f, "{by} comes first, and the first line counts"),
            Self::Excludes => f.write_str("it keeps patterns off the key and sets nothing"),
            Self::TakenBack(by) => write!(f, "{by} takes it back"),
            Self::Named(by) => write!(f, "the pattern passes over what {by} names"),
            Self::BadPath => f.write_str("such a path is refused or leads nowhere"),
            Self::Unknown(what) => write!(f, "it depends on {what}, which is not known here"),
            Self::AtRunTime(what) => write!(f, "{what} while the machine runs"),
            Self::Nonsense => f.write_str("the line is not understood"),
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(None) => f.write_str("read"),
            Self::Read(Some(real)) => write!(f, "read: a link to /{real}"),
            Self::Empty => f.write_str("empty: it masks other files of its name"),
            Self::Unreadable(why) => write!(f, "not readable: {why}"),
            Self::HiddenBy(path) => write!(f, "hidden by /{path}"),
            Self::BadName => f.write_str("not read: its name is not taken"),
            Self::NotRun(why) => write!(f, "not read at boot: {why}"),
            Self::NotRead => f.write_str("not read by this loader, and no link leads to it"),
        }
    }
}
