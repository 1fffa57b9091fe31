//! What is to be read of a process: stretches of its address space, in pieces of one size.

use std::io;

use mm::maps::{self, Mapping};
use mm::prng::Prng;
use mm::units::{Bytes, PageSize};

use crate::Root;

/// Pages of address space in a piece: 16 MiB, some milliseconds to read.
const PIECE: u64 = 4096;

/// Pieces of one process, 1 TiB of address space, and of all: each is some bytes here, however
/// little memory is behind it.
const OF_ONE: u64 = 1 << 16;
pub(super) const OF_ALL: u64 = 1 << 20;

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

/// The units of a process; `room` is how many pieces there may still be.
///
/// # Errors
/// Where its mappings may not be read, or are more than is looked at, or it is gone.
pub(super) fn of(
    root: &Root,
    pid: u32,
    index: u32,
    page: PageSize,
    mounts: &[String],
    room: &mut u64,
) -> io::Result<Vec<Unit>> {
    let path = format!("proc/{pid}/maps");
    let mappings = maps::parse(&path, &root.read(&path)?);
    let mappings = mappings.map_err(io::Error::other)?;
    let wanted = mappings
        .iter()
        .filter(|m| m.accessible && m.may_merge(mounts));
    let pages: u64 = wanted.clone().map(|mapping| pages_of(mapping, page)).sum();
    let most = OF_ONE.min(*room);
    if pages / PIECE >= most {
        let size = Bytes(pages.saturating_mul(page.bytes()));
        return Err(io::Error::other(format!(
            "its {size} of address space is more than is looked at"
        )));
    }
    *room -= pages / PIECE;
    let mut units: Vec<Unit> = Vec::new();
    let mut left = 0;
    for stretch in wanted.flat_map(|mapping| pieces(mapping, page)) {
        match units.last_mut().filter(|_| stretch.pages <= left) {
            Some(unit) => unit.stretches.push(stretch),
            None => {
                left = PIECE;
                units.push(Unit {
                    process: index,
                    stretches: vec![stretch],
                });
            }
        }
        left -= stretch.pages;
    }
    Ok(units)
}

/// Random order, the same every time: a part of the units is then a fair part of the memory.
pub(super) fn shuffle(units: &mut [Unit]) {
    Prng::new(1).shuffle(units);
}

fn pages_of(mapping: &Mapping, page: PageSize) -> u64 {
    (mapping.end - mapping.start) / page.bytes()
}

fn pieces(mapping: &Mapping, page: PageSize) -> impl Iterator<Item = Stretch> {
    let pages = pages_of(mapping, page);
    let start = mapping.start;
    (0..pages.div_ceil(PIECE)).map(move |piece| Stretch {
        start: start + piece * PIECE * page.bytes(),
        pages: PIECE.min(pages - piece * PIECE),
    })
}
