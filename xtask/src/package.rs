//! `cargo xtask package`: the command and the guard in every form in which they are given out.
//!
//! What a package consists of stands once, in the manifest of the command
//! (`[package.metadata.deb]` of `crates/plimsoll/Cargo.toml`) and in `packaging/`. The Debian
//! package is made by cargo-deb, which writes systemd's scripts; those for rpm, apk and pacman by
//! nFPM; the archive and the image here. All are dated by the commit, so the same programs make the
//! same bytes.

mod date;
mod image;
mod list;
mod nfpm;
mod tarball;
mod tried;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::tools::Tool;
use crate::{binary, process, sbom, tree};

const CARGO_DEB: Tool = Tool {
    name: "cargo-deb",
    version: "3.8.0",
    features: &[],
};

/// `cargo xtask package [--test]`: prints where the packages lie.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let packages = match arguments {
        [] => all(&binary::both()?)?,
        [flag] if flag == "--test" => {
            let packages = all(&binary::both()?)?;
            tried::all(&packages)?;
            packages
        }
        _ => bail!("package takes --test or nothing"),
    };
    for package in packages {
        println!("{}", package.display());
    }
    Ok(())
}

/// Where the packages lie.
fn folder() -> PathBuf {
    tree::root().join("target/package")
}

/// Packages the command, which was built, and what lies beside it, in every form.
fn all(plimsoll: &Path) -> Result<Vec<PathBuf>> {
    let deb = make(plimsoll)?;
    let list = list::staged(plimsoll)?;
    let mut packages = vec![deb.clone(), deb.with_extension("cdx.json")];
    packages.extend(nfpm::make(&list)?);
    packages.push(tarball::make(&list, triple(plimsoll)?)?);
    packages.push(image::make(&list)?);
    packages.push(sums(&packages)?);
    Ok(packages)
}

/// Makes the Debian package, and beside it what it is built from, as a CycloneDX document
/// (`.cdx.json`).
pub(crate) fn make(plimsoll: &Path) -> Result<PathBuf> {
    complete(plimsoll)?;
    let mut deb = process::program(CARGO_DEB.installed()?);
    deb.args(["deb", "--no-build", "--strip", "--package", "plimsoll"]);
    deb.args(["--target", triple(plimsoll)?]);
    deb.arg("--output").arg(folder().join(""));
    deb.env("SOURCE_DATE_EPOCH", date::epoch()?.to_string());
    let output = deb.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| process::describe(&deb))?;
    if !output.status.success() {
        bail!("{}: {}", process::describe(&deb), output.status);
    }
    let package = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    sbom::write(&package.with_extension("cdx.json"), triple(plimsoll)?)?;
    Ok(package)
}

/// Writes `SHA256SUMS`, as `sha256sum --check` reads it.
fn sums(packages: &[PathBuf]) -> Result<PathBuf> {
    let mut text = String::new();
    for package in packages {
        let name = package.file_name().context("a package has a name")?;
        let sum = hex(&fs::read(package)?);
        writeln!(text, "{sum}  {}", name.to_string_lossy())?;
    }
    let path = folder().join("SHA256SUMS");
    fs::write(&path, text)?;
    Ok(path)
}

/// The SHA-256 of bytes, in hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    let digits = Sha256::digest(bytes);
    digits.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes the completions that the manifest names.
fn complete(plimsoll: &Path) -> Result<()> {
    let folder = folder().join("completions");
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

    #[test]
    fn a_sum_is_that_of_sha256sum() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hex(b""), empty);
    }
}
