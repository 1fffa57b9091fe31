//! System calls that have no safe wrapper elsewhere: fanotify, file handles, `mincore`, signals.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// The longest handle that is kept. ext4 has 8 bytes, XFS up to 24, btrfs 20 or 40.
pub(crate) const HANDLE_MAX: usize = 40;

/// A file, by its file system and its handle there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// `f_fsid`, its two words as they lie in memory.
    pub(crate) fsid: u64,
    /// The handle's type.
    pub(crate) kind: i32,
    /// The handle's bytes that count; the others are 0.
    pub(crate) length: u8,
    /// The handle.
    pub(crate) handle: [u8; HANDLE_MAX],
}

impl Key {
    /// `None` for a handle that is too long.
    pub(crate) fn new(fsid: u64, kind: i32, bytes: &[u8]) -> Option<Self> {
        let mut handle = [0; HANDLE_MAX];
        handle.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let length = u8::try_from(bytes.len()).ok()?;
        Some(Self {
            fsid,
            kind,
            length,
            handle,
        })
    }
}

/// `struct file_handle` with room for the longest.
#[repr(C)]
struct RawHandle {
    bytes: u32,
    kind: i32,
    handle: [u8; libc::MAX_HANDLE_SZ as usize],
}

/// A fanotify group that names files by handle.
pub(crate) fn fanotify_init() -> io::Result<OwnedFd> {
    let flags =
        libc::FAN_CLASS_NOTIF | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK | libc::FAN_REPORT_FID;
    #[expect(unsafe_code, reason = "rustix has no fanotify")]
    // SAFETY: it takes numbers, and hands out a descriptor that is nobody else's.
    unsafe {
        let fd = libc::fanotify_init(flags, libc::O_RDONLY as libc::c_uint);
        owned(fd)
    }
}

/// Watches the whole file system of an open file or folder.
pub(crate) fn fanotify_mark(group: BorrowedFd<'_>, place: OwnedFd, mask: u64) -> io::Result<()> {
    let flags = libc::FAN_MARK_ADD | libc::FAN_MARK_FILESYSTEM;
    #[expect(unsafe_code, reason = "rustix has no fanotify")]
    // SAFETY: it takes numbers; without a path the descriptor is what is meant.
    let code = unsafe {
        let (group, place) = (group.as_raw_fd(), place.as_raw_fd());
        libc::fanotify_mark(group, flags, mask, place, std::ptr::null())
    };
    done(code)
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    /// To ask what it is (`O_PATH`): a device or a FIFO does not notice.
    Looking,
    /// To be read.
    Reading,
}

/// Opens a file by its handle; `mount` is any descriptor on its file system.
pub(crate) fn open_by_handle(
    mount: BorrowedFd<'_>,
    key: &Key,
    purpose: For,
) -> io::Result<OwnedFd> {
    let mut raw = RawHandle {
        bytes: u32::from(key.length),
        kind: key.kind,
        handle: [0; libc::MAX_HANDLE_SZ as usize],
    };
    raw.handle[..HANDLE_MAX].copy_from_slice(&key.handle);
    let flags = libc::O_CLOEXEC
        | match purpose {
            For::Looking => libc::O_PATH,
            For::Reading => libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOATIME,
        };
    #[expect(unsafe_code, reason = "rustix has no file handles")]
    // SAFETY: the handle lies as the kernel wants it, its length says how much of it counts, and
    // the descriptor is nobody else's.
    unsafe {
        let handle = (&raw mut raw).cast::<libc::file_handle>();
        let fd = libc::open_by_handle_at(mount.as_raw_fd(), handle, flags);
        owned(fd)
    }
}

/// The handle of an open file, which may be opened by `O_PATH`.
pub(crate) fn key_of(file: BorrowedFd<'_>) -> io::Result<Key> {
    let fsid = file_system(file)?.fsid;
    let mut raw = RawHandle {
        bytes: libc::MAX_HANDLE_SZ as u32,
        kind: 0,
        handle: [0; libc::MAX_HANDLE_SZ as usize],
    };
    let mut mount = 0;
    #[expect(unsafe_code, reason = "rustix has no file handles")]
    // SAFETY: the empty path ends in its NUL, the handle has the room that it says, and both
    // results are ours to be written.
    let code = unsafe {
        let handle = (&raw mut raw).cast::<libc::file_handle>();
        let fd = file.as_raw_fd();
        libc::name_to_handle_at(
            fd,
            c"".as_ptr(),
            handle,
            &raw mut mount,
            libc::AT_EMPTY_PATH,
        )
    };
    done(code)?;
    let bytes = raw.handle.get(..raw.bytes as usize);
    let key = bytes.and_then(|bytes| Key::new(fsid, raw.kind, bytes));
    key.ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// What `statfs` says of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileSystem {
    /// `f_fsid`, as fanotify reports it.
    pub(crate) fsid: u64,
    /// `f_type`.
    pub(crate) magic: i64,
}

/// The file system of an open file.
pub(crate) fn file_system(file: BorrowedFd<'_>) -> io::Result<FileSystem> {
    let mut found = MaybeUninit::<libc::statfs>::zeroed();
    #[expect(
        unsafe_code,
        reason = "the words of f_fsid are private in every wrapper"
    )]
    // SAFETY: the kernel fills the struct, of which every bit pattern is a value; `fsid_t` is two
    // words of 32 bits, read as bytes.
    unsafe {
        done(libc::fstatfs(file.as_raw_fd(), found.as_mut_ptr()))?;
        let found = found.assume_init();
        let words: [u8; 8] = std::mem::transmute(found.f_fsid);
        Ok(FileSystem {
            fsid: u64::from_ne_bytes(words),
            magic: found.f_type,
        })
    }
}

/// Fills `pages` with a byte for each page of a mapping from `start` on: bit 0 says that it is in
/// memory.
pub(crate) fn mincore(start: *mut libc::c_void, length: usize, pages: &mut [u8]) -> io::Result<()> {
    if pages.len() < length.div_ceil(rustix::param::page_size()) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    #[expect(unsafe_code, reason = "rustix has no mincore")]
    // SAFETY: the kernel looks at the range without touching it, and refuses one that is not
    // mapped; it writes a byte for each page, and there is room for them.
    let code = unsafe { libc::mincore(start, length, pages.as_mut_ptr()) };
    done(code)
}

/// Whether anybody has a file open for writing. The kernel gives a read lease on it only while
/// nobody has; the lease is given back at once, for whoever opens it then waits.
pub(crate) fn has_writers(file: BorrowedFd<'_>) -> io::Result<bool> {
    let lease = |kind: i32| {
        #[expect(unsafe_code, reason = "rustix has no leases")]
        // SAFETY: it takes numbers.
        let code = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) };
        done(code)
    };
    match lease(libc::F_RDLCK) {
        Ok(()) => lease(libc::F_UNLCK).map(|()| false),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
        Err(error) => Err(error),
    }
}

/// Asks for pages of a file to be read in, without waiting.
pub(crate) fn readahead(file: BorrowedFd<'_>, offset: u64, length: usize) {
    let Ok(offset) = libc::off64_t::try_from(offset) else {
        return;
    };
    #[expect(unsafe_code, reason = "rustix has no readahead")]
    // SAFETY: it takes numbers, and reads into the page cache only.
    unsafe {
        libc::readahead(file.as_raw_fd(), offset, length);
    }
}

/// Blocks the signals and hands out a descriptor that becomes readable by them.
pub(crate) fn signalfd(signals: &[i32]) -> io::Result<OwnedFd> {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    #[expect(unsafe_code, reason = "rustix has no signal sets")]
    // SAFETY: the set is made by sigemptyset and changed by sigaddset alone; the descriptor is
    // nobody else's.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        done(libc::sigprocmask(
            libc::SIG_BLOCK,
            set.as_ptr(),
            std::ptr::null_mut(),
        ))?;
        owned(libc::signalfd(
            -1,
            set.as_ptr(),
            libc::SFD_CLOEXEC | libc::SFD_NONBLOCK,
        ))
    }
}

/// The descriptor that a call returned, or why it did not.
#[expect(unsafe_code, reason = "descriptors of calls that have no wrapper")]
/// # Safety
/// A descriptor that is not negative belongs to nobody else.
unsafe fn owned(fd: i32) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as the caller promises.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn done(code: i32) -> io::Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
