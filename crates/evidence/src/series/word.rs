//! Words of what tools print.

use alloc::string::String;

/// A line without the marks of quoted mail and a byte-order mark.
pub(super) fn unquoted(line: &str) -> &str {
    line.trim_start_matches(['\u{feff}', '>', ' ', '\t'])
}

/// A number as the tools print it: with a comma in some locales, with a percent sign.
///
/// Negative numbers, infinities and what is no number are `None`.
pub(super) fn number(word: &str) -> Option<f64> {
    let word = word.strip_suffix('%').unwrap_or(word);
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let plain = word
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b','));
    let value: Option<f64> = match word.split_once(',') {
        _ if !plain => None,
        None => word.parse().ok(),
        Some((whole, part)) => {
            let mut with_point = String::from(whole);
            with_point.push('.');
            with_point.push_str(part);
            with_point.parse().ok()
        }
    };
    value.filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_in_both_kinds_of_locale_and_never_as_an_infinity() {
        assert_eq!(number("12.50"), Some(12.5));
        assert_eq!(number("12,50"), Some(12.5));
        assert_eq!(number("98%"), Some(98.0));
        for none in [
            "", "inf", "nan", "-1", "1.2.3", "1,2,3", "1e9", "0x4", "12:00",
        ] {
            assert_eq!(number(none), None, "{none}");
        }
    }
}
