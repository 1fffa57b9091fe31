//! `cargo xtask truth`: studies that nobody chose, on both benches.

use anyhow::Result;

use crate::{binary, process};

/// What needs no kernel.
const WITHOUT_RUNS: [&str; 4] = ["--recorded", "--errors", "--text", "--small"];

/// `cargo xtask truth`. What is drawn, compared and shown is in `crates/lab/examples/truth`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut cargo = process::cargo();
    cargo.args(["run", "--release", "--quiet", "--package", "plimsoll-lab"]);
    cargo.args(["--example", "truth", "--"]).args(arguments);
    if !arguments
        .iter()
        .any(|it| WITHOUT_RUNS.contains(&it.as_str()))
    {
        cargo.arg("--plimsoll").arg(binary::release()?);
    }
    process::succeed(&mut cargo)
}
