//! A folder and all below it: a tree of `/proc` and `/sys`, a sosreport, a folder of captures.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use evidence::path;
use files::{Folder, Found, Kind};
use rustix::fs::FsWord;
use unpack::{Intake, tree_of};

use super::EvidenceError;

/// Entries that are looked at.
const MOST: usize = 200_000;

/// File systems that the kernel makes, by their magic number (`statfs(2)`).
const LIVE: [(FsWord, &str); 6] = [
    (0x9fa0, "/proc"),
    (0x6265_6572, "/sys"),
    (0x6367_7270, "control groups"),
    (0x0027_e0eb, "control groups"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
];

/// Reads a folder. `full` is its path from the root, by which its files are called.
///
/// # Errors
/// It is a live one, or cannot be listed.
pub(super) fn read(intake: &mut Intake, top: &Folder, full: &Path) -> Result<(), EvidenceError> {
    if let Some(what) = is_live(top) {
        return Err(EvidenceError::Live(what));
    }
    top.names(0)?;
    let mut walk = vec![PathBuf::new()];
    let mut looked = 0;
    while let Some(below) = walk.pop() {
        let Some(folder) = next(intake, top, &below) else {
            continue;
        };
        let names = folder.names(MOST - looked).unwrap_or_default();
        looked += names.len();
        let (folders, files) = sorted(names);
        // A stack gives back the last first.
        walk.extend(folders.into_iter().rev().map(|name| below.join(name)));
        for name in files {
            if let Ok(found) = folder.entry(&name) {
                file(intake, &found, &full.join(&below).join(name), full)?;
            }
        }
        if looked >= MOST {
            let why = format!("more than {MOST} files; the rest was not looked at");
            intake.pass(&full.to_string_lossy(), why);
            break;
        }
    }
    Ok(())
}

/// A folder to be looked at: not a live one, nor one that the system refuses.
fn next(intake: &mut Intake, top: &Folder, below: &Path) -> Option<Folder> {
    let folder = top.folder(below);
    if let Err(error) = &folder
        && error.raw_os_error() == Some(rustix::io::Errno::NAMETOOLONG.raw_os_error())
    {
        intake.pass(
            "",
            "folders too deep below one another are not looked at".to_owned(),
        );
    }
    folder.ok().filter(|folder| is_live(folder).is_none())
}

/// The folders and the files among names. Links, pipes and devices are left out.
fn sorted(names: Vec<(OsString, Kind)>) -> (Vec<OsString>, Vec<OsString>) {
    let of = |wanted: Kind| {
        let names = names.iter().filter(move |(_, kind)| *kind == wanted);
        names.map(|(name, _)| name.clone()).collect()
    };
    (of(Kind::Folder), of(Kind::Regular))
}

fn file(intake: &mut Intake, found: &Found, name: &Path, root: &Path) -> Result<(), EvidenceError> {
    let name = name.to_string_lossy();
    let root = root.to_string_lossy();
    let tree = tree_of(&name);
    let tree = tree
        .strip_prefix(root.trim_matches('/'))
        .unwrap_or_default();
    match found.open() {
        Ok(reader) => Ok(intake.among(reader, &name, tree.trim_matches('/'), found.size())?),
        Err(error) => {
            if path::known(&name).is_some() {
                intake.pass(&name, format!("cannot be read: {error}"));
            }
            Ok(())
        }
    }
}

/// The file system of the kernel that a folder lies on.
fn is_live(folder: &Folder) -> Option<&'static str> {
    live(rustix::fs::fstatfs(folder.fd()).ok()?.f_type)
}

/// The file system of the kernel with this number.
pub(super) fn live(kind: FsWord) -> Option<&'static str> {
    let live = LIVE.iter().find(|(magic, _)| *magic == kind);
    live.map(|(_, what)| *what)
}
