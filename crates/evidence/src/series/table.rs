//! Rows and columns under construction.

use alloc::string::String;
use alloc::vec::Vec;

use super::Item;
use super::columns::{Column, MOST_ROWS, Row, Series, Source, Span};

/// A series while its text is read.
#[derive(Debug, Default)]
pub struct Builder {
    columns: Vec<Column>,
    rows: Vec<Row>,
    left_out: usize,
    is_halved: bool,
    notes: Vec<String>,
}

impl Builder {
    /// Begins a row and returns its number; `None` where there are [`MOST_ROWS`] already.
    pub fn row(&mut self, time: Option<String>, span: Span) -> Option<usize> {
        if self.rows.len() >= MOST_ROWS {
            self.left_out += 1;
            return None;
        }
        self.rows.push(Row { time, span });
        Some(self.rows.len() - 1)
    }

    /// Sets a value of a row, in the item's unit. The first of several for one item and row stays.
    pub fn set(&mut self, row: usize, item: Item, name: &'static str, value: f64) {
        let found = self.columns.iter().position(|column| column.item == item);
        let at = found.unwrap_or_else(|| {
            self.columns.push(Column {
                item,
                name,
                values: Vec::new(),
            });
            self.columns.len() - 1
        });
        let values = &mut self.columns[at].values;
        if values.len() <= row {
            values.resize(row + 1, None);
        }
        values[row].get_or_insert(value);
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The value of a row for this item.
    #[must_use]
    pub fn value(&self, row: usize, item: Item) -> Option<f64> {
        let column = self.columns.iter().find(|column| column.item == item)?;
        column.values.get(row).copied().flatten()
    }

    /// Forgets the values after the first of the columns that `which` chooses.
    pub fn keep_first(&mut self, which: impl Fn(Item) -> bool) {
        let chosen = self.columns.iter_mut().filter(|column| which(column.item));
        chosen.for_each(|column| column.values.truncate(1));
    }

    /// Multiplies all values of the columns that `which` chooses.
    pub fn scale(&mut self, which: impl Fn(Item) -> bool, factor: f64) {
        let chosen = self.columns.iter_mut().filter(|column| which(column.item));
        let values = chosen.flat_map(|column| &mut column.values);
        values.flatten().for_each(|value| *value *= factor);
    }

    /// Halves what was freed, which a sysstat counted twice.
    pub fn halve_freed(&mut self) {
        self.scale(|item| matches!(item, Item::Steal | Item::Efficiency), 0.5);
        self.is_halved = true;
    }

    /// All values of the columns that `which` chooses.
    pub fn values(&self, which: impl Fn(Item) -> bool) -> impl Iterator<Item = f64> {
        let chosen = self.columns.iter().filter(move |column| which(column.item));
        chosen.flat_map(|column| column.values.iter().flatten().copied())
    }

    /// Adds a sentence to the notes.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// The series; `None` without a row that has a value.
    #[must_use]
    pub fn finish(mut self, source: Source, release: Option<String>) -> Option<Series> {
        if self.columns.is_empty() {
            return None;
        }
        if self.left_out > 0 {
            let left_out = self.left_out;
            self.note(alloc::format!(
                "The first {MOST_ROWS} rows are read; {left_out} after them are not."
            ));
        }
        for column in &mut self.columns {
            column.values.resize(self.rows.len(), None);
        }
        Some(Series {
            source,
            release,
            columns: self.columns,
            rows: self.rows,
            is_halved: self.is_halved,
            notes: self.notes,
        })
    }
}
