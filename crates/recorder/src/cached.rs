//! What was cached when a recording began: pages that a task reads and that nobody brought in
//! before.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use mm::units::Nanos;
use scenario::recording::{Kind, Pack, Part, Run, Thinner, Writer};

use super::streams::thin;

/// Bytes of a page.
const PAGE: u64 = super::event::PAGE;

/// Pages of a part of a file, one bit each.
const PAGES: u64 = 4096;

/// The most parts, of 520 bytes each: files of 256 GiB that are touched everywhere.
const PARTS: usize = 16_384;

/// The most ranges that are kept.
const RANGES: usize = 500_000;

/// The most pages of a run: 1 GiB.
const LONGEST: u64 = 1 << 18;

/// Device and number.
type Inode = (u64, u64);

/// A bit for each page of a part.
type Bits = [u64; PAGES as usize / 64];

/// Pages of a range in one word of a part.
struct Word {
    /// The page of the lowest bit.
    first: u64,
    bits: u64,
}

/// A range, word by word.
fn words(pages: RangeInclusive<u64>) -> impl Iterator<Item = Word> {
    let (from, to) = (*pages.start(), *pages.end());
    (from / 64..=to / 64).map(move |word| {
        let first = word * 64;
        let low = from.saturating_sub(first);
        let high = (to - first).min(63);
        let bits = u64::MAX >> (63 - high) & u64::MAX << low;
        Word { first, bits }
    })
}

/// Pages that were met, and those of them that were there before.
#[derive(Debug, Default)]
pub(crate) struct Cached {
    /// By inode and part.
    met: BTreeMap<(Inode, u64), Box<Bits>>,
    /// Control groups, by which they are numbered.
    groups: Vec<String>,
    /// By group, file (both by their numbers) and first page: how many.
    before: BTreeMap<(u32, u32, u64), u64>,
}

impl Cached {
    /// Pages came in, or are written as a whole.
    pub(crate) fn added(&mut self, file: Inode, pages: RangeInclusive<u64>) {
        for word in words(pages) {
            self.meet(file, &word);
        }
    }

    /// A task of a group reads pages: those that were not met were there.
    pub(crate) fn read(&mut self, file: Inode, by: (&str, u32), pages: RangeInclusive<u64>) {
        let by = (self.group(by.0), by.1);
        for word in words(pages) {
            let mut new = self.meet(file, &word);
            while new != 0 {
                self.keep(by, word.first + u64::from(new.trailing_zeros()));
                new &= new - 1;
            }
        }
    }

    /// The number of a group.
    fn group(&mut self, path: &str) -> u32 {
        let known = self.groups.iter().position(|group| group == path);
        let number = known.unwrap_or_else(|| {
            self.groups.push(path.to_owned());
            self.groups.len() - 1
        });
        number as u32
    }

    /// The inode may become another file.
    pub(crate) fn forget(&mut self, file: Inode) {
        let parts = self.met.range((file, 0)..=(file, u64::MAX));
        let parts: Vec<_> = parts.map(|(key, _)| *key).collect();
        parts.iter().for_each(|key| {
            self.met.remove(key);
        });
    }

    /// Which of the pages are met for the first time; beyond the most parts none are.
    fn meet(&mut self, file: Inode, word: &Word) -> u64 {
        let key = (file, word.first / PAGES);
        let has_room = self.met.len() < PARTS;
        let part = match self.met.get_mut(&key) {
            Some(part) => part,
            None if has_room => self.met.entry(key).or_insert_with(|| Box::new([0; _])),
            None => return 0,
        };
        let met = &mut part[(word.first % PAGES / 64) as usize];
        let new = word.bits & !*met;
        *met |= word.bits;
        new
    }

    /// Joins a page to the range that ends before it.
    fn keep(&mut self, (group, file): (u32, u32), page: u64) {
        let has_room = self.before.len() < RANGES;
        let mut below = self.before.range_mut((group, file, 0)..(group, file, page));
        match below.next_back() {
            Some((&(.., first), pages)) if first + *pages == page && *pages < LONGEST => {
                *pages += 1;
            }
            _ if has_room => {
                self.before.insert((group, file, page), 1);
            }
            _ => {}
        }
    }

    /// The groups that read it, in the order of the blocks, and how many runs each has of which one
    /// page of `1 << level` is kept.
    pub(crate) fn by_group(&self, level: u32) -> Vec<(String, u64)> {
        let mut runs = vec![0; self.groups.len()];
        for (group, _) in self.runs(level) {
            runs[group as usize] += 1;
        }
        let all = self.groups.iter().cloned().zip(runs);
        all.filter(|(_, runs)| *runs > 0).collect()
    }

    /// Reads of all that was cached, as blocks of the stream 0; one page of `1 << level` is kept.
    pub(crate) fn blocks(&self, pack: Pack<'_>, level: u32) -> Vec<u8> {
        let mut writer = Writer::new("", pack);
        writer.take(Part::Full);
        for (_, run) in self.runs(level) {
            writer.run(0, &run);
        }
        writer.take(Part::All)
    }

    /// The reads of all that was cached, each with its group's number.
    fn runs(&self, level: u32) -> impl Iterator<Item = (u32, Run)> {
        let mut thinners: Vec<Thinner> = (0..level).map(Thinner::new).collect();
        let reads = self.before.iter().map(|(&(group, file, first), pages)| {
            let run = Run {
                compute: Nanos::ZERO,
                sleep: Nanos::ZERO,
                took: Nanos::ZERO,
                kind: Kind::Read,
                file,
                offset: first * PAGE,
                length: pages * PAGE,
            };
            (group, run)
        });
        reads.filter_map(move |(group, run)| {
            Some((group, thin(&mut thinners, run, &|_| Nanos::ZERO)?))
        })
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
        cached.read(file, ("a", 3), 8..=12);
        cached.read(file, ("a", 3), 8..=9);
        cached.read(file, ("b", 3), 20..=21);
        let kept: Vec<_> = cached
            .before
            .iter()
            .map(|(&key, &pages)| (key, pages))
            .collect();
        assert_eq!(kept, [((0, 3, 8), 2), ((1, 3, 20), 2)]);
        assert_eq!(
            cached.by_group(0),
            [("a".to_owned(), 1), ("b".to_owned(), 1)]
        );
        cached.forget(file);
        cached.read(file, ("a", 4), 60..=200);
        assert_eq!(cached.before[&(0, 4, 60)], 141, "another file, over words");
    }

    #[test]
    fn a_large_file_is_several_runs() {
        let mut cached = Cached::default();
        cached.read((1, 7), ("", 0), 0..=LONGEST);
        assert_eq!(cached.by_group(0), [(String::new(), 2)]);
        let plain = |bytes: &[u8]| bytes.to_vec();
        let mut writer = Writer::new("", &plain);
        writer.file(mm::units::Bytes(2 << 30));
        let mut bytes = writer.take(Part::All);
        bytes.extend(cached.blocks(&plain, 0));
        let read = scenario::recording::Recording::read(&bytes, &|_, _| None);
        assert_eq!(read.expect("a recording").cut, None);
    }
}
