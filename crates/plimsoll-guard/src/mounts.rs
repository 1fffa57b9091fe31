//! Which local disk file systems are mounted, and where: `/proc/self/mountinfo`, again when it
//! changes.

use std::fs;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use host::kept::ON_DISK;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};

use crate::sys;

/// What is mounted.
#[derive(Debug)]
pub(crate) struct Mounts {
    file: fs::File,
    disks: Vec<Disk>,
    cgroup2: Option<PathBuf>,
    memory_groups: Option<PathBuf>,
}

/// A mounted disk file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Disk {
    /// As fanotify names it.
    pub(crate) fsid: u64,
    pub(crate) device: Device,
    /// Where it is mounted.
    pub(crate) point: PathBuf,
}

/// The number of a file system's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Device {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl Device {
    /// As the kernel keeps it, with 20 bits for the minor number.
    pub(crate) fn of_kernel(number: u32) -> Self {
        Self {
            major: number >> 20,
            minor: number & 0xf_ffff,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once(':')?;
        Some(Self {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }
}

impl Mounts {
    /// Reads it for the first time.
    pub(crate) fn new() -> io::Result<Self> {
        let mut mounts = Self {
            file: fs::File::open("/proc/self/mountinfo")?,
            disks: Vec::new(),
            cgroup2: None,
            memory_groups: None,
        };
        mounts.read()?;
        Ok(mounts)
    }

    /// Whether anything changed since the last call.
    pub(crate) fn refresh(&mut self) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.file, PollFlags::PRI)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        if poll(&mut fds, Some(&now))? == 0 {
            return Ok(false);
        }
        // The text may be what it was: what comes again has its number again.
        self.read().map(|()| true)
    }

    /// The disk file systems; one that is mounted in two places stands there twice.
    pub(crate) fn disks(&self) -> &[Disk] {
        &self.disks
    }

    /// Where cgroup v2 is mounted.
    pub(crate) fn cgroup2(&self) -> Option<&Path> {
        self.cgroup2.as_deref()
    }

    /// Where the groups of the memory controller are: of v1 where that has it.
    pub(crate) fn memory_groups(&self) -> Option<&Path> {
        self.memory_groups.as_deref().or(self.cgroup2())
    }

    /// Whether a file system is a local disk's and still mounted.
    pub(crate) fn has(&self, fsid: u64) -> bool {
        self.disks.iter().any(|disk| disk.fsid == fsid)
    }

    /// Opens the place where a file system is mounted. Whoever keeps the descriptor keeps the file
    /// system from being unmounted.
    pub(crate) fn open(&self, fsid: u64) -> io::Result<OwnedFd> {
        let places = self.disks.iter().filter(|disk| disk.fsid == fsid);
        let opened = places.filter_map(|disk| open_place(&disk.point).ok());
        let mut right = opened
            .filter(|place| sys::file_system(place.as_fd()).is_ok_and(|found| found.fsid == fsid));
        right.next().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read(&mut self) -> io::Result<()> {
        let mut text = String::new();
        self.file.rewind()?;
        self.file.read_to_string(&mut text)?;
        let mounts = || text.lines().filter_map(parse);
        self.disks = mounts()
            .filter_map(|(kind, device, point)| disk(kind, device, point))
            .collect();
        let mut hierarchies = mounts().filter(|(kind, ..)| *kind == "cgroup2");
        self.cgroup2 = hierarchies.next().map(|(.., point)| point);
        let mut lines = text.lines().filter(|line| has_memory_groups(line));
        self.memory_groups = lines.next().and_then(parse).map(|(.., point)| point);
        Ok(())
    }
}

fn open_place(point: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(rustix::fs::open(point, flags, Mode::empty())?)
}

/// A mount as a disk, if it is one: another file system may have been mounted over it.
fn disk(kind: &str, device: Device, point: PathBuf) -> Option<Disk> {
    let (_, magic) = ON_DISK.iter().find(|(name, _)| *name == kind)?;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let place = rustix::fs::open(&point, flags, Mode::empty()).ok()?;
    let found = sys::file_system(place.as_fd()).ok()?;
    let fsid = found.fsid;
    (found.magic == *magic && fsid != 0).then_some(Disk {
        fsid,
        device,
        point,
    })
}

/// The kind of a mount, its device and its place, from a line of mountinfo.
fn parse(line: &str) -> Option<(&str, Device, PathBuf)> {
    let (before, after) = line.split_once(" - ")?;
    let kind = after.split(' ').next()?;
    let mut before = before.split(' ');
    let device = Device::parse(before.nth(2)?)?;
    Some((kind, device, unescape(before.nth(1)?)))
}

/// Whether a line of mountinfo is that of the memory controller of cgroup v1.
fn has_memory_groups(line: &str) -> bool {
    let mut words = line.split_once(" - ").unwrap_or_default().1.split(' ');
    let options = (words.next() == Some("cgroup")).then(|| words.nth(1));
    let options = options.flatten().unwrap_or_default();
    options.split(',').any(|option| option == "memory")
}

/// `\040` is a space: mountinfo writes what would break a line in octal.
fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let octal = behind.get(..3).filter(|_| first == b'\\');
        let octal = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[3..];
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mountinfo_has_a_kind_and_a_place() {
        let line = r"36 35 98:0 /a /mnt\0402\134 rw,noatime shared:1 master:2 - ext3 /dev/a rw";
        let device = Device {
            major: 98,
            minor: 0,
        };
        let place = PathBuf::from(r"/mnt 2\");
        assert_eq!(parse(line), Some(("ext3", device, place)));
        assert_eq!(parse("36 35 98:0"), None);
    }

    #[test]
    fn the_memory_controller_is_found_among_those_of_v1() {
        let line = |options| format!("40 30 0:30 / /sys/fs/cgroup/m rw - cgroup cgroup {options}");
        assert!(has_memory_groups(&line("rw,memory")));
        assert!(!has_memory_groups(&line("rw,cpu,cpuacct")));
        assert!(!has_memory_groups(
            "40 30 0:30 / /memory rw - cgroup2 cgroup2 rw,memory"
        ));
    }

    #[test]
    fn what_is_mounted_over_is_no_disk() {
        let device = Device { major: 8, minor: 1 };
        assert_eq!(disk("ext4", device, PathBuf::from("/proc")), None);
        assert_eq!(disk("tmpfs", device, PathBuf::from("/")), None);
    }
}
