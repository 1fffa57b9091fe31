//! Any text is read without a panic, and what is written is read back.

use mm::units::Bytes;
use plimsoll_guard_policies::{Event, Figures};
use proptest::prelude::*;
use testkit::words::texts;

/// What a line can hold: control characters become spaces.
fn on_a_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

proptest! {
    #[test]
    fn any_text_is_read(text in prop_oneof!["\\PC*", texts("notes of the guard")]) {
        let _ = Event::parse(&text);
        let figures = Figures::parse(&text);
        // What was understood is written and understood again.
        let again = Figures::parse(&figures.to_string());
        prop_assert_eq!(again.to_string(), figures.to_string());
    }

    #[test]
    fn any_event_is_read_back(
        at in 1_u64..,
        is_failed: bool,
        bytes: u64,
        texts in prop::collection::vec(any::<String>(), 5),
    ) {
        let [policy, action, file, what, why] = texts.try_into().expect("five");
        let bytes = Bytes(bytes);
        let what = format!("{what}.");
        let event = Event { at, policy, action, is_failed, file, bytes, what, why };
        let line = event.to_string();
        prop_assert_eq!(line.lines().count(), 1);
        let expected = Event {
            policy: on_a_line(&event.policy),
            action: on_a_line(&event.action),
            file: on_a_line(&event.file),
            what: on_a_line(&event.what),
            why: on_a_line(&event.why),
            ..event
        };
        prop_assert_eq!(Event::parse(&line), Some(expected));
    }

    #[test]
    fn any_label_is_read_back(value: String, number: u64) {
        let mut figures = Figures::default();
        figures.add("released", &[("place", &value)], number);
        prop_assert_eq!(Figures::parse(&figures.to_string()), figures);
    }
}
