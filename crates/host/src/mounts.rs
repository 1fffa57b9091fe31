//! Files that are found without asking another program or machine for them.
//!
//! A file system in user space is served by whoever mounted it, and anybody may mount one over a
//! folder of their own. What asks it waits for an answer, if it must be for ever. So a path is
//! walked name by name, and what lies on a mount that somebody else serves is not asked at all: a
//! descriptor that only names it, and `statx` without synchronisation, tell the mount's number.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use mm::mountinfo;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Statx, StatxFlags, openat, readlinkat, statx};

/// The longest list of mounts that is read: those of a machine with ten thousand containers. What
/// is mounted first stands first, and users mount later than the machine.
pub const LONGEST: u64 = 4 << 20;
/// Links that are followed on the way; the kernel follows as many.
const MOST_LINKS: usize = 40;

/// The mounts that nobody else serves.
#[derive(Clone, Debug)]
pub struct Local {
    /// By their numbers.
    mounts: BTreeSet<u64>,
    root: Found,
}

/// A file or folder that nobody else serves; its descriptor only names it.
#[derive(Clone, Debug)]
pub struct Found {
    fd: Rc<OwnedFd>,
    stat: Statx,
}

/// The list of mounts, from its beginning; at most [`LONGEST`] bytes.
///
/// # Errors
/// What the system says.
pub fn text(mut file: &fs::File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Seek::rewind(&mut file)?;
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Local {
    /// Those that are mounted now; only that of `/` where they cannot be read.
    ///
    /// # Errors
    /// What the system says of `/`.
    pub fn now() -> io::Result<Self> {
        let text = fs::File::open("/proc/self/mountinfo").and_then(|file| text(&file));
        Self::of(&text.unwrap_or_default())
    }

    /// Those of a `/proc/PID/mountinfo`, and that of `/`, which it leaves out after a `chroot`.
    ///
    /// # Errors
    /// What the system says of `/`.
    pub fn of(mountinfo: &[u8]) -> io::Result<Self> {
        let root = Found::of(rustix::fs::open("/", PATH, Mode::empty())?)?;
        let local = mountinfo::parse(mountinfo).filter(|mount| !mount.is_served());
        let local = local.map(|mount| mount.id).chain([root.stat.stx_mnt_id]);
        let mounts = local.collect();
        Ok(Self { mounts, root })
    }

    /// What lies at an absolute path; links are followed.
    ///
    /// # Errors
    /// What the system says, `ELOOP` beyond 40 links, and `Unsupported` where somebody else serves
    /// any part of the path.
    pub fn find(&self, path: &Path) -> io::Result<Found> {
        let (mut at, mut todo, mut links) = (self.root.clone(), parts(path), 0);
        let mut above = Vec::new();
        while let Some(part) = todo.pop() {
            if part == ".." {
                at = above.pop().unwrap_or(at);
                continue;
            }
            let found = self.below(at.fd(), &part)?;
            if found.kind() != FileType::Symlink {
                above.push(std::mem::replace(&mut at, found));
                continue;
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(rustix::io::Errno::LOOP.into());
            }
            let to = OsString::from_vec(readlinkat(&found.fd, "", Vec::new())?.into_bytes());
            if to.as_bytes().starts_with(b"/") {
                (at, above) = (self.root.clone(), Vec::new());
            }
            todo.append(&mut parts(Path::new(&to)));
        }
        Ok(at)
    }

    /// Whether nobody else serves what was found.
    #[must_use]
    pub fn has(&self, found: &Found) -> bool {
        self.mounts.contains(&found.stat.stx_mnt_id)
    }

    /// What has a name in a folder; a link is itself.
    ///
    /// # Errors
    /// What the system says, and `Unsupported` where somebody else serves it.
    pub fn below(&self, folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<Found> {
        let found = Found::of(openat(
            folder,
            name,
            PATH | OFlags::NOFOLLOW,
            Mode::empty(),
        )?)?;
        match self.has(&found) {
            true => Ok(found),
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

const FLAGS: AtFlags = AtFlags::STATX_DONT_SYNC.union(AtFlags::NO_AUTOMOUNT);
const PATH: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

impl Found {
    fn of(fd: OwnedFd) -> io::Result<Self> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
        let stat = statx(&fd, "", FLAGS | AtFlags::EMPTY_PATH, wanted)?;
        let fd = Rc::new(fd);
        Ok(Self { fd, stat })
    }

    /// What a link of the kernel's leads to, as those of `/proc/PID/fd`: whoever serves it is not
    /// asked.
    ///
    /// # Errors
    /// What the system says.
    pub fn behind(link: &Path) -> io::Result<Self> {
        Self::of(rustix::fs::open(link, PATH, Mode::empty())?)
    }

    /// Its descriptor, which only names it.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.stx_mode.into())
    }

    /// Whether it is a file with content: no folder, device, pipe or socket.
    #[must_use]
    pub fn is_regular(&self) -> bool {
        self.kind() == FileType::RegularFile
    }

    /// Its file system's device, major and minor.
    #[must_use]
    pub fn device(&self) -> (u32, u32) {
        (self.stat.stx_dev_major, self.stat.stx_dev_minor)
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.stat.stx_size
    }

    /// Its inode number.
    #[must_use]
    pub fn inode(&self) -> u64 {
        self.stat.stx_ino
    }

    /// Opens it for reading; a device or a FIFO is not waited for.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(&self) -> io::Result<OwnedFd> {
        if self.kind() == FileType::Directory {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            return Ok(openat(self.fd(), ".", flags, Mode::empty())?);
        }
        let path = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(path, flags, Mode::empty())?)
    }

    /// Its path without links.
    ///
    /// # Errors
    /// What the system says.
    pub fn path(&self) -> io::Result<PathBuf> {
        fs::read_link(format!("/proc/self/fd/{}", self.fd.as_raw_fd()))
    }
}

/// The names of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev().filter_map(|part| match part {
        Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
        _ => None,
    });
    parts.collect()
}
