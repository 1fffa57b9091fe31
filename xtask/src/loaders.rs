//! `cargo xtask loaders`: the models of boot-time loaders against the real programs, on many trees.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// Trees for each loader and version where the arguments do not say.
const TREES: u64 = 5000;

/// `cargo xtask loaders [--trees N] [--seed S]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut cargo = tests();
    cargo.env("PLIMSOLL_TREES", TREES.to_string());
    for pair in arguments.chunks(2) {
        let [option, value] = pair else {
            bail!("{} needs a number", pair[0]);
        };
        let variable = match option.as_str() {
            "--trees" => "PLIMSOLL_TREES",
            "--seed" => "PLIMSOLL_SEED",
            _ => bail!("loaders takes --trees N and --seed S, found \"{option}\""),
        };
        let value: u64 = value
            .parse()
            .with_context(|| format!("{option} \"{value}\""))?;
        cargo.env(variable, value.to_string());
    }
    process::succeed(&mut cargo)
}

/// The tests; the few trees that the check tries where nobody says how many.
pub(crate) fn tests() -> Command {
    let mut cargo = process::cargo();
    cargo.args(["test", "--package", "plimsoll-lab", "--test", "loaders"]);
    cargo.args(["--no-fail-fast", "--", "--nocapture"]);
    cargo
}
