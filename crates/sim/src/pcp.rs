//! Per-CPU page lists: pages pass through them on their way to and from a zone, and those that lie on
//! them are not counted as free (`mm/page_alloc.c`, 6.1; later kernels tune the limit as they go).

/// The per-CPU lists of a zone, taken together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pcp {
    count: u64,
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
            count,
            batch: batch.max(1),
            high,
            free_factor: 0,
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn high(&self) -> u64 {
        self.high
    }

    /// The limit follows the zone's low watermark (`zone_highsize`).
    pub(crate) fn set_high(&mut self, low: u64) {
        self.high = low.max(self.batch * 4);
    }

    /// Hands out a page; returns how many the zone had to give for it.
    pub(crate) fn allocate(&mut self, free: u64) -> u64 {
        self.free_factor >>= 1;
        let drawn = if self.count == 0 {
            self.batch.min(free)
        } else {
            0
        };
        self.count = (self.count + drawn).saturating_sub(1);
        drawn
    }

    /// Takes a page back; returns how many go on to the zone. While kswapd works only four batches
    /// may stay.
    pub(crate) fn free(&mut self, reclaiming: bool) -> u64 {
        self.count += 1;
        let high = if reclaiming {
            self.high.min(self.batch * 4)
        } else {
            self.high
        };
        if self.count < high {
            return 0;
        }
        let most = high.saturating_sub(self.batch).max(self.batch);
        let wanted = self.batch << self.free_factor;
        if wanted < most {
            self.free_factor += 1;
        }
        let given = wanted.clamp(self.batch, most).min(self.count);
        self.count -= given;
        given
    }

    /// Gives everything back.
    pub(crate) fn drain(&mut self) -> u64 {
        core::mem::take(&mut self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    use alloc::vec::Vec;
}
