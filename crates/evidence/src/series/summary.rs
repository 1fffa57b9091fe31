//! A column in a few numbers.

use super::Item;
use super::columns::Series;

/// First, last, smallest, largest and mean value of an item, in its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The first value.
    pub first: f64,
    /// The last value.
    pub last: f64,
    /// The smallest.
    pub min: f64,
    /// The row of the smallest.
    pub min_row: usize,
    /// The largest.
    pub max: f64,
    /// The row of the largest.
    pub max_row: usize,
    /// The mean.
    pub mean: f64,
    /// How many values there are.
    pub count: usize,
}

impl Series {
    /// The summary of an item; `None` where no row has a value that counts.
    #[must_use]
    pub fn summary(&self, item: Item) -> Option<Summary> {
        let mut values = self.values(item);
        let (row, first) = values.next()?;
        let mut summary = Summary {
            first,
            last: first,
            min: first,
            min_row: row,
            max: first,
            max_row: row,
            mean: first,
            count: 1,
        };
        let mut sum = first;
        for (row, value) in values {
            sum += value;
            summary.take(row, value);
        }
        summary.mean = sum / summary.count as f64;
        Some(summary)
    }
}

impl Summary {
    fn take(&mut self, row: usize, value: f64) {
        self.last = value;
        self.count += 1;
        if value < self.min {
            (self.min, self.min_row) = (value, row);
        }
        if value > self.max {
            (self.max, self.max_row) = (value, row);
        }
    }
}
