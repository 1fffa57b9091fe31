//! `cargo xtask causes`: evidence whose cause is known because it was caused.

use anyhow::Result;

use crate::{binary, process};

/// `cargo xtask causes`. What is made, judged and shown is in `crates/causes`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut cargo = process::cargo();
    cargo.args([
        "run",
        "--release",
        "--quiet",
        "--package",
        "plimsoll-causes",
        "--",
    ]);
    cargo.args(arguments);
    if !arguments
        .iter()
        .any(|it| matches!(&it[..], "--plimsoll" | "--make" | "--help"))
    {
        cargo.arg("--plimsoll").arg(binary::release()?);
    }
    process::succeed(&mut cargo)
}
