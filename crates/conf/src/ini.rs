//! Files with sections: `[section]`, `key = value`, comments, as systemd, TuneD, saptune and others
//! have them.

/// An assignment in a file with sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Assignment<'a> {
    /// The section it stands in, without brackets; empty before the first one.
    pub(crate) section: &'a str,
    /// Without blanks around it.
    pub(crate) key: &'a str,
    /// Without blanks around it.
    pub(crate) value: &'a str,
    /// The line, counted from 1.
    pub(crate) line: usize,
}

/// The assignments of a file, in order. Lines that are none are passed over.
pub(crate) fn assignments(text: &str) -> impl Iterator<Item = Assignment<'_>> {
    let mut section = "";
    text.lines().enumerate().filter_map(move |(at, line)| {
        let line = line.trim();
        if line.starts_with(['#', ';']) {
            return None;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            section = name.trim();
            return None;
        }
        let (key, value) = line.split_once('=')?;
        Some(Assignment {
            section,
            key: key.trim(),
            value: value.trim(),
            line: at + 1,
        })
    })
}

/// A value without the quotes around it.
pub(crate) fn unquoted(value: &str) -> &str {
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        let value = value.strip_prefix(quote)?;
        value.strip_suffix(quote)
    });
    quoted.unwrap_or(value)
}
