//! Files and folders that the configuration names: they come before all others.

use std::fs;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::sys::{self, Key};

/// Files that are named at most, so that the policies have room for those that are used.
pub(crate) const NAMED_MAX: usize = 512;
/// Entries that are looked at in their search.
const ENTRIES_MAX: usize = 16 << 10;

/// What the names stand for.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// The files, in order of the configuration and then of name.
    pub(crate) keys: Vec<Key>,
    /// There were more.
    pub(crate) is_cut: bool,
}

/// Finds the regular files behind the names: those in folders too, links not followed there.
pub(crate) fn find(paths: &[String]) -> Named {
    let mut named = Named::default();
    let mut entries = 0;
    for path in paths {
        let mut waiting = vec![PathBuf::from(path)];
        // A link that the configuration names is meant.
        if let (Some(first), Ok(real)) = (waiting.first_mut(), fs::canonicalize(path)) {
            *first = real;
        }
        while let Some(path) = waiting.pop() {
            entries += 1;
            if named.keys.len() >= NAMED_MAX || entries > ENTRIES_MAX {
                named.is_cut = true;
                return named;
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
                named.keys.extend(key(&path));
            }
        }
    }
    named
}

fn key(path: &Path) -> Option<Key> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    sys::key_of(file.as_fd()).ok()
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
        let find = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            super::find(&names).keys
        };
        let folder = directory.path().to_str().expect("a name");
        let expected = ["a", "b", "below/c"].map(|name| key(&path(name)).expect("a key"));
        assert_eq!(find(&[folder]), expected);
        let link = path("link");
        assert_eq!(find(&[link.to_str().expect("a name")]), expected[..1]);
        assert_eq!(find(&["/missing"]), []);
    }
}
