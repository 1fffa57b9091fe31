//! The names that a study gives, so that each reference finds what it means.

use std::collections::BTreeMap;

use super::node::Node;
use super::source::StudyError;
use mm::suggest;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Node,
    Disk,
    File,
    Cgroup,
    Process,
    Region,
    Label,
    Snapshot,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Node => "NUMA node",
            Self::Disk => "disk",
            Self::File => "file",
            Self::Cgroup => "control group",
            Self::Process => "process",
            Self::Region => "region",
            Self::Label => "label",
            Self::Snapshot => "snapshot",
        }
    }
}

/// Names by kind, with the line of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(BTreeMap<Kind, BTreeMap<String, usize>>);

impl Names {
    /// Notes a new name; one that is there already is refused.
    pub(super) fn add(&mut self, kind: Kind, node: &Node<'_>) -> Result<String, StudyError> {
        let name = node.name()?;
        self.add_text(kind, &name, node)?;
        Ok(name)
    }

    pub(super) fn add_text(
        &mut self,
        kind: Kind,
        name: &str,
        node: &Node<'_>,
    ) -> Result<(), StudyError> {
        let names = self.0.entry(kind).or_default();
        match names.insert(name.to_owned(), node.line()) {
            None => Ok(()),
            Some(line) => {
                let what = format!("the {} `{name}` is already on line {line}", kind.word());
                Err(node.error(what, "give it another name"))
            }
        }
    }

    /// Forgets a name; whether it was there.
    pub(super) fn remove(&mut self, kind: Kind, name: &str) -> bool {
        self.0.entry(kind).or_default().remove(name).is_some()
    }

    /// The name that the value refers to.
    pub(super) fn known(&self, kind: Kind, node: &Node<'_>) -> Result<String, StudyError> {
        let name = node.text()?;
        self.known_text(kind, name, node)?;
        Ok(name.to_owned())
    }

    /// Refuses a name that is none of a kind, at the node that says it.
    pub(super) fn known_text(
        &self,
        kind: Kind,
        name: &str,
        node: &Node<'_>,
    ) -> Result<(), StudyError> {
        if self.has(kind, name) {
            return Ok(());
        }
        let what = format!("unknown {} `{name}`", kind.word());
        Err(node.error(what, suggest::way_out(name, self.all(kind))))
    }

    pub(super) fn has(&self, kind: Kind, name: &str) -> bool {
        self.0
            .get(&kind)
            .is_some_and(|names| names.contains_key(name))
    }

    /// Takes over another's names of a kind.
    pub(super) fn join(&mut self, kind: Kind, other: &Self) {
        let names = other.0.get(&kind).into_iter().flatten();
        let names = names.map(|(name, line)| (name.clone(), *line));
        self.0.entry(kind).or_default().extend(names);
    }

    /// All names of a kind.
    pub(super) fn all(&self, kind: Kind) -> impl Iterator<Item = &str> {
        self.0
            .get(&kind)
            .into_iter()
            .flat_map(|names| names.keys().map(String::as_str))
    }
}
