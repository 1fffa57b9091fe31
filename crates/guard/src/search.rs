//! How a file is searched for what can be dropped: what a reader has passed, in the order in which
//! it was read.

use core::ops::Range;

use mm::units::Bytes;

use crate::sample::File;

/// What is dropped together. No folio is larger, and one lies in one piece.
pub const PIECE: Bytes = Bytes(2 << 20);
/// The pieces that one search asks after, at most.
const MOST_PIECES: u64 = 256;
/// Of these first pieces every step is asked after, of the others the first and the last: a reader
/// is likely to be where the search ended, and the kernel may have reclaimed what it has passed.
const NEAR: usize = 4;
/// What counts as in memory where its last page is: to ask after each page costs more than to drop
/// it.
const STEP: u64 = 64 << 10;
/// What is left behind a reader's last page: it may be read ahead only.
const AHEAD: u64 = 256 << 10;

/// A file that is searched: from a place to its end, and on from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// The file.
    pub file: File,
    /// Where it begins.
    pub from: Bytes,
}

/// A file's pages, by their places in bytes.
pub trait Pages {
    /// Why something is not known, or cannot be done.
    type Error;

    /// Whether the page in which `at` lies is in memory.
    ///
    /// # Errors
    /// It is not known.
    fn is_resident(&mut self, at: u64) -> Result<bool, Self::Error>;

    /// Drops what is clean and not in use of the pages that lie in a range.
    ///
    /// # Errors
    /// It cannot be done.
    fn drop(&mut self, range: Range<u64>) -> Result<(), Self::Error>;
}

impl Search {
    /// Drops pages of a file of `size` until it is `most`, up to a [`PIECE`] more. Returns what was
    /// dropped, and where the search ended: at a reader, or at pages that did not go.
    ///
    /// # Errors
    /// Those of `pages`.
    pub fn drop<P: Pages>(
        self,
        size: Bytes,
        most: Bytes,
        pages: &mut P,
    ) -> Result<(Bytes, Bytes), P::Error> {
        let (mut dropped, mut next) = (0_u64, self.from.0);
        let mut is_found = false;
        let mut ahead = None;
        for (number, piece) in self.pieces(size).enumerate() {
            if !is_found {
                next = piece.end;
            }
            let is_far = number >= NEAR;
            if is_far && !pages.is_resident(piece.end - 1)? && !pages.is_resident(piece.start)? {
                continue;
            }
            let Some(Resident { first, end, .. }) = resident(piece.clone(), pages)? else {
                continue;
            };
            is_found = true;
            if let Some(range) = ahead.take() {
                // The reader has left it behind.
                dropped = dropped.saturating_add(drop(range, pages)?.0);
            }
            let is_passed = end >= piece.end;
            let passed = if is_passed {
                end
            } else {
                end.saturating_sub(AHEAD).max(first)
            };
            if passed == first {
                // Where something was dropped before, another reader has just come by here.
                ahead = (dropped == 0).then_some(first..end);
                continue;
            }
            let (gone, left) = drop(first..passed, pages)?;
            dropped = dropped.saturating_add(gone);
            next = if gone == 0 {
                piece.end
            } else {
                left.unwrap_or(passed)
            };
            if gone == 0 || dropped >= most.0 {
                break;
            }
        }
        if let Some(range) = ahead {
            next = range.start;
        }
        Ok((Bytes(dropped), Bytes(next)))
    }

    /// The pieces in the order of the search. The first begins where the search does.
    fn pieces(self, size: Bytes) -> impl Iterator<Item = Range<u64>> {
        let from = if self.from < size { self.from.0 } else { 0 };
        let (count, first) = (size.0.div_ceil(PIECE.0), from / PIECE.0);
        let numbers = (first..count).chain(0..first);
        let pieces = numbers.map(move |number| {
            let start = number * PIECE.0;
            start.max(from * u64::from(number == first))..start.saturating_add(PIECE.0).min(size.0)
        });
        pieces.take(MOST_PIECES as usize)
    }
}

/// What is in memory of a range.
struct Resident {
    bytes: u64,
    /// Where the first step of it begins.
    first: u64,
    /// Where the last step of it ends.
    end: u64,
}

fn resident<P: Pages>(range: Range<u64>, pages: &mut P) -> Result<Option<Resident>, P::Error> {
    let mut found: Option<Resident> = None;
    for start in range.clone().step_by(STEP as usize) {
        let end = start.saturating_add(STEP).min(range.end);
        if pages.is_resident(end - 1)? {
            let (bytes, first) = found.map_or((0, start), |found| (found.bytes, found.first));
            let bytes = bytes + (end - start);
            found = Some(Resident { bytes, first, end });
        }
    }
    Ok(found)
}

/// Drops a range: how much of it went, and where what is left begins.
fn drop<P: Pages>(range: Range<u64>, pages: &mut P) -> Result<(u64, Option<u64>), P::Error> {
    let before = resident(range.clone(), pages)?.map_or(0, |before| before.bytes);
    pages.drop(range.clone())?;
    let after = resident(range, pages)?;
    let gone = before.saturating_sub(after.as_ref().map_or(0, |after| after.bytes));
    Ok((gone, after.map(|after| after.first)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use core::convert::Infallible;

    const PAGE: u64 = 4096;

    /// Pages that are in memory, and those of them that do not go.
    struct Cache {
        resident: Vec<bool>,
        mapped: Range<usize>,
    }

    impl Cache {
        fn new(size: u64, resident: Range<u64>) -> Self {
            let pages = 0..size.div_ceil(PAGE);
            let is_resident = |page| resident.contains(&(page * PAGE));
            Self {
                resident: pages.map(is_resident).collect(),
                mapped: 0..0,
            }
        }

        fn bytes(&self) -> u64 {
            self.resident.iter().filter(|page| **page).count() as u64 * PAGE
        }
    }

    impl Pages for Cache {
        type Error = Infallible;

        fn is_resident(&mut self, at: u64) -> Result<bool, Infallible> {
            Ok(self.resident[(at / PAGE) as usize])
        }

        fn drop(&mut self, range: Range<u64>) -> Result<(), Infallible> {
            let pages = range.start / PAGE..range.end.div_ceil(PAGE);
            for page in pages.map(|page| page as usize) {
                self.resident[page] &= self.mapped.contains(&page);
            }
            Ok(())
        }
    }

    fn search(from: u64, size: u64, most: u64, cache: &mut Cache) -> (u64, u64) {
        let (file, from) = (File(1), Bytes(from));
        let Ok((dropped, next)) = Search { file, from }.drop(Bytes(size), Bytes(most), cache);
        (dropped.0, next.0)
    }

    const P: u64 = PIECE.0;

    #[test]
    fn what_a_reader_has_passed_goes_until_it_is_enough() {
        let size = 10 * P - 100;
        let mut cache = Cache::new(size, P..5 * P + P / 2);
        assert_eq!(search(0, size, 1, &mut cache), (P, 2 * P));
        assert_eq!(search(2 * P, size, P + 1, &mut cache), (2 * P, 4 * P));
        let half = P / 2 - AHEAD;
        assert_eq!(
            search(4 * P, size, 9 * P, &mut cache),
            (P + half, 5 * P + half)
        );
        assert_eq!(
            search(5 * P + half, size, 9 * P, &mut cache),
            (0, 5 * P + half)
        );
        assert_eq!(cache.bytes(), AHEAD, "the reader goes on from there");
    }

    #[test]
    fn a_search_that_finds_nothing_goes_on_behind_what_it_has_seen() {
        let pieces = MOST_PIECES + 20;
        let size = pieces * P;
        let mut cache = Cache::new(size, size - 2 * P..size);
        let behind = MOST_PIECES * P;
        assert_eq!(search(0, size, P, &mut cache), (0, behind));
        assert_eq!(search(behind, size, P, &mut cache), (P, size - P));
    }

    #[test]
    fn a_reader_is_found_though_the_kernel_reclaims_behind_it() {
        let size = 100 * P;
        for begin in [P / 4, 3 * P + P / 4] {
            let mut cache = Cache::new(size, begin..begin + P / 2);
            let dropped = P / 2 - AHEAD;
            assert_eq!(search(0, size, P, &mut cache), (dropped, begin + dropped));
        }
        let mut cache = Cache::new(size, 50 * P - P / 2..50 * P + P / 2);
        assert_eq!(search(0, size, 1, &mut cache), (P / 2, 50 * P));
    }

    #[test]
    fn what_a_reader_left_ahead_of_it_goes_when_it_is_found_further_on() {
        let size = 100 * P;
        let mut cache = Cache::new(size, P / 2..P / 2 + AHEAD);
        assert_eq!(search(0, size, P, &mut cache), (0, P / 2));
        let further = (60 * P / PAGE) as usize;
        cache.resident[further..further + 128].fill(true);
        assert_eq!(
            search(P / 2, size, P, &mut cache),
            (2 * AHEAD, 60 * P + AHEAD)
        );
        assert_eq!(cache.bytes(), AHEAD);
    }

    #[test]
    fn each_of_two_readers_is_followed() {
        let size = 200 * P;
        let mut cache = Cache::new(size, 0..0);
        let mut from = 0;
        for step in 0..60 {
            for begin in [0, 100 * P] {
                let first = ((begin + step * P / 2) / PAGE) as usize;
                let is_there = cache.resident[first];
                assert!(step == 0 || is_there, "what was read ahead is read again");
                let read_ahead = ((P / 2 + AHEAD) / PAGE) as usize;
                cache.resident[first..first + read_ahead].fill(true);
            }
            let (dropped, next) = search(from, size, 2 * P, &mut cache);
            if dropped > 0 {
                from = next;
            }
            assert!(cache.bytes() <= 3 * P, "{step}: {}", cache.bytes());
        }
    }

    #[test]
    fn the_search_goes_on_from_the_beginning() {
        let size = 10 * P - 100;
        let mut cache = Cache::new(size, 0..P);
        assert_eq!(search(5 * P + 1, size, 1, &mut cache), (P, P));
        let mut cache = Cache::new(size, 9 * P..10 * P);
        assert_eq!(search(u64::MAX, size, 1, &mut cache), (P - 100, size));
        assert_eq!(cache.bytes(), 0);
    }

    #[test]
    fn what_does_not_go_ends_the_search() {
        let size = 3 * P;
        let mut cache = Cache::new(size, 0..size);
        cache.mapped = 0..512;
        assert_eq!(search(0, size, size, &mut cache), (0, P));
        cache.mapped = 500..512;
        assert_eq!(search(0, size, 1, &mut cache), (496 * PAGE, 496 * PAGE));
    }

    #[test]
    fn no_search_asks_after_more_than_its_bound() {
        struct Empty(u64);
        impl Pages for Empty {
            type Error = Infallible;
            fn is_resident(&mut self, _: u64) -> Result<bool, Infallible> {
                self.0 += 1;
                Ok(false)
            }
            fn drop(&mut self, _: Range<u64>) -> Result<(), Infallible> {
                unreachable!("nothing is in memory")
            }
        }
        for size in [0, 1, P, u64::MAX] {
            let mut asked = Empty(0);
            let (file, from) = (File(1), Bytes(0));
            let Ok((dropped, _)) = Search { file, from }.drop(Bytes(size), Bytes(1), &mut asked);
            assert_eq!(dropped, Bytes(0));
            assert!(
                asked.0 <= 2 * MOST_PIECES + NEAR as u64 * PIECE.0 / STEP,
                "{size}: {}",
                asked.0
            );
        }
    }
}
