//! The lab of causes: evidence whose cause is known because it was caused.
//!
//! A [`Recipe`](recipe::Recipe) makes one trouble in a small VM and says what must be concluded
//! from it, what is true beside it, and so what is false. The VM hands back a [`Run`](run::Run):
//! kernel files at several moments, and the kernel log. Every [form](forms) in which people hold
//! evidence is made of a run by a pure function, so one boot gives all of them. The [judge] asks
//! `plimsoll inspect` about each and compares its findings, by name, with the label.
//!
//! Nothing that is shipped uses this crate: it is for `cargo xtask causes` and for tests.

pub mod draw;
pub mod forms;
pub mod judge;
pub mod make;
pub mod recipe;
pub mod run;
pub mod score;
pub mod tally;
mod today;
