//! What is to be read of a process: stretches of its address space, in pieces of one size.

use std::io;

use mm::maps::{self, Mapping};
use mm::prng::Prng;
use mm::units::PageSize;

use crate::Root;

/// Pages of address space in a piece: 16 MiB, some milliseconds to read.
const PIECE: u64 = 4096;

/// A stretch of address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) start: u64,
    pub(super) pages: u64,
}

/// Stretches of one process that are read together, [`PIECE`] pages at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// The process's place in the list.
    pub(super) process: u32,
    pub(super) stretches: Vec<Stretch>,
}

/// Where file systems of huge pages are mounted.
pub(super) fn hugetlb_mounts(root: &Root) -> Vec<String> {
    maps::hugetlb_mounts(&root.read("proc/self/mounts").unwrap_or_default())
}

/// The units of a process.
///
/// # Errors
/// Where its mappings may not be read, or it is gone.
pub(super) fn of(
    root: &Root,
    pid: u32,
    index: u32,
    page: PageSize,
    mounts: &[String],
) -> io::Result<Vec<Unit>> {
    let path = format!("proc/{pid}/maps");
    let mappings = maps::parse(&path, &root.read(&path)?);
    let mappings = mappings.map_err(io::Error::other)?;
    let wanted = mappings
        .iter()
        .filter(|m| m.accessible && m.may_merge(mounts));
    let mut units: Vec<Unit> = Vec::new();
    let mut room = 0;
    for stretch in wanted.flat_map(|mapping| pieces(mapping, page)) {
        match units.last_mut().filter(|_| stretch.pages <= room) {
            Some(unit) => unit.stretches.push(stretch),
            None => {
                room = PIECE;
                units.push(Unit {
                    process: index,
                    stretches: vec![stretch],
                });
            }
        }
        room -= stretch.pages;
    }
    Ok(units)
}

/// Random order, the same every time: a part of the units is then a fair part of the memory.
pub(super) fn shuffle(units: &mut [Unit]) {
    Prng::new(1).shuffle(units);
}

fn pieces(mapping: &Mapping, page: PageSize) -> impl Iterator<Item = Stretch> {
    let pages = (mapping.end - mapping.start) / page.bytes();
    let start = mapping.start;
    (0..pages.div_ceil(PIECE)).map(move |piece| Stretch {
        start: start + piece * PIECE * page.bytes(),
        pages: PIECE.min(pages - piece * PIECE),
    })
}
