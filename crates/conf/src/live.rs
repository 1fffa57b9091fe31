//! What is known of a running machine's tunables: which there are, and what they are.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;

use crate::glob;

/// Files of tunables by path, as a capture writes it (`proc/sys/vm/swappiness`), each with its
/// value where that is known. Patterns in files expand to what is in here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live(BTreeMap<String, Option<String>>);

impl Live {
    /// Notes that there is such a tunable.
    pub fn know(&mut self, path: &str) {
        self.0.entry(path.to_owned()).or_default();
    }

    /// Notes a tunable's value, as its file shows it.
    pub fn put(&mut self, path: &str, value: &str) {
        self.0.insert(path.to_owned(), Some(value.to_owned()));
    }

    /// Whether there is such a tunable.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// The value of a tunable, where it is known.
    #[must_use]
    pub fn value(&self, path: &str) -> Option<&str> {
        self.0.get(path)?.as_deref()
    }

    /// All paths, in byte order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The paths that match a pattern, in byte order.
    pub fn matching<'a>(&'a self, pattern: &'a str) -> impl Iterator<Item = &'a str> {
        let end = pattern.find(['*', '?', '[', '\\']);
        let plain = &pattern[..end.unwrap_or(pattern.len())];
        let paths = self
            .0
            .range(plain.to_owned()..)
            .map(|(path, _)| path.as_str());
        let paths = paths.take_while(move |path| path.starts_with(plain));
        paths.filter(move |path| glob::matches(pattern, path))
    }

    /// Whether a tunable lies below this directory.
    #[must_use]
    pub fn is_directory(&self, path: &str) -> bool {
        let prefix = [path, "/"].concat();
        let next = self.0.range(prefix.clone()..).next();
        next.is_some_and(|(path, _)| path.starts_with(&prefix))
    }
}
