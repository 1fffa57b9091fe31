//! The one tokenizer of kernel files, and the one error of the parsers.
//!
//! A parser never panics: what it does not know it keeps or passes over, what it cannot read it
//! reports with the file, the line and the item.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use core::fmt::{self, Write as _};
use core::str::{FromStr, SplitAsciiWhitespace};

use crate::units::Nanos;

/// Why a kernel file's text could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {item}: expected {expected}")]
pub struct ParseError {
    /// Path without the leading slash.
    pub file: String,
    /// Line number, from 1.
    pub line: usize,
    /// The item, as far as it was read; control characters are escaped.
    pub item: String,
    /// What should have stood there.
    pub expected: &'static str,
}

impl ParseError {
    /// An error about `item`, of which the first 60 characters are kept.
    #[must_use]
    pub fn new(file: &str, line: usize, item: &str, expected: &'static str) -> Self {
        Self {
            file: file.into(),
            line,
            item: shown(item),
            expected,
        }
    }
}

/// The first 60 characters of a text for a message of one line: control characters are escaped, and
/// nothing at all is called so.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut shown = String::new();
    for c in text.trim().chars().take(60) {
        match c.is_control() {
            true => shown.extend(c.escape_debug()),
            false => shown.push(c),
        }
    }
    if shown.is_empty() {
        shown.push_str("nothing");
    }
    shown
}

/// The text with everything that would act on a terminal, or on the order of what it shows, as
/// `\u001b`: in a JSON string that means the same. Line ends and tabs stay.
#[must_use]
pub fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut harmless = String::with_capacity(text.len());
    for c in text.chars() {
        match acts(c) {
            // Writing to a string does not fail.
            true => _ = write!(harmless, "\\u{:04x}", u32::from(c)),
            false => harmless.push(c),
        }
    }
    Cow::Owned(harmless)
}

/// What a line takes beside its bytes: who reads it keeps where it begins and what it says.
const LINE: u64 = 64;

/// The room, in bytes, that a text asks of a reader: a million short lines take more than their
/// bytes.
#[must_use]
pub fn weight(bytes: &[u8]) -> u64 {
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
    bytes.len() as u64 + lines as u64 * LINE
}

/// The text with its line ends as `\u000a`, as a name may have them.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    match text.contains('\n') {
        true => Cow::Owned(text.replace('\n', "\\u000a")),
        false => Cow::Borrowed(text),
    }
}

/// Control characters, line and paragraph separators, and the marks of bidirectional text.
fn acts(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2066}'..='\u{2069}' => true,
        _ => c.is_control(),
    }
}

/// The largest amount of pages or of kibibytes that is believed, 2^46: more than any machine has,
/// and its size in bytes and a few such sums still fit.
pub const LARGEST_AMOUNT: u64 = 1 << 46;

/// A line of a kernel file, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Path of the file without the leading slash.
    pub file: &'a str,
    /// Line number, from 1.
    pub number: usize,
    /// The line, without its newline.
    pub text: &'a str,
}

/// A number of things: `1 file`, `3 files`.
#[must_use]
pub fn counted(number: impl fmt::Display + PartialEq + From<u8>, thing: &str) -> String {
    let end = if number == 1.into() { "" } else { "s" };
    format!("{number} {thing}{end}")
}

/// A time as people read it, rounded up: `90 s`, `10 min`, `3 h`.
#[must_use]
pub fn lasting(time: Nanos) -> String {
    let seconds = time.0.div_ceil(Nanos::SECOND.0);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// The lines of a file that are not blank.
pub fn lines<'a>(file: &'a str, text: &'a str) -> impl Iterator<Item = Line<'a>> {
    let line = move |(index, text)| Line {
        file,
        number: index + 1,
        text,
    };
    text.split('\n')
        .enumerate()
        .map(line)
        .filter(|line| !line.text.trim_ascii().is_empty())
}

/// The number that a file of one value holds.
///
/// # Errors
/// Where the text is not one number.
pub fn number<T: FromStr>(file: &str, text: &str) -> Result<T, ParseError> {
    let first = Line {
        file,
        number: 1,
        text,
    };
    first.number_in(text, text)
}

impl<'a> Line<'a> {
    /// The words between white space.
    #[must_use]
    pub fn words(&self) -> SplitAsciiWhitespace<'a> {
        self.text.split_ascii_whitespace()
    }

    /// The error that `item` of this line is not what was expected.
    #[must_use]
    pub fn error(&self, item: &str, expected: &'static str) -> ParseError {
        ParseError::new(self.file, self.number, item, expected)
    }

    /// The number that `word` is; `item` names it.
    ///
    /// # Errors
    /// Where `word` is none.
    pub fn number_in<T: FromStr>(&self, item: &str, word: &str) -> Result<T, ParseError> {
        let number = word.trim_ascii().parse();
        number.map_err(|_| self.error(item, "a number that fits"))
    }

    /// `value` as an amount of pages or kibibytes; `item` names it.
    ///
    /// # Errors
    /// Where it is above [`LARGEST_AMOUNT`].
    pub fn amount(&self, item: &str, value: u64) -> Result<u64, ParseError> {
        let believed = (value <= LARGEST_AMOUNT).then_some(value);
        believed.ok_or_else(|| self.error(item, "an amount of at most 2^46"))
    }

    /// The next word as a number; `item` names it.
    ///
    /// # Errors
    /// Where there is no further word, or it is not a number.
    pub fn next_number<T: FromStr>(
        &self,
        item: &str,
        words: &mut SplitAsciiWhitespace<'a>,
    ) -> Result<T, ParseError> {
        let word = words.next().ok_or_else(|| self.error(item, "a number"))?;
        self.number_in(item, word)
    }

    /// The key and number of "key 12", "key: 12" or "key: 12 kB".
    ///
    /// # Errors
    /// Where the line is none of them.
    pub fn key_number(&self) -> Result<(&'a str, u64), ParseError> {
        const EXPECTED: &str = "\"NAME NUMBER\"";
        let mut words = self.words();
        let (Some(key), Some(value)) = (words.next(), words.next()) else {
            return Err(self.error(self.text, EXPECTED));
        };
        if !matches!((words.next(), words.next()), (None | Some("kB"), None)) {
            return Err(self.error(self.text, EXPECTED));
        }
        let key = key.strip_suffix(':').unwrap_or(key);
        Ok((key, self.number_in(key, value)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn times_are_told_in_the_unit_that_fits() {
        let seconds = |count| lasting(Nanos(count * Nanos::SECOND.0));
        assert_eq!([90, 600, 7200].map(seconds), ["90 s", "10 min", "2 h"]);
    }

    #[test]
    fn no_text_acts_on_a_terminal_and_a_string_of_json_stays_what_it_was() {
        let acting = "\x1b[2J\u{9b}m\x07\x7f\r\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}";
        let shown = "\\u001b[2J\\u009bm\\u0007\\u007f\\u000d\\u202e\\u2066\\u200f\\u061c\\u2028";
        assert_eq!(harmless(acting), shown);
        let plain = "a\tb\nc \u{e9}\u{4e2d} \u{1f600}";
        assert!(matches!(harmless(plain), Cow::Borrowed(text) if text == plain));
    }

    #[test]
    fn an_error_is_one_line_with_file_line_item_and_what_was_expected() {
        let line = lines("proc/vmstat", "\npgfault x\ry")
            .next()
            .expect("one line");
        assert_eq!(
            line.error(line.text, "a number").to_string(),
            "proc/vmstat, line 2: pgfault x\\ry: expected a number"
        );
        let long = ParseError::new("f", 1, &"x".repeat(500), "y");
        assert_eq!(long.item.len(), 60);
    }

    #[test]
    fn a_key_and_its_number_are_read_in_all_three_spellings() {
        let read = |text| {
            lines("f", text)
                .next()
                .map(|line| line.key_number())
                .expect("one line")
        };
        assert_eq!(read("pgfault 12"), Ok(("pgfault", 12)));
        assert_eq!(read("HugePages_Total:       0"), Ok(("HugePages_Total", 0)));
        assert_eq!(read("MemTotal:  7 kB"), Ok(("MemTotal", 7)));
        for bad in ["pgfault", "pgfault x", "a 1 MB", "a 1 kB 2", "a -1"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
