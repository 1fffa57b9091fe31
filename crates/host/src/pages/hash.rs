//! Hashes of pages, and what ksmd's own work on a page costs on this machine.

use std::hint::black_box;

use mm::formula::sharing::ZERO_PAGE;
use mm::prng::Prng;
use mm::units::{Nanos, PageSize};
use xxhash_rust::xxh3::xxh3_64;
use xxhash_rust::xxh64::xxh64;

use super::cpu_time;

/// Bytes that the costs are measured on: more than a core's own caches hold.
const MEASURED: u64 = 32 << 20;

/// Turns pages into hashes: pages of zeros are [`ZERO_PAGE`], no other page is.
pub(super) struct Hasher {
    zeros: u64,
}

/// What a visit of ksmd consists of, as measured in this process on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisitCost {
    /// The checksum of a page that is not in the cache, by the kernel's algorithm (xxh64).
    pub checksum: Nanos,
    /// Looking at the beginning of a page anywhere in memory, as each step down a tree does.
    pub step: Nanos,
}

impl Hasher {
    pub(super) fn new(page: PageSize) -> Self {
        let zeros = vec![0; usize::try_from(page.bytes()).unwrap_or(0)];
        Self {
            zeros: xxh3_64(&zeros),
        }
    }

    pub(super) fn content(&self, page: &[u8]) -> u64 {
        match xxh3_64(page) {
            hash if hash == self.zeros => ZERO_PAGE,
            ZERO_PAGE => self.zeros,
            hash => hash,
        }
    }
}

/// Measures; takes some hundredths of a second and 32 MiB.
#[must_use]
pub fn visit_cost(page: PageSize) -> VisitCost {
    let size = usize::try_from(page.bytes()).unwrap_or(4096);
    let memory: Vec<u8> = (0..MEASURED).map(|at| (at >> 3) as u8).collect();
    let pages = memory.len() / size;
    let start = cpu_time();
    for page in memory.chunks_exact(size) {
        black_box(xxh64(page, 0));
    }
    let hashed = cpu_time();
    let mut prng = Prng::new(1);
    for _ in 0..pages {
        let at = prng.below(pages as u64) as usize * size;
        black_box(memory[at]);
    }
    let each = |from: Nanos, to: Nanos| Nanos((to.0 - from.0) / pages.max(1) as u64);
    VisitCost {
        checksum: each(start, hashed),
        step: each(hashed, cpu_time()),
    }
}

impl VisitCost {
    /// One visit of a page among so many candidates: its checksum, and a search of the stable and
    /// of the unstable tree.
    #[must_use]
    pub fn visit(&self, candidates: u64) -> Nanos {
        let steps = 2 * u64::from(candidates.max(1).ilog2());
        Nanos(self.checksum.0 + steps * self.step.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_page_of_zeros_is_the_page_of_zeros() {
        let hasher = Hasher::new(PageSize::FOUR_KIB);
        let mut page = vec![0; 4096];
        assert_eq!(hasher.content(&page), ZERO_PAGE);
        page[4095] = 1;
        assert_ne!(hasher.content(&page), ZERO_PAGE);
        assert_eq!(hasher.content(&page), hasher.content(&page.clone()));
    }

    #[test]
    fn a_visit_costs_more_among_more() {
        let cost = visit_cost(PageSize::FOUR_KIB);
        assert!(
            cost.checksum > Nanos(100),
            "{cost:?}: 4 KiB in a tenth of a microsecond"
        );
        assert!(cost.visit(1 << 20) >= cost.visit(1 << 10));
    }
}
