//! A table of a study's text: its keys are known beforehand, another one is refused.

use std::ops::Range;

use toml::de::DeTable;

use super::node::{Node, Scope};
use super::source::StudyError;
use mm::suggest;

/// The keys that restrict a table to some arms.
const FOR_ARMS: [&str; 2] = ["arms", "except"];

/// A table whose keys have been checked.
#[derive(Clone, Debug)]
pub(super) struct Table<'a> {
    node: Node<'a>,
    entries: &'a DeTable<'a>,
    known: &'static [&'static str],
    /// Its place in its array of tables, from 0.
    number: u32,
}

impl<'a> Table<'a> {
    pub(super) fn new(node: Node<'a>, known: &'static [&'static str]) -> Result<Self, StudyError> {
        let entries = node.raw_table()?;
        let table = Self {
            node,
            entries,
            known,
            number: 0,
        };
        let unknown = entries
            .keys()
            .find(|key| !known.contains(&key.get_ref().as_ref()));
        match unknown {
            None => Ok(table),
            Some(key) => Err(table.unknown(key.get_ref(), &key.span())),
        }
    }

    fn unknown(&self, key: &str, span: &Range<usize>) -> StudyError {
        let what = format!("unknown key `{key}` in {}", self.node.place());
        let way_out = suggest::way_out(key, self.known.iter().copied());
        self.scope().source.error(span, what, way_out)
    }

    /// The value of a key, if the table has it.
    pub(super) fn get(&self, key: &'static str) -> Result<Option<Node<'a>>, StudyError> {
        debug_assert!(self.known.contains(&key), "`{key}` is read but not known");
        let Some(value) = self.entries.get(key) else {
            return Ok(None);
        };
        let place = format!("`{key}` in {}", self.node.place());
        Node::new(self.scope(), place, value).map(Some)
    }

    /// The value of a key that must be there.
    pub(super) fn need(&self, key: &'static str) -> Result<Node<'a>, StudyError> {
        self.get(key)?.ok_or_else(|| {
            let what = format!("{} lacks `{key}`", self.node.place());
            self.node.error(what, format!("add `{key} = …`"))
        })
    }

    /// What `read` makes of a key, or `otherwise` where the table lacks it.
    pub(super) fn or<T>(
        &self,
        key: &'static str,
        otherwise: T,
        read: impl FnOnce(&Node<'a>) -> Result<T, StudyError>,
    ) -> Result<T, StudyError> {
        self.maybe(key, read)
            .map(|value| value.unwrap_or(otherwise))
    }

    /// What `read` makes of a key, if the table has it.
    pub(super) fn maybe<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&Node<'a>) -> Result<T, StudyError>,
    ) -> Result<Option<T>, StudyError> {
        self.get(key)?.map(|node| read(&node)).transpose()
    }

    /// The tables of an array of tables that are meant for this arm; none where the key is missing.
    pub(super) fn tables(
        &self,
        key: &'static str,
        place: &str,
        known: &'static [&'static str],
    ) -> Result<Vec<Table<'a>>, StudyError> {
        let Some(list) = self.get(key)? else {
            return Ok(Vec::new());
        };
        let mut tables = Vec::new();
        for (number, node) in (0..).zip(list.list()?) {
            let mut table = node.placed(place).table(known)?;
            table.number = number;
            if table.is_for_this_arm()? {
                tables.push(table);
            }
        }
        Ok(tables)
    }

    /// Whether the table's `arms` and `except`, where it has them, let this arm in.
    pub(super) fn is_for_this_arm(&self) -> Result<bool, StudyError> {
        for key in FOR_ARMS.into_iter().filter(|key| self.known.contains(key)) {
            let Some(names) = self.get(key)? else {
                continue;
            };
            let named = self.names_this_arm(&names)?;
            if named != (key == "arms") {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn names_this_arm(&self, names: &Node<'a>) -> Result<bool, StudyError> {
        let mut found = false;
        for name in names.list()? {
            let text = name.text()?;
            if !self.scope().arms.contains(&text) {
                let arms = self.scope().arms.iter().copied();
                let what = format!("{} names an unknown arm `{text}`", name.place());
                return Err(name.error(what, suggest::way_out(text, arms)));
            }
            found |= text == self.scope().arm;
        }
        Ok(found)
    }

    /// The one key of `choices` that the table has.
    pub(super) fn one_of(
        &self,
        choices: &[&'static str],
    ) -> Result<(&'static str, Node<'a>), StudyError> {
        let mut present = choices
            .iter()
            .filter(|key| self.entries.contains_key(**key));
        match (present.next(), present.next()) {
            (Some(key), None) => Ok((key, self.need(key)?)),
            (Some(first), Some(second)) => {
                let what = format!("{} has both `{first}` and `{second}`", self.node.place());
                Err(self.node.error(what, "keep one of them"))
            }
            (None, _) => {
                let what = format!("{} says nothing", self.node.place());
                let way_out = format!("give it one of {}", suggest::listed(choices));
                Err(self.node.error(what, way_out))
            }
        }
    }

    /// Refuses the second of two keys that exclude each other.
    pub(super) fn not_both(
        &self,
        first: &'static str,
        second: &'static str,
    ) -> Result<(), StudyError> {
        match (self.get(first)?, self.get(second)?) {
            (Some(_), Some(node)) => {
                let what = format!("{} excludes `{first}`", node.place());
                Err(node.error(what, "keep one of them"))
            }
            _ => Ok(()),
        }
    }

    /// Its place in its array of tables, whichever arms these are meant for.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    pub(super) fn scope(&self) -> &'a Scope<'a> {
        self.node.scope()
    }

    /// The table as a value, for errors about all of it.
    pub(super) fn node(&self) -> &Node<'a> {
        &self.node
    }
}
