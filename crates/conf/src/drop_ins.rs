//! Directories of drop-in files: the first directory that has a name hides it in the others, and
//! what is left is read in byte order of the names.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::load::{Fate, Source};
use crate::tree::{Found, Tree};

/// Which names count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// Those that end so and do not begin with a dot.
    Visible(&'static str),
    /// All that end so.
    All(&'static str),
}

/// The files that count, in the order in which they are read, and the others with the reason.
pub(crate) fn chosen(
    tree: &Tree,
    directories: &[&str],
    names: Names,
) -> (Vec<String>, Vec<Source>) {
    let mut chosen: BTreeMap<&str, String> = BTreeMap::new();
    let mut others = Vec::new();
    for directory in once(tree, directories) {
        for name in tree.list(directory) {
            let path = [directory, "/", name].concat();
            let fate = match chosen.get(name) {
                _ if !names.take(name) => Fate::BadName,
                Some(by) => Fate::HiddenBy(by.clone()),
                None => {
                    chosen.insert(name, path);
                    continue;
                }
            };
            others.push(Source { path, fate });
        }
    }
    (chosen.into_values().collect(), others)
}

/// What becomes of a file that is opened.
pub(crate) fn opened(tree: &Tree, path: String) -> Source {
    let fate = match tree.find(&path) {
        Found::File { text: "", .. } => Fate::Empty,
        Found::File { path: real, .. } => Fate::Read((real != path).then_some(real)),
        Found::Null | Found::Nothing | Found::Directory(_) => Fate::Empty,
        Found::Unreadable(why) => Fate::Unreadable(why.to_owned()),
    };
    Source { path, fate }
}

/// The directories that are there, each once though links give it two names.
pub(crate) fn once<'a>(tree: &Tree, directories: &[&'a str]) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    let is_new = |directory: &&&str| match tree.find(directory) {
        Found::Directory(path) => seen.insert(path),
        _ => false,
    };
    directories.iter().filter(is_new).copied().collect()
}

/// The files that count, opened, and the others.
pub(crate) fn sources(
    tree: &Tree,
    directories: &[&str],
    names: Names,
) -> (Vec<Source>, Vec<Source>) {
    let (paths, others) = chosen(tree, directories, names);
    let sources = paths.into_iter().map(|path| opened(tree, path));
    (sources.collect(), others)
}

impl Names {
    /// Whether a name counts.
    pub(crate) fn take(self, name: &str) -> bool {
        match self {
            Self::Visible(end) => name.ends_with(end) && !name.starts_with('.'),
            Self::All(end) => name.ends_with(end),
        }
    }
}
