//! Which part of a program the kernel loads: the program headers of an ELF file of 64 bits, least
//! byte first. Debugging sections and symbols lie behind it.

use alloc::vec::Vec;

/// Kinds of segments: what is loaded, and the name of the dynamic linker.
pub const LOAD: u32 = 1;
/// The name of the dynamic linker.
pub const INTERPRETER: u32 = 3;

const X86_64: u16 = 62;

/// A part of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its kind.
    pub kind: u32,
    /// Offset in the file behind its last byte.
    pub end: u64,
}

/// Whether a file that begins so is for x86-64.
#[must_use]
pub fn is_x86_64(head: &[u8]) -> bool {
    is_elf(head) && u16_at(head, 18) == Some(X86_64)
}

/// The segments of a file that begins so; `None` where it is no such file, or `head` has not all of
/// its program headers.
#[must_use]
pub fn segments(head: &[u8]) -> Option<Vec<Segment>> {
    if !is_elf(head) {
        return None;
    }
    let table = usize::try_from(u64_at(head, 32)?).ok()?;
    let (size, count) = (
        usize::from(u16_at(head, 54)?),
        usize::from(u16_at(head, 56)?),
    );
    let segment = |index: usize| {
        let header = head.get(table.checked_add(index * size)?..)?;
        Some(Segment {
            kind: u32::from_le_bytes(header.get(..4)?.try_into().ok()?),
            end: u64_at(header, 8)?.checked_add(u64_at(header, 32)?)?,
        })
    };
    (0..count).map(segment).collect()
}

/// Offset behind what is loaded of a file that begins so; `None` where nothing is.
#[must_use]
pub fn loaded(head: &[u8]) -> Option<u64> {
    let segments = segments(head)?.into_iter();
    let loaded = segments.filter(|segment| segment.kind == LOAD);
    loaded.map(|segment| segment.end).max()
}

/// Offset behind the section table of a file that begins so, which a build puts last; `None` where
/// it is no such file.
#[must_use]
pub fn sections_end(head: &[u8]) -> Option<u64> {
    let (size, count) = (u16_at(head, 58)?, u16_at(head, 60)?);
    let table = u64_at(head, 40).filter(|_| is_elf(head))?;
    table.checked_add(u64::from(size) * u64::from(count))
}

fn is_elf(head: &[u8]) -> bool {
    head.starts_with(b"\x7fELF\x02\x01")
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(u16::from_le_bytes(bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?.try_into().ok()?;
    Some(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn what_is_loaded_ends_before_the_symbols() {
        let mut head = vec![0; 64 + 2 * 56];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (head[18], head[32], head[54], head[56]) = (62, 64, 56, 2);
        for (at, kind, end) in [(64, LOAD, 0x2000_u64), (120, INTERPRETER, 0x3000)] {
            head[at] = kind as u8;
            head[at + 8..at + 16].copy_from_slice(&0x1000_u64.to_le_bytes());
            head[at + 32..at + 40].copy_from_slice(&(end - 0x1000).to_le_bytes());
        }
        assert_eq!(loaded(&head), Some(0x2000));
        assert!(is_x86_64(&head) && segments(&head).is_some_and(|all| all.len() == 2));
        for length in 0..120 + 40 {
            let cut = loaded(&head[..length]);
            assert!(cut.is_none(), "{length}");
        }
        head[64 + 32..64 + 40].fill(0xff);
        assert_eq!(loaded(&head), None, "it ends nowhere");
        assert_eq!(loaded(b"#!/bin/sh\n"), None);
    }

    #[test]
    fn the_section_table_ends_a_module() {
        let mut head = vec![0; 64];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (head[41], head[58], head[60]) = (1, 64, 3);
        assert_eq!(sections_end(&head), Some(0x100 + 3 * 64));
        for length in 0..62 {
            assert_eq!(sections_end(&head[..length]), None, "{length}");
        }
        head[40..48].fill(0xff);
        assert_eq!(sections_end(&head), None, "it ends nowhere");
        assert_eq!(sections_end(&[0; 64]), None);
    }
}
