//! `cargo xtask score`: writes `records/score.toml`, the score that the model must keep.

use anyhow::{Result, bail};

use crate::process;

/// The test that compares is the writer, as with the documents that are made from the code.
const TEST: &str = "the_model_is_no_worse_than_its_committed_score";

/// `cargo xtask score`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("score takes no arguments, found \"{unknown}\"");
    }
    let mut cargo = process::cargo();
    cargo.args(["test", "--quiet", "--package", "plimsoll-lab"]);
    cargo.args(["--test", "fidelity", TEST]);
    process::succeed(cargo.env("UPDATE_EXPECT", "1"))
}
