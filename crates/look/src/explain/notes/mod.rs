//! What the files of a machine do not show: which other tunables count, what a change costs, and
//! what people expect of it that it does not do, each with where that is known from.

mod memory;
mod note;
mod reclaim;
mod writeback;

pub(crate) use note::{Myth, Note};

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
