//! What the guard did, as it writes it and as it is read.

use guard::Event;

use crate::take::take;

pub(crate) fn target(bytes: &[u8]) {
    let Some(text) = take::<&str>(bytes) else {
        return;
    };
    for event in text.lines().filter_map(Event::parse) {
        let line = event.to_string();
        assert!(!line.contains('\n'), "{line}");
        let again = Event::parse(&line).expect("what was written is read");
        assert_eq!(again.to_string(), line);
    }
}
