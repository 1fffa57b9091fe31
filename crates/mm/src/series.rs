//! Time series as text: what `vmstat` and `sar` print, a dump of node_exporter, and the frames of
//! a capture, all as columns of one meaning and one unit.
//!
//! A series holds what was printed and nothing else: a value that a row lacks is missing, never 0.

mod frames;
mod item;
mod prometheus;
mod reclaim;
mod sar;
mod summary;
mod swapping;
mod table;
mod vmstat;

use alloc::string::String;
use alloc::vec::Vec;

pub use self::frames::series as of_frames;
pub use self::item::{Item, Kind, Unit};
pub use self::prometheus::{NOTE as NODE_EXPORTER, node_exporter, scraped_at};
pub use self::reclaim::{POOR, Reclaim};
pub use self::sar::{halve_steals, pages_to_kib};
pub use self::summary::Summary;
pub use self::swapping::{BOTH_WAYS, ROWS, Swapping};
pub use self::table::Builder;

/// Where the text of `vmstat` is kept in a frame.
pub const VMSTAT: &str = "plimsoll/tools/vmstat";
/// Where the text of `sar` is kept in a frame.
pub const SAR: &str = "plimsoll/tools/sar";
/// Where the output of `sadf -j` is kept in a frame.
pub const SADF: &str = "plimsoll/tools/sadf";

/// Rows of a series that are read; those after them are counted and left out.
pub const MOST_ROWS: usize = 100_000;

/// What made a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `vmstat`.
    Vmstat,
    /// `sar`.
    Sar,
    /// `sadf -j`.
    Sadf,
    /// The frames of a capture.
    Frames,
}

/// Values over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What made it.
    pub source: Source,
    /// The kernel's release, where the text names it.
    pub release: Option<String>,
    /// The columns, in the order in which they were first seen; one for each item at most.
    pub columns: Vec<Column>,
    /// The rows, in order of time.
    pub rows: Vec<Row>,
    /// What was left out, assumed or inferred, a sentence each.
    pub notes: Vec<String>,
}

/// The values of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// What they are.
    pub item: Item,
    /// The tool's name for it.
    pub name: &'static str,
    /// A value for each row, in the item's unit; `None` where the row has none.
    pub values: Vec<Option<f64>>,
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Its time as the text has it.
    pub time: Option<String>,
    /// Over which span its rates are.
    pub span: Span,
}

/// The span of a row's rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Span {
    /// From the row before to this one.
    #[default]
    Interval,
    /// From boot on: the first row of `vmstat`. Its levels count, its rates do not.
    SinceBoot,
}

impl Series {
    /// The path under which a frame keeps this text; `None` where it is no series that is known.
    #[must_use]
    pub fn path_of(text: &str) -> Option<&'static str> {
        if sadf(text) {
            return Some(SADF);
        }
        let vmstat = || vmstat::parse(text).map(|_| VMSTAT);
        vmstat().or_else(|| sar::parse(text).map(|_| SAR))
    }

    /// The series that the text of this path is; `None` where it has no row. JSON is read by
    /// those that know JSON.
    #[must_use]
    pub fn parse(path: &str, text: &str) -> Option<Self> {
        match path {
            VMSTAT => vmstat::parse(text),
            SAR => sar::parse(text),
            _ => None,
        }
    }

    /// The column of this item.
    #[must_use]
    pub fn column(&self, item: Item) -> Option<&Column> {
        self.columns.iter().find(|column| column.item == item)
    }

    /// The values of an item that say what happened: rates since boot are left out.
    pub fn values(&self, item: Item) -> impl Iterator<Item = (usize, f64)> {
        let column = self.column(item);
        let values = column.into_iter().flat_map(|column| &column.values);
        let counts = move |row: &Row| item.kind() == Kind::Level || row.span == Span::Interval;
        let pairs = values.zip(&self.rows).enumerate();
        pairs.filter_map(move |(at, (value, row))| Some((at, (*value)?)).filter(|_| counts(row)))
    }

    /// The value of an item in a row, unless it is a rate since boot.
    #[must_use]
    pub fn value(&self, item: Item, row: usize) -> Option<f64> {
        let since_boot = self.rows.get(row)?.span == Span::SinceBoot;
        let value = *self.column(item)?.values.get(row)?;
        value.filter(|_| item.kind() == Kind::Level || !since_boot)
    }

    /// How many rows have rates.
    #[must_use]
    pub fn intervals(&self) -> usize {
        let is = |row: &&Row| row.span == Span::Interval;
        self.rows.iter().filter(is).count()
    }
}

/// The path under which a frame keeps this text: [`VMSTAT`], [`SAR`] or [`SADF`]; `None` where it
/// is none of them.
#[must_use]
pub fn recognise(text: &str) -> Option<&'static str> {
    Series::path_of(text)
}

/// Whether the text is what `sadf -j` writes, whole or cut off.
fn sadf(text: &str) -> bool {
    let start = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    start.starts_with('{')
        && ["\"sysstat\"", "\"hosts\"", "\"statistics\""]
            .iter()
            .all(|key| text.contains(key))
}

/// A line without the marks of quoted mail and a byte-order mark.
fn unquoted(line: &str) -> &str {
    line.trim_start_matches(['\u{feff}', '>', ' ', '\t'])
}

/// A number as the tools print it: with a comma in some locales, with a percent sign.
///
/// Negative numbers, infinities and what is no number are `None`.
fn number(word: &str) -> Option<f64> {
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

    #[test]
    fn each_kind_of_text_has_its_path_and_other_texts_have_none() {
        let vmstat = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id \
                      wa st\n 1  0      0 103656      0  31048    0    0    53     1  105   55  3 \
                      12 83  2  0\n";
        assert_eq!(recognise(vmstat), Some(VMSTAT));
        let sar = "16:38:12     pswpin/s pswpout/s\n16:38:13         0.00      1.00\n";
        assert_eq!(recognise(sar), Some(SAR));
        let sadf = "{\"sysstat\": {\"hosts\": [{\"statistics\": [";
        assert_eq!(recognise(sadf), Some(SADF));
        for other in [
            "",
            "MemTotal: 1 kB\n",
            "{\"sysstat\": 1}",
            "pgpgin 12\nnr_free_pages 3\n",
        ] {
            assert_eq!(recognise(other), None, "{other}");
        }
    }
}
