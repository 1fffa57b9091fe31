//! Files and folders that the guard's configuration names.

use std::fs;
use std::path::{Path, PathBuf};

use mm::units::Bytes;

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The regular files that are not empty, in order of the configuration and then of name.
    pub files: Vec<PathBuf>,
    /// How large they are together.
    pub size: Bytes,
    /// There were more.
    pub is_cut: bool,
}

/// Finds the regular files behind the names: those in folders too, links not followed there, and
/// what a unit has mapped.
#[must_use]
pub fn find<'a>(names: impl IntoIterator<Item = &'a str>) -> Kept {
    let mut kept = Kept::default();
    let mut entries = 0;
    for name in names {
        let mut waiting = match units::named(name) {
            Some(unit) => units::mapped_files(&Root::default(), unit),
            // A link that the configuration names is meant.
            None => vec![fs::canonicalize(name).unwrap_or_else(|_| PathBuf::from(name))],
        };
        while let Some(path) = waiting.pop() {
            entries += 1;
            if kept.files.len() >= NAMED_MAX || entries > ENTRIES_MAX {
                kept.is_cut = true;
                return kept;
            }
            let Ok(metadata) = fs::symlink_metadata(&path) else {
                continue;
            };
            if metadata.is_dir() {
                let inside = fs::read_dir(&path).into_iter().flatten();
                let mut inside: Vec<PathBuf> = inside
                    .filter_map(|entry| Some(entry.ok()?.path()))
                    .collect();
                inside.sort_unstable_by(|one, other| other.cmp(one));
                waiting.append(&mut inside);
            } else if metadata.is_file() && metadata.len() > 0 {
                kept.size = kept.size.saturating_add(Bytes(metadata.len()));
                kept.files.push(path);
            }
        }
    }
    kept
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
        assert_eq!((folder.files, folder.size), (expected.to_vec(), Bytes(12)));
        assert_eq!(find(&path("link")).files, expected[..1]);
        assert_eq!(find(Path::new("/missing")), Kept::default());
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
