//! How many pages of a file are in memory.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};

use mm::page_cache::LeftOut;
use mm::units::{Bytes, PageSize};
use rustix::io::Errno;

use crate::mounts::Found;

/// Its number, the same on every architecture since Linux 6.5.
const CACHESTAT: std::ffi::c_long = 451;

/// What one call looks at: 2^20 pages of 4 KiB, some ten milliseconds where all are in memory.
const AT_ONCE: u64 = 4 << 30;

/// `TMPFS_MAGIC` and `OVERLAYFS_SUPER_MAGIC`.
const TMPFS: u64 = 0x0102_1994;
const OVERLAYFS: u64 = 0x794c_7630;

/// What is known of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pages {
    pub(super) is_shared_memory: bool,
    pub(super) size: Bytes,
    pub(super) cached: Bytes,
    pub(super) dirty: Bytes,
    pub(super) evicted_recently: Bytes,
}

/// What came of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Pages(Pages),
    Leased,
    /// Its pages belong to a file below it.
    Overlaid,
    /// This user may not know it.
    Refused,
    /// It is gone, or its file system has no pages to count.
    Nothing,
    /// The time was over.
    Cut(Pages),
}

impl Answer {
    /// The pages, or why there are none.
    pub(super) fn counted(self, left_out: &mut LeftOut) -> Option<Pages> {
        match self {
            Self::Pages(pages) => return Some(pages),
            Self::Cut(pages) => {
                left_out.is_cut = true;
                return Some(pages);
            }
            Self::Leased => left_out.leased += 1,
            Self::Overlaid => left_out.overlaid += 1,
            Self::Refused => left_out.refused += 1,
            Self::Nothing => {}
        }
        None
    }
}

/// As the kernel writes it (`struct cachestat`), in pages.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    evicted_recently: u64,
}

/// Whether the kernel has the call.
///
/// # Errors
/// That it has not.
pub(super) fn is_known() -> Result<(), String> {
    let nothing = std::fs::File::open("/proc/self/exe");
    let counts = nothing.and_then(|file| counts(file.as_fd(), 0, 1));
    match counts.map_err(|error| error.raw_os_error()) {
        Err(Some(number)) if number == Errno::NOSYS.raw_os_error() => {
            Err("this kernel does not count the pages of a file (cachestat, Linux 6.5)".to_owned())
        }
        _ => Ok(()),
    }
}

/// Counts the pages of a file, part by part.
pub(super) fn pages(found: &Found, page: PageSize, is_over: &dyn Fn() -> bool) -> Answer {
    let file = match found.open() {
        Ok(file) => file,
        Err(error) => return of_error(&error),
    };
    let kind = rustix::fs::fstatfs(&file).map_or(0, |it| it.f_type as u64);
    if kind == OVERLAYFS {
        return Answer::Overlaid;
    }
    let mut pages = Pages {
        is_shared_memory: kind == TMPFS,
        size: Bytes(found.size()),
        cached: Bytes::ZERO,
        dirty: Bytes::ZERO,
        evicted_recently: Bytes::ZERO,
    };
    for from in (0..found.size().max(1)).step_by(AT_ONCE as usize) {
        if is_over() {
            return Answer::Cut(pages);
        }
        let counts = match counts(file.as_fd(), from, AT_ONCE) {
            Ok(counts) => counts,
            Err(error) => return of_error(&error),
        };
        let add = |to: &mut Bytes, pages: u64| to.0 += pages * page.bytes();
        add(&mut pages.cached, counts.cached);
        add(&mut pages.dirty, counts.dirty);
        add(&mut pages.evicted_recently, counts.evicted_recently);
    }
    Answer::Pages(pages)
}

fn of_error(error: &io::Error) -> Answer {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Answer::Refused,
        _ => Answer::Nothing,
    }
}

fn counts(file: BorrowedFd<'_>, offset: u64, length: u64) -> io::Result<Counts> {
    let (range, mut counts) = ([offset, length], Counts::default());
    #[expect(unsafe_code, reason = "no library that is in use has the call")]
    // SAFETY: the kernel reads two words and writes five, as the structure has them.
    let result = unsafe {
        libc::syscall(
            CACHESTAT,
            file.as_raw_fd(),
            range.as_ptr(),
            &raw mut counts,
            0,
        )
    };
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(counts),
    }
}

/// The inodes that have a lease, from `/proc/locks`. Their numbers alone: on some file systems the
/// device there is another than `statx` tells.
pub(super) fn leased(locks: &str) -> BTreeSet<u64> {
    let inode = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words
            .iter()
            .position(|it| matches!(*it, "LEASE" | "DELEG"))?;
        words[at..]
            .iter()
            .find_map(|it| it.splitn(3, ':').nth(2)?.parse().ok())
    };
    locks.lines().filter_map(inode).collect()
}
