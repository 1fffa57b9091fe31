//! A journal: lines that are only ever added.

use alloc::vec::Vec;

use crate::event::Event;
use crate::machine::Place;

/// The first line, with the version of the format.
pub const HEAD: &str = "plimsoll-journal 1\n";

/// What a journal says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// Its events, in the order in which they happened.
    pub events: Vec<Event>,
    /// How many of its bytes are whole lines. What follows is a line that was cut short while it
    /// was written: it never happened, and the next line takes its place.
    pub whole: usize,
}

/// A journal that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// A line in its middle is damaged.
    #[error(
        "{path}: line {line} is damaged: read it, put right by hand what it set, and move it away",
        path = place.path()
    )]
    Line {
        /// Which journal.
        place: Place,
        /// The line's number, from 1.
        line: usize,
    },
    /// It is of another version, or no journal at all.
    #[error(
        "{path}: no journal of this version of plimsoll: use the version that wrote it, or move it \
         away",
        path = place.path()
    )]
    Head {
        /// Which journal.
        place: Place,
    },
}

impl Place {
    /// The file of this machine.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Run => "/run/plimsoll/journal",
            Self::Lib => "/var/lib/plimsoll/journal",
        }
    }
}

impl Journal {
    /// Reads a journal.
    ///
    /// # Errors
    /// [`Unusable`]: something else than its last line is damaged.
    pub fn read(place: Place, text: &str) -> Result<Self, Unusable> {
        let Some(mut rest) = text.strip_prefix(HEAD) else {
            // The head itself may have been cut short.
            return match text.is_empty() || HEAD.starts_with(text) || is_blank(text) {
                true => Ok(Self::default()),
                false => Err(Unusable::Head { place }),
            };
        };
        let mut journal = Self {
            events: Vec::new(),
            whole: HEAD.len(),
        };
        while let Some((line, after)) = rest.split_once('\n') {
            match Event::parse(line) {
                Ok(event) => journal.events.push(event),
                Err(_) if is_last(after) => break,
                Err(_) => {
                    let line = journal.events.len() + 2;
                    return Err(Unusable::Line { place, line });
                }
            }
            journal.whole += line.len() + 1;
            rest = after;
        }
        Ok(journal)
    }

    /// The line of an event, with the head before it where the journal is new.
    #[must_use]
    pub fn line(&self, event: &Event) -> alloc::string::String {
        let head = if self.whole == 0 { HEAD } else { "" };
        alloc::format!("{head}{}", event.to_line())
    }
}

/// Whether nothing follows that was written by us: a file system may leave zeros after a power cut.
fn is_last(after: &str) -> bool {
    after.is_empty() || is_blank(after)
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::{String, ToString as _};
    use proptest::prelude::*;
    use testkit::damage::Examples;

    fn three() -> (String, Vec<Event>) {
        let events = [1, 2, 3].map(|id| Event::Confirmed { id, at: 7 });
        let lines: String = events.iter().map(Event::to_line).collect();
        (format!("{HEAD}{lines}"), events.to_vec())
    }

    #[test]
    fn a_journal_that_is_cut_anywhere_has_the_events_whose_lines_are_whole() {
        let (text, events) = three();
        for at in 0..=text.len() {
            let journal = Journal::read(Place::Run, &text[..at]).expect("a cut is no damage");
            let lines = text[..at].matches('\n').count();
            assert_eq!(journal.events, events[..lines.saturating_sub(1)], "{at}");
            assert!(journal.whole <= at);
            // The next line takes the place of the cut one.
            let next = Event::Confirmed { id: 9, at: 9 };
            let text = format!("{}{}", &text[..journal.whole], journal.line(&next));
            let journal = Journal::read(Place::Run, &text).expect("a journal");
            assert_eq!(journal.events.last(), Some(&next));
        }
    }

    #[test]
    fn zeros_at_its_end_are_a_line_that_was_cut() {
        let (text, events) = three();
        let journal = Journal::read(Place::Lib, &format!("{text}12\0\0\0")).expect("a cut");
        assert_eq!((journal.events, journal.whole), (events, text.len()));
        assert!(
            Journal::read(Place::Lib, "\0\0\0")
                .expect("a cut")
                .events
                .is_empty()
        );
    }

    #[test]
    fn damage_before_the_last_line_is_an_error_that_says_where() {
        let (text, _) = three();
        let error =
            Journal::read(Place::Run, &text.replacen("id=2", "id=4", 1)).expect_err("damage");
        assert_eq!(
            format!("{error}"),
            "/run/plimsoll/journal: line 3 is damaged: read it, put right by hand what it set, and \
             move it away"
        );
        let error = Journal::read(Place::Lib, "plimsoll-journal 2\n").expect_err("another version");
        assert!(
            format!("{error}").starts_with("/var/lib/plimsoll/journal: no journal"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn a_damaged_journal_has_events_that_were_written_or_is_refused(
            damaged in Examples::of("notes of the guard", [three().0]).damaged(),
        ) {
            let text = damaged.text();
            match Journal::read(Place::Run, &text) {
                Ok(journal) => {
                    prop_assert!(journal.whole <= text.len());
                    prop_assert!(journal.events.iter().all(|event| three().1.contains(event)));
                }
                Err(error) => prop_assert!(!error.to_string().contains('\n'), "{}", error),
            }
        }
    }
}
