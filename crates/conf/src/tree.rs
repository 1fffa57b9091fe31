//! The configuration of a machine: a tree of texts, links and directories.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

/// Links that are followed on the way to a file; the kernel allows as many.
const MOST_LINKS: usize = 40;

/// Components of a path that are followed; the kernel's longest path has no more.
const MOST_PARTS: usize = 2048;

/// The file that is empty for every reader: what a link that masks a name leads to.
const NULL: &str = "dev/null";

/// What lies at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A file, and its text.
    File(String),
    /// A symbolic link, and where it leads: from `/`, or from its own directory.
    Link(String),
    /// A directory. Those that hold an entry need not be named.
    Directory,
    /// Something is there that could not be read, and why.
    Unreadable(String),
}

/// What is found at a path once links are followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// A file.
    File {
        /// Where it really lies.
        path: String,
        /// What it says.
        text: &'a str,
    },
    /// `/dev/null`, at the end of links: an empty file for whoever reads it.
    Null,
    /// A directory, and where it really lies.
    Directory(String),
    /// Nothing: the name, or what its link leads to, does not exist here.
    Nothing,
    /// Something that could not be read, and why.
    Unreadable(&'a str),
}

/// A tree of texts. Paths are as in a capture: from `/`, without the leading slash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<String, Entry>);

impl Tree {
    /// Puts an entry at a path, in the place of what was there.
    pub fn put(&mut self, path: &str, entry: Entry) {
        self.0.insert(path.trim_matches('/').to_owned(), entry);
    }

    /// Takes an entry out.
    pub fn remove(&mut self, path: &str) -> Option<Entry> {
        self.0.remove(path.trim_matches('/'))
    }

    /// What lies at a path itself; a link is not followed.
    #[must_use]
    pub fn entry(&self, path: &str) -> Option<&Entry> {
        self.0.get(path.trim_matches('/'))
    }

    /// Every entry with its path, in byte order of the paths.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.0.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    /// The names in a directory, in byte order; none where there is no such directory. `""` is the
    /// root. Links on the way are not followed: [`Tree::list`] does.
    #[must_use]
    pub fn names(&self, directory: &str) -> Vec<&str> {
        let prefix = prefix(directory);
        let below = self.0.range(prefix.clone()..);
        let below = below.map_while(|(path, _)| path.strip_prefix(prefix.as_str()));
        let names: BTreeSet<&str> = below.filter_map(|rest| rest.split('/').next()).collect();
        names.into_iter().filter(|name| !name.is_empty()).collect()
    }

    /// The names in a directory, in byte order, whatever links lead to it.
    #[must_use]
    pub fn list(&self, directory: &str) -> Vec<&str> {
        match self.find(directory) {
            Found::Directory(path) => self.names(&path),
            _ => Vec::new(),
        }
    }

    /// What is found at a path. Links are followed, also those to directories on the way; `..`
    /// above the root is the root.
    #[must_use]
    pub fn find(&self, path: &str) -> Found<'_> {
        let mut links = 0;
        let mut at: Vec<String> = Vec::new();
        let mut todo: Vec<String> = parts(path).rev().collect();
        while let Some(part) = todo.pop() {
            if at.len() + todo.len() > MOST_PARTS {
                return Found::Nothing;
            }
            if part == ".." {
                at.pop();
                continue;
            }
            at.push(part);
            match self.0.get(&at.join("/")) {
                Some(Entry::Link(to)) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Found::Nothing;
                    }
                    at.pop();
                    if to.starts_with('/') {
                        at.clear();
                    }
                    todo.extend(parts(to).rev());
                }
                Some(Entry::File(_)) if !todo.is_empty() => return Found::Nothing,
                _ => {}
            }
        }
        self.at(at.join("/"))
    }

    fn at(&self, path: String) -> Found<'_> {
        match self.0.get(&path) {
            Some(Entry::File(text)) => Found::File { path, text },
            Some(Entry::Unreadable(why)) => Found::Unreadable(why),
            Some(Entry::Directory) => Found::Directory(path),
            _ if path == NULL => Found::Null,
            _ if path.is_empty() || self.holds_something(&path) => Found::Directory(path),
            _ => Found::Nothing,
        }
    }

    fn holds_something(&self, directory: &str) -> bool {
        let prefix = prefix(directory);
        let next = self.0.range(prefix.clone()..).next();
        next.is_some_and(|(path, _)| path.starts_with(&prefix))
    }
}

impl<P: AsRef<str>> FromIterator<(P, Entry)> for Tree {
    fn from_iter<I: IntoIterator<Item = (P, Entry)>>(entries: I) -> Self {
        let mut tree = Self::default();
        for (path, entry) in entries {
            tree.put(path.as_ref(), entry);
        }
        tree
    }
}

/// What the paths of all entries in a directory begin with.
fn prefix(directory: &str) -> String {
    let mut prefix = directory.trim_matches('/').to_owned();
    if !prefix.is_empty() {
        prefix.push('/');
    }
    prefix
}

/// The components of a path that say something.
fn parts(path: &str) -> impl DoubleEndedIterator<Item = String> {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    parts.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(entries: &[(&str, Entry)]) -> Tree {
        entries.iter().cloned().collect()
    }

    fn file(text: &str) -> Entry {
        Entry::File(text.to_owned())
    }

    fn link(to: &str) -> Entry {
        Entry::Link(to.to_owned())
    }

    #[test]
    fn a_name_is_listed_once_though_others_sort_between_its_entries() {
        let tree = tree(&[
            ("etc/a", Entry::Directory),
            ("etc/a.b", file("")),
            ("etc/a/c", file("")),
            ("etcetera", file("")),
        ]);
        assert_eq!(tree.names("etc"), ["a", "a.b"]);
        assert_eq!(tree.names("/etc/"), ["a", "a.b"]);
        assert_eq!(tree.names(""), ["etc", "etcetera"]);
        assert_eq!(tree.names("/"), ["etc", "etcetera"]);
        assert!(tree.names("missing").is_empty());
    }

    #[test]
    fn links_are_followed_to_files_and_through_directories() {
        let tree = tree(&[
            ("lib", link("usr/lib")),
            ("usr/lib/sysctl.d/50.conf", file("x")),
            ("etc/sysctl.d/99-sysctl.conf", link("../sysctl.conf")),
            ("etc/sysctl.conf", link("/lib/./sysctl.d//50.conf")),
        ]);
        let found = Found::File {
            path: "usr/lib/sysctl.d/50.conf".to_owned(),
            text: "x",
        };
        assert_eq!(tree.find("etc/sysctl.d/99-sysctl.conf"), found);
        assert_eq!(tree.find("/lib/sysctl.d/50.conf"), found);
        assert_eq!(tree.list("lib/sysctl.d"), ["50.conf"]);
        assert_eq!(tree.find("../../lib/sysctl.d/50.conf"), found);
    }

    #[test]
    fn a_link_that_leads_nowhere_or_round_in_a_circle_finds_nothing() {
        let tree = tree(&[
            ("a", link("b")),
            ("b", link("a")),
            ("c", link("/missing")),
            ("d", link("/dev/null")),
            ("e", file("")),
            ("f", link(&"x/".repeat(1 << 20))),
        ]);
        assert_eq!(tree.find("a"), Found::Nothing);
        assert_eq!(tree.find("f"), Found::Nothing);
        assert_eq!(tree.find("c"), Found::Nothing);
        assert_eq!(tree.find("d"), Found::Null);
        assert_eq!(tree.find("e/below"), Found::Nothing);
    }
}
