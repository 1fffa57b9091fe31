//! File systems and files that the daemon was told to let go of: nothing there is locked until it
//! is told to keep them, or the mount is gone.

use std::collections::BTreeSet;

use crate::mounts::Mounts;

/// What is meant: a file system by its number, or one file of it by its inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) fsid: u64,
    pub(crate) inode: Option<u64>,
}

/// The places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Released(BTreeSet<Place>);

impl Place {
    /// `00ab` or `00ab/12`, the file system in hexadecimal.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (fsid, inode) = match text.split_once('/') {
            Some((fsid, inode)) => (fsid, Some(inode.parse().ok()?)),
            None => (text, None),
        };
        let fsid = u64::from_str_radix(fsid, 16).ok()?;
        Some(Self { fsid, inode })
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.inode {
            Some(inode) => write!(to, "{:016x}/{inode}", self.fsid),
            None => write!(to, "{:016x}", self.fsid),
        }
    }
}

impl Released {
    pub(crate) fn add(&mut self, place: Place) {
        self.0.insert(place);
    }

    /// Takes a place back; with a file system, all files of it.
    pub(crate) fn remove(&mut self, place: Place) {
        self.0.retain(|released| match place.inode {
            Some(_) => *released != place,
            None => released.fsid != place.fsid,
        });
    }

    /// Forgets those that are not mounted any more.
    pub(crate) fn follow(&mut self, mounts: &Mounts) {
        self.0.retain(|place| mounts.has(place.fsid));
    }

    /// Whether a whole file system is released, or with an inode number this file.
    pub(crate) fn has(&self, fsid: u64, inode: Option<u64>) -> bool {
        self.0.contains(&Place { fsid, inode })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Place> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_as_events_name_files() {
        for text in ["00000000000000ab", "00000000000000ab/12"] {
            let place = Place::parse(text).expect("a place");
            assert_eq!(place.to_string(), text);
        }
        for text in [
            "",
            "/12",
            "x",
            "ab/",
            "ab/-1",
            "ab/1/2",
            "10000000000000000",
        ] {
            assert_eq!(Place::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_file_system_that_is_kept_again_is_kept_whole() {
        let mut released = Released::default();
        let place = |inode| Place { fsid: 7, inode };
        for inode in [None, Some(1), Some(2)] {
            released.add(place(inode));
        }
        released.remove(place(Some(1)));
        let has = [None, Some(1), Some(2)].map(|inode| released.has(7, inode));
        assert_eq!(has, [true, false, true]);
        released.remove(place(None));
        assert_eq!(released, Released::default());
    }
}
