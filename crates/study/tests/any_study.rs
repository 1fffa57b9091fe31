//! No text panics the reader of studies.

use plimsoll_study::Study;
use proptest::prelude::*;

/// Studies that are nearly right: a piece of a good one is lost or replaced.
fn nearly() -> impl Strategy<Value = String> {
    let texts = prop::sample::select(vec![
        include_str!("../../../studies/min-free-kbytes.toml").to_owned(),
        include_str!("../../../studies/memory-hogs.toml").to_owned(),
        include_str!("../../../studies/working-set.toml").to_owned(),
        include_str!("studies/ksm.toml").to_owned(),
    ]);
    let junk = prop_oneof![
        Just(String::new()),
        Just("[".to_owned()),
        Just("\"$x\"".to_owned()),
        Just("-1".to_owned()),
        Just("99999999999999999999".to_owned()),
        Just("[[arm]]\nname = \"é\"\n".to_owned()),
        "\\PC{0,12}",
    ];
    (texts, any::<prop::sample::Index>(), 0_usize..40, junk).prop_map(|(text, at, cut, junk)| {
        let boundaries: Vec<usize> = text.char_indices().map(|(index, _)| index).collect();
        let start = boundaries[at.index(boundaries.len())];
        let end = boundaries.iter().copied().find(|&b| b >= start + cut);
        format!(
            "{}{junk}{}",
            &text[..start],
            &text[end.unwrap_or(text.len())..]
        )
    })
}

proptest! {
    #[test]
    fn no_text_panics_the_reader(text in "\\PC{0,200}") {
        let _ = Study::parse(&text, "any");
    }

    #[test]
    fn a_study_that_is_nearly_right_is_read_or_refused_in_one_line(text in nearly()) {
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
