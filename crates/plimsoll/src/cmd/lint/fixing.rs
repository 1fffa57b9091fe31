//! `plimsoll lint --fix`: changes that are certain to be right, written into the files; what was
//! there is kept beside them, and `--fix --undo` puts it back.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::lint::Report;
use crate::lint::fix::{Fix, fixed};

/// What the name of a kept file ends with. No loader reads such a name.
const KEPT: &str = ".plimsoll-old";

/// The changes of one file.
struct Change {
    path: PathBuf,
    old: String,
    new: String,
    /// Line by line, as `diff -U0` has it.
    diff: String,
}

/// What the findings' fixes make of the files, as a diff; writes it where `write` says so. Empty
/// where there is nothing to change.
///
/// # Errors
/// A file that cannot be read or written, or whose copy of an earlier time is still there.
pub(super) fn fix(report: &Report, write: bool, kept: &mut Vec<PathBuf>) -> anyhow::Result<String> {
    let changes = changes(report)?;
    if write {
        let earlier = changes.iter().map(|change| copy_of(&change.path));
        let mut earlier = earlier.filter(|copy| copy.exists() && !kept.contains(copy));
        if let Some(copy) = earlier.next() {
            let copy = copy.display();
            bail!("{copy} is there from an earlier --fix: take it back with --undo, or remove it");
        }
        for change in &changes {
            let copy = copy_of(&change.path);
            if !kept.contains(&copy) {
                replace(&change.path, &copy, &change.old)
                    .with_context(|| format!("{}: cannot be kept", change.path.display()))?;
                kept.push(copy);
            }
            replace(&change.path, &change.path, &change.new)
                .with_context(|| format!("{}: cannot be written", change.path.display()))?;
        }
    }
    Ok(changes.iter().map(|change| change.diff.as_str()).collect())
}

/// Puts back what `--fix` kept of these files; says which.
///
/// # Errors
/// A file that cannot be put back.
pub(super) fn undo(paths: impl Iterator<Item = PathBuf>) -> anyhow::Result<Vec<PathBuf>> {
    let whole = paths.filter_map(|path| fs::canonicalize(path).ok());
    let kept = whole.filter(|path| copy_of(path).is_file());
    let mut back = Vec::new();
    for path in kept {
        let put = fs::rename(copy_of(&path), &path).and_then(|()| settle(&path));
        put.with_context(|| format!("{}: cannot be put back", path.display()))?;
        back.push(path);
    }
    Ok(back)
}

fn changes(report: &Report) -> anyhow::Result<Vec<Change>> {
    let mut by_path: BTreeMap<&str, Vec<&Fix>> = BTreeMap::new();
    for finding in &report.findings {
        let Some(fix) = &finding.fix else { continue };
        let of_file = by_path.entry(&finding.path).or_default();
        if of_file.iter().all(|other| other.line() != fix.line()) {
            of_file.push(fix);
        }
    }
    let on_disk = by_path.into_iter().filter(|(path, _)| may_change(path));
    let changes = on_disk.map(|(path, fixes)| Change::of(path, &fixes));
    changes
        .filter(|change| {
            change
                .as_ref()
                .map_or(true, |change| change.old != change.new)
        })
        .collect()
}

/// Whether a path is a file that is ours to change: what a package brings is not.
fn may_change(path: &str) -> bool {
    let of_package = path.contains("usr/lib/") || path.starts_with("/lib/");
    Path::new(path).is_file() && !of_package
}

impl Change {
    fn of(path: &str, fixes: &[&Fix]) -> anyhow::Result<Self> {
        let old = fs::read_to_string(path).with_context(|| path.to_owned())?;
        let new = fixed(&old, fixes);
        let mut diff = format!("--- {path}\n+++ {path}\n");
        for fix in fixes {
            let line = fix.line();
            let was = old.lines().nth(line - 1).unwrap_or_default();
            diff.push_str(&format!("@@ -{line} @@\n-{was}\n"));
            if let Some(with) = fix.with() {
                with.lines()
                    .for_each(|line| diff.push_str(&format!("+{line}\n")));
            }
        }
        let path = fs::canonicalize(path).with_context(|| path.to_owned())?;
        Ok(Self {
            path,
            old,
            new,
            diff,
        })
    }
}

fn copy_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(KEPT);
    name.into()
}

/// Writes a text to `target`, whole or not at all, with the owner and mode of `like`.
fn replace(like: &Path, target: &Path, text: &str) -> io::Result<()> {
    let (folder, of_like) = (
        target.parent().unwrap_or(Path::new(".")),
        fs::metadata(like)?,
    );
    let mut file = tempfile::Builder::new()
        .prefix(".plimsoll-")
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    fs::set_permissions(file.path(), of_like.permissions())?;
    let own = file.as_file().metadata()?;
    if (own.uid(), own.gid()) != (of_like.uid(), of_like.gid()) {
        chown(file.path(), Some(of_like.uid()), Some(of_like.gid()))?;
    }
    file.as_file().sync_all()?;
    file.persist(target)?;
    settle(target)
}

/// Makes the name of a file outlive a power cut.
fn settle(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}
