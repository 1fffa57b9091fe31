//! Reuse distances: how many other pages were used since a page was used last.
//!
//! A memory of that many pages or fewer has lost the page by then, by LRU; a larger one still has
//! it. So one pass says how often every size of memory misses.

use crate::numbers::Numbers;

/// No page was used last at this time.
const NONE: u32 = u32::MAX;

/// The least times that fit before they are numbered again.
const LEAST: usize = 1024;

/// Pages in the order in which they were used last.
#[derive(Debug)]
pub(crate) struct Reuse {
    numbers: Numbers,
    /// When each page was used last, by its number; times begin at 1.
    last: Vec<u32>,
    /// Times at which a page was used last, each 1: a Fenwick tree, whose first place is empty.
    tree: Vec<u32>,
    now: u32,
    indices: Vec<u32>,
}

impl Default for Reuse {
    fn default() -> Self {
        Self {
            numbers: Numbers::default(),
            last: Vec::new(),
            tree: vec![0; LEAST],
            now: 0,
            indices: Vec::new(),
        }
    }
}

impl Reuse {
    /// Uses pages one after the other. `each` is told the place among these, the page's number, in
    /// the order in which pages came, and its distance: `None` for a page that was never used.
    pub(crate) fn touch(&mut self, pages: &[u64], mut each: impl FnMut(usize, u32, Option<u32>)) {
        let mut indices = std::mem::take(&mut self.indices);
        indices.clear();
        self.numbers.number(pages, &mut indices);
        for (place, &number) in indices.iter().enumerate() {
            each(place, number, self.touch_one(number));
        }
        self.indices = indices;
    }

    fn touch_one(&mut self, number: u32) -> Option<u32> {
        if self.now as usize + 1 == self.tree.len() {
            self.number_times_again();
        }
        let before = self.last.get(number as usize).copied();
        let distance = before.map(|at| {
            let distance = self.last.len() as u32 - self.until(at);
            self.add(at, u32::MAX);
            distance
        });
        if before.is_none() {
            self.last.push(NONE);
        }
        self.now += 1;
        self.last[number as usize] = self.now;
        self.add(self.now, 1);
        distance
    }

    /// Adds to what stands at a time, modulo 2^32.
    fn add(&mut self, at: u32, what: u32) {
        let mut at = at as usize;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add(what);
            at += at & at.wrapping_neg();
        }
    }

    /// How many pages were used last at this time or before.
    fn until(&self, at: u32) -> u32 {
        let (mut at, mut sum) = (at as usize, 0_u32);
        while at > 0 {
            sum = sum.wrapping_add(self.tree[at]);
            at &= at - 1;
        }
        sum
    }

    /// Leaves out the times at which no page was used last, so that the tree is as large as there
    /// are pages, however often they are used.
    fn number_times_again(&mut self) {
        let mut pages = vec![NONE; self.tree.len()];
        for (number, &at) in (0..).zip(&self.last) {
            pages[at as usize] = number;
        }
        let live = pages.iter().filter(|&&number| number != NONE);
        for (at, &number) in (1..).zip(live) {
            self.last[number as usize] = at;
        }
        self.now = self.last.len() as u32;
        self.tree = vec![0; (self.last.len() * 2).max(LEAST)];
        (1..=self.now).for_each(|at| self.add(at, 1));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn distances(pages: &[u64]) -> Vec<Option<u32>> {
        let (mut reuse, mut all) = (Reuse::default(), Vec::new());
        for pages in pages.chunks(7) {
            reuse.touch(pages, |_, _, distance| all.push(distance));
        }
        all
    }

    #[test]
    fn a_loop_has_a_distance_of_its_length_less_one() {
        let pages: Vec<u64> = (0..30_000).map(|n| n % 1000).collect();
        let all = distances(&pages);
        assert!(all[..1000].iter().all(Option::is_none));
        assert!(all[1000..].iter().all(|it| *it == Some(999)));
    }

    proptest! {
        #[test]
        fn a_list_that_is_searched_agrees(pages in proptest::collection::vec(0_u64..90, 0..3000)) {
            let mut list: Vec<u64> = Vec::new();
            let expected: Vec<Option<u32>> = pages.iter().map(|page| {
                let place = list.iter().rev().position(|it| it == page);
                list.retain(|it| it != page);
                list.push(*page);
                place.map(|place| place as u32)
            }).collect();
            prop_assert_eq!(distances(&pages), expected);
        }
    }
}
