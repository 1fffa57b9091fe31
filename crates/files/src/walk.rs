//! A path, walked name by name from a folder that is held open.
//!
//! Each folder on the way is a descriptor, and `..` goes back to the one before; so no link and no
//! rename in between leads out of the first. `openat2` with `RESOLVE_IN_ROOT` does the same since
//! Linux 5.6; evidence is read on older kernels, too, and under filters that refuse it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat, readlinkat};
use rustix::io::Errno;

/// Links that are followed on the way; the kernel follows as many.
pub(crate) const MOST_LINKS: usize = 40;

/// Folders below one another. Each on the way is held open, and a process may hold 1024 files.
const DEEPEST: usize = 128;

/// What is asked of each folder, link and file on the way, under its path from the root.
pub(crate) type Check<'a> = &'a dyn Fn(&Path, &Stat) -> io::Result<()>;

/// What hears of each link that is followed: its path from the root, and where it leads.
pub(crate) type Followed<'a> = &'a mut dyn FnMut(&Path, &OsStr);

/// Where a path ended.
#[derive(Debug)]
pub(crate) struct End {
    /// The folder in which it is; `None` for the first.
    pub(crate) folder: Option<OwnedFd>,
    /// Its path from the first folder, without links.
    pub(crate) path: PathBuf,
    /// What is there.
    pub(crate) stat: Stat,
}

struct Walk<'a> {
    top: BorrowedFd<'a>,
    /// The folders below the top, with their names.
    at: Vec<(OsString, OwnedFd)>,
    links: usize,
}

/// Walks a path from `top`; the last name may be a link, too, and is followed.
///
/// # Errors
/// What the system says, `ELOOP` beyond 40 links, `ENAMETOOLONG` beyond 128 folders, or what
/// `check` says.
pub(crate) fn walk(
    top: BorrowedFd<'_>,
    path: &Path,
    check: Check<'_>,
    followed: Followed<'_>,
) -> io::Result<End> {
    let mut walk = Walk {
        top,
        at: Vec::new(),
        links: 0,
    };
    let mut todo = parts(path.as_os_str());
    while let Some(part) = todo.pop() {
        if part == ".." {
            walk.at.pop();
            continue;
        }
        let found = openat(walk.here(), &part, OFlags::PATH | FLAGS, Mode::empty())?;
        let stat = fstat(&found)?;
        let whole = walk.path().join(&part);
        check(&whole, &stat)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => followed(&whole, &walk.follow(&found, &mut todo)?),
            FileType::Directory if walk.at.len() == DEEPEST => {
                return Err(Errno::NAMETOOLONG.into());
            }
            FileType::Directory => walk.at.push((part, found)),
            _ if todo.is_empty() => return walk.end(whole, stat),
            _ => return Err(Errno::NOTDIR.into()),
        }
    }
    let stat = fstat(walk.here())?;
    let path = walk.path();
    walk.at.pop();
    walk.end(path, stat)
}

/// How names are opened: links are ours to follow.
const FLAGS: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);

impl Walk<'_> {
    fn here(&self) -> BorrowedFd<'_> {
        self.at
            .last()
            .map_or(self.top, |(_, folder)| folder.as_fd())
    }

    fn path(&self) -> PathBuf {
        self.at.iter().map(|(name, _)| name).collect()
    }

    fn follow(&mut self, link: &OwnedFd, todo: &mut Vec<OsString>) -> io::Result<OsString> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        let to = OsString::from_vec(readlinkat(link, "", Vec::new())?.into_bytes());
        if to.as_bytes().starts_with(b"/") {
            self.at.clear();
        }
        todo.append(&mut parts(&to));
        Ok(to)
    }

    fn end(mut self, path: PathBuf, stat: Stat) -> io::Result<End> {
        let folder = self.at.pop().map(|(_, folder)| folder);
        Ok(End { folder, path, stat })
    }
}

/// The names of a path that say something, the last one first.
fn parts(path: &OsStr) -> Vec<OsString> {
    let parts = path.as_bytes().split(|byte| *byte == b'/').rev();
    let parts = parts.filter(|part| !matches!(*part, b"" | b"."));
    parts
        .map(|part| OsStr::from_bytes(part).to_owned())
        .collect()
}
