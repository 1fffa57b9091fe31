//! `cargo xtask fuzz-evidence`: many damaged inputs of each kind of evidence.

use anyhow::{Context, Result, bail};

use crate::{process, tally};

/// Inputs of each kind where the arguments do not say.
const INPUTS: u64 = 100_000;

/// The test that runs them, with its own table.
const TEST: &str = "cmd::inspect::mutations::damaged_evidence_is_read_or_refused";

/// `cargo xtask fuzz-evidence [--inputs N] [--seconds S]`: S bounds the time of each kind.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut cargo = process::cargo();
    cargo.args(["test", "--package", "plimsoll"]);
    cargo.args(["--bin", "plimsoll", "--", "--exact", TEST, "--nocapture"]);
    cargo.env("PLIMSOLL_INPUTS", INPUTS.to_string());
    for pair in arguments.chunks(2) {
        let [option, value] = pair else {
            bail!("{} needs a number", pair[0]);
        };
        let variable = match option.as_str() {
            "--inputs" => "PLIMSOLL_INPUTS",
            "--seconds" => "PLIMSOLL_SECONDS",
            _ => bail!("fuzz-evidence takes --inputs N and --seconds S, found \"{option}\""),
        };
        let value: u64 = value
            .parse()
            .with_context(|| format!("{option} \"{value}\""))?;
        cargo.env(variable, value.to_string());
    }
    tally::pass(&mut cargo)
}
