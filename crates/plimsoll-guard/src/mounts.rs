//! Which local disk file systems are mounted, and where: `/proc/self/mountinfo`, again when it
//! changes.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use host::kept::ON_DISK;
use host::mounts::{self, Local};
use mm::mountinfo::{self, Device, Mount};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::log;
use crate::sys;

/// What is mounted.
#[derive(Debug)]
pub(crate) struct Mounts {
    file: fs::File,
    /// Those that are asked anything.
    local: Local,
    disks: Vec<Disk>,
    cgroup2: Option<PathBuf>,
    memory_groups: Option<PathBuf>,
    /// It was said that there are too many.
    said: bool,
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

impl Mounts {
    /// Reads it for the first time.
    pub(crate) fn new() -> io::Result<Self> {
        let mut mounts = Self {
            file: fs::File::open("/proc/self/mountinfo")?,
            local: Local::of(&[])?,
            disks: Vec::new(),
            cgroup2: None,
            memory_groups: None,
            said: false,
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
        let opened = places.filter_map(|disk| self.place(&disk.point).ok());
        let mut right = opened
            .filter(|place| sys::file_system(place.as_fd()).is_ok_and(|found| found.fsid == fsid));
        right.next().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Opens a place, whatever is mounted there now.
    pub(crate) fn place(&self, point: &Path) -> io::Result<OwnedFd> {
        self.local.find(point)?.open()
    }

    fn read(&mut self) -> io::Result<()> {
        let text = mounts::text(&self.file)?;
        if text.len() as u64 == mounts::LONGEST && !self.said {
            self.said = true;
            log::line(format_args!(
                "there are more mounts than are read: files on the latest are neither locked nor \
                 dropped; said once"
            ));
        }
        self.local = Local::of(&text)?;
        let all = || mountinfo::parse(&text);
        self.disks = all()
            .filter_map(|mount| disk(&mount, &self.local))
            .collect();
        let point = |mount: Mount<'_>| PathBuf::from(OsString::from_vec(mount.point));
        self.cgroup2 = all().find(|mount| mount.kind == b"cgroup2").map(point);
        self.memory_groups = all().find(has_memory_groups).map(point);
        Ok(())
    }
}

/// A mount as a disk, if it is one: another file system may have been mounted over it.
fn disk(mount: &Mount<'_>, local: &Local) -> Option<Disk> {
    let mut kinds = ON_DISK.iter();
    let (_, magic) = kinds.find(|(name, _)| name.as_bytes() == mount.kind)?;
    let point = PathBuf::from(OsString::from_vec(mount.point.clone()));
    let place = local.find(&point).ok()?;
    let found = sys::file_system(place.fd()).ok()?;
    let fsid = found.fsid;
    (found.magic == *magic && fsid != 0).then_some(Disk {
        fsid,
        device: mount.device,
        point,
    })
}

/// Whether it is the memory controller of cgroup v1.
fn has_memory_groups(mount: &Mount<'_>) -> bool {
    let mut options = mount.options.split(|byte| *byte == b',');
    mount.kind == b"cgroup" && options.any(|option| option == b"memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(line: &str) -> Mount<'_> {
        mountinfo::parse(line.as_bytes()).next().expect("a mount")
    }

    #[test]
    fn the_memory_controller_is_found_among_those_of_v1() {
        let has = |kind: &str, options: &str| {
            has_memory_groups(&mount(&format!(
                "40 30 0:30 / /memory rw - {kind} x {options}"
            )))
        };
        assert!(has("cgroup", "rw,memory"));
        assert!(!has("cgroup", "rw,cpu,cpuacct") && !has("cgroup2", "rw,memory"));
    }

    #[test]
    fn what_is_mounted_over_is_no_disk() {
        let local = Local::now().expect("/");
        for line in [
            "1 0 8:1 / /proc rw - ext4 x rw",
            "1 0 8:1 / / rw - tmpfs x rw",
        ] {
            assert_eq!(disk(&mount(line), &local), None, "{line}");
        }
    }
}
