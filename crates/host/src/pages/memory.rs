//! The pages of one process: which are there, and what they hold.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use mm::formula::sharing::Candidate;
use mm::pagemap::{self, Entry};
use mm::units::PageSize;
use rustix::io::Errno;

use super::units::{Stretch, Unit};
use crate::Root;

/// Pages that one system call reads: enough to hide its cost, little enough for the caches.
pub(super) const BLOCK: usize = 64;

/// A process's page map and memory.
pub(super) struct Memory {
    map: File,
    memory: File,
    page: PageSize,
}

/// An anonymous page in memory: its place in the unit, its address and its entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Present {
    pub(super) place: u16,
    pub(super) entry: Entry,
    address: u64,
}

/// Room that is used again and again.
pub(super) struct Buffers {
    block: Vec<u8>,
    map: Vec<u8>,
    present: Vec<Present>,
}

impl Buffers {
    pub(super) fn new(page: PageSize) -> Self {
        Self {
            block: vec![0; BLOCK * bytes(page)],
            map: Vec::new(),
            present: Vec::new(),
        }
    }
}

impl Present {
    /// A page whose frame is hidden from us counts as one with all that are mapped elsewhere too
    /// and hold the same: they are shared since a fork, most likely.
    pub(super) fn candidate(&self, content: u64, unit: u32) -> Candidate {
        const HIDDEN: u64 = 1 << 63;
        let own = u64::from(unit) << 16 | u64::from(self.place);
        let hidden = if self.entry.is_exclusive() {
            own
        } else {
            content
        };
        Candidate {
            content,
            frame: self.entry.frame().unwrap_or(HIDDEN | hidden),
            unit,
            page: self.place,
            changed: false,
        }
    }
}

impl Memory {
    /// Opens both files.
    ///
    /// # Errors
    /// Where the process may not be read, or is gone.
    pub(super) fn open(root: &Root, pid: u32, page: PageSize) -> io::Result<Self> {
        let open = |name| File::open(root.join(&format!("proc/{pid}/{name}")));
        Ok(Self {
            map: open("pagemap")?,
            memory: open("mem")?,
            page,
        })
    }

    /// Hands over every anonymous page of the unit whose place is wanted; gives the pages in swap.
    ///
    /// # Errors
    /// Where the process has ended.
    pub(super) fn look(
        &self,
        unit: &Unit,
        buffers: &mut Buffers,
        wanted: impl Fn(u16) -> bool,
        take: &mut impl FnMut(&Present, &[u8]),
    ) -> io::Result<u64> {
        let Buffers {
            block,
            map,
            present,
        } = buffers;
        present.clear();
        let (mut place, mut swapped) = (0, 0);
        for stretch in &unit.stretches {
            self.map(stretch, map)?;
            let addresses = (0..).map(|at| stretch.start + at * self.page.bytes());
            for (entry, address) in pagemap::entries(map).zip(addresses) {
                swapped += u64::from(entry.is_swapped());
                if entry.is_anonymous() && wanted(place) {
                    present.push(Present {
                        place,
                        entry,
                        address,
                    });
                }
                place = place.wrapping_add(1);
            }
        }
        self.contents(present, block, take);
        Ok(swapped)
    }

    /// The page map of a stretch, as many bytes as it has.
    fn map(&self, stretch: &Stretch, map: &mut Vec<u8>) -> io::Result<()> {
        let entry = pagemap::ENTRY as u64;
        let length = usize::try_from(stretch.pages * entry).unwrap_or(0);
        map.clear();
        map.resize(length, 0);
        let at = stretch.start / self.page.bytes() * entry;
        match self.map.read_at(map, at)? {
            0 => Err(Errno::SRCH.into()),
            // The address space may have shrunk; what is not there is not present.
            _ => Ok(()),
        }
    }

    /// Reads pages, those that lie one behind the other together. One that cannot be read any more
    /// is left out.
    fn contents(
        &self,
        mut present: &[Present],
        block: &mut [u8],
        take: &mut impl FnMut(&Present, &[u8]),
    ) {
        while let Some(first) = present.first() {
            let next = |&(at, page): &(usize, &Present)| {
                page.address == first.address + at as u64 * self.page.bytes()
            };
            let in_a_row = present
                .iter()
                .take(BLOCK)
                .enumerate()
                .take_while(next)
                .count();
            let block = &mut block[..in_a_row * bytes(self.page)];
            let read = self.memory.read_at(block, first.address).unwrap_or(0);
            let whole = block[..read].chunks_exact(bytes(self.page));
            let pages = whole.len();
            present
                .iter()
                .zip(whole)
                .for_each(|(page, bytes)| take(page, bytes));
            let unreadable = usize::from(pages < in_a_row);
            present = &present[pages + unreadable..];
        }
    }
}

/// Bytes of a page, as a length.
pub(super) fn bytes(page: PageSize) -> usize {
    usize::try_from(page.bytes()).unwrap_or(4096)
}
