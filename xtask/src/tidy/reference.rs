//! `docs/studies.md` names every key that the study reader knows.

use super::violation::Violation;
use crate::tree::Source;

const READER: &str = "crates/study/src";
const REFERENCE: &str = "docs/studies.md";
const TABLE_OF_KEYS: &str = ": &[&str] = &[";

/// The rule. The reader's keys stand in constants of type `&[&str]`.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    let Some(reference) = sources.iter().find(|source| source.path == REFERENCE) else {
        return Vec::new();
    };
    let readers = sources
        .iter()
        .filter(|source| source.path.starts_with(READER));
    let mut keys: Vec<&str> = readers.flat_map(|source| keys(&source.text)).collect();
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() {
        return vec![Violation::of(READER, "has no keys to compare")];
    }
    let missing = keys.into_iter().filter(|key| !names(&reference.text, key));
    missing
        .map(|key| Violation::of(REFERENCE, format!("says nothing about the key `{key}`")))
        .collect()
}

fn keys(code: &str) -> Vec<&str> {
    let tables = code.split(TABLE_OF_KEYS).skip(1);
    let tables = tables.filter_map(|rest| rest.split(']').next());
    tables
        .flat_map(|table| table.split('"').skip(1).step_by(2))
        .collect()
}

/// Whether the text has the key as a word of its own.
fn names(text: &str, key: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(key).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + key.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as run;
    use super::*;

    #[test]
    fn a_key_without_a_word_is_found() {
        let code = "//! A.\nconst A: &[&str] = &[\"size\", \"write-percent\"];\n";
        let reader = ("crates/study/src/a.rs", code);
        let whole = ("docs/studies.md", "# A\n`size`, `write-percent`\n");
        assert!(run(check, &[reader, whole]).is_empty());
        let part = ("docs/studies.md", "# A\n`sizes`, `write-percent`\n");
        assert_eq!(
            run(check, &[reader, part]),
            ["docs/studies.md: says nothing about the key `size`"]
        );
        assert_eq!(
            run(check, &[whole]),
            ["crates/study/src: has no keys to compare"]
        );
    }
}
