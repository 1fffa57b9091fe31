//! Files that are locked in memory.
//!
//! A lock is a mapping that is never looked into: the kernel is asked to map what is resident, so a
//! file that is cut short costs an error and no SIGBUS. The file's descriptor is kept, because a
//! mapping alone does not tell that the file was deleted, and keeps its blocks.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;

use guard::request::Place;
use guard::{File, Held};
use mm::formula::mul_div;
use mm::units::Bytes;

use crate::map::Map;
use crate::sys;

/// Pages that are asked after at once: 64 MiB of base pages.
const PAGES_AT_ONCE: usize = 16 << 10;
/// A file that is longer than the first is looked at in a part of each piece: to ask after every
/// page of a gigabyte takes the kernel tens of milliseconds.
const LONG: usize = 64 << 20;
const PIECE: usize = 16 << 20;
const PART: usize = 1 << 20;
/// Locked files that are looked at in a second. One that is deleted keeps its blocks until its turn
/// comes.
const FILES_AT_ONCE: usize = 16;
/// What of a file that is locked in part is looked at for each second that has gone since the last
/// look, when it is used: programs of a hundred MiB start a hundred times a second.
const BYTES_AT_ONCE: u64 = 64 << 20;
/// What is read in by one request.
const READ_AT_ONCE: usize = 1 << 20;

/// The locks.
#[derive(Debug)]
pub(crate) struct Locks {
    /// In order of their files' numbers.
    held: Vec<Lock>,
    /// Files whose lock failed or was released since [`Locks::held`] was last asked.
    failed: Vec<File>,
    /// What `mincore` says.
    pages: Vec<u8>,
    /// The lock whose file was looked at last, and the one whose pages were counted last.
    looked_at: usize,
    counted: usize,
    /// How often [`Locks::find_stale`] was called: once a second.
    seconds: u64,
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
    /// When a look at what came into memory is due, by [`Locks::seconds`].
    again: u64,
    is_stale: bool,
    map: Map,
    fd: fs::File,
}

/// A file, looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// What of it is in memory.
    pub(crate) resident: Bytes,
    /// Where the first page of that is.
    pub(crate) first: Option<usize>,
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
            seconds: 0,
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
            Ok(Seen {
                resident,
                first,
                group,
            })
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
        self.place(file).is_ok()
    }

    /// Where a file's lock is, or where it belongs.
    fn place(&self, file: File) -> Result<usize, usize> {
        self.held.binary_search_by_key(&file, |lock| lock.file)
    }

    /// How much is locked, and of how many files.
    pub(crate) fn total(&self) -> (Bytes, usize) {
        (
            self.held.iter().map(|lock| lock.locked).sum(),
            self.held.len(),
        )
    }

    /// Locks what is resident of a file's first `length` bytes; `open` opens it where it is not
    /// locked yet. What came into memory of one that is locked in part is locked with it, unless it
    /// was just looked at. A lock that fails is reported as stale by the next [`Locks::held`].
    pub(crate) fn lock(
        &mut self,
        file: File,
        length: Bytes,
        fsid: u64,
        open: impl FnOnce() -> io::Result<fs::File>,
    ) -> io::Result<Locked> {
        let known = self.place(file);
        let index = match known {
            Ok(index) if self.held[index].length == length => index,
            Ok(index) | Err(index) => {
                if known.is_ok() {
                    self.held.remove(index);
                }
                let opened = open();
                let lock = opened.and_then(|fd| Lock::new(file, length, fsid, fd));
                let lock = lock.inspect_err(|_| self.failed.push(file))?;
                self.held.insert(index, lock);
                index
            }
        };
        let lock = &mut self.held[index];
        let before = lock.locked;
        let is_new = known.is_err();
        if lock.mapped < length && self.seconds >= lock.again {
            if !is_new {
                lock.again = self.seconds + length.0.div_ceil(BYTES_AT_ONCE);
            }
            lock.lock_resident(&mut self.pages, &mut self.populates)?;
        }
        Ok(Locked {
            inode: lock.inode,
            before,
            now: lock.locked,
            is_new,
        })
    }

    /// Reads in and locks at most `most` bytes of what is missing of a locked file. `None` where it
    /// is not locked.
    pub(crate) fn fill(&mut self, file: File, most: Bytes) -> Option<io::Result<Locked>> {
        let index = self.place(file).ok()?;
        let lock = &mut self.held[index];
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
        let index = self.place(file).ok()?;
        Some(self.held.remove(index).inode)
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
        self.seconds += 1;
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
    fn new(file: File, length: Bytes, fsid: u64, fd: fs::File) -> io::Result<Self> {
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
            again: 0,
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
        if self.mapped > Bytes::ZERO {
            self.count(pages)?;
            if self.locked <= self.mapped {
                return Ok(());
            }
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
        // What is gone from memory is mapped no more.
        self.mapped = self.mapped.min(self.locked);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
