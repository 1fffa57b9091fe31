//! Which files a loader reads, in which order, and why it passes over the others.
//!
//! | | systemd | procps | Alpine |
//! |---|---|---|---|
//! | order | by name | by name | `/lib`, `/usr/lib`, `/etc`, `/etc/sysctl.conf`, `/run` |
//! | what hides a name | anything in a stronger directory | the same | a file in `/run`, `/etc` |
//! | `/usr/local/lib` | read | read | not read |
//! | `.name.conf` | passed over | read | passed over |
//! | `/etc/sysctl.conf` | only where a link leads to it | last | before `/run` |
//! | a name like `{a,b}.conf` | a name | a pattern | a name |

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::loader::Loader;
use crate::drop_ins::{Names, chosen, once, opened, sources as sources_of};
use crate::glob;
use crate::load::{Fate, Source};
use crate::tree::{Found, Tree};

/// The directories, the strongest first.
pub const DIRECTORIES: [&str; 5] = [ETC, RUN, LOCAL, "usr/lib/sysctl.d", "lib/sysctl.d"];

/// The old file, outside all directories.
pub const SYSCTL_CONF: &str = "etc/sysctl.conf";

const VISIBLE: Names = Names::Visible(".conf");
const ETC: &str = "etc/sysctl.d";
const RUN: &str = "run/sysctl.d";
const LOCAL: &str = "usr/local/lib/sysctl.d";

/// The files that a loader reads, in order, then the others.
#[must_use]
pub fn sources(tree: &Tree, loader: Loader) -> Vec<Source> {
    let (mut sources, others) = match loader {
        Loader::Systemd => systemd(tree),
        Loader::Procps => procps(tree),
        Loader::Alpine => alpine(tree),
    };
    sources.extend(others);
    sources
}

fn systemd(tree: &Tree) -> (Vec<Source>, Vec<Source>) {
    let (sources, mut others) = sources_of(tree, &DIRECTORIES, VISIBLE);
    let real = match tree.find(SYSCTL_CONF) {
        Found::File { path, .. } => path,
        _ => SYSCTL_CONF.to_owned(),
    };
    let leads_here = |it: &Source| it.fate == Fate::Read(Some(real.clone()));
    if tree.entry(SYSCTL_CONF).is_some() && !sources.iter().any(leads_here) {
        others.push(Source {
            path: SYSCTL_CONF.to_owned(),
            fate: Fate::NotRead,
        });
    }
    (sources, others)
}

fn procps(tree: &Tree) -> (Vec<Source>, Vec<Source>) {
    let (paths, others) = chosen(tree, &DIRECTORIES, Names::All(".conf"));
    let paths = paths.iter().flat_map(|path| expanded(tree, path));
    let paths = paths.chain(sysctl_conf(tree));
    (paths.map(|path| opened(tree, path)).collect(), others)
}

fn sysctl_conf(tree: &Tree) -> Option<String> {
    tree.entry(SYSCTL_CONF).map(|_| SYSCTL_CONF.to_owned())
}

/// What procps opens for one name: it takes the name as a pattern, and as it is where nothing
/// matches. It stops at a match that cannot be opened.
fn expanded(tree: &Tree, path: &str) -> Vec<String> {
    let is_plain = !path.contains(['*', '?', '[', '{', '\\']);
    let patterns = match is_plain {
        true => Vec::new(),
        false => glob::braces(path),
    };
    let found = patterns.iter().flat_map(|pattern| matching(tree, pattern));
    let mut found: Vec<String> = found.collect();
    if found.is_empty() {
        found.push(path.to_owned());
    }
    let opens = |path: &String| tree.find(path) != Found::Nothing;
    let closed = found.iter().position(|path| !opens(path));
    found.truncate(closed.map_or(found.len(), |at| at + 1));
    found
}

fn matching<'a>(tree: &'a Tree, pattern: &'a str) -> impl Iterator<Item = String> + 'a {
    let (directory, _) = pattern.rsplit_once('/').unwrap_or_default();
    let names = tree.list(directory).into_iter();
    let paths = names.map(move |name| [directory, "/", name].concat());
    paths.filter(|path| glob::matches(pattern, path))
}

/// Alpine's script goes from directory to directory; only a regular file hides a name.
fn alpine(tree: &Tree) -> (Vec<Source>, Vec<Source>) {
    let mut all = Vec::new();
    for vendor in once(tree, &["lib/sysctl.d", "usr/lib/sysctl.d"]) {
        all.extend(alpine_directory(tree, vendor, &[ETC, RUN]));
    }
    all.extend(alpine_directory(tree, ETC, &[RUN]));
    let conf = sysctl_conf(tree).filter(|path| is_regular(tree, path));
    all.extend(conf.map(|path| opened(tree, path)));
    all.extend(alpine_directory(tree, RUN, &[]));
    let local = tree.list(LOCAL).into_iter().map(|name| Source {
        path: [LOCAL, "/", name].concat(),
        fate: Fate::NotRead,
    });
    let (sources, mut others): (Vec<_>, Vec<_>) = all.into_iter().partition(Source::is_opened);
    others.extend(local);
    (sources, others)
}

fn alpine_directory(tree: &Tree, directory: &str, hiding: &[&str]) -> Vec<Source> {
    let fate = |name: &str, path: String| {
        let mut hiding = hiding.iter().map(|by| [by, "/", name].concat());
        let by = hiding.find(|by| is_regular(tree, by));
        let fate = match by {
            _ if !VISIBLE.take(name) => Fate::BadName,
            Some(by) => Fate::HiddenBy(by),
            None if !is_regular(tree, &path) => Fate::Empty,
            None => return opened(tree, path),
        };
        Source { path, fate }
    };
    let names = tree.list(directory).into_iter();
    let sources = names.map(|name| fate(name, [directory, "/", name].concat()));
    sources.collect()
}

fn is_regular(tree: &Tree, path: &str) -> bool {
    matches!(tree.find(path), Found::File { .. } | Found::Unreadable(_))
}
