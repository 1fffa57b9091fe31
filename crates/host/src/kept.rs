//! Files and folders that the guard's configuration names.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use mm::units::Bytes;
use rustix::fs::{Dir, FileType};

use crate::mounts::{Found, Local};
use crate::{Root, units};

/// Files that are named at most, so that the policies have room for those that are used.
pub const NAMED_MAX: usize = 512;
/// Entries that are looked at in their search.
const ENTRIES_MAX: usize = 16 << 10;

/// File systems on local disks, with their magic numbers in `statfs`. No tmpfs, network, FUSE or
/// overlay: their pages are no disk's, or another machine's, or another file's.
pub const ON_DISK: [(&str, i64); 7] = [
    ("ext4", 0xef53),
    ("ext3", 0xef53),
    ("ext2", 0xef53),
    ("xfs", 0x5846_5342),
    ("btrfs", 0x9123_683e),
    ("f2fs", 0xf2f5_2010),
    ("vfat", 0x4d44),
];

/// What the names stand for.
#[derive(Debug, Default)]
pub struct Kept {
    /// The regular files that are not empty, in order of the configuration and then of name.
    pub files: Vec<Found>,
    /// How large they are together.
    pub size: Bytes,
    /// There were more.
    pub is_cut: bool,
}

/// Where a search goes on: in a folder, at a name.
struct Waiting {
    folder: Found,
    name: OsString,
}

/// Finds the regular files behind the names: those in folders too, links not followed there, and
/// what a unit has mapped. What another program serves is passed over.
#[must_use]
pub fn find<'a>(names: impl IntoIterator<Item = &'a str>) -> Kept {
    let (mut kept, mut entries) = (Kept::default(), 0);
    let Ok(local) = Local::now() else {
        return kept;
    };
    for name in names {
        let first: Vec<Found> = match units::named(name) {
            Some(unit) => units::mapped_files(&Root::default(), unit, &local),
            // A link that the configuration names is meant.
            None => local.find(Path::new(name)).into_iter().collect(),
        };
        let mut waiting = Vec::new();
        for found in first {
            kept.take(found, &mut waiting);
            while let Some(Waiting { folder, name }) = waiting.pop() {
                entries += 1;
                if kept.files.len() >= NAMED_MAX || entries > ENTRIES_MAX {
                    kept.is_cut = true;
                    return kept;
                }
                if let Ok(found) = local.below(folder.fd(), &name) {
                    kept.take(found, &mut waiting);
                }
            }
        }
    }
    kept
}

impl Kept {
    /// Takes a file; what is in a folder waits, in order of name.
    fn take(&mut self, found: Found, waiting: &mut Vec<Waiting>) {
        match found.kind() {
            FileType::Directory => {
                let most = ENTRIES_MAX.saturating_sub(waiting.len());
                let mut names = names(&found, most).unwrap_or_default();
                self.is_cut |= names.len() == most;
                names.sort_unstable_by(|one, other| other.cmp(one));
                waiting.extend(names.into_iter().map(|name| Waiting {
                    folder: found.clone(),
                    name,
                }));
            }
            FileType::RegularFile if found.size() > 0 => {
                self.size = self.size.saturating_add(Bytes(found.size()));
                self.files.push(found);
            }
            _ => {}
        }
    }
}

fn names(folder: &Found, most: usize) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::new(folder.open()?)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        if names.len() == most {
            break;
        }
        names.push(OsStr::from_bytes(name).to_owned());
    }
    Ok(names)
}

/// Whether a path lies on a local disk; `None` where that cannot be said.
#[must_use]
pub fn is_on_disk(path: &Path) -> Option<bool> {
    let found = rustix::fs::statfs(path).ok()?;
    Some(ON_DISK.iter().any(|(_, magic)| *magic == found.f_type))
}

/// The number of the file system on which a path lies, as fanotify names it.
///
/// # Errors
/// What the system says.
pub fn file_system(path: &Path) -> std::io::Result<u64> {
    Ok(rustix::fs::statvfs(path)?.f_fsid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    fn paths(kept: &Kept) -> Vec<PathBuf> {
        let paths = kept.files.iter().map(|file| file.path().expect("a path"));
        paths.collect()
    }

    #[test]
    fn a_folder_stands_for_the_files_in_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        fs::create_dir(path("below")).expect("a folder");
        for name in ["b", "a", "below/c"] {
            fs::write(path(name), "text").expect("a file");
        }
        fs::write(path("empty"), "").expect("a file");
        std::os::unix::fs::symlink(path("a"), path("link")).expect("a link");
        let find = |path: &Path| super::find([path.to_str().expect("a name")]);
        let expected = ["a", "b", "below/c"].map(path);
        let folder = find(directory.path());
        assert_eq!(
            (paths(&folder), folder.size),
            (expected.to_vec(), Bytes(12))
        );
        assert_eq!(paths(&find(&path("link"))), expected[..1]);
        assert!(find(Path::new("/missing")).files.is_empty());
        assert_eq!(is_on_disk(Path::new("/proc")), Some(false));
    }

    #[test]
    fn a_huge_folder_is_cut() {
        let directory = tempfile::tempdir().expect("a directory");
        for number in 0..=NAMED_MAX {
            fs::write(directory.path().join(number.to_string()), "x").expect("a file");
        }
        let kept = find([directory.path().to_str().expect("a name")]);
        assert_eq!((kept.files.len(), kept.is_cut), (NAMED_MAX, true));
    }
}
