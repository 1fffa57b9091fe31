//! What is wrong with the settings of a machine, or with settings wherever they stand.
//!
//! Texts become settings (`read`), settings that act together become a scope (`scope`), and every
//! rule of one table (`table`) is asked of it. A rule is a pure function: it says what it finds,
//! or which fact it lacks. Nothing here reads a file or prints.

pub(crate) mod allow;
mod choice;
pub(crate) mod fix;
pub(crate) mod known;
pub(crate) mod machine;
pub(crate) mod page;
pub(crate) mod planned;
pub(crate) mod read;
pub(crate) mod report;
pub(crate) mod rule;
mod rules;
pub(crate) mod scope;
pub(crate) mod setting;
pub(crate) mod table;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod tree;

pub(crate) use choice::Choice;
pub(crate) use report::Report;
pub(crate) use rule::Severity;
pub(crate) use scope::Scope;
