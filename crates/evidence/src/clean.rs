//! What mail, Windows, terminals and tar do to a text, undone.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::tables;

/// Bytes as text.
///
/// A byte-order mark of UTF-8 or UTF-16 is followed; bytes that are no UTF-8 become U+FFFD. The
/// second value says so in words where it happened.
#[must_use]
pub fn decode(bytes: &[u8]) -> (String, Option<String>) {
    let utf16 = |units: fn([u8; 2]) -> u16, bytes: &[u8]| {
        let pairs = bytes.chunks_exact(2).map(|pair| units([pair[0], pair[1]]));
        let units: Vec<u16> = pairs.collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => (utf16(u16::from_le_bytes, rest), None),
        [0xfe, 0xff, rest @ ..] => (utf16(u16::from_be_bytes, rest), None),
        [0xef, 0xbb, 0xbf, rest @ ..] => lossy(rest),
        _ => lossy(bytes),
    }
}

fn lossy(bytes: &[u8]) -> (String, Option<String>) {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => (text.into(), None),
        Cow::Owned(text) => {
            let line = text
                .split('\n')
                .position(|line| line.contains('\u{fffd}'))
                .unwrap_or(0);
            let why = format!("bytes that are no UTF-8, first in line {}", line + 1);
            (text, Some(why))
        }
    }
}

/// Whether bytes look like text: none of the first 4096 is a control character that texts lack, NUL
/// padding apart.
#[must_use]
pub fn is_text(bytes: &[u8]) -> bool {
    if matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        return true;
    }
    let head = &bytes[..bytes.len().min(4096)];
    let strange = |byte: &&u8| matches!(**byte, 1..=6 | 14..=26 | 28..=31);
    let first = head.first().is_some_and(|&byte| byte != 0);
    first && head.iter().filter(strange).count() * 100 <= head.len()
}

/// A line without what does not belong to it, or the reason why it cannot be read.
///
/// Dropped are a CR at its end, NULs at its beginning (the padding of the text before), NULs at
/// its end, colours of a terminal, and the marks of quoted mail and of bold text. Blanks that are
/// none of ASCII's become blanks.
///
/// # Errors
/// A NUL stands within the line.
pub fn line(raw: &str) -> Result<Cow<'_, str>, &'static str> {
    let text = raw.trim_matches('\0').trim_end_matches('\r');
    if text.contains('\0') {
        return Err("a NUL byte within the line");
    }
    let plain = match text.bytes().all(|byte| byte < 0x80 && byte != 0x1b) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(blanks(&without_escapes(text))),
    };
    Ok(match plain {
        Cow::Borrowed(text) => Cow::Borrowed(unnoted(unmarked(unquoted(text)))),
        Cow::Owned(text) => Cow::Owned(unnoted(unmarked(unquoted(&text))).into()),
    })
}

/// The text behind the marks of quoted mail: `> `, `>> `, `> > `.
fn unquoted(line: &str) -> &str {
    let mut rest = line;
    while let Some(inner) = rest.trim_start_matches([' ', '\t']).strip_prefix('>') {
        rest = inner.strip_prefix(' ').unwrap_or(inner);
    }
    rest
}

/// The amount without what somebody noted behind it: `Slab: 2055028 kB   (~1.96 GB)`.
fn unnoted(line: &str) -> &str {
    let Some((item, note)) = line.split_once(" kB ") else {
        return line;
    };
    let noted = ["(", "//", "#", "<-", "--", "←", "="];
    let noted = noted.iter().any(|mark| note.trim_start().starts_with(mark));
    let amount = &line[..item.len() + " kB".len()];
    let is_item = noted && tables::meminfo_line(amount.trim());
    if is_item { amount } else { line }
}

/// The text without the stars by which Markdown makes it bold: they touch a word.
fn unmarked(line: &str) -> &str {
    let starts = line
        .strip_prefix("**")
        .filter(|rest| is_word(rest.chars().next()));
    let line = starts.unwrap_or(line);
    let ends = line
        .strip_suffix("**")
        .filter(|rest| is_word(rest.chars().next_back()));
    ends.unwrap_or(line)
}

fn is_word(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphanumeric)
}

fn blanks(text: &str) -> String {
    let chars = text.chars().filter_map(|c| match c {
        '\u{a0}' | '\u{2007}' | '\u{202f}' => Some(' '),
        '\u{200b}' | '\u{feff}' => None,
        c => Some(c),
    });
    chars.collect()
}

/// Without the sequences that colour a terminal or set its title.
fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            plain.push(c);
            continue;
        }
        match chars.next() {
            Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
            Some(']') => while chars.next().is_some_and(|c| c != '\u{7}' && c != '\\') {},
            _ => {}
        }
    }
    plain
}

/// The line behind the time stamps and the sender that a log, a terminal or `ts` puts before it; up
/// to three of them. `None` where it begins with none.
#[must_use]
pub fn unstamped(line: &str) -> Option<&str> {
    let mut rest = line;
    for _ in 0..3 {
        match stamp(rest.trim_start()) {
            Some(behind) => rest = behind,
            None => break,
        }
    }
    (rest.len() < line.len() && rest != line.trim_start()).then_some(rest)
}

/// The text behind one stamp: `<6>`, `[   12.345678] `, `Nov  1 10:00:00 HOST kernel: `,
/// `2024-01-01T10:00:00.000+00:00 HOST kernel: `, `10:00:00 `.
fn stamp(line: &str) -> Option<&str> {
    match line.as_bytes().first()? {
        b'<' => {
            let (level, rest) = line[1..].split_once('>')?;
            level.bytes().all(|b| b.is_ascii_digit()).then_some(rest)
        }
        b'[' => {
            let (inner, rest) = line[1..].split_once(']')?;
            is_time(inner).then(|| rest.strip_prefix(' ').unwrap_or(rest))
        }
        _ => sender(dated(line)?),
    }
}

/// What stands in the brackets of `dmesg`: a number of seconds, or with `-T` a date.
fn is_time(inner: &str) -> bool {
    let inner = inner.trim();
    let seconds = inner.bytes().all(|b| b.is_ascii_digit() || b == b'.') && inner.contains('.');
    seconds || inner.split(' ').any(is_clock)
}

/// `10:00:00`, with or without a fraction.
fn is_clock(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 8
        && bytes[..8].iter().enumerate().all(|(at, byte)| match at {
            2 | 5 => *byte == b':',
            _ => byte.is_ascii_digit(),
        })
        && bytes[8..]
            .iter()
            .all(|byte| byte.is_ascii_digit() || b".,+-:Z".contains(byte))
}

/// The text behind a date and a time of day in at most five words.
fn dated(line: &str) -> Option<&str> {
    let mut rest = line;
    for _ in 0..5 {
        let (word, behind) = rest.trim_start().split_once(' ')?;
        let iso = word.split_once('T').is_some_and(|(date, time)| {
            date.len() == 10
                && date.bytes().all(|b| b.is_ascii_digit() || b == b'-')
                && is_clock(time)
        });
        if iso || is_clock(word) {
            return Some(behind);
        }
        let part = word.len() <= 10
            && word
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-/.,".contains(&b));
        if !part {
            return None;
        }
        rest = behind;
    }
    None
}

/// The text behind `HOST kernel: ` or the like, where that follows.
fn sender(line: &str) -> Option<&str> {
    let mut words = line.trim_start().splitn(3, ' ');
    let (host, tag, rest) = (words.next(), words.next(), words.next());
    match (host, tag, rest) {
        (Some(_), Some(tag), Some(rest)) if tag.ends_with(':') => Some(rest),
        _ => Some(line),
    }
}
