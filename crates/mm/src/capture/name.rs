//! A name in a header, which is one line.
//!
//! A directory or control group may have a line end in its name, and whoever makes one could write
//! headers of their own by it. A control character is written as `\u000a`; so is the backslash of a
//! name in which that stands already. Every other name is written as it is.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt::Write as _;

/// Bytes of an escape.
const LENGTH: usize = "\\u000a".len();

/// The name as it stands in a header.
pub(super) fn written(name: &str) -> Cow<'_, str> {
    let is_written = |(at, c): (usize, char)| c.is_control() || escape(&name[at..]).is_some();
    if !name.char_indices().any(is_written) {
        return Cow::Borrowed(name);
    }
    let mut written = String::new();
    for (at, c) in name.char_indices() {
        match is_written((at, c)) {
            // Writing to a string does not fail.
            true => _ = write!(written, "\\u{:04x}", u32::from(c)),
            false => written.push(c),
        }
    }
    Cow::Owned(written)
}

/// The name that stands so in a header.
pub(super) fn read(mut written: &str) -> String {
    let mut name = String::new();
    while let Some(at) = written.find('\\') {
        let (before, rest) = written.split_at(at);
        let (c, length) = escape(rest).map_or(('\\', 1), |c| (c, LENGTH));
        name.push_str(before);
        name.push(c);
        written = &rest[length..];
    }
    name.push_str(written);
    name
}

/// The character that the escape at the beginning of a text stands for; `None` where none stands
/// there that [`written`] makes.
fn escape(text: &str) -> Option<char> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if !digits.bytes().all(is_digit) {
        return None;
    }
    let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
    (c.is_control() || c == '\\').then_some(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_was_written() {
        for (name, expected) in [
            ("proc/meminfo", "proc/meminfo"),
            (r"dev-disk-by\x2duuid", r"dev-disk-by\x2duuid"),
            (r"a\u0041", r"a\u0041"),
            ("a\nb\u{9b}", r"a\u000ab\u009b"),
            (r"a\u000ab", r"a\u005cu000ab"),
            ("\\\n\\u00\n0a", r"\\u000a\u00\u000a0a"),
        ] {
            assert_eq!(written(name), expected);
            assert_eq!(read(expected), name);
        }
    }
}
