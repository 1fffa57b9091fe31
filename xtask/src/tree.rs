//! The files of the checkout, as text.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Directories that hold no source of ours.
const SKIPPED: &[&str] = &["target", ".git", "corpus", "artifacts", "node_modules"];

/// A text file of the checkout.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Path from the root, with forward slashes.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

impl Source {
    /// Whether it is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether it is a document for people.
    pub(crate) fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }
}

impl Source {
    /// The first line (from 0) of the tests, which stand at the end; 0 where the whole file is for
    /// tests.
    pub(crate) fn tests_begin(&self) -> usize {
        // A build script talks to cargo by printing.
        let beside = [
            "/tests/",
            "/benches/",
            "/examples/",
            "crates/testkit/",
            "fuzz/",
            "/build.rs",
        ];
        let named = self.path.ends_with("/tests.rs") || self.path.ends_with("_tests.rs");
        if named || beside.iter().any(|part| self.path.contains(part)) {
            return 0;
        }
        let begins = |line: &str| line == "#[cfg(test)]" || line == "#![cfg(test)]";
        self.text.lines().position(begins).unwrap_or(usize::MAX)
    }
}

/// The root of the checkout.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Every UTF-8 file of the checkout with one of the extensions, in order of path.
pub(crate) fn sources(extensions: &[&str]) -> Result<Vec<Source>> {
    let mut paths = Vec::new();
    walk(root(), &mut paths)?;
    paths.sort();
    let wanted = |path: &&PathBuf| {
        let extension = path.extension().and_then(|e| e.to_str());
        extension.is_some_and(|e| extensions.contains(&e))
    };
    paths.iter().filter(wanted).map(|path| read(path)).collect()
}

fn walk(directory: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            if !SKIPPED.iter().any(|skipped| name == *skipped) {
                walk(&entry.path(), paths)?;
            }
        } else {
            paths.push(entry.path());
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Source> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let relative = path.strip_prefix(root()).unwrap_or(path);
    Ok(Source {
        path: relative.to_string_lossy().into_owned(),
        text,
    })
}
