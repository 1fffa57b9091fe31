//! CSV: one access a line, values between commas, semicolons, tabs, bars or spaces, ids as decimal
//! or `0x` hexadecimal numbers.
//!
//! The object's column is the one that was asked for, by name or number; else the one whose name in
//! the header is a known one (`object`, `obj_id`, `lbn`, ...); else the only one. Which of several
//! it is without a header is not guessed: a time or a size has numbers too. Empty lines and lines
//! that begin with `#` mean nothing, but the last such line before the first access may be the
//! header. A byte-order mark, CRLF and NUL padding do no harm.

mod columns;

use std::io::BufRead;

use super::problem::Problem;
use super::records::BATCH;
use columns::{Columns, listed, shown};

pub use columns::Column;

/// Longest line that is read, so that a file of another kind cannot fill memory.
const LINE_MAX: u64 = 1 << 16;

/// What is said of a last line that lacks columns and its end.
const CUT: &str =
    "the file was cut off in the middle of this line; copy it again, or drop the line";

/// Gives the objects of the lines to `each`, and back the name of the object's column.
pub(super) fn read(
    mut input: impl BufRead,
    asked: Option<&Column>,
    mut each: impl FnMut(&[u64]) -> Result<(), Problem>,
) -> Result<Option<String>, Problem> {
    let mut lines = Lines {
        asked,
        comment: None,
        columns: None,
    };
    let mut text = Vec::new();
    let mut objects = Vec::with_capacity(BATCH);
    for line in 1.. {
        text.clear();
        if next_line(&mut input, &mut text)? == 0 {
            break;
        }
        let object = lines.object(&text);
        objects.extend(object.map_err(|what| Problem::Line { line, what })?);
        if objects.len() == BATCH {
            each(&objects)?;
            objects.clear();
        }
    }
    each(&objects)?;
    Ok(lines.columns.and_then(|columns| columns.name))
}

fn next_line(input: &mut impl BufRead, text: &mut Vec<u8>) -> std::io::Result<usize> {
    use std::io::Read as _;
    input.take(LINE_MAX).read_until(b'\n', text)
}

/// What is known of the lines so far.
struct Lines<'a> {
    asked: Option<&'a Column>,
    /// The last comment before the first other line.
    comment: Option<String>,
    columns: Option<Columns>,
}

impl Lines<'_> {
    /// The object of a line; none of an empty one, a comment and the header.
    fn object(&mut self, text: &[u8]) -> Result<Option<u64>, String> {
        let line = line_of(text)?;
        if line.is_empty() {
            return Ok(None);
        }
        if let Some(comment) = line.strip_prefix('#') {
            if self.columns.is_none() {
                self.comment = Some(comment.to_owned());
            }
            return Ok(None);
        }
        let Some(columns) = &self.columns else {
            return self.first(line);
        };
        if !text.ends_with(b"\n") && columns.separator.fields(line).count() < columns.count {
            return Err(CUT.to_owned());
        }
        columns.object_in(line).map(Some)
    }

    fn first(&mut self, line: &str) -> Result<Option<u64>, String> {
        let columns = Columns::of(line, self.comment.as_deref(), self.asked)?;
        let columns = self.columns.insert(columns);
        match columns.has_header_line {
            true => Ok(None),
            false => columns.object_in(line).map(Some),
        }
    }
}

fn line_of(text: &[u8]) -> Result<&str, String> {
    if text.len() as u64 == LINE_MAX {
        return Err(format!(
            "longer than {LINE_MAX} bytes: is this a binary trace?"
        ));
    }
    let text = std::str::from_utf8(text).map_err(|_| "not text: is this a binary trace?")?;
    let is_nothing = |c: char| c.is_whitespace() || c == '\0' || c == '\u{feff}';
    Ok(text.trim_matches(is_nothing))
}

impl Columns {
    fn object_in(&self, line: &str) -> Result<u64, String> {
        let field = self.separator.fields(line).nth(self.object);
        let field = field.ok_or_else(|| format!("no column {}", self.object + 1))?;
        number(field).ok_or_else(|| self.no_object(field, line))
    }

    fn no_object(&self, field: &str, line: &str) -> String {
        let name = self
            .name
            .as_ref()
            .map_or(String::new(), |name| format!(" (`{name}`)"));
        let values: Vec<&str> = self.separator.fields(line).collect();
        let way_out = match values.len() {
            1 => String::new(),
            _ => format!(
                "; {}; another is chosen with --object COLUMN",
                listed(&values)
            ),
        };
        format!(
            "\"{}\" is no object id: column {}{name} must hold whole numbers below 2^64{way_out}",
            shown(field),
            self.object + 1,
        )
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests;
