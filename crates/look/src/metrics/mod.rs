//! Figures of a machine over time, for Prometheus: what node_exporter does not have.
//!
//! One table of families ([`FAMILIES`]); each says of which fact it is made and how. A fact that is
//! not there has no sample: no figure is zero because nobody could read it.

mod facts;
pub(crate) mod groups;
mod lines;
mod ours;
mod table;
mod text;

pub use self::facts::{Applied, Facts, Guard, earlier};
pub use self::groups::MOST as MOST_GROUPS;
pub use self::table::{FAMILIES, Family};
pub use self::text::Form;

#[cfg(test)]
mod tests;
