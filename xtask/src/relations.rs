//! `cargo xtask relations [--seeds A..B] [RELATION...]`: pairs of drawn studies that must have the
//! same outcome, or outcomes in a known order; it fails where a relation holds in fewer than 99 of
//! 100.

use anyhow::{Result, bail};

use crate::process;

/// What is tried where nothing is said.
const SEEDS: &str = "0..100";

/// `cargo xtask relations`. What is drawn and compared is in `crates/lab/examples/relations`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (seeds, relations) = match arguments {
        [flag, seeds, rest @ ..] if flag == "--seeds" => (seeds.as_str(), rest),
        all => (SEEDS, all),
    };
    if let Some(unknown) = relations.iter().find(|word| word.starts_with('-')) {
        bail!("relations takes --seeds A..B and names of relations, not {unknown}");
    }
    let mut cargo = process::cargo();
    cargo.args(["run", "--release", "--quiet", "--package", "plimsoll-lab"]);
    cargo.args(["--example", "relations", "--", seeds]);
    process::succeed(cargo.args(relations))
}
