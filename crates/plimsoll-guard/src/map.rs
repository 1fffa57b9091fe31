//! A mapping that is never looked into: what of a file is in memory, and locking it there.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;

use mm::units::Bytes;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MlockFlags, ProtFlags};

use crate::sys;

/// A mapping of a file's beginning.
#[derive(Debug)]
pub(crate) struct Map {
    start: *mut libc::c_void,
    /// In bytes.
    pub(crate) length: usize,
}

impl Map {
    pub(crate) fn new(file: &fs::File, length: Bytes) -> io::Result<Self> {
        let length = usize::try_from(length.0).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let (to, read, shared) = (std::ptr::null_mut(), ProtFlags::READ, MapFlags::SHARED);
        #[expect(unsafe_code, reason = "a mapping")]
        // SAFETY: the kernel chooses the place, so nothing is mapped over; nobody reads or writes
        // through the mapping.
        let start = unsafe { rustix::mm::mmap(to, length, read, shared, file, 0) }?;
        Ok(Self { start, length })
    }

    /// What is mapped in this range is locked when it comes into memory.
    pub(crate) fn lock_on_fault(&self, start: usize, length: usize) -> io::Result<()> {
        #[expect(unsafe_code, reason = "the range is an address")]
        // SAFETY: the range lies in the mapping, whose contents it does not change.
        unsafe {
            rustix::mm::mlock_with(self.start.byte_add(start), length, MlockFlags::ONFAULT)?;
        }
        Ok(())
    }

    /// Maps and locks a range, which is read in where it is missing.
    pub(crate) fn populate(
        &self,
        fd: &fs::File,
        start: usize,
        length: usize,
        populates: &mut bool,
    ) -> io::Result<()> {
        if *populates {
            #[expect(unsafe_code, reason = "the range is an address")]
            // SAFETY: the range lies in the mapping; its pages are mapped, not changed.
            let done = unsafe {
                let start = self.start.byte_add(start);
                rustix::mm::madvise(start, length, Advice::LinuxPopulateRead)
            };
            match done {
                Err(Errno::INVAL) => *populates = false,
                done => return Ok(done?),
            }
        }
        sys::readahead(fd.as_fd(), start as u64, length);
        #[expect(unsafe_code, reason = "the range is an address")]
        // SAFETY: the range lies in the mapping, whose contents it does not change.
        unsafe {
            rustix::mm::mlock(self.start.byte_add(start), length)?;
        }
        // One kind of lock for the whole mapping again, so that it stays one.
        self.lock_on_fault(start, length)
    }

    /// The address of a place in it.
    pub(crate) fn address(&self, start: usize) -> usize {
        self.start as usize + start
    }

    /// A byte for each page of a range, whose bit 0 says that it is in memory. The range begins at
    /// a page, and `pages` has room for it.
    pub(crate) fn resident<'a>(
        &self,
        start: usize,
        length: usize,
        pages: &'a mut [u8],
    ) -> io::Result<&'a [u8]> {
        let is_inside = start
            .checked_add(length)
            .is_some_and(|end| end <= self.length);
        let pages = pages.get_mut(..length.div_ceil(rustix::param::page_size()));
        let pages = pages
            .filter(|_| is_inside)
            .ok_or(io::ErrorKind::InvalidInput)?;
        #[expect(unsafe_code, reason = "the range is an address")]
        // SAFETY: the range lies in the mapping.
        let from = unsafe { self.start.byte_add(start) };
        sys::mincore(from, length, pages)?;
        Ok(pages)
    }

    /// Calls `each` with every run of pages that are all in memory or all missing: whether they
    /// are, where the run begins and its length, in bytes.
    pub(crate) fn each_run(
        &self,
        pages: &mut [u8],
        mut each: impl FnMut(bool, usize, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        let page = rustix::param::page_size();
        let mut start = 0;
        while start < self.length {
            let length = (self.length - start).min(pages.len() * page);
            let pages = self.resident(start, length, pages)?;
            let mut at = start;
            for run in pages.chunk_by(|one, other| one & 1 == other & 1) {
                let is_resident = run.first().is_some_and(|page| page & 1 == 1);
                let bytes = (run.len() * page).min(self.length - at);
                each(is_resident, at, bytes)?;
                at += bytes;
            }
            start += length;
        }
        Ok(())
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "the end of a mapping")]
        // SAFETY: the mapping is this one's own, and nothing refers into it.
        let done = unsafe { rustix::mm::munmap(self.start, self.length) };
        debug_assert!(done.is_ok(), "a mapping can be unmapped");
    }
}
