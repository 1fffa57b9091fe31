//! What is wrong with the settings of a machine, or with settings wherever they stand.
//!
//! Texts become settings (`read`), settings that act together become a scope (`scope`), and every
//! rule of one table (`table`) is asked of it. A rule is a pure function: it says what it finds,
//! or which fact it lacks. Nothing here reads a file or prints.

pub mod allow;
mod choice;
pub mod fix;
pub mod json;
pub mod known;
pub mod machine;
pub mod page;
pub mod planned;
pub mod read;
pub mod report;
pub mod rule;
mod rules;
pub mod scope;
pub mod setting;
pub mod settings;
pub mod table;
#[cfg(test)]
mod tests;
pub mod text;
pub mod tree;

pub use choice::Choice;
pub use report::Report;
pub use rule::Severity;
pub use scope::Scope;
