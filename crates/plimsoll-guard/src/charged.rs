//! To which control group a page is charged, and which limits hold for it. What is locked of a
//! container's files counts against its limit, and nothing frees it there.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use mm::units::Bytes;
use rustix::fs::{Mode, OFlags};

use crate::mounts::Mounts;
use crate::sys::{self, For, Key};

/// Where a page lies, and whose it is.
const FRAMES: &str = "/proc/self/pagemap";
const GROUPS: &str = "/proc/kpagecgroup";
/// The bits of an entry of pagemap that are the frame's number, and the one that says it is one.
const FRAME: u64 = (1 << 55) - 1;
const PRESENT: u64 = 1 << 63;
/// The limits of a group, in v2 and v1: beyond `memory.high` it is throttled.
const LIMITS: [&str; 3] = ["memory.max", "memory.high", "memory.limit_in_bytes"];
/// In v1 this much or more is none.
const NO_LIMIT: u64 = 1 << 62;
/// The type of a handle in the file system of control groups (`FILEID_KERNFS`).
const OF_KERNFS: i32 = 0xfe;
/// Groups above a group that are looked at.
const DEEPEST: usize = 64;
/// How a group's folder is opened.
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// The kernel's files about pages.
#[derive(Debug)]
pub(crate) struct Charged {
    frames: fs::File,
    groups: fs::File,
}

/// A control group with memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Below the root of the hierarchy; empty for the root.
    pub(crate) path: String,
    /// The limits of it and of the groups above it, each with that group's inode number.
    pub(crate) limits: Vec<(u64, Bytes)>,
}

impl Charged {
    /// `None` where the kernel does not tell.
    pub(crate) fn new() -> Option<Self> {
        Some(Self {
            frames: fs::File::open(FRAMES).ok()?,
            groups: fs::File::open(GROUPS).ok()?,
        })
    }

    /// The inode number of the group to which the page at an address of this process is charged;
    /// `None` where none is mapped there or it is nobody's.
    pub(crate) fn inode(&self, address: usize) -> Option<u64> {
        let number = (address / rustix::param::page_size()) as u64;
        let entry = word(&self.frames, number)?;
        let frame = entry & FRAME;
        let is_known = entry & PRESENT != 0 && frame != 0;
        let inode = is_known.then(|| word(&self.groups, frame)).flatten();
        inode.filter(|inode| *inode != 0)
    }
}

fn word(file: &fs::File, number: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, number.checked_mul(8)?)
        .ok()?;
    Some(u64::from_ne_bytes(bytes))
}

/// The group with an inode number.
pub(crate) fn group(inode: u64, mounts: &Mounts) -> Option<Group> {
    let root = mounts.memory_groups()?;
    let folder = open(inode, root).ok()?;
    let path = path(&folder)?;
    // A name that is no text is nobody's that the configuration has.
    let path = path.strip_prefix(root).ok()?.to_string_lossy();
    Some(Group {
        path: path.into_owned(),
        limits: limits(folder, root).unwrap_or_default(),
    })
}

/// The handle of a kernfs file is its inode number.
fn open(inode: u64, root: &Path) -> io::Result<OwnedFd> {
    let mount = rustix::fs::open(root, FOLDER, Mode::empty())?;
    let key = Key::new(0, OF_KERNFS, &inode.to_ne_bytes()).ok_or(io::ErrorKind::InvalidInput)?;
    sys::open_by_handle(mount.as_fd(), &key, For::Reading)
}

/// The limits, upwards to the root; `None` where a group goes meanwhile.
fn limits(folder: OwnedFd, root: &Path) -> Option<Vec<(u64, Bytes)>> {
    let top = fs::metadata(root).ok()?.ino();
    let mut folder = fs::File::from(folder);
    let mut limits = Vec::new();
    for _ in 0..DEEPEST {
        let inode = folder.metadata().ok()?.ino();
        if inode == top {
            break;
        }
        let own = LIMITS.iter().filter_map(|file| number(&folder, file));
        let own = own.min().filter(|limit| *limit < NO_LIMIT);
        limits.extend(own.map(|limit| (inode, Bytes(limit))));
        let above = rustix::fs::openat(&folder, "..", FOLDER, Mode::empty());
        folder = above.ok()?.into();
    }
    Some(limits)
}

fn number(folder: &fs::File, file: &str) -> Option<u64> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, file, flags, Mode::empty()).ok()?;
    let text = io::read_to_string(fs::File::from(file)).ok()?;
    text.trim().parse().ok()
}

/// Where an open file or folder lies.
pub(crate) fn path(file: &impl AsRawFd) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}
