//! Words that texts of a kind are made of, and words that break careless readers of any text.
//!
//! They lie in `fuzz/words.dict`, which the fuzz targets are given too: libFuzzer passes over what
//! has more than 64 bytes. A line of it that begins with `#` names the kind of the words below it;
//! those of `anything` belong to every kind.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const DICTIONARY: &str = include_str!("../../../fuzz/words.dict");

/// Words that belong to every kind.
const ANYTHING: &str = "anything";

/// What stands between two words.
pub(crate) const GAPS: [&str; 6] = ["", "", "", " ", "\n", "\t"];

/// Words by kind.
static WORDS: LazyLock<BTreeMap<&str, Vec<String>>> = LazyLock::new(|| {
    let mut words: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut kind = "";
    for line in DICTIONARY.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(name) => kind = name,
            None => words.entry(kind).or_default().push(word(line)),
        }
    }
    words
});

/// The words of a kind, and those that belong to every kind.
///
/// # Panics
/// The dictionary has no such kind.
#[must_use]
pub fn of(kind: &str) -> Vec<String> {
    let is_known = WORDS.contains_key(kind);
    assert!(is_known, "fuzz/words.dict has no words of {kind}");
    [WORDS[kind].as_slice(), &WORDS[ANYTHING]].concat()
}

/// Texts of up to 60 words of a kind, with characters of any sort among them.
pub fn texts(kind: &str) -> impl Strategy<Value = String> + use<> {
    let word = prop_oneof![6 => select(of(kind)), 1 => ".{0,6}"];
    vec((word, select(GAPS.to_vec())), 0..60)
        .prop_map(|words| words.into_iter().map(|(word, gap)| word + gap).collect())
}

/// A line of the dictionary as the word it stands for.
fn word(line: &str) -> String {
    let quoted = line.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let mut rest = quoted.expect("a word in quotes").bytes();
    let mut bytes = Vec::new();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => escaped(&mut rest),
            other => other,
        });
    }
    String::from_utf8(bytes).expect("a word is text")
}

/// What stands behind a backslash: itself, or `x` and two hexadecimal digits.
fn escaped(rest: &mut impl Iterator<Item = u8>) -> u8 {
    let first = rest.next().expect("a backslash has something behind it");
    let mut digit = || char::from(rest.next()?).to_digit(16);
    match first {
        b'x' => digit()
            .zip(digit())
            .and_then(|(high, low)| u8::try_from(high * 16 + low).ok())
            .expect("two hexadecimal digits"),
        itself => itself,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_word_is_what_its_escapes_stand_for() {
        assert_eq!(word(r#""\x0a\xc3\xa9\\\"u""#), "\né\\\"u");
        assert!(of("captures").iter().any(|word| word == "\\u000a"));
        assert!(of("series").iter().any(|word| word == "\0"));
        assert!(!of("series").iter().any(|word| word == "hugetlbfs"));
    }

    #[test]
    fn a_word_stands_once_in_a_kind() {
        for (kind, words) in &*WORDS {
            let mut seen = BTreeSet::new();
            let again = words.iter().find(|word| !seen.insert(*word));
            assert_eq!(again, None, "{kind}");
            assert!(!seen.contains(&String::new()), "{kind}");
        }
    }
}
