//! Placeholders for names.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Where control groups are mounted.
pub(super) const GROUPS: &str = "sys/fs/cgroup/";

/// Components of a group's path that every machine has.
pub(super) const COMMON: &[&str] = &[
    "",
    "..",
    "memory",
    "unified",
    "system.slice",
    "user.slice",
    "init.scope",
    "machine.slice",
    "kubepods",
    "kubepods.slice",
    "docker",
    "unnamed",
];

/// The placeholders of one capture.
#[derive(Debug, Default)]
pub(crate) struct Names {
    known: BTreeMap<(&'static str, String), usize>,
    counts: BTreeMap<&'static str, usize>,
}

impl Names {
    /// The placeholder of a name of this kind.
    pub(crate) fn of(&mut self, kind: &'static str, name: &str) -> String {
        let counts = &mut self.counts;
        let number = self
            .known
            .entry((kind, name.to_owned()))
            .or_insert_with(|| {
                let count = counts.entry(kind).or_default();
                *count += 1;
                *count
            });
        format!("{kind}-{number}")
    }

    /// A group's path with its components' placeholders.
    pub(crate) fn group(&mut self, path: &str) -> String {
        let parts = path.split('/').map(|part| match COMMON.contains(&part) {
            true => part.to_owned(),
            false => self.of("group", part),
        });
        parts.collect::<Vec<_>>().join("/")
    }

    /// The path of a group's file, whose last component is the kernel's.
    pub(super) fn group_file(&mut self, path: &str) -> String {
        let inner = path.strip_prefix(GROUPS).unwrap_or_default();
        match inner.rsplit_once('/') {
            Some((group, file)) => format!("{GROUPS}{}/{file}", self.group(group)),
            None => path.to_owned(),
        }
    }
}
