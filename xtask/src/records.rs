//! `cargo xtask records`: proves the built-in studies on the VM bench and replaces `records/`.
//!
//! The runs take many minutes. They are kept in a folder that is named after the binary, so that
//! an interrupted call resumes and records of different binaries never meet; only when all are
//! there do they take the place of the committed ones.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{binary, process, tree};

/// The stock kernels that a proof must hold on.
const KERNELS: &[&str] = &["6.1", "6.12"];

/// `cargo xtask records`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("records takes no arguments, found \"{unknown}\"");
    }
    let plimsoll = binary::release()?;
    let fresh = unfinished(&plimsoll)?;
    for study in studies()? {
        for kernel in KERNELS {
            eprintln!("== {study} on {kernel}");
            prove(&plimsoll, &study, kernel, &fresh)?;
        }
    }
    replace(&fresh, &tree::root().join("records"))?;
    println!("records/ holds the proofs of this binary; look at `git diff --stat records`");
    Ok(())
}

/// Exit code 1 says that a prediction is off, which is for the reader of the report to judge.
fn prove(plimsoll: &Path, study: &str, kernel: &str, records: &Path) -> Result<()> {
    let mut prove = process::program(plimsoll);
    prove
        .args(["prove", study, "--kernel", kernel, "--records"])
        .arg(records);
    prove.args(["--out", "target"]);
    match prove.status()?.code() {
        Some(0 | 1) => Ok(()),
        _ => bail!(
            "{} failed; call it again, it resumes",
            process::describe(&prove)
        ),
    }
}

/// The names of the built-in studies, in order.
fn studies() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(tree::root().join("studies")).context("studies")? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            names.extend(
                path.file_stem()
                    .map(|stem| stem.to_string_lossy().into_owned()),
            );
        }
    }
    names.sort();
    Ok(names)
}

/// Where this binary's records grow.
fn unfinished(plimsoll: &Path) -> Result<PathBuf> {
    let output = process::program("sha256sum").arg(plimsoll).output();
    let output = output.context("sha256sum")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let hash = text.get(..16).context("sha256sum says nothing")?;
    Ok(tree::root().join("target/records").join(hash))
}

/// Puts `fresh` in the place of `old`.
fn replace(fresh: &Path, old: &Path) -> Result<()> {
    if old.exists() {
        fs::remove_dir_all(old).with_context(|| old.display().to_string())?;
    }
    fs::rename(fresh, old).with_context(|| old.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_studies_are_found_by_their_files() {
        assert!(studies().unwrap().contains(&"min-free-kbytes".to_owned()));
    }
}
