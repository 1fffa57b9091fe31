//! What the tests of several crates need; nothing that ships uses it.
//!
//! - [`checkout`], [`text`] and [`capture`]: what lies in the checkout, fixtures above all
//! - [`damage`]: what can befall a text or bytes on their way to a reader, each kind with a name
//! - [`loads`]: loads whose full trace is known
//! - [`programs`]: programs of others that tests run, as `promtool`
//! - [`words`]: what texts of a kind are made of, and what breaks careless readers of them
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

use mm::capture::Capture;

pub mod damage;
pub mod loads;
pub mod programs;
pub mod words;

/// A path of the checkout, as in `fixtures/cases`.
///
/// # Panics
/// This crate does not lie two folders below the checkout.
#[must_use]
pub fn checkout(path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("crates/testkit is below the checkout")
        .join(path)
}

/// The text of a file of the checkout.
///
/// # Panics
/// There is no such file, or it is no text.
#[must_use]
pub fn text(path: &str) -> String {
    let text = std::fs::read_to_string(checkout(path));
    text.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The capture in a file of the checkout.
///
/// # Panics
/// There is no such file, or it is no capture.
#[must_use]
pub fn capture(path: &str) -> Capture {
    let capture = Capture::parse(&text(path));
    capture.unwrap_or_else(|error| panic!("{path}: {error}"))
}
