//! The report of a study: one HTML file that needs nothing else.
//!
//! A pure function of the study and of what its runs came to: the same input gives the same bytes.
//! It knows no study; what is said about one stands in the study's own file, with placeholders for
//! the numbers (see [`study::template`]).

pub mod arms;
mod chart;
mod curves;
pub mod data;
mod figures;
mod html;
mod kernels;
mod legend;
mod page;
mod pair;
pub mod prose;
mod repeat;
mod series;
mod shown;
mod survivors;
mod table;
mod verdicts;

pub use pair::{Pair, Report, series};

impl Report<'_> {
    /// The page: one HTML file that needs nothing else.
    #[must_use]
    pub fn to_html(&self) -> String {
        page::page(self)
    }
}
