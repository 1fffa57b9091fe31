//! The command itself, built for use.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::against::{Program, State};
use crate::process;

/// Builds `plimsoll` in release and says where it lies.
pub(crate) fn release() -> Result<PathBuf> {
    State::now().build(Program::Plimsoll)
}

/// Builds what is packaged and says where the command lies; the guard's daemon lies beside it.
pub(crate) fn both() -> Result<PathBuf> {
    let mut cargo = process::cargo();
    cargo.args(["build", "--release", "--bins"]);
    cargo.args(["--package", "plimsoll", "--package", "plimsoll-guard"]);
    Ok(built(&mut cargo)?.with_file_name("plimsoll"))
}

/// Runs a `cargo build` of one program and says where that lies.
pub(crate) fn built(cargo: &mut Command) -> Result<PathBuf> {
    cargo
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit());
    let output = cargo.output().with_context(|| process::describe(cargo))?;
    if !output.status.success() {
        bail!("{}: {}", process::describe(cargo), output.status);
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    executable(&messages).context("cargo names no executable")
}

/// The executable in cargo's messages, which are one JSON object a line.
fn executable(messages: &str) -> Option<PathBuf> {
    let path = messages.rsplit_once("\"executable\":\"")?.1;
    path.split('"').next().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_the_last_that_cargo_names() {
        let messages = "{\"executable\":null}\n{\"executable\":\"/a/plimsoll\",\"fresh\":true}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("/a/plimsoll")));
        assert_eq!(executable("{\"executable\":null}"), None);
    }
}
