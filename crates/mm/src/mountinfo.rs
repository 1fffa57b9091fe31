//! What is mounted: `/proc/PID/mountinfo`, a line for each mount.
//!
//! It is read as bytes: whoever may mount something names its place, and a name need not be text.

use alloc::vec::Vec;

/// A mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount<'a> {
    /// Its number, as `statx` tells it.
    pub id: u64,
    /// The device of its file system.
    pub device: Device,
    /// Where it is mounted, as it is named.
    pub point: Vec<u8>,
    /// The kind of its file system, as in `ext4`.
    pub kind: &'a [u8],
    /// The file system's own options, separated by commas.
    pub options: &'a [u8],
}

/// The number of a file system's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Device {
    /// Which driver; 0 where the file system lies on no device.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

/// Kinds of file systems beside those of FUSE (`fuse`, `fuseblk`, `fuse.NAME`) that another program
/// or machine serves: whoever asks them waits for that, if it must be for ever.
const SERVED: [&[u8]; 15] = [
    b"9p",
    b"afs",
    b"autofs",
    b"ceph",
    b"cifs",
    b"coda",
    b"gfs2",
    b"lustre",
    b"ncpfs",
    b"nfs",
    b"nfs4",
    b"ocfs2",
    b"orangefs",
    b"smb3",
    b"smbfs",
];

/// The mounts of a text; lines that are none are passed over.
pub fn parse(text: &[u8]) -> impl Iterator<Item = Mount<'_>> {
    text.split(|byte| *byte == b'\n').filter_map(mount)
}

impl Mount<'_> {
    /// Whether another program or machine serves its file system.
    #[must_use]
    pub fn is_served(&self) -> bool {
        self.kind.starts_with(b"fuse") || SERVED.contains(&self.kind)
    }
}

impl Device {
    /// As the kernel keeps it, with 20 bits for the minor number.
    #[must_use]
    pub fn of_kernel(number: u32) -> Self {
        Self {
            major: number >> 20,
            minor: number & 0xf_ffff,
        }
    }
}

fn mount(line: &[u8]) -> Option<Mount<'_>> {
    let dash = line.windows(3).position(|three| three == b" - ")?;
    let mut before = line[..dash].split(|byte| *byte == b' ');
    let mut after = line[dash + 3..].split(|byte| *byte == b' ');
    let id = number(before.next()?)?;
    let device = before.nth(1)?;
    let colon = device.iter().position(|byte| *byte == b':')?;
    Some(Mount {
        id,
        device: Device {
            major: number(&device[..colon])?,
            minor: number(&device[colon + 1..])?,
        },
        point: unescaped(before.nth(1)?),
        kind: after.next()?,
        options: after.nth(1).unwrap_or_default(),
    })
}

fn number<T: core::str::FromStr>(text: &[u8]) -> Option<T> {
    core::str::from_utf8(text).ok()?.parse().ok()
}

/// `\040` is a space: the kernel writes what would break a line in octal.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        let octal = behind.get(..3).filter(|_| first == b'\\');
        let octal = octal.and_then(|digits| core::str::from_utf8(digits).ok());
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
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_has_a_number_a_device_a_place_and_a_kind() {
        let text =
            b"36 35 98:0 /a /mnt\\0402\\134\\012\xff rw,noatime shared:1 - ext3 /dev/a rw,x\n\
                     36 35 98:0\n\n - \n";
        let mounts: Vec<Mount<'_>> = parse(text).collect();
        let expected = Mount {
            id: 36,
            device: Device {
                major: 98,
                minor: 0,
            },
            point: b"/mnt 2\\\n\xff".into(),
            kind: b"ext3",
            options: b"rw,x",
        };
        assert_eq!(mounts, [expected]);
    }

    #[test]
    fn what_somebody_else_serves_is_known_by_its_kind() {
        let is_served = |kind: &str| {
            let line = alloc::format!("1 0 0:1 / /a rw - {kind} x rw");
            parse(line.as_bytes())
                .next()
                .is_some_and(|mount| mount.is_served())
        };
        for kind in ["fuse", "fuseblk", "fuse.sshfs", "nfs4", "autofs"] {
            assert!(is_served(kind), "{kind}");
        }
        for kind in ["ext4", "tmpfs", "overlay", "proc"] {
            assert!(!is_served(kind), "{kind}");
        }
    }
}
