//! What the files of a machine do not show: which other tunables count, what a change costs, and
//! what
//! people expect of it that it does not do, each with where that is known from.

mod memory;
mod reclaim;
mod writeback;

use serde::Serialize;

/// What there is to know about some tunables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    /// The tunables, by the catalogue's names.
    of: &'static [&'static str],
    /// Others that count: the key, and how.
    pub(crate) with: &'static [(&'static str, &'static str)],
    /// What changing it costs.
    pub(crate) costs: &'static [&'static str],
    /// What it does not do.
    pub(crate) does_not: &'static [Myth],
}

/// A thing that people expect of a tunable and that it does not do.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Myth {
    pub(crate) text: &'static str,
    /// Where that is known from.
    pub(crate) source: &'static str,
}

const fn myth(text: &'static str, source: &'static str) -> Myth {
    Myth { text, source }
}

impl Note {
    /// What there is to know about a tunable.
    pub(crate) fn of(name: &str) -> Option<&'static Self> {
        let tables = [memory::NOTES, reclaim::NOTES, writeback::NOTES];
        let mut notes = tables.into_iter().flatten();
        notes.find(|note| note.of.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = &'static Note> {
        [memory::NOTES, reclaim::NOTES, writeback::NOTES]
            .into_iter()
            .flatten()
    }

    #[test]
    fn a_note_is_of_tunables_that_exist_and_names_others_that_exist() {
        let mut seen = std::collections::BTreeSet::new();
        for note in all() {
            for name in note.of.iter().chain(note.with.iter().map(|(with, _)| with)) {
                let named = mm::catalogue::resolve(name);
                assert_eq!(named.map(|named| named.tunable.name), Ok(*name));
            }
            for name in note.of {
                assert!(seen.insert(name), "{name} has two notes");
                assert!(!note.with.iter().any(|(with, _)| with == name), "{name}");
            }
        }
    }

    #[test]
    fn a_cost_is_a_sentence_and_a_myth_has_its_source() {
        for note in all() {
            for text in note
                .costs
                .iter()
                .chain(note.does_not.iter().map(|myth| &myth.text))
            {
                assert!(text.ends_with('.') && !text.contains("  "), "{text}");
            }
            assert!(note.does_not.iter().all(|myth| !myth.source.is_empty()));
        }
    }
}
