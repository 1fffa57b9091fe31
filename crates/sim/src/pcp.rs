//! Per-CPU page lists: pages pass through them on their way to and from a zone, and those that lie
//! on them are not counted as free (`mm/page_alloc.c`, 6.1; later kernels tune the limit as they
//! go).

use crate::page_alloc::HUGE_PAGES;

/// Huge pages drawn from the zone at a time.
const HUGE_BATCH: u64 = 2;

/// The per-CPU lists of a zone, taken together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pcp {
    /// Base pages on the lists, and huge pages.
    base: u64,
    huge: u64,
    /// Pages moved at a time.
    batch: u64,
    /// Pages at which a batch goes back to the zone.
    high: u64,
    /// How often in a row a batch went back: each doubles the next.
    free_factor: u32,
}

impl Pcp {
    pub(crate) fn new(count: u64, batch: u64, high: u64) -> Self {
        Self {
            base: count,
            huge: 0,
            batch: batch.max(1),
            high,
            free_factor: 0,
        }
    }

    /// Pages on the lists.
    pub(crate) fn count(&self) -> u64 {
        self.base + self.huge * HUGE_PAGES
    }

    pub(crate) fn high(&self) -> u64 {
        self.high
    }

    /// The limit follows the zone's low watermark (`zone_highsize`).
    pub(crate) fn set_high(&mut self, low: u64) {
        self.high = low.max(self.batch * 4);
    }

    /// Hands out a page; returns how many of its `free` ones the zone had to give for it.
    pub(crate) fn allocate(&mut self, free: u64) -> u64 {
        self.free_factor >>= 1;
        let drawn = if self.base == 0 {
            self.batch.min(free)
        } else {
            0
        };
        self.base = (self.base + drawn).saturating_sub(1);
        drawn
    }

    /// Hands out a huge page; returns how many of its `free` pages the zone had to give for it.
    pub(crate) fn allocate_huge(&mut self, free: u64) -> u64 {
        self.free_factor >>= 1;
        let drawn = if self.huge == 0 {
            HUGE_BATCH.min(free / HUGE_PAGES)
        } else {
            0
        };
        self.huge = (self.huge + drawn).saturating_sub(1);
        drawn * HUGE_PAGES
    }

    /// Takes a page back; returns how many go on to the zone.
    pub(crate) fn free(&mut self, reclaiming: bool) -> u64 {
        self.base += 1;
        self.overflow(reclaiming)
    }

    /// Takes a huge page back; returns how many pages go on to the zone.
    pub(crate) fn free_huge(&mut self, reclaiming: bool) -> u64 {
        self.huge += 1;
        self.overflow(reclaiming)
    }

    /// Gives everything back.
    pub(crate) fn drain(&mut self) -> u64 {
        let count = self.count();
        (self.base, self.huge) = (0, 0);
        count
    }

    /// What goes back because the lists are full. While kswapd works only four batches may stay.
    fn overflow(&mut self, reclaiming: bool) -> u64 {
        let high = if reclaiming {
            self.high.min(self.batch * 4)
        } else {
            self.high
        };
        if self.count() < high {
            return 0;
        }
        let most = high.saturating_sub(self.batch).max(self.batch);
        let wanted = self.batch << self.free_factor;
        if wanted < most {
            self.free_factor += 1;
        }
        self.give(wanted.clamp(self.batch, most))
    }

    /// Gives at least `wanted` pages if there are as many, whole huge pages first.
    fn give(&mut self, wanted: u64) -> u64 {
        let huge = wanted.div_ceil(HUGE_PAGES).min(self.huge);
        let base = wanted.saturating_sub(huge * HUGE_PAGES).min(self.base);
        self.huge -= huge;
        self.base -= base;
        huge * HUGE_PAGES + base
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn pages_go_through_in_batches_and_come_back_in_growing_ones() {
        let mut pcp = Pcp::new(0, 63, 378);
        assert_eq!(pcp.allocate(1000), 63);
        assert_eq!((0..62).map(|_| pcp.allocate(1000)).sum::<u64>(), 0);
        assert_eq!(pcp.count(), 0);
        let given: Vec<u64> = (0..1000)
            .map(|_| pcp.free(false))
            .filter(|n| *n > 0)
            .collect();
        assert_eq!(given[..3], [63, 126, 252]);
        assert_eq!(given.iter().sum::<u64>() + pcp.count(), 1000);
        assert_eq!(
            Pcp::new(300, 63, 378).free(true),
            63,
            "kswapd leaves four batches at most"
        );
    }

    #[test]
    fn freed_huge_pages_wait_for_the_next_huge_fault() {
        let mut pcp = Pcp::new(0, 63, 2000);
        assert_eq!(
            pcp.allocate_huge(10_000),
            1024,
            "two are drawn, one is kept"
        );
        assert_eq!(pcp.allocate_huge(9_000), 0);
        assert_eq!(
            (0..3).map(|_| pcp.free_huge(false)).sum::<u64>(),
            0,
            "below the limit"
        );
        assert_eq!(pcp.free_huge(false), 512);
        assert_eq!(pcp.count(), 3 * 512);
    }
}
