//! What a disk has room for: its ext4 takes some of it, as the VM bench makes it (`vm::image`).

use mm::units::Bytes;

const BLOCK: u64 = 4096;
/// Blocks of a block group.
const GROUP: u64 = 8 * BLOCK;
/// Bytes of a disk for each inode, and of an inode.
const PER_INODE: u64 = 16 << 10;
const INODE: u64 = 256;
/// Inodes that no file of a study has: ext4's own, and `lost+found`.
const RESERVED_INODES: u64 = 11;
/// Inodes of a group come in blocks of these.
const INODES_OF_A_BLOCK: u64 = BLOCK / INODE;
/// Bytes of a group's descriptor.
const DESCRIPTOR: u64 = 64;
/// A last group with fewer blocks than these and its inodes is left out.
const LEAST_TAIL: u64 = 53;
/// The root directory, and `lost+found`.
const DIRECTORIES: u64 = 5;
/// What a directory takes for a file with a short name, at most.
pub const DIRECTORY_ENTRY: u64 = 64;
/// Contiguous pieces of a file that its inode itself names, each of a group at most.
const PIECES: u64 = 4;

/// The journal of an ext4 of this size, in MiB: the disk's share, within bounds.
pub fn journal_mib(size: Bytes) -> u64 {
    (size.0 >> 26).clamp(4, 64)
}

/// Bytes that are free on a new ext4 of this size; none where it is too small for its journal.
pub fn room(size: Bytes) -> Bytes {
    let (mut blocks, journal) = (size.0 / BLOCK, (journal_mib(size) << 20) / BLOCK);
    if blocks <= 2 * journal {
        return Bytes::ZERO;
    }
    let inodes = size.0 / PER_INODE;
    let tables = |groups: u64| inodes.div_ceil(groups).div_ceil(INODES_OF_A_BLOCK);
    let (mut groups, tail) = (blocks.div_ceil(GROUP), blocks % GROUP);
    if groups > 1 && tail > 0 && tail < tables(groups) + LEAST_TAIL {
        blocks -= tail;
        groups -= 1;
    }
    let descriptors = (groups * DESCRIPTOR).div_ceil(BLOCK);
    // The superblock; bitmaps of blocks and inodes.
    let metadata = 1 + descriptors + groups * (2 + tables(groups)) + DIRECTORIES;
    Bytes(blocks.saturating_sub(metadata + journal) * BLOCK)
}

/// Files that fit onto a disk of this size, however small they are.
pub fn most_files(size: Bytes) -> u64 {
    (size.0 / PER_INODE).saturating_sub(RESERVED_INODES)
}

/// What a file takes: its blocks, and one that names its pieces where the inode has no room.
pub fn taken(file: Bytes) -> Bytes {
    let blocks = file.0.div_ceil(BLOCK);
    let named = u64::from(blocks > PIECES * GROUP);
    Bytes((blocks + named).saturating_mul(BLOCK))
}

/// The least size in MiB of a disk with room for this much.
pub fn enough_mib(taken: Bytes) -> u64 {
    let mut mib = taken.0.div_ceil(1 << 20).max(1);
    loop {
        let room = room(Bytes(mib << 20));
        if room >= taken {
            return mib;
        }
        // A disk with no room at all is small.
        let missing = if room.0 == 0 { 0 } else { taken.0 - room.0 };
        mib += (missing >> 20).max(1);
    }
}
