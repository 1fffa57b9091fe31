//! Journals of changes: read, folded and added to, whatever they hold.

use crate::take::take;
use change::event::Event;
use change::journal::Journal;
use change::machine::Place;

pub(crate) fn target(bytes: &[u8]) {
    let Some(text) = take::<&str>(bytes) else {
        return;
    };
    let Ok(journal) = Journal::read(Place::Run, text) else {
        return;
    };
    let next = Event::Confirmed { id: 1, at: 1 };
    let text = format!("{}{}", &text[..journal.whole], journal.line(&next));
    let again = Journal::read(Place::Run, &text).expect("what was whole stays so");
    assert_eq!(again.events.last(), Some(&next));
    assert_eq!(again.events.len(), journal.events.len() + 1);
}
