//! Which files are used: a fanotify group that reports each close of a reader, each execution and,
//! where a policy needs it, each open on the disks' file systems.
//!
//! Nothing wakes the daemon for an event: they wait in the kernel's queue until the next tick.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

use guard::User;
use guard::sample::Use;
use mm::fanotify::{self, Events, File};

use crate::log;
use crate::mounts::{Disk, Mounts};
use crate::sys::{self, Key};
use crate::users::Users;

const USES: u64 = libc::FAN_CLOSE_NOWRITE | libc::FAN_OPEN_EXEC;
/// Events that are taken in one go at most: what the kernel's queue holds.
pub(crate) const EVENTS_MAX: usize = 16_384;

/// The group, and what it watches.
#[derive(Debug)]
pub(crate) struct Fanotify {
    group: OwnedFd,
    mask: u64,
    buffer: Vec<u8>,
    /// This process, whose own uses do not count.
    pid: u32,
    watched: BTreeSet<u64>,
    refused: BTreeSet<u64>,
    /// How often the queue was full.
    overflows: u64,
}

/// A use of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) key: Key,
    pub(crate) how: Use,
    pub(crate) user: User,
}

impl Fanotify {
    /// `sees_opens`: an open is a use, too.
    pub(crate) fn new(sees_opens: bool) -> io::Result<Self> {
        let opens = match sees_opens {
            true => libc::FAN_OPEN | libc::FAN_CLOSE_WRITE,
            false => 0,
        };
        Ok(Self {
            group: sys::fanotify_init()?,
            mask: USES | opens,
            buffer: vec![0; 32 << 10],
            pid: std::process::id(),
            watched: BTreeSet::new(),
            refused: BTreeSet::new(),
            overflows: 0,
        })
    }

    /// Watches these file systems, and forgets those that are gone. One that was unmounted and
    /// mounted again has lost its mark: each is given again, which changes nothing where it is.
    pub(crate) fn watch(&mut self, mounts: &Mounts) {
        let disks = mounts.disks();
        let is_there = |fsid: &u64| disks.iter().any(|disk| disk.fsid == *fsid);
        self.watched.retain(is_there);
        self.refused.retain(is_there);
        for Disk { fsid, point, .. } in disks {
            let place = mounts.place(point);
            let marked =
                place.and_then(|place| sys::fanotify_mark(self.group.as_fd(), place, self.mask));
            match marked {
                Ok(()) => {
                    self.watched.insert(*fsid);
                    self.refused.remove(fsid);
                }
                Err(error) if self.refused.insert(*fsid) => log::line(format_args!(
                    "file system {fsid:016x} is not watched: {}: {}",
                    host::reason(&error),
                    way_out(&error)
                )),
                Err(_) => {}
            }
        }
    }

    /// The file systems that were unmounted since they were marked: their marks are gone, however
    /// soon they were mounted again.
    pub(crate) fn unmounted(&self, disks: &[Disk]) -> Vec<u64> {
        let path = format!("/proc/self/fdinfo/{}", self.group.as_raw_fd());
        let text = fs::read(path).map(|text| String::from_utf8_lossy(&text).into_owned());
        let Some(marks) = text.ok().and_then(|text| fanotify::marks(&text)) else {
            return Vec::new();
        };
        let is_marked = |fsid: u64| {
            let mut places = disks.iter().filter(|disk| disk.fsid == fsid);
            places.any(|disk| marks.contains(&disk.device))
        };
        let watched = self.watched.iter().copied();
        watched.filter(|fsid| !is_marked(*fsid)).collect()
    }

    /// How many file systems are watched.
    pub(crate) fn watched(&self) -> usize {
        self.watched.len()
    }

    /// How often the queue was full.
    pub(crate) fn overflows(&self) -> u64 {
        self.overflows
    }

    /// Takes what waits, in order, and hands to `take` what counts of it; how many events there
    /// were.
    pub(crate) fn drain(
        &mut self,
        users: &mut Users,
        mut take: impl FnMut(Event),
    ) -> io::Result<usize> {
        users.begin();
        let mut taken = 0;
        let mut lost = 0;
        while taken < EVENTS_MAX {
            let length = match rustix::io::read(&self.group, &mut self.buffer[..]) {
                Ok(0) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => break,
                Ok(length) => length,
                Err(error) => return Err(error.into()),
            };
            for raw in Events(&self.buffer[..length]) {
                taken += 1;
                if raw.mask & libc::FAN_Q_OVERFLOW != 0 {
                    lost += 1;
                } else if raw.pid != self.pid
                    && let Some(user) = users.of(raw.pid)
                {
                    uses(raw.mask, raw.file().and_then(key), user).for_each(&mut take);
                }
            }
        }
        if lost > 0 {
            if self.overflows == 0 {
                log::line(format_args!(
                    "more files were used at once than the queue holds: some uses do not \
                     count; said once"
                ));
            }
            self.overflows += lost;
        }
        Ok(taken)
    }
}

/// What was done to a file, in order: the kernel makes one event of several of a process.
fn uses(mask: u64, key: Option<Key>, user: User) -> impl Iterator<Item = Event> {
    let has = |bit| mask & bit != 0;
    let is_executed = has(libc::FAN_OPEN_EXEC);
    let uses = [
        (is_executed, Use::Executed),
        (has(libc::FAN_OPEN) && !is_executed, Use::Opened),
        (has(libc::FAN_CLOSE_NOWRITE) && !is_executed, Use::Closed),
        (has(libc::FAN_CLOSE_WRITE), Use::Written),
    ];
    let uses = uses.into_iter().filter(|(is_so, _)| *is_so);
    uses.filter_map(move |(_, how)| {
        let key = key?;
        Some(Event { key, how, user })
    })
}

/// `None` for a handle that is too long.
fn key(file: File<'_>) -> Option<Key> {
    Key::new(file.fsid, file.kind, file.handle)
}

fn way_out(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EXDEV) => "mount its top-level subvolume somewhere",
        Some(libc::EPERM) => "run as root",
        _ => "files on it are neither locked nor dropped",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: File<'_> = File {
        fsid: 9,
        kind: 1,
        handle: b"12345678",
    };

    #[test]
    fn several_uses_in_one_event_are_told_in_order() {
        let of = |mask| uses(mask, key(FILE), User::System).map(|event| event.how);
        let (open, close) = (libc::FAN_OPEN, libc::FAN_CLOSE_NOWRITE);
        assert!(of(open | close).eq([Use::Opened, Use::Closed]));
        assert!(of(open).eq([Use::Opened]));
        assert!(of(libc::FAN_CLOSE_WRITE).eq([Use::Written]));
        assert!(of(open | libc::FAN_OPEN_EXEC).eq([Use::Executed]));
    }

    #[test]
    fn a_file_is_known_by_its_handle_unless_that_is_too_long() {
        let close = libc::FAN_CLOSE_NOWRITE;
        let known = Key::new(9, 1, b"12345678").expect("short");
        let mut events = uses(close, key(FILE), User::System);
        assert_eq!(events.next().map(|event| event.key), Some(known));
        let long = File {
            handle: &[1; 41],
            ..FILE
        };
        assert_eq!(uses(close, key(long), User::System).next(), None);
    }
}
