//! Files that are locked in memory.
//!
//! A lock is a mapping that is never looked into: the kernel is asked to map what is resident, so a
//! file that is cut short costs an error and no SIGBUS. The file's descriptor is kept, because a
//! mapping alone does not tell that the file was deleted, and keeps its blocks.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

use guard::{File, Held};
use mm::formula::mul_div;
use mm::units::Bytes;

use crate::map::Map;
use crate::released::Place;
use crate::sys;

/// Pages that are asked after at once: 64 MiB of base pages.
const PAGES_AT_ONCE: usize = 16 << 10;
/// A file that is longer than the first is looked at in a part of each piece: to ask after every
/// page of a gigabyte takes the kernel tens of milliseconds.
const LONG: usize = 64 << 20;
const PIECE: usize = 16 << 20;
const PART: usize = 1 << 20;
/// Locked files that are looked at in a second.
const FILES_AT_ONCE: usize = 64;
/// What is read in by one request.
const READ_AT_ONCE: usize = 1 << 20;

/// The locks, in no order.
#[derive(Debug)]
pub(crate) struct Locks {
    held: Vec<Lock>,
    /// Files whose lock failed or was released since [`Locks::held`] was last asked.
    failed: Vec<File>,
    /// What `mincore` says.
    pages: Vec<u8>,
    /// The lock whose file was looked at last, and the one whose pages were counted last.
    looked_at: usize,
    counted: usize,
    /// Whether the kernel has `MADV_POPULATE_READ` (5.14).
    populates: bool,
}

/// A locked file.
#[derive(Debug)]
struct Lock {
    file: File,
    fsid: u64,
    inode: u64,
    length: Bytes,
    /// Bytes of it that are in memory, when it was last counted.
    locked: Bytes,
    /// What of it was mapped, and so locked, last.
    mapped: Bytes,
    is_stale: bool,
    map: Map,
    fd: fs::File,
}

/// A file, looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// What of it is in memory.
    pub(crate) resident: Bytes,
    /// The inode number of the group to which its first page is charged.
    pub(crate) group: Option<u64>,
}

/// What a lock did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Locked {
    /// The file's inode number.
    pub(crate) inode: u64,
    /// Locked before.
    pub(crate) before: Bytes,
    /// Locked now.
    pub(crate) now: Bytes,
    /// Whether there was no lock before.
    pub(crate) is_new: bool,
}

impl Locks {
    pub(crate) fn new() -> Self {
        Self {
            held: Vec::with_capacity(1024),
            failed: Vec::new(),
            pages: vec![0; PAGES_AT_ONCE],
            looked_at: 0,
            counted: 0,
            populates: true,
        }
    }

    /// What is in memory of a file's beginning; 0 where it cannot be said. `charged` says to which
    /// group the page at an address is charged.
    pub(crate) fn look(
        &mut self,
        file: &fs::File,
        length: Bytes,
        charged: impl FnOnce(usize) -> Option<u64>,
    ) -> Seen {
        let seen = Map::new(file, length).and_then(|map| {
            let (resident, first) = self.estimate(&map)?;
            let page = rustix::param::page_size();
            let group = first.and_then(|start| {
                map.populate(file, start, page, &mut self.populates).ok()?;
                charged(map.address(start))
            });
            Ok(Seen { resident, group })
        });
        seen.unwrap_or_default()
    }

    /// What is in memory of a mapping, by a look at a part of each piece where it is long, and
    /// where the first page of that is.
    fn estimate(&mut self, map: &Map) -> io::Result<(Bytes, Option<usize>)> {
        let page = rustix::param::page_size();
        let part = if map.length > LONG { PART } else { PIECE };
        let (mut resident, mut looked_at, mut first) = (0, 0, None);
        for start in (0..map.length).step_by(PIECE) {
            let length = part.min(map.length - start);
            let pages = map.resident(start, length, &mut self.pages)?;
            let is_resident = |byte: &&u8| **byte & 1 == 1;
            let found = pages.iter().filter(is_resident).count();
            let is_last = pages.last().is_some_and(|byte| byte & 1 == 1);
            let missing = pages.len() * page - length;
            resident += found * page - if is_last { missing } else { 0 };
            looked_at += length;
            let place = pages.iter().position(|byte| byte & 1 == 1);
            first = first.or(place.map(|place| start + place * page));
        }
        let whole = map.length as u64;
        let resident = mul_div(resident as u64, whole, looked_at.max(1) as u64);
        Ok((Bytes(resident), first))
    }

    /// What is locked, and which locks failed or were released since this was last asked: these
    /// come as stale.
    pub(crate) fn held(&mut self, to: &mut Vec<Held>) {
        to.extend(self.held.iter().map(|lock| Held {
            file: lock.file,
            locked: lock.locked,
            is_stale: lock.is_stale,
        }));
        to.extend(self.failed.drain(..).map(|file| Held {
            file,
            locked: Bytes::ZERO,
            is_stale: true,
        }));
    }

    /// Whether a file is locked.
    pub(crate) fn has(&self, file: File) -> bool {
        self.held.iter().any(|lock| lock.file == file)
    }

    /// How much is locked, and of how many files.
    pub(crate) fn total(&self) -> (Bytes, usize) {
        (
            self.held.iter().map(|lock| lock.locked).sum(),
            self.held.len(),
        )
    }

    /// Locks what is resident of a file's first `length` bytes; `open` opens it where it is not
    /// locked yet. A lock that fails is reported as stale by the next [`Locks::held`].
    pub(crate) fn lock(
        &mut self,
        file: File,
        length: Bytes,
        fsid: u64,
        open: impl FnOnce() -> io::Result<OwnedFd>,
    ) -> io::Result<Locked> {
        let known = self.held.iter().position(|lock| lock.file == file);
        let result = match known {
            Some(index) if self.held[index].length == length => Ok(index),
            known => {
                known.map(|index| self.held.swap_remove(index));
                open()
                    .and_then(|fd| Lock::new(file, length, fsid, fd))
                    .map(|lock| {
                        self.held.push(lock);
                        self.held.len() - 1
                    })
            }
        };
        let index = result.inspect_err(|_| self.failed.push(file))?;
        let lock = &mut self.held[index];
        let before = lock.locked;
        if before < length {
            lock.lock_resident(&mut self.pages, &mut self.populates)?;
        }
        Ok(Locked {
            inode: lock.inode,
            before,
            now: lock.locked,
            is_new: known.is_none(),
        })
    }

    /// Reads in and locks at most `most` bytes of what is missing of a locked file. `None` where it
    /// is not locked.
    pub(crate) fn fill(&mut self, file: File, most: Bytes) -> Option<io::Result<Locked>> {
        let lock = self.held.iter_mut().find(|lock| lock.file == file)?;
        let before = lock.locked;
        let filled = lock.fill(most, &mut self.pages, &mut self.populates);
        Some(filled.map(|()| Locked {
            inode: lock.inode,
            before,
            now: lock.locked,
            is_new: false,
        }))
    }

    /// Lets go of a file; its inode number, where it was locked.
    pub(crate) fn unlock(&mut self, file: File) -> Option<u64> {
        let index = self.held.iter().position(|lock| lock.file == file)?;
        Some(self.held.swap_remove(index).inode)
    }

    /// Lets go of every file of a place: how much and how many.
    pub(crate) fn release(&mut self, place: Place) -> (Bytes, usize) {
        let inside = |lock: &mut Lock| {
            let is_file = place.inode.is_none_or(|inode| inode == lock.inode);
            lock.fsid == place.fsid && is_file
        };
        let released: Vec<Lock> = self.held.extract_if(.., inside).collect();
        self.failed.extend(released.iter().map(|lock| lock.file));
        let bytes = released.iter().map(|lock| lock.locked).sum();
        (bytes, released.len())
    }

    /// Lets go of all.
    pub(crate) fn clear(&mut self) {
        self.held.clear();
        self.failed.clear();
    }

    /// Finds out which locks are on a file system that is gone, and of the next
    /// [`FILES_AT_ONCE`] which files are gone or cut short. What is locked of one of them is
    /// counted again, of another each time: a file may have been written again from its beginning.
    pub(crate) fn find_stale(&mut self, is_mounted: impl Fn(u64) -> bool) {
        for lock in &mut self.held {
            lock.is_stale |= !is_mounted(lock.fsid);
        }
        let count = self.held.len();
        for _ in 0..count.min(FILES_AT_ONCE) {
            self.looked_at = (self.looked_at + 1) % count;
            let lock = &mut self.held[self.looked_at];
            lock.is_stale |= !lock.is_whole();
        }
        self.counted = (self.counted + 1) % count.max(1);
        if let Some(lock) = self.held.get_mut(self.counted) {
            lock.is_stale |= lock.count(&mut self.pages).is_err();
        }
    }
}

impl Lock {
    fn new(file: File, length: Bytes, fsid: u64, fd: OwnedFd) -> io::Result<Self> {
        let fd = fs::File::from(fd);
        let metadata = fd.metadata()?;
        if !metadata.is_file() || metadata.nlink() == 0 || metadata.len() < length.0 {
            return Err(io::ErrorKind::NotFound.into());
        }
        let map = Map::new(&fd, length)?;
        map.lock_on_fault(0, map.length)?;
        Ok(Self {
            file,
            fsid,
            inode: metadata.ino(),
            length,
            locked: Bytes::ZERO,
            mapped: Bytes::ZERO,
            is_stale: false,
            map,
            fd,
        })
    }

    /// Whether the file is there still, and as long as what is locked of it.
    fn is_whole(&self) -> bool {
        let metadata = self.fd.metadata();
        metadata.is_ok_and(|metadata| metadata.nlink() > 0 && metadata.len() >= self.length.0)
    }

    fn lock_resident(&mut self, pages: &mut [u8], populates: &mut bool) -> io::Result<()> {
        self.count(pages)?;
        if self.locked <= self.mapped {
            return Ok(());
        }
        let Self { map, fd, .. } = self;
        let mut resident = 0;
        let done = map.each_run(pages, |is_resident, start, length| {
            if is_resident {
                map.populate(fd, start, length, populates)?;
                resident += length as u64;
            }
            Ok(())
        });
        self.settle(resident, done, pages)?;
        self.mapped = self.locked;
        Ok(())
    }

    fn fill(&mut self, most: Bytes, pages: &mut [u8], populates: &mut bool) -> io::Result<()> {
        let Self { map, fd, .. } = self;
        let mut left = usize::try_from(most.0).unwrap_or(usize::MAX);
        let mut resident = 0;
        let done = map.each_run(pages, |is_resident, start, length| {
            if is_resident {
                resident += length as u64;
                return Ok(());
            }
            let length = length.min(left);
            left -= length;
            for at in (0..length).step_by(READ_AT_ONCE) {
                let length = (length - at).min(READ_AT_ONCE);
                sys::readahead(fd.as_fd(), (start + at) as u64, length);
                map.populate(fd, start + at, length, populates)?;
                resident += length as u64;
            }
            Ok(())
        });
        self.settle(resident, done, pages)
    }

    /// Takes over what a pass found; one that failed did not see all.
    fn settle(&mut self, resident: u64, done: io::Result<()>, pages: &mut [u8]) -> io::Result<()> {
        match done {
            Ok(()) => self.locked = Bytes(resident).min(self.length),
            Err(_) => self.count(pages)?,
        }
        done
    }

    /// Counts what is in memory.
    fn count(&mut self, pages: &mut [u8]) -> io::Result<()> {
        let mut resident = 0;
        self.map.each_run(pages, |is_resident, _, length| {
            resident += if is_resident { length as u64 } else { 0 };
            Ok(())
        })?;
        self.locked = Bytes(resident).min(self.length);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(length: usize) -> (tempfile::TempDir, std::path::PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        fs::write(&path, vec![7; length]).expect("a file");
        (directory, path)
    }

    #[test]
    fn what_is_resident_is_locked_and_a_file_cut_short_is_stale() {
        let (_directory, path) = file((1 << 20) + 17);
        let mut locks = Locks::new();
        let open = || Ok(fs::File::open(&path).expect("a file").into());
        let length = Bytes((1 << 20) + 17);
        let locked = locks.lock(File(1), length, 5, open).expect("a lock");
        assert_eq!((locked.now, locked.is_new), (length, true));
        let again = locks.lock(File(1), length, 5, || unreachable!("it is open"));
        assert!(!again.expect("a lock").is_new);

        locks.find_stale(|fsid| fsid == 5);
        let stale = |locks: &mut Locks| {
            let mut held = Vec::new();
            locks.held(&mut held);
            held.iter().map(|held| held.is_stale).collect::<Vec<_>>()
        };
        assert_eq!(stale(&mut locks), [false]);
        locks.find_stale(|_| false);
        assert_eq!(stale(&mut locks), [true]);
        fs::File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_len(4096))
            .expect("cut short");
        locks.find_stale(|_| true);
        assert_eq!(stale(&mut locks), [true]);
        // Nothing of it is touched, so there is no SIGBUS.
        let open = || unreachable!("it is open");
        locks.lock(File(1), length, 5, open).ok();
        locks.fill(File(1), length).expect("it is locked").ok();
        assert_eq!(stale(&mut locks), [true]);
        assert!(locks.unlock(File(1)).is_some() && locks.total().1 == 0);
    }

    #[test]
    fn each_lock_is_counted_in_its_turn() {
        let files = [file(1 << 20), file(1 << 20)];
        let mut locks = Locks::new();
        for (number, (_, path)) in (1..).zip(&files) {
            let open = || Ok(fs::File::open(path).expect("a file").into());
            let locked = locks.lock(File(number), Bytes(1 << 20), 5, open);
            assert_eq!(locked.expect("a lock").now, Bytes(1 << 20));
        }
        // As long as before, with nothing in memory.
        for (_, path) in &files {
            let file = fs::File::options().write(true).open(path);
            let file = file.expect("a file");
            let emptied = file.set_len(0).and_then(|()| file.set_len(1 << 20));
            emptied.expect("a hole");
        }
        (0..2).for_each(|_| locks.find_stale(|_| true));
        assert_eq!(locks.total(), (Bytes::ZERO, 2));
    }

    #[test]
    fn a_long_file_is_looked_at_in_parts() {
        let (_directory, path) = file(1);
        let open = fs::File::options().write(true).read(true).open(&path);
        let open = open.expect("a file");
        let whole = 4 * PIECE as u64 + (PIECE / 2) as u64;
        open.set_len(whole).expect("a length");
        // Half of it is in memory.
        let half = vec![7; 2 * PIECE + PIECE / 4];
        std::os::unix::fs::FileExt::write_all_at(&open, &half, 0).expect("written");
        let mut locks = Locks::new();
        let seen = |locks: &mut Locks, length| locks.look(&open, Bytes(length), |_| Some(9));
        let resident = seen(&mut locks, whole).resident.0;
        assert!(
            resident.abs_diff(whole / 2) < whole / 6,
            "{resident} of {whole}"
        );
        assert_eq!(seen(&mut locks, PIECE as u64).resident, Bytes(PIECE as u64));
        assert_eq!(seen(&mut locks, whole).group, Some(9));
    }

    #[test]
    fn a_kernel_before_5_14_locks_runs_by_mlock() {
        let (_directory, path) = file(3 << 20);
        let mut locks = Locks::new();
        locks.populates = false;
        let open = || Ok(fs::File::open(&path).expect("a file").into());
        let length = Bytes(3 << 20);
        let locked = locks.lock(File(1), length, 5, open).expect("a lock");
        assert_eq!(locked.now, length);
        let filled = locks.fill(File(1), Bytes(1 << 20)).expect("it is locked");
        assert_eq!(filled.expect("nothing is missing").now, length);
        assert!(locks.fill(File(2), Bytes(1)).is_none());
    }

    #[test]
    fn a_lock_that_fails_is_reported_once() {
        let mut locks = Locks::new();
        let gone = || Err(io::ErrorKind::NotFound.into());
        assert!(locks.lock(File(3), Bytes(1), 5, gone).is_err());
        let mut held = Vec::new();
        locks.held(&mut held);
        assert!(held.len() == 1 && held[0].is_stale);
        locks.held(&mut held);
        assert_eq!(held.len(), 1);
    }
}
