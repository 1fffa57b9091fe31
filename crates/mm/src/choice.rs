//! Files that list words and put the chosen one in brackets: `always [madvise] never`.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::text::{Line, ParseError};

/// Words of which one is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    options: Vec<String>,
    chosen: usize,
}

impl Choice {
    /// Reads the text; `file` names it in errors.
    ///
    /// # Errors
    /// Where not exactly one word is in brackets.
    pub fn parse(file: &str, text: &str) -> Result<Self, ParseError> {
        let line = Line {
            file,
            number: 1,
            text,
        };
        let bare = |word: &str| Some(word.strip_prefix('[')?.strip_suffix(']')?.into());
        let mut marked = line.words().enumerate();
        let chosen = marked.find(|(_, word)| bare(word).is_some());
        let again = marked.any(|(_, word)| bare(word).is_some());
        let Some((chosen, _)) = chosen.filter(|_| !again) else {
            return Err(line.error(text, "words with the chosen one in brackets"));
        };
        let options = line.words();
        Ok(Self {
            options: options
                .map(|word| bare(word).unwrap_or_else(|| word.into()))
                .collect(),
            chosen,
        })
    }

    /// The chosen word.
    #[must_use]
    pub fn chosen(&self) -> &str {
        self.options.get(self.chosen).map_or("", String::as_str)
    }

    /// All words, in the kernel's order.
    pub fn options(&self) -> impl Iterator<Item = &str> {
        self.options.iter().map(String::as_str)
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.chosen())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_in_brackets_is_chosen() {
        let choice = Choice::parse("f", "always [madvise] never\n").expect("a choice");
        assert_eq!(choice.chosen(), "madvise");
        assert!(choice.options().eq(["always", "madvise", "never"]));
    }

    #[test]
    fn none_or_two_in_brackets_is_an_error() {
        for bad in ["", "always never", "[a] [b]", "a [b", "a] b"] {
            assert!(Choice::parse("f", bad).is_err(), "{bad}");
        }
    }
}
