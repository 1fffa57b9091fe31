//! `cargo xtask package`: the Debian package, which cargo-deb makes.
//!
//! Beside it lies what it is built from, as a CycloneDX document (`.cdx.json`).
//! What it consists of stands in the manifest of the command, `crates/plimsoll/Cargo.toml`, and
//! in `packaging/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::tools::Tool;
use crate::{binary, process, sbom, tree};

const CARGO_DEB: Tool = Tool {
    name: "cargo-deb",
    version: "3.8.0",
};

/// `cargo xtask package`: prints where the package lies.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("package takes no arguments, found \"{unknown}\"");
    }
    println!("{}", make(&binary::both()?)?.display());
    Ok(())
}

/// Packages the command, which was built, and what lies beside it.
pub(crate) fn make(plimsoll: &Path) -> Result<PathBuf> {
    complete(plimsoll)?;
    let mut deb = process::program(CARGO_DEB.installed()?);
    deb.args(["deb", "--no-build", "--strip", "--package", "plimsoll"]);
    deb.args(["--target", triple(plimsoll)?]);
    deb.arg("--output")
        .arg(tree::root().join("target/package/"));
    let output = deb.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| process::describe(&deb))?;
    if !output.status.success() {
        bail!("{}: {}", process::describe(&deb), output.status);
    }
    let package = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    sbom::write(&package.with_extension("cdx.json"), triple(plimsoll)?)?;
    Ok(package)
}

/// Writes the completions that the manifest names.
fn complete(plimsoll: &Path) -> Result<()> {
    let folder = tree::root().join("target/package/completions");
    fs::create_dir_all(&folder)?;
    for (shell, name) in [
        ("bash", "plimsoll.bash"),
        ("zsh", "_plimsoll"),
        ("fish", "plimsoll.fish"),
    ] {
        let mut command = process::program(plimsoll);
        command.args(["completions", shell]);
        let output = command.output();
        let output = output.with_context(|| process::describe(&command))?;
        if !output.status.success() {
            bail!("{}: {}", process::describe(&command), output.status);
        }
        fs::write(folder.join(name), output.stdout)?;
    }
    Ok(())
}

/// Cargo-deb looks where cargo built for a target that is named: `target/TRIPLE/release`.
fn triple(plimsoll: &Path) -> Result<&str> {
    let triple = plimsoll.ancestors().nth(2).and_then(Path::file_name);
    let triple = triple.and_then(|name| name.to_str());
    triple.with_context(|| format!("{} lies in no target", plimsoll.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_that_for_which_the_command_was_built() {
        let built = Path::new("/a/target/x86_64-unknown-linux-gnu/release/plimsoll");
        assert_eq!(triple(built).unwrap(), "x86_64-unknown-linux-gnu");
        assert!(triple(Path::new("plimsoll")).is_err());
    }
}
