//! Which files a loader reads, in which order, and why it passes over the others.
//!
//! | | systemd | procps | busybox (OpenRC) |
//! |---|---|---|---|
//! | directories | those of [`DIRECTORIES`], the first wins | the same | the same |
//! | `.name.conf` | passed over | read | passed over |
//! | `/etc/sysctl.conf` | only where a link leads to it | last | last |
//! | a name like `{a,b}.conf` | a name | a pattern | a name |

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::Loader;
use crate::glob;
use crate::tree::{Found, Tree};

/// The directories, the strongest first.
pub const DIRECTORIES: [&str; 5] = [
    "etc/sysctl.d",
    "run/sysctl.d",
    "usr/local/lib/sysctl.d",
    "usr/lib/sysctl.d",
    "lib/sysctl.d",
];

/// The old file, outside all directories.
pub const SYSCTL_CONF: &str = "etc/sysctl.conf";

/// What the names of files that are read end with.
const SUFFIX: &str = ".conf";

/// A file where settings could stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its path: from `/`, without the leading slash, as the loader names it.
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
    /// Its name does not end with `.conf`, or begins with a dot.
    BadName,
    /// The loader does not read `/etc/sysctl.conf`, and no link leads to it.
    NotRead,
}

impl Fate {
    /// Whether the loader reads lines from it.
    #[must_use]
    pub fn is_read(&self) -> bool {
        matches!(self, Self::Read(_))
    }
}

/// The files that a loader reads, in order, then the others.
#[must_use]
pub fn sources(tree: &Tree, loader: Loader) -> Vec<Source> {
    let mut chosen: BTreeMap<&str, String> = BTreeMap::new();
    let mut others = Vec::new();
    for directory in directories(tree) {
        for name in tree.list(directory) {
            let path = [directory, "/", name].concat();
            let fate = match chosen.get(name) {
                _ if !is_read(name, loader) => Fate::BadName,
                Some(by) => Fate::HiddenBy(by.clone()),
                None => {
                    chosen.insert(name, path);
                    continue;
                }
            };
            others.push(Source { path, fate });
        }
    }
    let mut sources: Vec<Source> = Vec::new();
    for path in chosen.into_values() {
        sources.extend(
            opened(tree, &path, loader)
                .into_iter()
                .map(|path| read(tree, path)),
        );
    }
    let last = sysctl_conf(tree, loader, &sources);
    sources.extend(last);
    sources.extend(others);
    sources
}

/// The directories that are there, each once though links give it two names.
pub(super) fn directories(tree: &Tree) -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    let is_new = |directory: &&str| match tree.find(directory) {
        Found::Directory(path) => seen.insert(path),
        _ => false,
    };
    DIRECTORIES.into_iter().filter(is_new).collect()
}

/// Whether a loader looks at a file of this name.
pub(super) fn is_read(name: &str, loader: Loader) -> bool {
    let hidden = name.starts_with('.') && loader != Loader::Procps;
    name.ends_with(SUFFIX) && !hidden
}

/// What is opened for one name: procps takes it as a pattern, and as it is where nothing matches.
/// It stops at a match that cannot be opened.
fn opened(tree: &Tree, path: &str, loader: Loader) -> Vec<String> {
    let is_plain = !path.contains(['*', '?', '[', '{', '\\']);
    let patterns = match loader {
        Loader::Procps if !is_plain => glob::braces(path),
        _ => Vec::new(),
    };
    let found = patterns.iter().flat_map(|pattern| matching(tree, pattern));
    let mut found: Vec<String> = found.collect();
    if found.is_empty() {
        found.push(path.to_owned());
    }
    let opens = |path: &String| tree.find(path) != Found::Nothing;
    let all = found.iter().position(|path| !opens(path));
    found.truncate(all.map_or(found.len(), |at| at + 1));
    found
}

fn matching<'a>(tree: &'a Tree, pattern: &'a str) -> impl Iterator<Item = String> + 'a {
    let (directory, _) = pattern.rsplit_once('/').unwrap_or_default();
    let names = tree.list(directory).into_iter();
    let paths = names.map(move |name| [directory, "/", name].concat());
    paths.filter(|path| glob::matches(pattern, path))
}

fn read(tree: &Tree, path: String) -> Source {
    let fate = match tree.find(&path) {
        Found::File { text: "", .. } => Fate::Empty,
        Found::File { path: real, .. } => Fate::Read((real != path).then_some(real)),
        Found::Null | Found::Nothing | Found::Directory(_) => Fate::Empty,
        Found::Unreadable(why) => Fate::Unreadable(why.to_owned()),
    };
    Source { path, fate }
}

/// `/etc/sysctl.conf` itself. A link to it in a directory is a source of its own.
fn sysctl_conf(tree: &Tree, loader: Loader, sources: &[Source]) -> Option<Source> {
    tree.entry(SYSCTL_CONF)?;
    let source = read(tree, SYSCTL_CONF.to_owned());
    let real = match tree.find(SYSCTL_CONF) {
        Found::File { path, .. } => path,
        _ => SYSCTL_CONF.to_owned(),
    };
    let leads_here = |it: &Source| it.fate == Fate::Read(Some(real.clone()));
    match loader {
        Loader::Systemd if sources.iter().any(leads_here) => None,
        Loader::Systemd => Some(Source {
            fate: Fate::NotRead,
            ..source
        }),
        Loader::Procps | Loader::Busybox => Some(source),
    }
}
