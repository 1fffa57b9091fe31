//! `cargo xtask loaders`: the models of boot-time loaders against the real programs, on many trees.

use std::process::Command;

use anyhow::Result;

use crate::{numbers, process, tally};

/// Trees for each loader and version where the arguments do not say.
const OPTIONS: [numbers::Numbered; 2] = [
    ("--trees", "PLIMSOLL_TREES", Some(5000)),
    ("--seed", "PLIMSOLL_SEED", None),
];

/// `cargo xtask loaders [--trees N] [--seed S]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut cargo = tests();
    numbers::hand_over(&mut cargo, &OPTIONS, arguments)?;
    tally::pass(&mut cargo)
}

/// The tests; the few trees that the check tries where nobody says how many.
pub(crate) fn tests() -> Command {
    let mut cargo = process::cargo();
    cargo.args(["test", "--workspace", "--test", "loaders"]);
    cargo.args(["--no-fail-fast", "--", "--nocapture"]);
    cargo
}
