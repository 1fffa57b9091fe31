//! One line: what it does, to which path, with which argument.

use alloc::string::String;

use super::{escape, specifier, words};
use crate::load::Why;
use crate::tree::Tree;

/// A line that systemd-tmpfiles accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it does.
    pub kind: Kind,
    /// The path or pattern, from `/`, without the leading slash.
    pub path: String,
    /// What is written, escapes and specifiers resolved.
    pub argument: Option<String>,
    /// `+`: a `w` line that does not mind others for its path, an `f` line that empties the file.
    pub appends: bool,
    /// `-`: a failure does not matter.
    pub may_fail: bool,
    /// Mode, user, group and age: lines that say the same may stand side by side.
    rest: [String; 4],
}

/// What a line does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(u8);

/// Lines that create what they name, and whose path is no pattern.
const CREATING: &[u8] = b"fFdDvqQpLcbC";

/// The others.
const MATCHING: &[u8] = b"wetTaAhHxXrRzZm";

/// Lines that own their path: two of them for one path must say the same.
const OWNING: &[u8] = b"fFdDvqQpLcbCwexXrR";

/// Lines whose argument is a text with escapes and specifiers.
const TEXT: &[u8] = b"fFwLC";

impl Kind {
    /// The letter.
    #[must_use]
    pub fn letter(self) -> char {
        char::from(self.0)
    }

    pub(super) fn creates(self) -> bool {
        CREATING.contains(&self.0)
    }

    /// The order of lines for one path.
    pub(super) fn order(self) -> (bool, u8) {
        (!OWNING.contains(&self.0), self.0)
    }
}

impl Item {
    /// Reads a line without blanks around it.
    pub(super) fn parse(line: &str, tree: &Tree) -> Result<Self, Why> {
        let (fields, argument) = words::split(line).ok_or(Why::Nonsense)?;
        let [action, path, rest @ ..] = fields;
        let modifiers = Modifiers::of(&action).ok_or(Why::Nonsense)?;
        let letter = action.as_bytes().first().copied();
        let known = |letter: &u8| CREATING.contains(letter) || MATCHING.contains(letter);
        let kind = Kind(letter.filter(known).ok_or(Why::Nonsense)?);
        let path = absolute(&specifier::resolved(&path, tree)?).ok_or(Why::BadPath)?;
        let rest = words::plain(rest).ok_or(Why::Nonsense)?;
        Ok(Self {
            argument: argument_of(kind, argument, &modifiers, tree)?,
            kind,
            path,
            appends: modifiers.has('+'),
            may_fail: modifiers.has('-'),
            rest,
        })
    }

    /// Whether it writes into a file that is there.
    #[must_use]
    pub fn writes(&self) -> bool {
        match self.kind.0 {
            b'w' => true,
            b'F' => self.argument.is_some(),
            b'f' => self.appends && self.argument.is_some(),
            _ => false,
        }
    }

    /// Whether it owns its path.
    pub(super) fn owns(&self) -> bool {
        OWNING.contains(&self.kind.0)
    }

    /// Whether another line for the same path may stand beside this one.
    pub(super) fn allows(&self, other: &Self) -> bool {
        let both_append = self.adds() && other.adds();
        self.agrees(other) || both_append || !(self.owns() && other.owns())
    }

    /// Whether another line is like this one for every further line.
    pub(super) fn says(&self, other: &Self) -> bool {
        self.agrees(other) && self.adds() == other.adds()
    }

    fn agrees(&self, other: &Self) -> bool {
        self.argument == other.argument && self.rest == other.rest
    }

    /// Whether it is a `w+` line.
    fn adds(&self) -> bool {
        self.kind.0 == b'w' && self.appends
    }
}

/// The marks after the letter, each at most once.
struct Modifiers<'a>(&'a str);

impl<'a> Modifiers<'a> {
    fn of(action: &'a str) -> Option<Self> {
        let marks = action.get(1..)?;
        let mut rest = marks.chars();
        while let Some(mark) = rest.next() {
            if !"!+-=~^$".contains(mark) || rest.as_str().contains(mark) {
                return None;
            }
        }
        Some(Self(marks))
    }

    fn has(&self, mark: char) -> bool {
        self.0.contains(mark)
    }
}

fn argument_of(
    kind: Kind,
    text: &str,
    modifiers: &Modifiers<'_>,
    tree: &Tree,
) -> Result<Option<String>, Why> {
    if matches!(text, "" | "-") {
        return match kind.0 {
            b'w' | b't' | b'T' | b'a' | b'A' | b'h' | b'H' | b'c' | b'b' => Err(Why::Nonsense),
            _ => Ok(None),
        };
    }
    if modifiers.has('^') {
        return Err(Why::Unknown("a credential".into()));
    }
    if modifiers.has('~') {
        return escape::base64(text).map(Some).ok_or(Why::Nonsense);
    }
    if !TEXT.contains(&kind.0) {
        return Ok(Some(text.into()));
    }
    let text = escape::resolved(text).ok_or(Why::Nonsense)?;
    specifier::resolved(&text, tree).map(Some)
}

/// A path from `/` in the form in which lines are compared; `/var/run` is `/run`.
fn absolute(path: &str) -> Option<String> {
    let rest = path.strip_prefix('/')?;
    let parts = rest.split('/').filter(|part| !matches!(*part, "" | "."));
    let path = parts.collect::<alloc::vec::Vec<_>>().join("/");
    match path.strip_prefix("var/run/") {
        Some(rest) => Some(["run/", rest].concat()),
        None => Some(path),
    }
}
