//! File systems and files that the daemon was told to let go of: nothing there is locked until it
//! is told to keep them, or the mount is gone.

use std::collections::BTreeSet;

use guard::request::Place;

use crate::mounts::Mounts;

/// The places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Released(BTreeSet<Place>);

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
