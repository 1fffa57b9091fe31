//! The configuration of a machine: a tree of texts, links and directories.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// What lies at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A file, and its text.
    File(String),
    /// A symbolic link, and where it leads: from `/`, or from its own directory.
    Link(String),
    /// A directory. Those that hold an entry need not be named.
    Directory,
}

/// A tree of texts. Paths are as in a capture: from `/`, without the leading slash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<String, Entry>);

impl Tree {
    /// Puts an entry at a path, in the place of what was there.
    pub fn put(&mut self, path: &str, entry: Entry) {
        self.0.insert(path.trim_matches('/').to_owned(), entry);
    }

    /// What lies at a path itself; a link is not followed.
    #[must_use]
    pub fn entry(&self, path: &str) -> Option<&Entry> {
        self.0.get(path.trim_matches('/'))
    }

    /// The names in a directory, in byte order.
    #[must_use]
    pub fn names(&self, directory: &str) -> Vec<&str> {
        let directory = directory.trim_matches('/');
        let below = self.0.keys().filter_map(|path| {
            let rest = path.strip_prefix(directory)?.strip_prefix('/')?;
            rest.split('/').next()
        });
        let mut names: Vec<&str> = below.collect();
        names.dedup();
        names
    }
}
