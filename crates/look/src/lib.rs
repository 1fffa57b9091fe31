//! What the evidence of a machine shows: facts and findings, as plain data.
//!
//! Evidence is a capture, or the texts that set something at boot. A finding is a function of
//! facts; nothing here reads a file or prints.
#![forbid(unsafe_code)]

pub mod fact;
pub mod lint;
pub mod pages;
pub mod share;
