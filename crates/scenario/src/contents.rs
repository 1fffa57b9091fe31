//! What the pages of an anonymous region hold, as far as merging is concerned: one word stands for
//! a page's bytes. The guest writes it into the page; the model compares it.
//!
//! The kinds lie one behind the other in the order in which the region lists them, each a share of
//! its pages rounded down; what is left at the end is unique.

use alloc::vec::Vec;
use core::ops::Range;

use crate::workload::{Content, Map};
use mm::units::Nanos;

/// The contents of a region of one process instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    parts: Vec<Part>,
    own: u64,
}

/// Pages that hold the same kind of content.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    pages: Range<u64>,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Identical { class: u64 },
    Repeated { groups: u64 },
    Unique,
    Zero,
    Volatile { every: Nanos },
}

impl Contents {
    /// The contents of `map`'s `pages` pages in the process instance of that name.
    #[must_use]
    pub fn new(map: &Map, instance: &str, pages: u64) -> Self {
        let mut parts = Vec::new();
        let (mut percent, mut start) = (0, 0);
        for share in &map.contents {
            percent += u64::from(share.percent);
            let end = (u128::from(pages) * u128::from(percent.min(100)) / 100) as u64;
            let kind = Kind::new(&share.content, end - start);
            parts.push(Part {
                pages: start..end,
                kind,
            });
            start = end;
        }
        let own = mix(hash(&map.region) ^ hash(instance).rotate_left(32));
        Self { parts, own }
    }

    /// The word of a page after its content changed `changes` times (which only a volatile page's
    /// does). Zero is a page of zeros.
    #[must_use]
    pub fn word(&self, page: u64, changes: u64) -> u64 {
        let part = self.parts.iter().find(|part| part.pages.contains(&page));
        let word = match part.map(|part| (&part.kind, page - part.pages.start)) {
            Some((Kind::Zero, _)) => return 0,
            Some((Kind::Identical { class }, index)) => mix(class ^ mix(index)),
            Some((Kind::Repeated { groups }, index)) => mix(!self.own ^ mix(index % groups)),
            Some((Kind::Volatile { .. }, _)) => mix(mix(self.own ^ page) ^ changes),
            Some((Kind::Unique, _)) | None => mix(self.own ^ page),
        };
        word | 1
    }

    /// The word of a page in a region of that age: a volatile page has changed as often as its time
    /// has come.
    #[must_use]
    pub fn word_after(&self, page: u64, age: Nanos) -> u64 {
        let part = self.parts.iter().find(|part| part.pages.contains(&page));
        let changes = match part.map(|part| &part.kind) {
            Some(Kind::Volatile { every }) => age.0 / every.0.max(Nanos::MILLI.0),
            _ => 0,
        };
        self.word(page, changes)
    }

    /// The pages that change by themselves, and how often.
    pub fn volatile(&self) -> impl Iterator<Item = (Range<u64>, Nanos)> + '_ {
        self.parts.iter().filter_map(|part| match part.kind {
            Kind::Volatile { every } if !part.pages.is_empty() => Some((part.pages.clone(), every)),
            _ => None,
        })
    }
}

impl Kind {
    fn new(content: &Content, pages: u64) -> Self {
        match content {
            Content::Identical { class } => Self::Identical { class: hash(class) },
            Content::Repeated { copies } => Self::Repeated {
                groups: pages.div_ceil(u64::from(*copies).max(1)).max(1),
            },
            Content::Unique => Self::Unique,
            Content::Zero => Self::Zero,
            Content::Volatile { every } => Self::Volatile { every: *every },
        }
    }
}

/// FNV-1a, which keeps names apart.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The finishing step of `SplitMix64`: a permutation that spreads every bit.
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{ContentShare, Huge};
    use alloc::collections::BTreeMap;
    use alloc::vec;
    use mm::units::Bytes;

    fn map(contents: Vec<ContentShare>) -> Map {
        Map {
            region: "ram".into(),
            size: Bytes(1000 * 4096).into(),
            huge: Huge::System,
            mergeable: true,
            populate: false,
            contents,
        }
    }

    fn share(content: Content, percent: u8) -> ContentShare {
        ContentShare { content, percent }
    }

    #[test]
    fn each_kind_recurs_where_it_should() {
        let map = map(vec![
            share(Content::Identical { class: "os".into() }, 30),
            share(Content::Repeated { copies: 4 }, 20),
            share(Content::Zero, 10),
            share(
                Content::Volatile {
                    every: Nanos::SECOND,
                },
                10,
            ),
        ]);
        let (one, two) = (
            Contents::new(&map, "vm.1", 1000),
            Contents::new(&map, "vm.2", 1000),
        );
        let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
        for contents in [&one, &two] {
            (0..1000).for_each(|page| *seen.entry(contents.word(page, 0)).or_default() += 1);
        }
        let times = |count: u32| seen.values().filter(|&&times| times == count).count();
        assert_eq!(times(2), 300, "identical: one in each process");
        assert_eq!(times(4), 2 * 50, "repeated: four in each process");
        assert_eq!(seen[&0], 200, "zero");
        assert_eq!(times(1), 2 * 400, "volatile and unique");
        assert_ne!(one.word(650, 0), one.word(650, 1));
        assert_eq!(one.word(650, 1), one.word(650, 1));
        assert_eq!(one.word(950, 0), one.word(950, 1), "unique pages stay");
        let aged = |millis| one.word_after(650, Nanos(millis * Nanos::MILLI.0));
        assert_eq!(
            [aged(999), aged(1000)],
            [one.word(650, 0), one.word(650, 1)]
        );
        assert_eq!(one.word_after(950, Nanos::SECOND), one.word(950, 0));
        assert_eq!(
            one.volatile().collect::<Vec<_>>(),
            [(600..700, Nanos::SECOND)]
        );
    }

    #[test]
    fn a_region_without_contents_is_unique() {
        let contents = Contents::new(&map(vec![]), "a", 10);
        assert_ne!(contents.word(0, 0), contents.word(1, 0));
        assert_ne!(
            contents.word(0, 0),
            Contents::new(&map(vec![]), "b", 10).word(0, 0)
        );
    }
}
