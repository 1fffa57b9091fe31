//! Tables of words and numbers: the first column to the left, the others to the right.

use std::fmt::{self, Write as _};

use crate::term::{bad, good};

/// A table under construction; every row has as many cells as the head.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
}

/// One cell: its text, and how it should strike the eye.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    text: String,
    mood: Mood,
}

/// How a cell strikes the eye; the text must tell it too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Not at all.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Needs attention.
    Bad,
}

impl Cell {
    pub(crate) fn new(text: impl fmt::Display, mood: Mood) -> Self {
        Self {
            text: text.to_string(),
            mood,
        }
    }

    fn columns(&self) -> usize {
        self.text.chars().count()
    }
}

impl<T: fmt::Display> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Mood::Plain)
    }
}

impl Table {
    /// A table with this head.
    pub(crate) fn new(head: Vec<Cell>) -> Self {
        Self { rows: vec![head] }
    }

    /// Adds a row; missing cells at its end stay empty.
    pub(crate) fn row(&mut self, mut cells: Vec<Cell>) {
        cells.resize(self.rows[0].len(), Cell::default());
        self.rows.push(cells);
    }

    /// The same without the columns that say nothing below their heads.
    pub(crate) fn without_empty_columns(mut self) -> Self {
        let says = |column: usize| {
            let mut cells = self.rows.iter().skip(1).map(|row| &row[column]);
            column == 0 || cells.any(|cell| !cell.text.is_empty())
        };
        let kept: Vec<bool> = (0..self.rows[0].len()).map(says).collect();
        for row in &mut self.rows {
            let mut kept = kept.iter();
            row.retain(|_| kept.next().is_some_and(|kept| *kept));
        }
        self
    }

    /// As text of `width` columns: cells below each other where the table is wider, each with its
    /// head, so that a narrow terminal cuts no figure.
    pub(crate) fn to_text(&self, width: usize) -> String {
        match self.width() <= width {
            true => self.to_string(),
            false => self.stacked(),
        }
    }

    fn stacked(&self) -> String {
        let Some((head, rows)) = self.rows.split_first() else {
            return String::new();
        };
        let mut text = String::new();
        for row in rows {
            text += &format!("{}\n", row[0].text.trim_end());
            let cells = head.iter().zip(row).skip(1);
            for (head, cell) in cells.filter(|(_, cell)| !cell.text.is_empty()) {
                let gap = if head.text.is_empty() { "" } else { ": " };
                text += &format!("    {}{gap}{}\n", head.text, cell.text);
            }
        }
        text
    }

    /// The columns it takes.
    pub(crate) fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].columns());
            cells.max().unwrap_or(0)
        };
        (0..self.rows[0].len()).map(width).collect()
    }
}

/// Blanks between two columns.
const GAP: usize = 3;

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for row in &self.rows {
            let mut line = String::new();
            for (index, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let blanks = " ".repeat(width - cell.columns());
                let (before, behind) = match index {
                    0 => ("", blanks.as_str()),
                    _ => (blanks.as_str(), ""),
                };
                let gap = if index == 0 { 0 } else { GAP };
                write!(line, "{:gap$}{before}", "")?;
                match cell.mood {
                    Mood::Plain => write!(line, "{}", cell.text)?,
                    Mood::Good => write!(line, "{}", good(&cell.text))?,
                    Mood::Bad => write!(line, "{}", bad(&cell.text))?,
                }
                line.push_str(behind);
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_below_each_other() {
        let mut table = Table::new(vec!["".into(), "a".into(), "arm".into()]);
        table.row(vec!["free".into(), "12 MiB".into(), "3 MiB".into()]);
        table.row(vec!["short".into()]);
        let expected = "             a     arm\nfree    12 MiB   3 MiB\nshort\n";
        assert_eq!(table.to_string(), expected);
        assert_eq!(table.width(), 22);
        assert_eq!(table.to_text(22), expected);
        let stacked = "free\n    a: 12 MiB\n    arm: 3 MiB\nshort\n";
        assert_eq!(table.to_text(21), stacked);
        let mut empty = Table::new(vec!["".into(), "a".into(), "b".into()]);
        empty.row(vec!["free".into(), "".into(), "1".into()]);
        assert_eq!(
            empty.without_empty_columns().to_string(),
            "       b\nfree   1\n"
        );
    }
}
