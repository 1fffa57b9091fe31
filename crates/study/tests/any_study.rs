//! No text panics the reader of studies.

use plimsoll_study::Study;
use proptest::prelude::*;
use testkit::damage::Examples;

const STUDIES: [&str; 4] = [
    include_str!("../../../studies/min-free-kbytes.toml"),
    include_str!("../../../studies/memory-hogs.toml"),
    include_str!("../../../studies/working-set.toml"),
    include_str!("studies/ksm.toml"),
];

proptest! {
    #[test]
    fn no_text_panics_the_reader(text in "\\PC{0,200}") {
        let _ = Study::parse(&text, "any");
    }

    #[test]
    fn a_study_that_is_nearly_right_is_read_or_refused_in_one_line(
        damaged in Examples::of("studies", STUDIES).damaged(),
    ) {
        let text = damaged.text();
        if let Err(error) = Study::parse(&text, "any") {
            let line = error.to_string();
            prop_assert_eq!(line.lines().count(), 1, "{}", line);
            prop_assert!(error.line >= 1 && error.line <= text.lines().count().max(1) + 1);
            prop_assert!(!error.what.is_empty() && !error.way_out.is_empty());
        }
    }
}

#[test]
fn nesting_without_end_is_refused() {
    let deep = 100_000;
    let texts = [
        "[".repeat(deep),
        format!("[base]\n{}x = 1", "a.".repeat(deep)),
        format!("[{}x]", "a.".repeat(deep)),
        format!("base = {}", "{ a = ".repeat(deep)),
        format!("base = {}", "[".repeat(deep)),
    ];
    for text in texts {
        let error = Study::parse(&text, "any").unwrap_err();
        assert_eq!(error.to_string().lines().count(), 1, "{:.80}", text);
    }
}
