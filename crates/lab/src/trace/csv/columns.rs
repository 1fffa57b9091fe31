//! Which column of a CSV file holds the object: by its header, or as it was asked for.

use std::str::FromStr;

/// Names of the object's column, whatever their case, hyphens and underscores.
const OBJECT: &[&str] = &["page", "object", "objectid", "obj", "objid"];

/// Names of it where no column has one of [`OBJECT`]: block traces and key-value stores have them.
const ALSO_OBJECT: &[&str] = &["id", "key", "lbn", "lba", "offset", "block"];

/// The names as a message says them.
const NAMES: &str = "object, obj_id, id, key, page, lbn, lba, offset or block";

/// What may stand between values, the first of those that occur most often; spaces last of all.
const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];

/// Columns that a message lists, and characters of each.
const LISTED: usize = 20;
const SHOWN: usize = 40;

/// The object's column as a user says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// By its name in the header, whatever the case.
    Name(String),
    /// By its number, from 1.
    Number(usize),
}

impl FromStr for Column {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text.trim(), text.trim().parse()) {
            ("", _) | (_, Ok(0)) => Err("a column is a name, or a number from 1"),
            (_, Ok(number)) => Ok(Self::Number(number)),
            (name, Err(_)) => Ok(Self::Name(name.to_owned())),
        }
    }
}

/// What stands between the values of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Separator(char);

impl Separator {
    fn of(line: &str) -> Self {
        let mut best = (0, ' ');
        for separator in SEPARATORS {
            let count = Self(separator).fields(line).count() - 1;
            if count > best.0 {
                best = (count, separator);
            }
        }
        Self(best.1)
    }

    /// The values of a line without their quotes; a separator within quotes is none.
    pub(super) fn fields(self, line: &str) -> impl Iterator<Item = &str> {
        let is_spaces = self.0 == ' ';
        let mut quoted = false;
        let is_separator = move |c: char| {
            quoted ^= c == '"';
            !quoted && (c == self.0 || is_spaces && c.is_ascii_whitespace())
        };
        let fields = line.split(is_separator);
        let fields = fields.filter(move |field| !(is_spaces && field.is_empty()));
        fields.map(|field| field.trim().trim_matches('"').trim())
    }
}

/// How the lines are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) separator: Separator,
    /// Columns of the first line.
    pub(super) count: usize,
    /// The object's, from 0.
    pub(super) object: usize,
    /// Its name in the header.
    pub(super) name: Option<String>,
    /// Whether the first line is the header.
    pub(super) has_header_line: bool,
}

impl Columns {
    /// By the first line that is no comment, and the comment before it, which may be the header.
    ///
    /// # Errors
    /// The object's column is not there, or nobody knows which it is: what there is, and the way
    /// out.
    pub(super) fn of(
        first: &str,
        comment: Option<&str>,
        asked: Option<&Column>,
    ) -> Result<Self, String> {
        let separator = Separator::of(first);
        let values: Vec<&str> = separator.fields(first).collect();
        let in_comment: Vec<&str> = comment.map_or(Vec::new(), |c| separator.fields(c).collect());
        let has_header_line = is_header(&values) || names_of(&values, asked);
        let names = match has_header_line {
            true => Some(values.as_slice()),
            false => Some(in_comment.as_slice())
                .filter(|names| names.len() == values.len() && is_header(names))
                .filter(|names| names.len() > 1 || usual(names).is_ok()),
        };
        let object = match (asked, names) {
            (Some(Column::Number(number)), _) => numbered(*number, &values)?,
            (Some(Column::Name(name)), Some(names)) => named(name, names)?,
            (Some(Column::Name(name)), None) => return Err(no_header(name, &values)),
            (None, Some(names)) => usual(names)?,
            (None, None) if values.len() == 1 => 0,
            (None, None) => return Err(unnamed(&values)),
        };
        Ok(Self {
            separator,
            count: values.len(),
            object,
            name: names.map(|names| shown(names[object])),
            has_header_line,
        })
    }
}

/// A header has no number in it.
fn is_header(values: &[&str]) -> bool {
    values.iter().all(|value| super::number(value).is_none())
}

/// Whether the values are names because the one that was asked for is among them.
fn names_of(values: &[&str], asked: Option<&Column>) -> bool {
    match asked {
        Some(Column::Name(name)) => values.iter().any(|value| value.eq_ignore_ascii_case(name)),
        _ => false,
    }
}

fn numbered(number: usize, values: &[&str]) -> Result<usize, String> {
    match number <= values.len() {
        true => Ok(number - 1),
        false => Err(format!("there is no column {number}; {}", listed(values))),
    }
}

fn named(name: &str, names: &[&str]) -> Result<usize, String> {
    let found = positions(names, |other| other.eq_ignore_ascii_case(name));
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(format!("no column is called `{name}`; {}", listed(names))),
        _ => Err(format!(
            "several columns are called `{name}`; give the number of one; {}",
            listed(names)
        )),
    }
}

/// The only column with a name that objects have.
fn usual(names: &[&str]) -> Result<usize, String> {
    for known in [OBJECT, ALSO_OBJECT] {
        let found = positions(names, |name| known.contains(&plain(name).as_str()));
        match found.as_slice() {
            [] => {}
            [one] => return Ok(*one),
            several => {
                let them: Vec<&str> = several.iter().map(|&at| names[at]).collect();
                return Err(format!(
                    "each of these may be the object's column: {}; say which with --object COLUMN",
                    quoted(&them)
                ));
            }
        }
    }
    Err(format!(
        "no column is called {NAMES}; {}; say which is the object's with --object COLUMN",
        listed(names)
    ))
}

fn positions(names: &[&str], is_it: impl Fn(&str) -> bool) -> Vec<usize> {
    let all = names.iter().enumerate();
    all.filter(|(_, name)| is_it(name))
        .map(|(at, _)| at)
        .collect()
}

/// In lower case, without hyphens, underscores and spaces.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| !['-', '_', ' '].contains(c));
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

fn no_header(name: &str, values: &[&str]) -> String {
    format!(
        "there is no header to look for `{name}` in; {}; give --object the column's number",
        listed(values)
    )
}

fn unnamed(values: &[&str]) -> String {
    format!(
        "{} columns and no header that names them; {}; say which is the object's with --object N",
        values.len(),
        listed(values)
    )
}

/// The columns that were found.
pub(super) fn listed(values: &[&str]) -> String {
    format!("the columns are {}", quoted(values))
}

fn quoted(values: &[&str]) -> String {
    let more = match values.len() > LISTED {
        true => ", …",
        false => "",
    };
    let values = values.iter().take(LISTED);
    let values: Vec<String> = values.map(|value| format!("`{}`", shown(value))).collect();
    values.join(", ") + more
}

/// What can be shown of a value in a message.
pub(super) fn shown(value: &str) -> String {
    value
        .chars()
        .filter(|c| !c.is_control())
        .take(SHOWN)
        .collect()
}
