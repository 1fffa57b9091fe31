//! Per-CPU page lists: pages pass through them on their way to and from a zone, and those that lie
//! on them are not counted as free (`mm/page_alloc.c`).
//!
//! Up to 6.6 the limit of the lists is fixed by the zone's low watermark. Since 6.7 the kernel
//! tunes it between that and an eighth of the zone, and draws ever larger batches while nothing is
//! freed.

use crate::page_alloc::HUGE_PAGES;
use crate::rules::is_since;

/// Huge pages drawn from the zone at a time.
const HUGE_BATCH: u64 = 2;

/// A batch grows by this many doublings at most (`CONFIG_PCP_BATCH_SCALE_MAX`).
const SCALE_MAX: u32 = 5;

/// The per-CPU lists of a zone, taken together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pcp {
    /// Base pages on the lists, huge pages, and pages of the kernel's own (of other migrate types).
    base: u64,
    huge: u64,
    kernel: u64,
    /// Pages moved at a time.
    batch: u64,
    /// Pages at which a batch goes back to the zone.
    high: u64,
    tuning: Tuning,
}

/// How a kernel sizes limit and batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tuning {
    /// Up to 6.6: each batch given back in a row is twice the one before.
    Fixed { free_factor: u32 },
    /// Since 6.7.
    Auto(Auto),
}

/// The state of a limit that tunes itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Auto {
    /// Bounds of the limit.
    min: u64,
    max: u64,
    /// Doublings of the next batch drawn.
    alloc_factor: u32,
    /// Pages freed of late: what goes back at once.
    free_count: u64,
}

/// What the zone is going through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ZoneState {
    /// Free pages in the zone.
    pub(crate) free: u64,
    /// kswapd works: only four batches may stay on the lists.
    pub(crate) reclaiming: bool,
    /// The zone is not above its high watermark.
    pub(crate) below_high: bool,
}

impl Tuning {
    /// The rule of a kernel release, as in `6.12.117+deb12-cloud-amd64`.
    pub(crate) fn of(release: &str) -> Self {
        match is_since(release, 6, 7) {
            true => Self::Auto(Auto::default()),
            false => Self::Fixed { free_factor: 0 },
        }
    }
}

impl Pcp {
    pub(crate) fn new(count: u64, batch: u64, high: u64, tuning: Tuning) -> Self {
        let batch = batch.max(1);
        Self {
            base: count,
            huge: 0,
            kernel: 0,
            batch,
            high,
            tuning,
        }
    }

    /// The lists of a zone with a scale-th of the pages.
    pub(crate) fn part(&self, scale: u64, low: u64, managed: u64) -> Self {
        let batch = self.batch / scale;
        let mut part = Self::new(self.base / scale, batch, self.high / scale, self.tuning);
        part.set_limits(low, managed);
        part
    }

    /// Pages on the lists.
    pub(crate) fn count(&self) -> u64 {
        self.base + self.huge * HUGE_PAGES + self.kernel
    }

    pub(crate) fn high(&self) -> u64 {
        self.high
    }

    /// The limit follows the zone's low watermark and its size (`zone_highsize`).
    pub(crate) fn set_limits(&mut self, low: u64, managed: u64) {
        let least = self.batch * 4;
        match &mut self.tuning {
            Tuning::Fixed { .. } => self.high = low.max(least),
            Tuning::Auto(auto) => {
                auto.min = low.max(least);
                auto.max = (managed / 8).max(auto.min);
            }
        }
    }

    /// Hands out a page; returns how many the zone had to give for it.
    pub(crate) fn allocate(&mut self, zone: ZoneState) -> u64 {
        self.note_allocation();
        let drawn = match self.base {
            0 => self.base_batch(zone).min(zone.free),
            _ => 0,
        };
        self.base = (self.base + drawn).saturating_sub(1);
        drawn
    }

    /// Hands out a huge page; returns how many pages the zone had to give for it.
    pub(crate) fn allocate_huge(&mut self, zone: ZoneState) -> u64 {
        self.note_allocation();
        let drawn = match self.huge {
            0 => HUGE_BATCH.min(zone.free / HUGE_PAGES),
            _ => 0,
        };
        self.huge = (self.huge + drawn).saturating_sub(1);
        drawn * HUGE_PAGES
    }

    /// Hands out a page of the kernel's own; returns how many the zone, in which so many are free,
    /// had to give for it. Their batch does not grow.
    pub(crate) fn allocate_for_kernel(&mut self, free: u64) -> u64 {
        self.note_allocation();
        let drawn = match self.kernel {
            0 => self.batch.min(free),
            _ => 0,
        };
        self.kernel = (self.kernel + drawn).saturating_sub(1);
        drawn
    }

    /// Takes a page back; returns how many go on to the zone.
    pub(crate) fn free(&mut self, zone: ZoneState) -> u64 {
        self.base += 1;
        self.overflow(zone, 1)
    }

    /// Takes a huge page back; returns how many pages go on to the zone.
    pub(crate) fn free_huge(&mut self, zone: ZoneState) -> u64 {
        self.huge += 1;
        self.overflow(zone, HUGE_PAGES)
    }

    /// Gives everything back.
    pub(crate) fn drain(&mut self) -> u64 {
        let count = self.count();
        (self.base, self.huge, self.kernel) = (0, 0, 0);
        count
    }

    /// Lowers a limit that tunes itself, once a second; returns how many pages go on to the zone
    /// (`decay_pcp_high`).
    pub(crate) fn decay(&mut self) -> u64 {
        let (count, batch) = (self.count(), self.batch);
        let Tuning::Auto(auto) = self.tuning else {
            return 0;
        };
        if self.high > auto.min {
            let by_count = count.saturating_sub(batch << SCALE_MAX);
            self.high = by_count.max(self.high - self.high / 8).max(auto.min);
        }
        match count.saturating_sub(self.high) {
            0 => 0,
            above => self.give(above),
        }
    }

    fn note_allocation(&mut self) {
        match &mut self.tuning {
            Tuning::Fixed { free_factor } => *free_factor >>= 1,
            Tuning::Auto(auto) => auto.free_count >>= 1,
        }
    }

    /// How many base pages an empty list draws (`nr_pcp_alloc`).
    fn base_batch(&mut self, zone: ZoneState) -> u64 {
        let (count, batch) = (self.count(), self.batch);
        let Tuning::Auto(auto) = &mut self.tuning else {
            return batch;
        };
        self.high = self.high.clamp(auto.min, auto.max);
        if self.high < batch {
            return 1;
        }
        let wanted = batch << auto.alloc_factor;
        if !zone.below_high {
            self.high = (self.high + wanted).min(auto.max);
        }
        let most = self.high.saturating_sub(count + batch).max(batch);
        if wanted <= most && auto.alloc_factor < SCALE_MAX {
            auto.alloc_factor += 1;
        }
        wanted.min(most)
    }

    /// What goes back because the lists are full.
    fn overflow(&mut self, zone: ZoneState, freed: u64) -> u64 {
        let count = self.count();
        let batch = self.batch;
        match &mut self.tuning {
            Tuning::Fixed { free_factor } => {
                let four = if zone.reclaiming { batch * 4 } else { u64::MAX };
                let high = self.high.min(four);
                if count < high {
                    return 0;
                }
                let most = high.saturating_sub(batch).max(batch);
                let wanted = batch << *free_factor;
                if wanted < most {
                    *free_factor += 1;
                }
                self.give(wanted.clamp(batch, most))
            }
            Tuning::Auto(auto) => {
                auto.alloc_factor >>= 1;
                if auto.free_count < batch << SCALE_MAX {
                    auto.free_count += freed;
                }
                let of_late = auto.free_count;
                let high = self.tuned_high(zone);
                if count < high {
                    return 0;
                }
                let most = high.saturating_sub(batch).max(batch);
                self.give(of_late.clamp(batch, most))
            }
        }
    }

    /// The limit at a free, and its tuning (`nr_pcp_high`).
    fn tuned_high(&mut self, zone: ZoneState) -> u64 {
        let count = self.count();
        let Tuning::Auto(auto) = &self.tuning else {
            return self.high;
        };
        self.high = self.high.clamp(auto.min, auto.max);
        let lowered = self
            .high
            .saturating_sub(auto.free_count.max(self.batch))
            .max(auto.min);
        if zone.reclaiming {
            self.high = lowered;
            return self.high.min(self.batch * 4);
        }
        let high = self.high;
        if zone.below_high {
            self.high = lowered;
            return count.max(auto.min);
        }
        let needed = auto.free_count + self.batch;
        if count >= high && self.high < needed {
            self.high = needed.clamp(auto.min, auto.max);
        }
        high
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

    const QUIET: ZoneState = ZoneState {
        free: 100_000,
        reclaiming: false,
        below_high: false,
    };
    const FIXED: Tuning = Tuning::Fixed { free_factor: 0 };

    #[test]
    fn pages_go_through_in_batches_and_come_back_in_growing_ones() {
        let mut pcp = Pcp::new(0, 63, 378, FIXED);
        assert_eq!(pcp.allocate(QUIET), 63);
        assert_eq!((0..62).map(|_| pcp.allocate(QUIET)).sum::<u64>(), 0);
        assert_eq!(pcp.count(), 0);
        let given: Vec<u64> = (0..1000)
            .map(|_| pcp.free(QUIET))
            .filter(|n| *n > 0)
            .collect();
        assert_eq!(given[..3], [63, 126, 252]);
        assert_eq!(given.iter().sum::<u64>() + pcp.count(), 1000);
        let busy = ZoneState {
            reclaiming: true,
            ..QUIET
        };
        assert_eq!(
            Pcp::new(300, 63, 378, FIXED).free(busy),
            63,
            "kswapd leaves four batches"
        );
    }

    #[test]
    fn freed_huge_pages_wait_for_the_next_huge_fault() {
        let mut pcp = Pcp::new(0, 63, 2000, FIXED);
        assert_eq!(pcp.allocate_huge(QUIET), 1024, "two are drawn, one is kept");
        assert_eq!(pcp.allocate_huge(QUIET), 0);
        assert_eq!(
            (0..3).map(|_| pcp.free_huge(QUIET)).sum::<u64>(),
            0,
            "below the limit"
        );
        assert_eq!(pcp.free_huge(QUIET), 512);
        assert_eq!(pcp.count(), 3 * 512);
    }

    #[test]
    fn since_6_7_batches_grow_while_nothing_is_freed_and_the_limit_decays() {
        assert_eq!(Tuning::of("6.1.0-56-cloud-amd64"), FIXED);
        let auto = Tuning::of("6.12.117+deb12-cloud-amd64");
        assert_ne!(auto, FIXED);
        let mut pcp = Pcp::new(0, 63, 0, auto);
        pcp.set_limits(4000, 200_000);
        let drawn: Vec<u64> = (0..10_000)
            .map(|_| pcp.allocate(QUIET))
            .filter(|n| *n > 0)
            .collect();
        assert_eq!(drawn[..6], [63, 126, 252, 504, 1008, 2016]);
        let grown = pcp.high();
        assert!(grown > 4000);
        pcp.decay();
        assert_eq!(pcp.high(), grown - grown / 8);
    }

    #[test]
    fn pages_of_the_kernels_own_have_a_list_and_a_batch_that_does_not_grow() {
        let mut pcp = Pcp::new(10, 63, 0, Tuning::of("6.12"));
        let drawn: Vec<u64> = (0..200).map(|_| pcp.allocate_for_kernel(1000)).collect();
        assert_eq!(drawn.iter().filter(|&&pages| pages == 63).count(), 4);
        assert_eq!(pcp.count(), 10 + 4 * 63 - 200);
        assert_eq!(Pcp::new(0, 63, 0, FIXED).allocate_for_kernel(5), 5);
    }
}
