//! Escapes with a backslash as C has them, and base64.

use alloc::string::String;
use alloc::vec::Vec;

/// A text with its escapes resolved. `None` where one is unknown.
pub(super) fn resolved(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        let (c, after) = one(&rest[at + 1..])?;
        plain.push(c);
        rest = after;
    }
    plain.push_str(rest);
    Some(plain)
}

/// What stands for the escape after a backslash, and what is after it.
pub(super) fn one(text: &str) -> Option<(char, &str)> {
    let first = text.chars().next()?;
    let after = &text[first.len_utf8()..];
    let plain = match first {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        's' => ' ',
        '\\' | '"' | '\'' => first,
        'x' => return number(after, 2, 16),
        'u' => return number(after, 4, 16),
        'U' => return number(after, 8, 16),
        '0'..='7' => return number(text, 3, 8),
        _ => return None,
    };
    Some((plain, after))
}

/// A character by its number; NUL is refused.
fn number(text: &str, length: usize, base: u32) -> Option<(char, &str)> {
    let digits = text.get(..length)?;
    let is_number = digits.chars().all(|c| c.is_digit(base));
    let value = u32::from_str_radix(digits, base)
        .ok()
        .filter(|value| is_number && *value != 0)?;
    Some((char::from_u32(value)?, &text[length..]))
}

/// What a text in base64 stands for; blanks in it do not count, and bytes that are no UTF-8 are
/// replaced.
pub(super) fn base64(text: &str) -> Option<String> {
    let text: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let digits = text
        .iter()
        .rposition(|byte| *byte != b'=')
        .map_or(0, |at| at + 1);
    if !text.len().is_multiple_of(4) || text.len() - digits > 2 {
        return None;
    }
    let mut bytes = Vec::new();
    for four in text[..digits].chunks(4) {
        let mut bits = 0_u32;
        for byte in four {
            bits = bits << 6 | sextet(*byte)?;
        }
        bits <<= 6 * (4 - four.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn sextet(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_those_of_c() {
        assert_eq!(
            resolved("a\\tb\\x41\\101\\u00e9\\\\").as_deref(),
            Some("a\tbAA\u{e9}\\")
        );
        assert!(
            ["\\", "\\q", "\\x0", "\\x00", "\\18"]
                .iter()
                .all(|it| resolved(it).is_none())
        );
    }

    #[test]
    fn base64_is_decoded() {
        assert_eq!(base64("bWFk dmlzZQ==").as_deref(), Some("madvise"));
        assert_eq!(base64("MQ==").as_deref(), Some("1"));
        assert_eq!(base64("").as_deref(), Some(""));
        assert!(base64("MQ=").is_none() && base64("M===").is_none() && base64("M*==").is_none());
    }
}
