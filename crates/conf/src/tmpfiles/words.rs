//! The fields of a line, between blanks, with quotes and escapes.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use super::escape;

const BLANKS: &[char] = &[' ', '\t', '\n', '\r'];

/// The six fields before the argument (those that are missing are empty), and the argument as it
/// stands. `None` where quotes are open, an escape is unknown, or there is no second field.
pub(super) fn split(line: &str) -> Option<([String; 6], &str)> {
    let mut fields: [String; 6] = Default::default();
    let mut rest = line.trim_start_matches(BLANKS);
    let mut count = 0;
    for field in &mut fields {
        if rest.is_empty() {
            break;
        }
        let (word, after) = word(rest)?;
        *field = word;
        rest = after.trim_start_matches(BLANKS);
        count += 1;
    }
    (count >= 2).then_some((fields, rest))
}

/// The first word of a text that does not begin with a blank, and what is after it.
fn word(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut quote = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match (c, quote) {
            ('\\', _) => {
                let (plain, after) = escape::one(after)?;
                word.push(plain);
                after
            }
            (c, Some(open)) if c == open => {
                quote = None;
                after
            }
            ('"' | '\'', None) => {
                quote = Some(c);
                after
            }
            (c, None) if BLANKS.contains(&c) => break,
            _ => {
                word.push(c);
                after
            }
        };
    }
    quote.is_none().then_some((word, rest))
}

/// Mode, user, group and age in a form in which those that mean the same are the same. `None` where
/// one is such that the line is dropped. Users and groups are believed to exist.
pub(super) fn plain([mode, user, group, age]: [String; 4]) -> Option<[String; 4]> {
    let name = |name: String| match name.as_str() {
        "" => "-".to_owned(),
        "root" => "0".to_owned(),
        _ => name,
    };
    let age = is_age(&age).then_some(age)?;
    Some([plain_mode(&mode)?, name(user), name(group), name(age)])
}

fn plain_mode(text: &str) -> Option<String> {
    if matches!(text, "" | "-") {
        return Some("-".to_owned());
    }
    let digits = text.trim_start_matches(['~', ':']);
    let marks = &text[..text.len() - digits.len()];
    let marks = ['~', ':'].map(|mark| marks.contains(mark));
    let mode = u32::from_str_radix(digits, 8).ok()?;
    let is_valid = mode <= 0o7777 && !digits.starts_with('+');
    is_valid.then(|| format!("{marks:?} {mode:o}"))
}

fn is_age(text: &str) -> bool {
    let text = text.strip_prefix('~').unwrap_or(text);
    let span = match text.split_once(':') {
        Some((by, _)) if by.is_empty() || !by.chars().all(|c| "abcmABCM".contains(c)) => {
            return false;
        }
        Some((_, span)) => span,
        None => text,
    };
    matches!(text, "" | "-") || is_span(span)
}

/// Units of a span of time, a longer one before its own begin.
const UNITS: &[&str] = &[
    "seconds", "second", "sec", "minutes", "minute", "min", "months", "month", "msec", "ms", "µs",
    "μs", "usec", "us", "hours", "hour", "hr", "days", "day", "weeks", "week", "years", "year",
    "nsec", "ns", "s", "M", "m", "h", "d", "w", "y",
];

/// Numbers, each with a unit or none, with or without blanks between.
fn is_span(text: &str) -> bool {
    let mut rest = text.trim_matches(BLANKS);
    if rest == "infinity" {
        return true;
    }
    let mut found = false;
    while !rest.is_empty() {
        let digits = |c: char| c.is_ascii_digit();
        let after = rest.trim_start_matches(digits);
        let fraction = after.strip_prefix('.');
        let end = fraction.map_or(after, |it| it.trim_start_matches(digits));
        if rest.len() - end.len() <= usize::from(fraction.is_some()) {
            return false;
        }
        let unit = end.trim_start_matches(BLANKS);
        let known = UNITS.iter().find_map(|name| unit.strip_prefix(name));
        rest = known.unwrap_or(unit).trim_start_matches(BLANKS);
        found = true;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_escapes_belong_to_fields_and_not_to_the_argument() {
        let (fields, argument) = split("w \"/sys/a b\" '' - -  -   \"x\"  y").expect("fields");
        assert_eq!(fields, ["w", "/sys/a b", "", "-", "-", "-"]);
        assert_eq!(argument, "\"x\"  y");
        let (fields, _) = split("w /sys/\\x41\\tb").expect("fields");
        assert_eq!(fields[1], "/sys/A\tb");
        assert!(split("w \"/sys").is_none() && split("w").is_none());
        assert!(split("w /sys/\\q").is_none());
    }

    #[test]
    fn modes_and_ages_have_their_forms() {
        assert_eq!(plain_mode("0644"), plain_mode("644"));
        assert_eq!(plain_mode(""), plain_mode("-"));
        assert_ne!(plain_mode("~0755"), plain_mode(":0755"));
        let refused = ["x", "08", "+7", "77777", "~"];
        assert!(refused.iter().all(|it| plain_mode(it).is_none()));
        let taken = ["", "-", "10d", "~1w 2h", "aM:5min", "1.5s", "0"];
        assert!(taken.iter().all(|it| is_age(it)));
        let refused = ["x", "z:5", "10q", ".", ":5"];
        assert!(refused.iter().all(|it| !is_age(it)));
    }
}
