//! VMware's `vscsiStats` traces, in the two versions that libCacheSim reads; little endian.
//!
//! ```text
//! version 1, 32 bytes: u32 number | u32 length | u32 segments | u16 command | u16 version
//!                      | u64 block | u64 time
//! version 2, 40 bytes: u16 command | u16 version | u32 number | u32 length | u32 segments
//!                      | u64 block | u64 time | u64 response time
//! ```
//!
//! The version is the high byte of its field. The object is the block, a sector of 512 bytes, as in
//! libCacheSim.

use std::io::Read;

use super::problem::Problem;
use super::records;

const VERSION_1: usize = 32;
const VERSION_2: usize = 40;
/// Where the block stands, in both.
const BLOCK: usize = 16;

/// Read and write commands of SCSI disks: of 6, 10, 12 and 16 bytes.
const COMMANDS: [u16; 8] = [0x08, 0x0a, 0x28, 0x2a, 0xa8, 0xaa, 0x88, 0x8a];

/// The layouts of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// The version that all whole records say with which a file begins; as libCacheSim, which asks two.
pub(super) fn version(head: &[u8]) -> Option<Version> {
    let says = |at: usize, version| {
        move |record: &[u8]| u16::from_le_bytes([record[at], record[at + 1]]) >> 8 == version
    };
    let all = |size, says: &dyn Fn(&[u8]) -> bool| {
        let records = head.chunks_exact(size);
        records.len() > 0 && records.into_iter().all(says)
    };
    if all(VERSION_2, &says(2, 2)) {
        return Some(Version::Two);
    }
    all(VERSION_1, &says(14, 1)).then_some(Version::One)
}

/// Whether a file that begins like this is such a trace though nobody said so: two records or more,
/// all of them with a known version and a command that reads or writes.
pub(super) fn is_recognised(head: &[u8]) -> bool {
    let (size, at) = match version(head) {
        Some(Version::One) => (VERSION_1, 12),
        Some(Version::Two) => (VERSION_2, 0),
        None => return false,
    };
    let known =
        |record: &[u8]| COMMANDS.contains(&u16::from_le_bytes([record[at], record[at + 1]]));
    head.len() >= 2 * size && head.chunks_exact(size).all(known)
}

/// Gives the blocks of the records to `each`, and back how many were passed over: those of no
/// length, as libCacheSim does. `head` is how the input begins.
pub(super) fn read(
    head: &[u8],
    input: impl Read,
    each: impl FnMut(&[u64]) -> Result<(), Problem>,
) -> Result<u64, Problem> {
    match version(head).ok_or(Problem::NoVscsi)? {
        Version::One => records::read::<VERSION_1>(input, "vscsi", |r| block(r, 4), each),
        Version::Two => records::read::<VERSION_2>(input, "vscsi", |r| block(r, 8), each),
    }
}

/// The block of a record, unless the length at byte `length` is 0.
fn block(record: &[u8], length: usize) -> Option<u64> {
    let has_length = record[length..length + 4].iter().any(|&byte| byte != 0);
    has_length.then(|| u64::from_le_bytes(std::array::from_fn(|at| record[BLOCK + at])))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record that writes 512 bytes to `block`.
    fn record(version: Version, block: u64, length: u32) -> Vec<u8> {
        let (command, number, segments) = ([0x2a, 0], 7_u32.to_le_bytes(), 1_u32.to_le_bytes());
        let (length, block, time) = (length.to_le_bytes(), block.to_le_bytes(), [9; 8]);
        match version {
            Version::One => [
                &number[..],
                &length,
                &segments,
                &command,
                &[3, 1],
                &block,
                &time,
            ]
            .concat(),
            Version::Two => [
                &command[..],
                &[3, 2],
                &number,
                &length,
                &segments,
                &block,
                &time,
                &time,
            ]
            .concat(),
        }
    }

    fn read_all(bytes: &[u8]) -> Result<(Vec<u64>, u64), String> {
        let mut objects = Vec::new();
        let head = &bytes[..bytes.len().min(1024)];
        let skipped = read(head, bytes, |batch| {
            objects.extend_from_slice(batch);
            Ok(())
        });
        skipped
            .map(|skipped| (objects, skipped))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn both_versions_give_their_blocks_without_being_told_which() {
        for version in [Version::One, Version::Two] {
            let bytes = [
                record(version, 5, 512),
                record(version, 9, 0),
                record(version, 1 << 40, 512),
            ]
            .concat();
            assert_eq!(read_all(&bytes), Ok((vec![5, 1 << 40], 1)), "{version:?}");
            assert!(is_recognised(&bytes), "{version:?}");
            let cut = read_all(&bytes[..bytes.len() - 1]).unwrap_err();
            assert!(cut.starts_with("record 3 at byte "), "{cut}");
            assert!(cut.contains("no vscsi trace"), "{cut}");
        }
    }

    #[test]
    fn other_bytes_are_neither_read_nor_recognised() {
        let mut other = record(Version::One, 5, 512).repeat(2);
        other[32 + 12] = 0x12;
        assert!(!is_recognised(&other), "INQUIRY neither reads nor writes");
        other[32 + 15] = 3;
        let error = read_all(&other).unwrap_err();
        assert!(error.contains("version 1 nor"), "{error}");
        assert!(
            !is_recognised(&record(Version::One, 5, 512)),
            "one is too little"
        );
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic_the_reader(bytes: Vec<u8>) {
            let _ = (read_all(&bytes), is_recognised(&bytes));
        }
    }
}
