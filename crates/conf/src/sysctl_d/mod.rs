//! `sysctl.d` and `/etc/sysctl.conf`: which lines are written into `/proc/sys`, in which order.
//!
//! The loaders agree on little more than the directories. A file hides those of the same name in
//! directories that come later, whatever it is: a link to `/dev/null`, an empty file, a dangling
//! link or a directory masks too. The files that are left are read in byte order of their names.
//! From there on they differ:
//!
//! - **systemd-sysctl** collects first and writes each key once. A key that is set again to
//!   *another* value moves to the end of the order; set again to the *same* value it keeps its
//!   place. So `dirty_ratio=5`, `dirty_bytes=6`, `dirty_ratio=5` writes the bytes last, and the
//!   bytes win. A value that is live already is not written. `-key` alone takes the key back, and
//!   keeps patterns off it. Matches of a pattern are written in no order that can be relied on.
//!   `/etc/sysctl.conf` is read only where a link in a directory leads to it.
//! - **procps** (`sysctl --system`) writes every assignment in the order of the lines, and
//!   `/etc/sysctl.conf` after everything else; above, the ratio is written last and wins. `-key`
//!   keeps patterns off the key, no more. Files whose names begin with a dot are read.
//! - **busybox** (`sysctl -p FILE`) reads one file that a start script names.
//!
//! The tables of [`line`](mod@line) and [`files`] have the rest. Both models are held against the
//! real programs by `crates/lab/tests/loaders.rs`.

pub mod files;
mod key;
pub mod line;
mod procps;
mod systemd;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub use files::{Fate, Source};
pub use line::{Line, Says, lines};

use crate::live::Live;
use crate::origin::Origin;
use crate::tree::Tree;

/// A program that writes `sysctl.d` into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loader {
    /// `systemd-sysctl`, at boot on nearly every distribution with systemd.
    Systemd,
    /// procps's `sysctl --system`: start scripts of sysvinit, and what administrators type.
    Procps,
    /// busybox's `sysctl -p`, file by file, as OpenRC's service runs it on Alpine.
    Busybox,
}

/// Every loader.
pub const LOADERS: [Loader; 3] = [Loader::Systemd, Loader::Procps, Loader::Busybox];

/// A value that is written into a file of `/proc/sys`.
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
    /// The path or pattern that it names, below `proc/sys/`.
    pub path: String,
    /// The value it would have set.
    pub value: Option<String>,
    /// Why nothing comes of it.
    pub why: Why,
}

/// Why a line that was read leads to no write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// A later line sets the same key (systemd writes the last one only).
    SetAgain(Origin),
    /// An earlier line sets the key to the same value and keeps its place in the order (systemd).
    SetBefore(Origin),
    /// A later `-key` takes it back (systemd).
    TakenBack(Origin),
    /// The pattern passes over this path: another line names it.
    Named(Origin),
    /// The loader refuses or cannot reach such a path, such as one with `..`.
    BadPath,
    /// It is no assignment.
    Nonsense,
}

/// What a loader does with a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// What it writes, in order.
    pub writes: Vec<Write>,
    /// The lines that lead to no write.
    pub lost: Vec<Lost>,
    /// The files that it reads, in order, then those that it does not read, each with the reason.
    pub sources: Vec<Source>,
}

/// What a loader does with a tree on a machine that has these tunables.
#[must_use]
pub fn load(tree: &Tree, loader: Loader, live: &Live) -> Load {
    let sources = files::sources(tree, loader);
    let (writes, lost) = match loader {
        Loader::Systemd => systemd::writes(tree, &sources, live),
        Loader::Procps | Loader::Busybox => procps::writes(tree, &sources, loader, live),
    };
    Load {
        writes,
        lost,
        sources,
    }
}

/// The file below `/proc/sys` that a key names, as a loader takes it: `vm.swappiness`,
/// `vm/swappiness`, `net/ipv4/conf/eth0.100/rp_filter` and `net.ipv4.conf.eth0/100.rp_filter`. A
/// pattern stays one.
#[must_use]
pub fn path_of(key: &str, loader: Loader) -> String {
    match loader {
        Loader::Systemd => key::path(&key::systemd(key)),
        Loader::Procps | Loader::Busybox => key::path(&key::procps(key)),
    }
}

impl fmt::Display for Loader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Systemd => "systemd-sysctl",
            Self::Procps => "procps sysctl --system",
            Self::Busybox => "busybox sysctl -p",
        })
    }
}
