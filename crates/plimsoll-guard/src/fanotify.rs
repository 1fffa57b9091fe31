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

use mm::mountinfo::Device;

use crate::log;
use crate::mounts::{Disk, Mounts};
use crate::sys::{self, Key};
use crate::users::Users;

const USES: u64 = libc::FAN_CLOSE_NOWRITE | libc::FAN_OPEN_EXEC;
/// Events that are taken in one go at most: what the kernel's queue holds.
pub(crate) const EVENTS_MAX: usize = 16_384;
/// Lengths of `struct fanotify_event_metadata` and of what is before a handle's bytes.
const METADATA: usize = 24;
const BEFORE_HANDLE: usize = 20;

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
        let Some(marks) = text.ok().and_then(|text| marks(&text)) else {
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
            let mut rest = &self.buffer[..length];
            while let Some((raw, behind)) = split(rest) {
                rest = behind;
                taken += 1;
                if raw.mask & libc::FAN_Q_OVERFLOW != 0 {
                    lost += 1;
                } else if raw.pid != self.pid
                    && let Some(user) = users.of(raw.pid)
                {
                    raw.events(user).for_each(&mut take);
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

/// The devices whose file systems are marked, from the text of a group's fdinfo; `None` where the
/// kernel does not tell.
fn marks(text: &str) -> Option<BTreeSet<Device>> {
    if !text.contains("\nfanotify flags:") {
        return None;
    }
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("fanotify sdev:"));
    let numbers = lines.filter_map(|rest| rest.split(' ').next());
    let numbers = numbers.filter_map(|number| u32::from_str_radix(number, 16).ok());
    Some(numbers.map(Device::of_kernel).collect())
}

/// An event as the kernel wrote it.
struct Raw<'a> {
    mask: u64,
    pid: u32,
    /// The records behind the metadata.
    records: &'a [u8],
}

/// The first event of a buffer, and what is behind it.
fn split(bytes: &[u8]) -> Option<(Raw<'_>, &[u8])> {
    let length = usize::try_from(u32_at(bytes, 0)?).ok()?;
    let metadata = usize::from(u16_at(bytes, 6)?);
    if bytes.get(4) != Some(&libc::FANOTIFY_METADATA_VERSION) || metadata < METADATA {
        return None;
    }
    let (event, behind) = bytes.split_at_checked(length)?;
    let raw = Raw {
        mask: u64::from_ne_bytes(event.get(8..16)?.try_into().ok()?),
        pid: u32_at(event, 20)?,
        records: event.get(metadata..)?,
    };
    Some((raw, behind))
}

impl Raw<'_> {
    /// What was done, in order: the kernel makes one event of several of a process.
    fn events(&self, user: User) -> impl Iterator<Item = Event> {
        let has = |event| self.mask & event != 0;
        let is_executed = has(libc::FAN_OPEN_EXEC);
        let uses = [
            (is_executed, Use::Executed),
            (has(libc::FAN_OPEN) && !is_executed, Use::Opened),
            (has(libc::FAN_CLOSE_NOWRITE) && !is_executed, Use::Closed),
            (has(libc::FAN_CLOSE_WRITE), Use::Written),
        ];
        let uses = uses.into_iter().filter(|(is_so, _)| *is_so);
        let key = self.key();
        uses.filter_map(move |(_, how)| {
            let key = key?;
            Some(Event { key, how, user })
        })
    }

    /// The file; `None` where the kernel could not name it.
    fn key(&self) -> Option<Key> {
        let mut rest = self.records;
        loop {
            let kind = *rest.first()?;
            let length = usize::from(u16_at(rest, 2)?);
            let (record, behind) = rest.split_at_checked(length.max(1))?;
            if kind == libc::FAN_EVENT_INFO_TYPE_FID {
                return key(record);
            }
            rest = behind;
        }
    }
}

/// The key in a record: its header, the fsid, then a `struct file_handle`.
fn key(record: &[u8]) -> Option<Key> {
    let fsid = u64::from_ne_bytes(record.get(4..12)?.try_into().ok()?);
    let length = usize::try_from(u32_at(record, 12)?).ok()?;
    let kind = u32_at(record, 16)?.cast_signed();
    let handle = record.get(BEFORE_HANDLE..BEFORE_HANDLE.checked_add(length)?)?;
    Key::new(fsid, kind, handle)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_ne_bytes(bytes))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(u16::from_ne_bytes(bytes))
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

    fn event(mask: u64, pid: u32, handle: &[u8]) -> Vec<u8> {
        let record = (BEFORE_HANDLE + handle.len()) as u16;
        let mut bytes = Vec::new();
        bytes.extend(u32::from(24 + record).to_ne_bytes());
        bytes.extend([libc::FANOTIFY_METADATA_VERSION, 0]);
        bytes.extend(24_u16.to_ne_bytes());
        bytes.extend(mask.to_ne_bytes());
        bytes.extend((-1_i32).to_ne_bytes());
        bytes.extend(pid.to_ne_bytes());
        bytes.extend([libc::FAN_EVENT_INFO_TYPE_FID, 0]);
        bytes.extend(record.to_ne_bytes());
        bytes.extend(9_u64.to_ne_bytes());
        bytes.extend((handle.len() as u32).to_ne_bytes());
        bytes.extend(1_i32.to_ne_bytes());
        bytes.extend(handle);
        bytes
    }

    #[test]
    fn events_name_the_file_and_what_was_done() {
        let mut bytes = event(libc::FAN_CLOSE_NOWRITE, 1, b"12345678");
        bytes.extend(event(libc::FAN_OPEN_EXEC, 2, b"1234"));
        let (first, rest) = split(&bytes).expect("an event");
        let (second, rest) = split(rest).expect("another");
        let found = [&first, &second].map(|raw| raw.events(User::System).next().expect("a file"));
        assert_eq!((first.pid, second.pid, rest.len()), (1, 2, 0));
        assert_eq!(found[0].key, Key::new(9, 1, b"12345678").expect("short"));
        assert_eq!([found[0].how, found[1].how], [Use::Closed, Use::Executed]);
    }

    #[test]
    fn the_marks_of_a_group_name_their_devices() {
        let text = "pos:\t0\nmnt_id:\t15\nfanotify flags:800 event-flags:0\n\
                    fanotify sdev:800003 mflags:0 mask:1010 ignored_mask:0\n\
                    fanotify ino:2 sdev:700000 mflags:0 mask:1 ignored_mask:0\n";
        let device = Device { major: 8, minor: 3 };
        assert_eq!(marks(text), Some(BTreeSet::from([device])));
        assert_eq!(marks("pos:\t0\n"), None);
    }

    #[test]
    fn several_uses_in_one_event_are_told_in_order() {
        let uses = |mask| {
            let bytes = event(mask, 1, b"1234");
            let (raw, _) = split(&bytes).expect("an event");
            raw.events(User::System)
                .map(|event| event.how)
                .collect::<Vec<_>>()
        };
        let (open, close) = (libc::FAN_OPEN, libc::FAN_CLOSE_NOWRITE);
        assert_eq!(uses(open | close), [Use::Opened, Use::Closed]);
        assert_eq!(uses(open), [Use::Opened]);
        assert_eq!(uses(libc::FAN_CLOSE_WRITE), [Use::Written]);
        assert_eq!(uses(open | libc::FAN_OPEN_EXEC), [Use::Executed]);
    }

    #[test]
    fn an_event_cut_short_is_none() {
        let bytes = event(libc::FAN_CLOSE_NOWRITE, 1, b"12345678");
        for length in 0..bytes.len() {
            assert!(split(&bytes[..length]).is_none(), "{length}");
        }
        let long = event(libc::FAN_CLOSE_NOWRITE, 1, &[1; 41]);
        assert!(
            split(&long)
                .expect("an event")
                .0
                .events(User::System)
                .next()
                .is_none()
        );
    }
}
