//! Values over time, as columns and rows.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Item, Kind};

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
    /// Whether what was freed is halved: this sysstat counts it twice.
    pub is_halved: bool,
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
