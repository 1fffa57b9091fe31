//! What was cached when a recording began: pages that a task reads and that nobody brought in
//! before.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::RangeInclusive;

use mm::units::Nanos;
use scenario::recording::{Kind, Pack, Part, Run, Writer};

/// Bytes of a page.
const PAGE: u64 = super::event::PAGE;

/// Pages of a part of a file, one bit each.
const PAGES: u64 = 4096;

/// The most parts, of 520 bytes each: files of 256 GiB that are touched everywhere.
const PARTS: usize = 16_384;

/// The most ranges that are kept.
const RANGES: usize = 500_000;

/// Device and number.
type Inode = (u64, u64);

/// A bit for each page of a part.
type Bits = [u64; PAGES as usize / 64];

/// Files, by their numbers in the recording: first pages, and how many.
type Ranges = BTreeMap<(u32, u64), u64>;

/// Pages that were met, and those of them that were there before.
#[derive(Debug, Default)]
pub(crate) struct Cached {
    /// By inode and part.
    met: BTreeMap<(Inode, u64), Box<Bits>>,
    before: Ranges,
}

impl Cached {
    /// Pages came in, or are written as a whole.
    pub(crate) fn added(&mut self, file: Inode, pages: RangeInclusive<u64>) {
        self.meet(file, pages, |_, _| {});
    }

    /// A task reads pages: those that were not met were there.
    pub(crate) fn read(&mut self, file: Inode, number: u32, pages: RangeInclusive<u64>) {
        self.meet(file, pages, |before, page| keep(before, number, page));
    }

    /// The inode may become another file.
    pub(crate) fn forget(&mut self, file: Inode) {
        let parts = self.met.range((file, 0)..=(file, u64::MAX));
        let parts: Vec<_> = parts.map(|(key, _)| *key).collect();
        parts.iter().for_each(|key| {
            self.met.remove(key);
        });
    }

    /// Tells the pages that are met for the first time; beyond the most parts none are.
    fn meet(
        &mut self,
        file: Inode,
        pages: RangeInclusive<u64>,
        mut is_new: impl FnMut(&mut Ranges, u64),
    ) {
        let (mut page, last) = pages.into_inner();
        while page <= last {
            let of_part = last.min(page | (PAGES - 1));
            let key = (file, page / PAGES);
            let is_full = self.met.len() >= PARTS;
            let part = match self.met.entry(key) {
                Entry::Vacant(_) if is_full => None,
                entry => Some(entry.or_insert_with(|| Box::new([0; _]))),
            };
            if let Some(part) = part {
                let new = (page..=of_part).filter(|&page| set(part, page));
                new.for_each(|page| is_new(&mut self.before, page));
            }
            page = of_part + 1;
        }
    }

    /// Whether anything was.
    pub(crate) fn is_empty(&self) -> bool {
        self.before.is_empty()
    }

    /// Reads of all that was cached, as blocks of the stream 0.
    pub(crate) fn blocks(&self, pack: Pack<'_>) -> Vec<u8> {
        let mut writer = Writer::new("", pack);
        writer.take(Part::Full);
        for (&(file, first), pages) in &self.before {
            let run = Run {
                compute: Nanos::ZERO,
                sleep: Nanos::ZERO,
                took: Nanos::ZERO,
                kind: Kind::Read,
                file,
                offset: first * PAGE,
                length: pages * PAGE,
            };
            writer.run(0, &run);
        }
        writer.take(Part::All)
    }
}

/// Sets the bit of a page; whether it was not set before.
fn set(part: &mut Bits, page: u64) -> bool {
    let (word, bit) = ((page % PAGES / 64) as usize, 1 << (page % 64));
    let is_new = part[word] & bit == 0;
    part[word] |= bit;
    is_new
}

/// Joins a page to the range that ends before it.
fn keep(before: &mut Ranges, number: u32, page: u64) {
    let has_room = before.len() < RANGES;
    let mut below = before.range_mut((number, 0)..(number, page));
    match below.next_back() {
        Some((&(_, first), pages)) if first + *pages == page => *pages += 1,
        _ if has_room => {
            before.insert((number, page), 1);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_and_was_not_brought_in_was_there() {
        let mut cached = Cached::default();
        let file = (1, 7);
        cached.added(file, 10..=19);
        cached.read(file, 3, 8..=12);
        cached.read(file, 3, 8..=9);
        cached.read(file, 3, 20..=21);
        let kept: Vec<_> = cached
            .before
            .iter()
            .map(|(&key, &pages)| (key, pages))
            .collect();
        assert_eq!(kept, [((3, 8), 2), ((3, 20), 2)]);
        cached.forget(file);
        let mut new = Vec::new();
        cached.meet(file, PAGES - 1..=PAGES, |_, page| new.push(page));
        cached.meet(file, PAGES - 2..=PAGES + 1, |_, page| new.push(page));
        assert_eq!(
            new,
            [PAGES - 1, PAGES, PAGES - 2, PAGES + 1],
            "another file"
        );
    }
}
