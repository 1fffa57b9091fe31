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
//! - **Alpine**'s start script hands busybox's `sysctl -p` one file after the other: `/lib` and
//!   `/usr/lib`, `/etc`, `/etc/sysctl.conf`, and `/run` last. It knows no pattern and no `-`, and
//!   only a regular file hides another one.
//!
//! The tables of [`line`](mod@line) and [`files`] have the rest. Both models are held against the
//! real programs by `crates/lab/tests/loaders.rs`.

mod alpine;
pub mod files;
mod key;
pub mod line;
mod loader;
mod procps;
mod systemd;
mod which;

use alloc::borrow::ToOwned;
use alloc::string::String;

use crate::live::Live;
use crate::load::Load;
use crate::tree::Tree;

pub use line::{Line, Says, lines};
pub use loader::{LOADERS, Loader};
pub use which::{Which, which};

/// What a loader does with a tree on a machine that has these tunables.
#[must_use]
pub fn load(tree: &Tree, loader: Loader, live: &Live) -> Load {
    let sources = files::sources(tree, loader);
    let (writes, lost) = match loader {
        Loader::Systemd => systemd::writes(tree, &sources, live),
        Loader::Procps => procps::writes(tree, &sources, live),
        Loader::Alpine => alpine::writes(tree, &sources, live),
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
        Loader::Procps => key::path(&key::procps(key)),
        Loader::Alpine => key::path(&key.replace('.', "/")),
    }
}

/// The key of a path below `/proc/sys`, as systemd and procps read it: `vm.swappiness`, with
/// slashes where a name has a dot.
#[must_use]
pub fn key_of(path: &str) -> String {
    let key = path.strip_prefix(key::ROOT).unwrap_or(path);
    match (key.find('.'), key.find('/')) {
        (None, _) => key.replace('/', "."),
        (Some(dot), Some(slash)) if slash < dot => key.to_owned(),
        // The first separator has to be a slash.
        _ => ["/", key].concat(),
    }
}
