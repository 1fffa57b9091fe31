//! The initramfs: a cpio archive in the kernel's "newc" format, uncompressed.
//!
//! Format: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel.

use std::fmt::Write as _;

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const CHARACTER_DEVICE: u32 = 0o020_600;
const LINK: u32 = 0o120_777;
const PERMISSIONS: u32 = 0o7777;

/// An archive that grows by one file at a time.
#[derive(Debug, Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

struct Entry<'a> {
    name: &'a str,
    mode: u32,
    device: (u32, u32),
    content: &'a [u8],
}

impl Archive {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// The directories that the guest mounts on, and the devices that must exist before it does.
    pub(super) fn skeleton(&mut self) {
        for name in [
            "proc",
            "sys",
            "dev",
            "tmp",
            "mnt",
            "plimsoll",
            "plimsoll/modules",
        ] {
            self.directory(name, DIRECTORY);
        }
        for (name, device) in [("dev/console", (5, 1)), ("dev/null", (1, 3))] {
            self.add(&Entry {
                name,
                mode: CHARACTER_DEVICE,
                device,
                content: &[],
            });
        }
    }

    /// Adds a program; its directory must have been added.
    pub(super) fn program(&mut self, name: &str, content: &[u8]) {
        self.add(&Entry {
            name,
            mode: PROGRAM,
            device: (0, 0),
            content,
        });
    }

    /// Adds a file; its directory must have been added.
    pub(super) fn file(&mut self, name: &str, content: &[u8]) {
        self.add(&Entry {
            name,
            mode: FILE,
            device: (0, 0),
            content,
        });
    }

    /// Adds a directory with the permissions of `mode`; the one above it must have been added.
    pub(super) fn directory(&mut self, name: &str, mode: u32) {
        self.add(&Entry {
            name,
            mode: DIRECTORY & !PERMISSIONS | mode & PERMISSIONS,
            device: (0, 0),
            content: &[],
        });
    }

    /// Adds the directories on the way to a file; the kernel passes over those that are there.
    pub(super) fn parents(&mut self, path: &str) {
        for (at, _) in path.match_indices('/') {
            self.directory(&path[..at], 0o755);
        }
    }

    /// Adds a symbolic link; its directory must have been added.
    pub(super) fn link(&mut self, name: &str, target: &[u8]) {
        self.add(&Entry {
            name,
            mode: LINK,
            device: (0, 0),
            content: target,
        });
    }

    /// Adds a file with the permissions of `mode`; its directory must have been added.
    pub(super) fn file_with(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.add(&Entry {
            name,
            mode: FILE & !PERMISSIONS | mode & PERMISSIONS,
            device: (0, 0),
            content,
        });
    }

    /// The archive with its trailer.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.add(&Entry {
            name: "TRAILER!!!",
            mode: 0,
            device: (0, 0),
            content: &[],
        });
        self.bytes
    }

    /// A header of thirteen numbers of eight hexadecimal digits, the name, the content. Owner,
    /// times and checksum stay zero, so that the same files are the same bytes.
    fn add(&mut self, entry: &Entry<'_>) {
        self.entries += 1;
        let size =
            u32::try_from(entry.content.len()).expect("a file of an initramfs is below 4 GiB");
        let name = u32::try_from(entry.name.len() + 1).expect("names are short");
        let (major, minor) = entry.device;
        let links = 1;
        let numbers = [
            self.entries,
            entry.mode,
            0,
            0,
            links,
            0,
            size,
            0,
            0,
            major,
            minor,
            name,
            0,
        ];
        let mut header = String::from("070701");
        for number in numbers {
            let _ = write!(header, "{number:08X}");
        }
        self.bytes.extend_from_slice(header.as_bytes());
        self.bytes.extend_from_slice(entry.name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(entry.content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::vm::tools;

    fn archive() -> Vec<u8> {
        let mut archive = Archive::new();
        archive.skeleton();
        archive.program("init", b"abc");
        archive.file("plimsoll/run", b"arm default\n");
        archive.finish()
    }

    /// Names and contents, read back by the format's own rules.
    fn entries(mut bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut entries = Vec::new();
        loop {
            let number = |index: usize| {
                let at = 6 + 8 * index;
                let digits = std::str::from_utf8(&bytes[at..at + 8]).unwrap();
                u32::from_str_radix(digits, 16).unwrap()
            };
            assert_eq!(&bytes[..6], b"070701");
            let (size, name) = (number(6) as usize, number(11) as usize);
            let content = (110 + name).next_multiple_of(4);
            let text = String::from_utf8(bytes[110..110 + name - 1].to_vec()).unwrap();
            if text == "TRAILER!!!" {
                return entries;
            }
            entries.push((text, number(1), bytes[content..content + size].to_vec()));
            bytes = &bytes[(content + size).next_multiple_of(4)..];
        }
    }

    #[test]
    fn what_goes_in_comes_out() {
        let entries = entries(&archive());
        assert_eq!(entries.len(), 7 + 2 + 2);
        assert_eq!(entries[9], ("init".into(), PROGRAM, b"abc".to_vec()));
        assert_eq!(entries[10].2, b"arm default\n");
    }

    #[test]
    fn the_system_reads_it_where_it_can() {
        let Some(busybox) = tools::on_path("busybox") else {
            return eprintln!("skipped: busybox is missing (apt-get install busybox-static)");
        };
        let listing = Command::new(busybox);
        let names = tools::run_with_input({ listing }.args(["cpio", "-t"]), &archive()).unwrap();
        let names = String::from_utf8(names).unwrap();
        assert!(names.lines().eq([
            "proc",
            "sys",
            "dev",
            "tmp",
            "mnt",
            "plimsoll",
            "plimsoll/modules",
            "dev/console",
            "dev/null",
            "init",
            "plimsoll/run",
        ]));
    }
}
