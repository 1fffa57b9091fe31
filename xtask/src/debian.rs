//! `cargo xtask debian`: what is tested on a Debian with a real systemd, at length.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// An option, what the tests read, and the number where the arguments do not say.
const OPTIONS: [(&str, &str, u64); 4] = [
    ("--trees", "PLIMSOLL_TREES", 10),
    ("--cuts", "PLIMSOLL_CUTS", 100),
    ("--batch", "PLIMSOLL_BATCH", 1),
    ("--seed", "PLIMSOLL_SEED", 0),
];

/// `cargo xtask debian [--trees N] [--cuts N] [--batch N] [--seed S]`: N trees a release.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut cargo = tests();
    cargo.env("PLIMSOLL_VM", "required");
    for (_, variable, number) in OPTIONS {
        cargo.env(variable, number.to_string());
    }
    for pair in arguments.chunks(2) {
        let [option, value] = pair else {
            bail!("{} needs a number", pair[0]);
        };
        let Some((_, variable, _)) = OPTIONS.iter().find(|(name, ..)| name == option) else {
            bail!("debian takes --trees, --cuts, --batch and --seed, found \"{option}\"");
        };
        let value: u64 = value
            .parse()
            .with_context(|| format!("{option} \"{value}\""))?;
        cargo.env(variable, value.to_string());
    }
    process::succeed(&mut cargo)
}

/// The tests; the few of each that the check runs where nobody says how many. Two machines at a
/// time: each has one CPU, and none measures the host's time.
pub(crate) fn tests() -> Command {
    let mut cargo = process::cargo();
    cargo.args(["test", "--package", "plimsoll-lab", "--test", "debian"]);
    cargo.args(["--no-fail-fast", "--", "--nocapture", "--test-threads=2"]);
    cargo
}
