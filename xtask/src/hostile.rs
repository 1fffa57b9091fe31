//! `cargo xtask hostile`: a hostile user, repository, image and disk against the programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{binary, process, tally};

/// `cargo xtask hostile [--binary DIR] [ATTACK...]`: those whose names contain one of the words,
/// against the programs in a folder, or those of this tree.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (plimsoll, names) = match arguments {
        [flag, folder, names @ ..] if flag == "--binary" => (given(folder)?, names),
        names => (binary::both()?, names),
    };
    tally::pass(tests(&plimsoll).args(names))
}

/// The command in a folder, beside which the daemon lies.
fn given(folder: &str) -> Result<PathBuf> {
    let lies = |name: &str| {
        let path = Path::new(folder).join(name);
        let found = path.canonicalize();
        found.with_context(|| path.display().to_string())
    };
    lies("plimsoll-guard")?;
    lies("plimsoll")
}

/// The attacks on a command and the daemon beside it.
pub(crate) fn tests(plimsoll: &Path) -> Command {
    let mut cargo = process::cargo();
    cargo.args(["test", "--quiet", "--package", "plimsoll"]);
    cargo.args(["--test", "hostile", "--"]);
    cargo.env("PLIMSOLL_BINARY", plimsoll);
    cargo
}
