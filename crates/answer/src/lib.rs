//! A study asked of the model, and the answer as data and as a page.
//!
//! A study runs unchanged on a [`bench::Bench`]: the model, or a real kernel in a throwaway VM.
//! Both yield the same outcome, so predicted and measured are compared by the same code. Here is
//! the model's bench, and all that is said of what came out; no file, thread or clock, so the same
//! bytes come out in the command, in Python and in a browser.

#![forbid(unsafe_code)]

pub mod advise;
pub mod base;
pub mod bench;
pub mod calibration;
pub mod cpus;
pub mod csv;
pub mod lacks;
pub mod machine;
pub mod model_bench;
pub mod own;
pub mod pressure;
pub mod question;
mod ranged;
mod recorded;
pub mod refused;
pub mod report;
pub mod room;
pub mod run;
pub mod runs;
pub mod scale;
