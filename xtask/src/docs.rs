//! `cargo xtask docs`: writes the documents that are made from the code.

use anyhow::{Result, bail};

use crate::{process, tally};

/// The makers are tests of the crates that own the code; `UPDATE_EXPECT=1` turns each from a
/// comparison into a writer.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("docs takes no arguments, found \"{unknown}\"");
    }
    let mut cargo = process::cargo();
    cargo.args([
        "test",
        "--quiet",
        "--package",
        "plimsoll",
        "--bin",
        "plimsoll",
    ]);
    cargo.arg("docs::").env("UPDATE_EXPECT", "1");
    tally::pass(&mut cargo)
}
