//! `cargo xtask score`: compares the model with the committed records, and writes
//! `records/score.toml`, the score that it must keep.

use anyhow::{Result, bail};

use crate::{process, tally};

/// The test that compares is the writer, as with the documents that are made from the code.
const TEST: &str = "the_model_is_no_worse_than_its_committed_score";

/// `cargo xtask score [--even-so]`: a score that is worse is written only with it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let update = match arguments {
        [] => "1",
        [flag] if flag == "--even-so" => "even so",
        _ => bail!("score takes --even-so or nothing"),
    };
    let mut cargo = process::cargo();
    cargo.args(["test", "--quiet", "--package", "plimsoll-lab"]);
    cargo.args(["--test", "fidelity", "--", "--exact", TEST, "--nocapture"]);
    tally::pass(cargo.env("UPDATE_EXPECT", update))
}
