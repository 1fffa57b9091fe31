//! `cargo xtask deny`: licences, duplicates and sources of the crates that Plimsoll is built from,
//! by cargo-deny, as `deny.toml` says.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::process;
use crate::tools::Tool;

const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
    features: &[],
};

/// `cargo xtask deny`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("deny takes no arguments, found \"{unknown}\"");
    }
    let mut deny = process::program(CARGO_DENY.installed()?);
    // It looks at all that the lock file has. A build fetches only what this machine needs of it.
    process::succeed(process::cargo().args(["fetch", "--locked", "--quiet"]))?;
    deny.args(["--offline", "check", "licenses", "bans", "sources"]);
    if advisories().is_some_and(|folder| folder.is_dir()) {
        deny.arg("advisories");
    }
    process::succeed(&mut deny)
}

/// Where the database of advisories lies once it was fetched.
fn advisories() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"));
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    Some(cargo.or_else(home)?.join("advisory-dbs"))
}
