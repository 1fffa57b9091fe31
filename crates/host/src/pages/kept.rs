//! Which pages are kept: all while there is room, then a part of the contents.

use mm::formula::sharing::{Candidate, ZERO_PAGE};
use mm::prng::Prng;

/// A content is common, and sampled by frame from then on, from this part of the pages kept when
/// they are thinned out for the first time: the thousandth.
const COMMON: usize = 1000;

/// The pages that are kept.
pub(super) struct Kept {
    /// In the order in which they were read.
    pub(super) candidates: Vec<Candidate>,
    /// Contents sampled by frame, in ascending order.
    pub(super) common: Vec<u64>,
    /// Pages that each stands for, a power of two.
    pub(super) one_in: u64,
    most: usize,
}

impl Kept {
    pub(super) fn new(most: usize) -> Self {
        Self {
            candidates: Vec::new(),
            common: Vec::new(),
            one_in: 1,
            most: most.max(1),
        }
    }

    /// Takes a page in where it belongs to the sample.
    pub(super) fn offer(&mut self, candidate: Candidate) {
        while self.keeps(&candidate) {
            if self.candidates.len() < self.most {
                self.candidates.push(candidate);
                return;
            }
            self.thin();
        }
    }

    fn keeps(&self, candidate: &Candidate) -> bool {
        let common = self.common.binary_search(&candidate.content).is_ok();
        let key = if common {
            candidate.frame
        } else {
            candidate.content
        };
        self.one_in == 1 || Prng::new(key).next_u64() & (self.one_in - 1) == 0
    }

    /// Halves the sample. Common contents are found the first time, while each still has all its
    /// copies here.
    fn thin(&mut self) {
        if self.one_in == 1 {
            self.common = self.find_common();
        }
        self.one_in *= 2;
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.retain(|candidate| self.keeps(candidate));
        self.candidates = candidates;
    }

    fn find_common(&self) -> Vec<u64> {
        let least = self.candidates.len() / COMMON + 2;
        let contents = self.candidates.iter().map(|candidate| candidate.content);
        let mut contents: Vec<u64> = contents.collect();
        contents.sort_unstable();
        let runs = contents.chunk_by(|a, b| a == b);
        // Pages of zeros are common on any machine, whatever came first.
        let common = |run: &&[u64]| run.len() >= least && run[0] != ZERO_PAGE;
        let common = runs.filter(common).map(|run| run[0]);
        [ZERO_PAGE].into_iter().chain(common).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of which every fourth holds the same.
    fn pages(count: u64) -> impl Iterator<Item = Candidate> {
        (0..count).map(|at| Candidate {
            content: if at % 4 == 0 { 5 } else { at + 100 },
            frame: at,
            unit: 0,
            page: 0,
            changed: false,
        })
    }

    #[test]
    fn everything_is_kept_while_there_is_room() {
        let mut kept = Kept::new(1000);
        pages(1000).for_each(|page| kept.offer(page));
        assert_eq!((kept.candidates.len(), kept.one_in), (1000, 1));
        assert!(kept.common.is_empty());
    }

    #[test]
    fn beyond_it_one_content_in_so_many_is_kept_and_common_ones_by_frame() {
        let mut kept = Kept::new(4000);
        pages(100_000).for_each(|page| kept.offer(page));
        assert_eq!(kept.common, [ZERO_PAGE, 5]);
        assert!(
            kept.candidates.len() <= 4000 && kept.one_in == 32,
            "{}",
            kept.one_in
        );
        let common = kept.candidates.iter().filter(|kept| kept.content == 5);
        let (common, all) = (common.count() as f64, kept.candidates.len() as f64);
        assert!((common / all - 0.25).abs() < 0.03, "{common} of {all}");
        assert!((all * 32.0 / 100_000.0 - 1.0).abs() < 0.1, "{all}");
    }
}
