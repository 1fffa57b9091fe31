//! The lines of a file in `sysctl.d`, as each loader reads them.
//!
//! | | systemd | procps | busybox |
//! |---|---|---|---|
//! | a line ends at | `\n`, `\r`, NUL, or a pair | `\n`; NUL cuts it off | `\n`, not after `\` |
//! | blanks | space, tab, CR | those, vertical tab and form feed | the same |
//! | `-key = v` | the key | the key | a key that begins with `-` |
//! | `- key = v` | the key | a key that begins with a blank | a key that begins with `-` |
//! | `key =` | an empty value | an empty value | an error |

use alloc::vec::Vec;

use super::loader::Loader;

/// The longest line that systemd reads, in bytes; the rest of the file is lost with it.
const SYSTEMD_LONGEST: usize = 1 << 20;

/// One line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where it begins: the line feeds before it, and one, as an editor counts.
    pub number: usize,
    /// The whole line, without its end.
    pub text: &'a str,
    /// What it says.
    pub says: Says<'a>,
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says<'a> {
    /// Nothing: it is blank, or the loader passes over it in silence.
    Nothing,
    /// A comment: what follows `#` or `;`.
    Comment(&'a str),
    /// `key = value`, and `-key = value`. The key may be a pattern.
    Sets {
        /// As written, without blanks around it and the `-`.
        key: &'a str,
        /// As written, without blanks around it.
        value: &'a str,
        /// Whether a leading `-` says that a failure does not matter.
        may_fail: bool,
    },
    /// `-key`: patterns pass over this key.
    Excludes(&'a str),
    /// No assignment: the loader complains.
    Nonsense(&'a str),
}

/// The lines of a file, in order.
#[must_use]
pub fn lines(text: &str, loader: Loader) -> Vec<Line<'_>> {
    match loader {
        Loader::Systemd => split_systemd(text),
        Loader::Procps => {
            let lines = text.split_terminator('\n').zip(1..);
            lines
                .map(|(text, number)| line(number, text, procps))
                .collect()
        }
        Loader::Alpine => joined(text),
    }
}

fn line<'a>(number: usize, text: &'a str, says: fn(&'a str) -> Says<'a>) -> Line<'a> {
    Line {
        number,
        text,
        says: says(text),
    }
}

/// busybox goes on in the next line after a backslash; the two stay in the text.
fn joined(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let (mut rest, mut number) = (text, 1);
    while !rest.is_empty() {
        let mut ends = rest.match_indices('\n').map(|(at, _)| at);
        let end = ends.find(|at| !rest[..*at].ends_with('\\'));
        let text = &rest[..end.unwrap_or(rest.len())];
        rest = end.map_or("", |end| &rest[end + 1..]);
        lines.push(line(number, text, busybox));
        number += 1 + text.matches('\n').count();
    }
    lines
}

/// systemd takes CR, LF and NUL for the end of a line, and two different ones in a row for one.
fn split_systemd(text: &str) -> Vec<Line<'_>> {
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r' | 0);
    let mut lines = Vec::new();
    let (mut rest, mut number) = (text, 1);
    while !rest.is_empty() {
        let bytes = rest.as_bytes();
        let length = bytes.iter().position(is_end);
        let length = length.unwrap_or(bytes.len());
        if length >= SYSTEMD_LONGEST {
            break;
        }
        lines.push(line(number, &rest[..length], systemd));
        let (end, after) = rest[length..].split_at(ends(&bytes[length..]));
        number += end.matches('\n').count();
        rest = after;
    }
    lines
}

/// The bytes that end one line: each of the three at most once, and nothing after NUL.
fn ends(bytes: &[u8]) -> usize {
    let mut length = 0;
    for byte in bytes {
        let done = &bytes[..length];
        if !matches!(byte, b'\n' | b'\r' | 0) || done.contains(byte) || done.contains(&0) {
            break;
        }
        length += 1;
    }
    length
}

fn systemd(line: &str) -> Says<'_> {
    const BLANKS: &[char] = &[' ', '\t', '\n', '\r'];
    let line = line.trim_matches(BLANKS);
    if let Some(other) = blank_or_comment(line) {
        return other;
    }
    let (key, may_fail) = without_dash(line);
    match key.split_once('=') {
        Some((key, value)) => Says::Sets {
            key: key.trim_matches(BLANKS),
            value: value.trim_matches(BLANKS),
            may_fail,
        },
        None if may_fail => Says::Excludes(key.trim_matches(BLANKS)),
        None => Says::Nonsense(line),
    }
}

fn procps(line: &str) -> Says<'_> {
    let line = line.split('\0').next().unwrap_or_default();
    let line = line.trim_start_matches(is_blank);
    if line.trim_end_matches(is_blank).is_empty() {
        return Says::Nothing;
    }
    if let Some(other) = blank_or_comment(line) {
        return other;
    }
    let (key, may_fail) = without_dash(line);
    match key.split_once('=') {
        Some((key, value)) => Says::Sets {
            key: without_dash(key.trim_end_matches(is_blank)).0,
            value: value.trim_matches(is_blank),
            may_fail,
        },
        None if may_fail => Says::Excludes(without_dash(key.trim_end_matches(is_blank)).0),
        None => Says::Nonsense(line),
    }
}

fn busybox(line: &str) -> Says<'_> {
    let line = line.split('\0').next().unwrap_or_default();
    let mut end = line.trim_end_matches(is_blank);
    if matches!(line[end.len()..].chars().next(), None | Some('\n')) {
        end = end.strip_suffix('\\').unwrap_or(end);
    }
    let line = end.trim_matches(is_blank);
    if let Some(other) = blank_or_comment(line) {
        return other;
    }
    let (key, value) = line.split_once('=').unwrap_or_default();
    let value = value.trim_start_matches(is_blank);
    match value.is_empty() {
        true => Says::Nonsense(line),
        false => Says::Sets {
            key: key.trim_end_matches(is_blank),
            value,
            may_fail: false,
        },
    }
}

/// What C's `isspace` takes for a blank.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

fn blank_or_comment(line: &str) -> Option<Says<'_>> {
    match line.as_bytes().first() {
        None => Some(Says::Nothing),
        Some(b'#' | b';') => Some(Says::Comment(&line[1..])),
        Some(_) => None,
    }
}

fn without_dash(text: &str) -> (&str, bool) {
    text.strip_prefix('-')
        .map_or((text, false), |it| (it, true))
}
