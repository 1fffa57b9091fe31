//! `cargo xtask package`: the command and the guard in every form in which they are given out.
//!
//! What a package consists of stands once, in the manifest of the command
//! (`[package.metadata.deb]` of `crates/plimsoll/Cargo.toml`) and in `packaging/`. The Debian
//! package is made by cargo-deb, which writes systemd's scripts; those for rpm, apk and pacman by
//! nFPM; the archive and the image here. All are dated by the commit, so the same programs make the
//! same bytes. The page in a browser is in all but the image: it is built for it, or given.

mod date;
mod image;
mod list;
mod nfpm;
mod place;
mod tarball;
mod tried;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use self::place::{Place, folder, hex};
use crate::tools::Tool;
use crate::{binary, page, process, sbom};

const CARGO_DEB: Tool = Tool {
    name: "cargo-deb",
    version: "3.8.0",
    features: &[],
};

/// `cargo xtask package [--test] [--page FILE]`: prints where the packages lie.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (is_test, page) = match arguments[..] {
        [] => (false, page::make()?),
        ["--test"] => (true, page::make()?),
        ["--page", page] => (false, PathBuf::from(page)),
        ["--test", "--page", page] => (true, PathBuf::from(page)),
        _ => bail!("package takes --test and --page FILE, in this order, or nothing"),
    };
    fs::copy(&page, folder_made()?.join("plimsoll.html"))
        .with_context(|| format!("{}: no page to package", page.display()))?;
    let plimsoll = binary::both()?;
    let packages = match is_test {
        false => all(&plimsoll, &Place::usual())?,
        true => test(&plimsoll)?,
    };
    for package in packages {
        println!("{}", package.display());
    }
    Ok(())
}

/// Makes the packages twice, which must be the same bytes, and installs, upgrades and removes them.
fn test(plimsoll: &Path) -> Result<Vec<PathBuf>> {
    let packages = all(plimsoll, &Place::usual())?;
    let again = all(plimsoll, &Place::of("again", "1")?)?;
    let sums = |packages: &[PathBuf]| fs::read_to_string(&packages[packages.len() - 1]);
    if sums(&packages)? != sums(&again)? {
        bail!("made twice, the packages differ: see SHA256SUMS in target/package and below again");
    }
    tried::all(&packages, &all(plimsoll, &Place::of("next", "2")?)?)?;
    Ok(packages)
}

/// Packages the command, which was built, and what lies beside it, in every form; the sums last.
fn all(plimsoll: &Path, place: &Place) -> Result<Vec<PathBuf>> {
    let deb = debian(plimsoll, place, &["--variant", list::WITH_PAGE])?;
    let list = list::staged(plimsoll, place)?;
    let mut packages = vec![deb.clone(), deb.with_extension("cdx.json")];
    packages.extend(nfpm::make(&list, place)?);
    packages.push(tarball::make(&list, triple(plimsoll)?, place)?);
    packages.push(image::make(&list, place)?);
    packages.push(sums(&packages, place)?);
    Ok(packages)
}

/// Makes the Debian package for the tests on a Debian, where it usually lies: without the page,
/// whose compiler takes minutes and which none of them opens.
pub(crate) fn make(plimsoll: &Path) -> Result<PathBuf> {
    debian(plimsoll, &Place::usual(), &[])
}

/// Makes the Debian package, and beside it what it is built from, as a CycloneDX document
/// (`.cdx.json`).
fn debian(plimsoll: &Path, place: &Place, variant: &[&str]) -> Result<PathBuf> {
    complete(plimsoll)?;
    let mut deb = process::program(CARGO_DEB.installed()?);
    deb.args(["deb", "--no-build", "--strip", "--package", "plimsoll"]);
    deb.args(["--target", triple(plimsoll)?]);
    deb.args(["--deb-revision", place.revision]);
    deb.args(variant);
    deb.arg("--output").arg(place.folder.join(""));
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
fn sums(packages: &[PathBuf], place: &Place) -> Result<PathBuf> {
    let mut text = String::new();
    for package in packages {
        let name = package.file_name().context("a package has a name")?;
        let sum = hex(&fs::read(package)?);
        writeln!(text, "{sum}  {}", name.to_string_lossy())?;
    }
    let path = place.folder.join("SHA256SUMS");
    fs::write(&path, text)?;
    Ok(path)
}

/// Writes the completions that the manifest names.
fn complete(plimsoll: &Path) -> Result<()> {
    let folder = folder_made()?.join("completions");
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

fn folder_made() -> Result<PathBuf> {
    let folder = folder();
    fs::create_dir_all(&folder)?;
    Ok(folder)
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
