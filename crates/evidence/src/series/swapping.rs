//! Which way swap moves: out only, in only, or in and out at once.

use core::ops::Range;

use super::Item;
use super::columns::Series;

/// KiB in a second that both ways must have for a row to count as thrashing.
pub const BOTH_WAYS: f64 = 1024.0;

/// Rows one after the other that make it thrashing, and not a moment.
pub const ROWS: usize = 3;

/// What swap did over a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swapping {
    /// Nothing was swapped.
    None,
    /// Memory was pushed out and not needed again in this time.
    Out,
    /// What was swapped out earlier was read back.
    In,
    /// Both, but less than [`BOTH_WAYS`] or in fewer than [`ROWS`] rows together.
    Both,
    /// At least [`BOTH_WAYS`] in and out in at least [`ROWS`] rows together, or in all
    /// of two.
    Thrashing,
}

impl Series {
    /// What swap did; `None` where swap-ins or swap-outs were not measured.
    #[must_use]
    pub fn swapping(&self) -> Option<Swapping> {
        let (read, written) = (self.summary(Item::SwapIn)?, self.summary(Item::SwapOut)?);
        if self.thrashing().len() >= self.enough_rows() {
            return Some(Swapping::Thrashing);
        }
        Some(match (read.max > 0.0, written.max > 0.0) {
            (false, false) => Swapping::None,
            (false, true) => Swapping::Out,
            (true, false) => Swapping::In,
            (true, true) => Swapping::Both,
        })
    }

    /// Rows together that make it thrashing: [`ROWS`], or both where there are two.
    #[must_use]
    pub fn enough_rows(&self) -> usize {
        let rows = self.summary(Item::SwapIn).map_or(ROWS, |read| read.count);
        ROWS.min(rows).max(2)
    }

    /// The longest stretch of rows in which swap moved both ways by [`BOTH_WAYS`] and more.
    #[must_use]
    pub fn thrashing(&self) -> Range<usize> {
        self.stretch(|row| {
            let way = |item| {
                self.value(item, row)
                    .is_some_and(|value| value >= BOTH_WAYS)
            };
            way(Item::SwapIn) && way(Item::SwapOut)
        })
    }

    /// The longest stretch of rows that are so; empty where none is.
    #[must_use]
    pub fn stretch(&self, is: impl Fn(usize) -> bool) -> Range<usize> {
        let (mut longest, mut begin) = (0..0, 0);
        for row in 0..self.rows.len() {
            if !is(row) {
                begin = row + 1;
            } else if row + 1 - begin > longest.len() {
                longest = begin..row + 1;
            }
        }
        longest
    }
}
