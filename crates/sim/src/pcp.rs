//! Per-CPU page lists: pages pass through them on their way to and from a zone, and those that lie
//! on them are not counted as free (`mm/page_alloc.c`).
//!
//! Up to 6.6 the limit of the lists is fixed by the zone's low watermark. Since 6.7 the kernel
//! tunes it between that and an eighth of the zone, and draws ever larger batches of single pages
//! while nothing is freed, whatever they are for.

use mm::release::is_since;

use crate::page_alloc::HUGE_PAGES;

/// A batch grows by this many doublings at most (`CONFIG_PCP_BATCH_SCALE_MAX`).
const SCALE_MAX: u32 = 5;

/// Lists that the kernel fills for itself while it boots, by a trace of 6.1 and 6.12: single pages,
/// unmovable and reclaimable; two and four contiguous ones of both kinds; eight unmovable ones.
const KERNEL_LISTS: u64 = 7;

/// What a block of pages is for: each migrate type and order has a list of its own. These are those
/// that matter, in the kernel's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    /// Single pages of the kernel's own, such as those of page tables.
    Unmovable,
    /// Users' base pages.
    Users,
    /// Slabs of buffer heads: single pages of what can be reclaimed.
    Heads,
    /// Slabs of the page cache's tree nodes.
    Slab,
    /// Users' huge pages.
    Huge,
}

impl List {
    const ALL: [Self; 5] = [
        Self::Unmovable,
        Self::Users,
        Self::Heads,
        Self::Slab,
        Self::Huge,
    ];

    /// Pages of a block.
    pub(crate) const fn block(self) -> u64 {
        match self {
            Self::Unmovable | Self::Users | Self::Heads => 1,
            Self::Slab => 2,
            Self::Huge => HUGE_PAGES,
        }
    }
}

/// The per-CPU lists of a zone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pcp {
    /// Pages on each list.
    lists: [u64; List::ALL.len()],
    /// Pages on lists of other migrate types and orders, as boot has left them: they stay there
    /// until all is given back.
    rest: u64,
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
    /// Lists with so many pages of users', which boot has freed.
    pub(crate) fn new(count: u64, batch: u64, high: u64, tuning: Tuning) -> Self {
        Self {
            lists: [0, count, 0, 0, 0],
            rest: 0,
            batch: batch.max(1),
            high,
            tuning,
        }
    }

    /// Lists as boot leaves them: of its last draw half a batch, on average, is still on each of
    /// the kernel's own lists, and the other pages are those that boot has freed for users.
    pub(crate) fn after_boot(count: u64, batch: u64, high: u64, tuning: Tuning) -> Self {
        let half = batch / 2;
        let mut pcp = Self::new(count, batch, high, tuning);
        let own = half * KERNEL_LISTS;
        if count >= own {
            let slab = half - half % List::Slab.block();
            pcp.lists = [half, count - own, half, slab, 0];
            pcp.rest = own - 2 * half - slab;
        }
        pcp
    }

    /// The lists of a zone with a scale-th of the pages.
    pub(crate) fn part(&self, scale: u64, low: u64, managed: u64) -> Self {
        let batch = self.batch / scale;
        let mut part = Self::new(self.count() / scale, batch, self.high / scale, self.tuning);
        part.set_limits(low, managed);
        part
    }

    /// Pages on the lists.
    pub(crate) fn count(&self) -> u64 {
        self.lists.iter().sum::<u64>() + self.rest
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

    /// Hands out a block; returns how many pages the zone had to give for it (`rmqueue_pcplist`).
    pub(crate) fn allocate(&mut self, list: List, zone: ZoneState) -> u64 {
        match &mut self.tuning {
            Tuning::Fixed { free_factor } => *free_factor >>= 1,
            Tuning::Auto(auto) => auto.free_count >>= 1,
        }
        let drawn = match self.lists[list as usize] {
            0 => self.drawn_blocks(list, zone).min(zone.free / list.block()) * list.block(),
            _ => 0,
        };
        let left = &mut self.lists[list as usize];
        *left = (*left + drawn).saturating_sub(list.block());
        drawn
    }

    /// Takes a block back; returns how many pages go on to the zone (`free_unref_page_commit`).
    pub(crate) fn free(&mut self, list: List, zone: ZoneState) -> u64 {
        self.lists[list as usize] += list.block();
        self.overflow(list, zone)
    }

    /// Gives everything back.
    pub(crate) fn drain(&mut self) -> u64 {
        let count = self.count();
        (self.lists, self.rest) = ([0; List::ALL.len()], 0);
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
            above => self.give(List::Unmovable, above),
        }
    }

    /// How many blocks an empty list draws: single pages by `nr_pcp_alloc`, else what holds a batch
    /// of pages, two at least.
    fn drawn_blocks(&mut self, list: List, zone: ZoneState) -> u64 {
        if list.block() == 1 {
            return self.drawn_singles(zone);
        }
        self.raise_limit(self.batch, zone);
        match self.batch {
            1 => 1,
            batch => (batch / list.block()).max(2),
        }
    }

    fn drawn_singles(&mut self, zone: ZoneState) -> u64 {
        let (count, batch) = (self.count(), self.batch);
        let Tuning::Auto(auto) = self.tuning else {
            return batch;
        };
        let wanted = batch << auto.alloc_factor;
        self.raise_limit(wanted, zone);
        let most = self.high.saturating_sub(count + batch).max(batch);
        if let Tuning::Auto(auto) = &mut self.tuning
            && wanted <= most
            && auto.alloc_factor < SCALE_MAX
        {
            auto.alloc_factor += 1;
        }
        wanted.min(most)
    }

    /// Drawing so many pages raises a limit that tunes itself, unless the zone is low on pages.
    fn raise_limit(&mut self, drawn: u64, zone: ZoneState) {
        let Tuning::Auto(auto) = self.tuning else {
            return;
        };
        self.high = self.high.clamp(auto.min, auto.max);
        if !zone.below_high {
            self.high = (self.high + drawn).min(auto.max);
        }
    }

    /// What goes back because the lists are full.
    fn overflow(&mut self, list: List, zone: ZoneState) -> u64 {
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
                self.give(list, wanted.clamp(batch, most))
            }
            Tuning::Auto(auto) => {
                auto.alloc_factor >>= 1;
                if auto.free_count < batch << SCALE_MAX {
                    auto.free_count += list.block();
                }
                let of_late = auto.free_count;
                let high = self.tuned_high(zone);
                if count < high {
                    return 0;
                }
                let most = high.saturating_sub(batch).max(batch);
                self.give(list, of_late.clamp(batch, most))
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

    /// Gives at least `wanted` pages if there are as many, in whole blocks: of this list first and
    /// then of those that follow (`free_pcppages_bulk`).
    fn give(&mut self, first: List, wanted: u64) -> u64 {
        let mut given = 0;
        for step in 0..List::ALL.len() {
            let list = List::ALL[(first as usize + step) % List::ALL.len()];
            let left = &mut self.lists[list as usize];
            let missing = wanted.saturating_sub(given);
            let gives = (missing.div_ceil(list.block()) * list.block()).min(*left);
            *left -= gives;
            given += gives;
        }
        given
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
        assert_eq!(pcp.allocate(List::Users, QUIET), 63);
        assert_eq!(
            (0..62)
                .map(|_| pcp.allocate(List::Users, QUIET))
                .sum::<u64>(),
            0
        );
        assert_eq!(pcp.count(), 0);
        let given: Vec<u64> = (0..1000)
            .map(|_| pcp.free(List::Users, QUIET))
            .filter(|n| *n > 0)
            .collect();
        assert_eq!(given[..3], [63, 126, 252]);
        assert_eq!(given.iter().sum::<u64>() + pcp.count(), 1000);
        let busy = ZoneState {
            reclaiming: true,
            ..QUIET
        };
        assert_eq!(
            Pcp::new(300, 63, 378, FIXED).free(List::Users, busy),
            63,
            "kswapd leaves four batches"
        );
    }

    #[test]
    fn freed_huge_pages_wait_for_the_next_huge_fault() {
        let mut pcp = Pcp::new(0, 63, 2000, FIXED);
        assert_eq!(
            pcp.allocate(List::Huge, QUIET),
            1024,
            "two are drawn, one is kept"
        );
        assert_eq!(pcp.allocate(List::Huge, QUIET), 0);
        assert_eq!(
            (0..3).map(|_| pcp.free(List::Huge, QUIET)).sum::<u64>(),
            0,
            "below the limit"
        );
        assert_eq!(pcp.free(List::Huge, QUIET), 512);
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
            .map(|_| pcp.allocate(List::Users, QUIET))
            .filter(|n| *n > 0)
            .collect();
        assert_eq!(drawn[..6], [63, 126, 252, 504, 1008, 2016]);
        let grown = pcp.high();
        assert!(grown > 4000);
        pcp.decay();
        assert_eq!(pcp.high(), grown - grown / 8);
    }

    #[test]
    fn pages_of_the_kernels_own_have_lists_of_their_own() {
        let mut pcp = Pcp::new(10, 31, 0, Tuning::of("6.12"));
        pcp.set_limits(4000, 200_000);
        let drawn: Vec<u64> = (0..200)
            .map(|_| pcp.allocate(List::Unmovable, QUIET))
            .collect();
        let drawn: Vec<u64> = drawn.into_iter().filter(|&pages| pages > 0).collect();
        assert_eq!(drawn, [31, 62, 124], "batches of single pages grow");
        assert_eq!(pcp.allocate(List::Slab, QUIET), 30, "blocks of two pages");
        assert_eq!(
            (0..14)
                .map(|_| pcp.allocate(List::Slab, QUIET))
                .sum::<u64>(),
            0
        );
        assert_eq!(pcp.count(), 10 + 17);
        assert_eq!(
            pcp.allocate(List::Users, QUIET),
            0,
            "users' have not been touched"
        );
    }

    #[test]
    fn what_is_given_back_comes_from_the_freed_pages_list_first() {
        let mut pcp = Pcp::new(100, 31, 0, FIXED);
        pcp.lists = [10, 100, 6, 8, 512];
        assert_eq!(pcp.give(List::Slab, 3), 4, "whole slabs");
        assert_eq!(pcp.lists, [10, 100, 6, 4, 512]);
        assert_eq!(pcp.give(List::Users, 107), 100 + 6 + 2);
        assert_eq!(
            pcp.give(List::Unmovable, 550),
            10 + 2 + 512,
            "all that is left"
        );
    }

    #[test]
    fn what_boot_has_left_on_other_lists_comes_back_when_all_does() {
        let mut pcp = Pcp::after_boot(452, 31, 4000, FIXED);
        assert_eq!((pcp.lists, pcp.rest), ([15, 347, 15, 14, 0], 61));
        assert_eq!((pcp.count(), pcp.give(List::Users, 1000)), (452, 391));
        assert_eq!((pcp.drain(), pcp.count()), (61, 0));
        assert_eq!(Pcp::after_boot(5, 31, 4000, FIXED).lists, [0, 5, 0, 0, 0]);
    }

    #[test]
    fn a_small_zone_gives_page_by_page() {
        let mut pcp = Pcp::new(0, 1, 0, FIXED);
        assert_eq!(pcp.allocate(List::Slab, QUIET), 2);
        assert_eq!(
            pcp.allocate(List::Unmovable, ZoneState { free: 0, ..QUIET }),
            0
        );
        assert_eq!(pcp.allocate(List::Unmovable, QUIET), 1);
    }
}
