//! Changing the text of a study in place, so that all else stays as its author wrote it.

use std::ops::Range;

use mm::units::Bytes;
use toml::de::DeTable;

/// A place in the text, and what stands there instead.
pub(super) type Edit = (Range<usize>, String);

/// The text with all edits; those behind go first, so that places keep.
pub(super) fn applied(text: &str, mut edits: Vec<Edit>) -> String {
    let mut text = text.to_owned();
    edits.sort_by_key(|(place, _)| (place.start, place.end));
    for (place, with) in edits.into_iter().rev() {
        text.replace_range(place, &with);
    }
    text
}

/// The tables of an array of tables; none where there is none.
pub(super) fn tables<'a, 'b>(table: &'a DeTable<'b>, key: &str) -> Vec<&'a DeTable<'b>> {
    let list = table.get(key).and_then(|list| list.get_ref().as_array());
    let tables = list.into_iter().flatten();
    tables.filter_map(|it| it.get_ref().as_table()).collect()
}

/// A string as TOML writes it.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A size as a study writes it, in whole pages, and in MiB from 16 MiB on.
pub(super) fn amount(size: Bytes) -> String {
    let kib = (size.0 >> 12 << 2).max(4);
    match kib {
        large if large >= 16 << 10 => format!("\"{} MiB\"", large >> 10),
        small => format!("\"{small} KiB\""),
    }
}
