//! What a fanotify group reports: events in bytes, each a `struct fanotify_event_metadata` with
//! records behind it (`include/uapi/linux/fanotify.h`), and its marks in `/proc/PID/fdinfo`.

use alloc::collections::BTreeSet;

use crate::mountinfo::Device;

/// `FANOTIFY_METADATA_VERSION`: the layout that is read here.
const VERSION: u8 = 3;
/// `FAN_EVENT_INFO_TYPE_FID`: a record that names the file.
const OF_FILE: u8 = 1;
/// Lengths of `struct fanotify_event_metadata` and of what is before a handle's bytes.
const METADATA: usize = 24;
const BEFORE_HANDLE: usize = 20;

/// The events of a buffer, in order, up to one that is cut short.
#[derive(Clone, Copy, Debug)]
pub struct Events<'a>(pub &'a [u8]);

/// An event as the kernel wrote it.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// What was done, by bits `FAN_*`: the kernel makes one event of several of a process.
    pub mask: u64,
    /// By which process.
    pub pid: u32,
    /// The records behind the metadata.
    records: &'a [u8],
}

/// A file, by its file system and its handle there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File<'a> {
    /// `f_fsid`, its two words as they lie in memory.
    pub fsid: u64,
    /// The handle's type.
    pub kind: i32,
    /// The handle's bytes, in whatever number the event says.
    pub handle: &'a [u8],
}

impl<'a> Iterator for Events<'a> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        let bytes = self.0;
        let length = usize::try_from(u32_at(bytes, 0)?).ok()?;
        let metadata = usize::from(u16_at(bytes, 6)?);
        if bytes.get(4) != Some(&VERSION) || metadata < METADATA {
            return None;
        }
        let (event, behind) = bytes.split_at_checked(length)?;
        let found = Event {
            mask: u64::from_ne_bytes(event.get(8..16)?.try_into().ok()?),
            pid: u32_at(event, 20)?,
            records: event.get(metadata..)?,
        };
        self.0 = behind;
        Some(found)
    }
}

impl<'a> Event<'a> {
    /// The file; `None` where the kernel could not name it.
    #[must_use]
    pub fn file(&self) -> Option<File<'a>> {
        let mut rest = self.records;
        loop {
            let kind = *rest.first()?;
            let length = usize::from(u16_at(rest, 2)?);
            let (record, behind) = rest.split_at_checked(length.max(1))?;
            if kind == OF_FILE {
                return file(record);
            }
            rest = behind;
        }
    }
}

/// The file of a record: its header, the fsid, then a `struct file_handle`.
fn file(record: &[u8]) -> Option<File<'_>> {
    let length = usize::try_from(u32_at(record, 12)?).ok()?;
    Some(File {
        fsid: u64::from_ne_bytes(record.get(4..12)?.try_into().ok()?),
        kind: u32_at(record, 16)?.cast_signed(),
        handle: record.get(BEFORE_HANDLE..BEFORE_HANDLE.checked_add(length)?)?,
    })
}

/// The devices whose file systems are marked, from the text of a group's fdinfo; `None` where the
/// kernel does not tell.
#[must_use]
pub fn marks(text: &str) -> Option<BTreeSet<Device>> {
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

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_ne_bytes(bytes))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(u16::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn event(mask: u64, pid: u32, handle: &[u8]) -> Vec<u8> {
        let record = (BEFORE_HANDLE + handle.len()) as u16;
        let mut bytes = Vec::new();
        bytes.extend(u32::from(24 + record).to_ne_bytes());
        bytes.extend([VERSION, 0]);
        bytes.extend(24_u16.to_ne_bytes());
        bytes.extend(mask.to_ne_bytes());
        bytes.extend((-1_i32).to_ne_bytes());
        bytes.extend(pid.to_ne_bytes());
        bytes.extend([OF_FILE, 0]);
        bytes.extend(record.to_ne_bytes());
        bytes.extend(9_u64.to_ne_bytes());
        bytes.extend((handle.len() as u32).to_ne_bytes());
        bytes.extend(1_i32.to_ne_bytes());
        bytes.extend(handle);
        bytes
    }

    #[test]
    fn an_event_names_the_file_and_the_process() {
        let mut bytes = event(0x10, 1, b"12345678");
        bytes.extend(event(0x1000, 2, b"1234"));
        let events: Vec<Event<'_>> = Events(&bytes).collect();
        let told = events
            .iter()
            .map(|event| (event.mask, event.pid, event.file().map(|it| it.handle)));
        let expected = [
            (0x10, 1, Some(&b"12345678"[..])),
            (0x1000, 2, Some(&b"1234"[..])),
        ];
        assert!(told.eq(expected));
        assert_eq!(events[0].file().map(|it| (it.fsid, it.kind)), Some((9, 1)));
    }

    #[test]
    fn an_event_cut_short_is_none() {
        let bytes = event(0x10, 1, b"12345678");
        for length in 0..bytes.len() {
            assert!(Events(&bytes[..length]).next().is_none(), "{length}");
        }
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
}
