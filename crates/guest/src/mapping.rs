//! Memory that is mapped on purpose: page-aligned, given back when dropped, and reached through
//! atomic words only, so that a process and its helpers may touch it side by side.

use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, ProtFlags};

/// A mapping of this process.
#[derive(Debug)]
pub(crate) struct Mapping {
    address: NonNull<u8>,
    length: usize,
}

#[expect(
    unsafe_code,
    reason = "a mapping belongs to the process, not to a thread"
)]
// SAFETY: the address is valid in every thread of the process, and it is only reached through
// atomics or, in `bytes`, through an exclusive reference.
unsafe impl Send for Mapping {}
#[expect(
    unsafe_code,
    reason = "a mapping belongs to the process, not to a thread"
)]
// SAFETY: as above.
unsafe impl Sync for Mapping {}

const READ_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

impl Mapping {
    /// Anonymous memory. `flags` says whether it is private or shared, and what else.
    pub(crate) fn anonymous(length: usize, flags: MapFlags) -> Result<Self, Errno> {
        #[expect(unsafe_code, reason = "mmap")]
        // SAFETY: the kernel chooses the address, so no other object is overlaid.
        let address =
            unsafe { mm::mmap_anonymous(std::ptr::null_mut(), length, READ_WRITE, flags) }?;
        Self::new(address, length)
    }

    /// A file's first `length` bytes, shared with the page cache.
    pub(crate) fn file(file: BorrowedFd<'_>, length: usize) -> Result<Self, Errno> {
        let flags = MapFlags::SHARED;
        #[expect(unsafe_code, reason = "mmap")]
        // SAFETY: the kernel chooses the address, so no other object is overlaid.
        let address =
            unsafe { mm::mmap(std::ptr::null_mut(), length, READ_WRITE, flags, file, 0) }?;
        Self::new(address, length)
    }

    fn new(address: *mut core::ffi::c_void, length: usize) -> Result<Self, Errno> {
        let address = NonNull::new(address.cast()).ok_or(Errno::FAULT)?;
        Ok(Self { address, length })
    }

    /// Bytes mapped.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The first byte's address.
    pub(crate) fn address(&self) -> NonNull<u8> {
        self.address
    }

    /// Loads the word at an offset; a page that is not there is faulted in.
    pub(crate) fn load(&self, offset: usize) -> u64 {
        self.word(offset).load(Ordering::Relaxed)
    }

    /// Stores a word at an offset.
    pub(crate) fn store(&self, offset: usize, word: u64) {
        self.word(offset).store(word, Ordering::Relaxed);
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        let end = offset.checked_add(size_of::<u64>());
        assert!(end.is_some_and(|end| end <= self.length) && offset.is_multiple_of(8));
        #[expect(unsafe_code, reason = "a word of a mapping")]
        // SAFETY: the word lies inside the mapping, aligned, and lives as long as `self`.
        unsafe {
            AtomicU64::from_ptr(self.address.as_ptr().add(offset).cast())
        }
    }

    /// All of it as bytes.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        #[expect(unsafe_code, reason = "a mapping as a slice")]
        // SAFETY: the mapping is readable and writable memory of this length, and `&mut self`
        // keeps every other access away.
        unsafe {
            std::slice::from_raw_parts_mut(self.address.as_ptr(), self.length)
        }
    }

    /// All of it as bytes, to read.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        #[expect(unsafe_code, reason = "a mapping as a slice")]
        // SAFETY: the mapping is readable memory of this length; the callers are those that write
        // it through `bytes`, with an exclusive reference, and never through words.
        unsafe {
            std::slice::from_raw_parts(self.address.as_ptr(), self.length)
        }
    }

    /// Advises the kernel about all of it.
    pub(crate) fn advise(&self, advice: Advice) -> Result<(), Errno> {
        #[expect(unsafe_code, reason = "madvise")]
        // SAFETY: the range is this mapping; advice that drops contents leaves zeros or the file's
        // bytes, which every reader of the atomic words accepts.
        unsafe {
            mm::madvise(self.address.as_ptr().cast(), self.length, advice)
        }
    }

    /// Locks all of it into memory, which faults it in.
    pub(crate) fn lock(&self) -> Result<(), Errno> {
        #[expect(unsafe_code, reason = "mlock")]
        // SAFETY: the range is this mapping.
        unsafe {
            mm::mlock(self.address.as_ptr().cast(), self.length)
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "munmap")]
        // SAFETY: the range is this mapping, and no reference outlives `self`.
        let _ = unsafe { mm::munmap(self.address.as_ptr().cast(), self.length) };
    }
}
