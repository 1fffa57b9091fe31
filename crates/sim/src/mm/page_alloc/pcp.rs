//! Per-CPU page lists: pages pass through them on their way to and from a zone, and those that lie
//! on them are not counted as free (`mm/page_alloc.c`).
//!
//! Up to 5.13 they hold six batches of single pages at most, and larger blocks go past them. Up to
//! 6.6 the limit of the lists is fixed by the zone's low watermark. Since 6.7 the kernel tunes it
//! between that and an eighth of the zone, and draws ever larger batches of single pages while
//! nothing is freed, whatever they are for.

mod run;
mod tuning;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use crate::mm::page_alloc::buddy::{Buddy, Frame, Migrate};
use crate::mm::page_alloc::pcp::run::Run;
pub(crate) use crate::mm::page_alloc::pcp::tuning::Tuning;
use crate::mm::page_alloc::zone::HUGE_ORDER;

/// A batch grows by this many doublings at most (`CONFIG_PCP_BATCH_SCALE_MAX`).
const SCALE_MAX: u32 = 5;

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
    /// Slabs of two pages that lay in one of the kernel's blocks, and in one of users'.
    UnmovablePairs,
    UsersPairs,
    /// Slabs of the page cache's tree nodes.
    Slab,
    /// Users' huge pages.
    Huge,
}

impl List {
    const ALL: [Self; 7] = [
        Self::Unmovable,
        Self::Users,
        Self::Heads,
        Self::UnmovablePairs,
        Self::UsersPairs,
        Self::Slab,
        Self::Huge,
    ];

    /// The list of 2^order pages that lie in a block of this type.
    pub(crate) fn of(order: usize, kind: Migrate) -> Self {
        match order {
            0 | 1 => Self::ALL[order * Migrate::ALL.len() + kind as usize],
            _ => Self::Huge,
        }
    }

    /// The order of its blocks.
    pub(crate) const fn order(self) -> usize {
        match self {
            Self::Unmovable | Self::Users | Self::Heads => 0,
            Self::UnmovablePairs | Self::UsersPairs | Self::Slab => 1,
            Self::Huge => HUGE_ORDER,
        }
    }

    /// Whether its blocks are larger than a page, and smaller than a huge one.
    const fn is_pair(self) -> bool {
        self.order() == 1
    }

    /// Pages of a block.
    pub(crate) const fn block(self) -> u64 {
        1 << self.order()
    }

    /// The migrate type that it draws.
    pub(crate) const fn kind(self) -> Migrate {
        match self {
            Self::Unmovable | Self::UnmovablePairs => Migrate::Unmovable,
            Self::Users | Self::UsersPairs | Self::Huge => Migrate::Movable,
            Self::Heads | Self::Slab => Migrate::Reclaimable,
        }
    }
}

/// The per-CPU lists of a zone.
#[derive(Clone, Debug)]
pub(crate) struct Pcp {
    /// Blocks on each list: taken from the front, given back to the zone from the end.
    lists: [VecDeque<Frame>; List::ALL.len()],
    /// Pages on lists of other migrate types and orders, as boot has left them: they stay there
    /// until all is given back.
    rest: Vec<Frame>,
    /// Pages on the lists.
    count: u64,
    /// Pages moved at a time.
    batch: u64,
    /// Pages at which a batch goes back to the zone.
    high: u64,
    tuning: Tuning,
    /// Until 6.9: pages go back to the free ones of their list's type, not of their block's.
    pub(crate) remembers_type: bool,
}

/// What the zone is going through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ZoneState {
    /// kswapd works: only four batches may stay on the lists.
    pub(crate) reclaiming: bool,
    /// The zone is not above its high watermark.
    pub(crate) below_high: bool,
}

impl Pcp {
    /// Empty lists.
    pub(crate) fn new(batch: u64, high: u64, tuning: Tuning) -> Self {
        Self {
            lists: [const { VecDeque::new() }; List::ALL.len()],
            rest: Vec::new(),
            count: 0,
            batch: batch.max(1),
            high,
            tuning,
            remembers_type: false,
        }
    }

    /// Lists as boot leaves them, with these frames: of its last draw half a batch, on average, is
    /// still on each of the kernel's own lists, and the other pages are those that boot has freed
    /// for users. Where more are known not to be for users, those beyond are pages of blocks whose
    /// type boot did not set in time (`init_reserved_page`): single unmovable ones.
    pub(crate) fn fill(&mut self, mut frames: Range<Frame>, not_for_users: u64) {
        self.count = u64::from(frames.end - frames.start);
        let half = self.batch / 2;
        let lists = self.tuning.kernel_lists();
        let pairs = match self.tuning {
            Tuning::Batches => 0,
            Tuning::Fixed { .. } | Tuning::Auto(_) => half - half % List::Slab.block(),
        };
        if half > 0 && self.count >= half * lists {
            // A pair begins at an even frame.
            let odd = u64::from(frames.start % 2).min(pairs);
            let kernels = not_for_users.min(self.count);
            let of_reserved = kernels.saturating_sub(half * lists);
            self.rest.extend(frames.by_ref().take(odd as usize));
            for (list, pages) in [
                (List::UnmovablePairs, pairs),
                (List::Slab, pairs),
                (List::Unmovable, half + of_reserved),
                (List::Heads, half),
            ] {
                let blocks = frames.by_ref().take(pages as usize);
                self.lists[list as usize].extend(blocks.step_by(list.block() as usize));
            }
            let rest = half * lists - 2 * half - 2 * pairs - odd;
            self.rest.extend(frames.by_ref().take(rest as usize));
        }
        self.lists[List::Users as usize].extend(frames);
    }

    /// The lists of a zone with a scale-th of the pages, still empty.
    pub(crate) fn part(&self, scale: u64, low: u64, managed: u64) -> Self {
        let mut part = Self::new(self.batch / scale, self.high / scale, self.tuning);
        part.set_limits(low, managed);
        part
    }

    /// The blocks on a list.
    pub(crate) fn frames(&self, list: List) -> impl Iterator<Item = Frame> {
        self.lists[list as usize].iter().copied()
    }

    /// Pages on the lists.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn high(&self) -> u64 {
        self.high
    }

    /// The limit follows the zone's low watermark and its size (`zone_highsize`); of six batches it
    /// stays as boot has made it.
    pub(crate) fn set_limits(&mut self, low: u64, managed: u64) {
        let least = self.batch * 4;
        match &mut self.tuning {
            Tuning::Batches => {}
            Tuning::Fixed { .. } => self.high = low.max(least),
            Tuning::Auto(auto) => {
                auto.min = low.max(least);
                auto.max = (managed / 8).max(auto.min);
            }
        }
    }

    /// Hands out a block of a list, if it has one.
    pub(crate) fn take(&mut self, list: List) -> Option<Frame> {
        let frame = self.lists[list as usize].pop_front()?;
        self.count -= list.block();
        Some(frame)
    }

    /// Hands out single pages of a list, as many as it has and at most those that fit: what as many
    /// calls of [`Self::wanted`] and [`Self::take`] would, none of which draws.
    pub(crate) fn take_listed(&mut self, list: List, into: &mut [Frame]) -> usize {
        let blocks = &mut self.lists[list as usize];
        let taken = blocks.len().min(into.len());
        for (to, frame) in into.iter_mut().zip(blocks.drain(..taken)) {
            *to = frame;
        }
        self.count -= taken as u64;
        let halvings = taken as u32;
        match &mut self.tuning {
            Tuning::Batches => {}
            Tuning::Fixed { free_factor } => {
                *free_factor = free_factor.checked_shr(halvings).unwrap_or(0);
            }
            Tuning::Auto(auto) => {
                auto.free_count = auto.free_count.checked_shr(halvings).unwrap_or(0);
            }
        }
        taken
    }

    /// A block is asked for: how many an empty list draws (`rmqueue_pcplist`).
    pub(crate) fn wanted(&mut self, list: List, zone: ZoneState) -> u64 {
        match &mut self.tuning {
            Tuning::Batches => {}
            Tuning::Fixed { free_factor } => *free_factor >>= 1,
            Tuning::Auto(auto) => auto.free_count >>= 1,
        }
        match self.lists[list as usize].is_empty() {
            true => self.drawn_blocks(list, zone),
            false => 0,
        }
    }

    /// Single pages that were drawn, and lie side by side, come to the end of their list.
    pub(crate) fn put_run(&mut self, list: List, first: Frame, pages: u64) {
        self.lists[list as usize].extend(first..first + pages as Frame);
        self.count += pages;
    }

    /// A block that was drawn comes to the end of its list.
    pub(crate) fn put(&mut self, list: List, frame: Frame) {
        self.lists[list as usize].push_back(frame);
        self.count += list.block();
    }

    /// Takes a block back; returns how many pages are to go on to the zone
    /// (`free_unref_page_commit`).
    pub(crate) fn free(&mut self, list: List, frame: Frame, zone: ZoneState) -> u64 {
        self.lists[list as usize].push_front(frame);
        self.count += list.block();
        self.overflow(list, zone)
    }

    /// How many single pages can be freed one after the other before something goes back, where the
    /// limits are what they will be then.
    pub(crate) fn room(&self, zone: ZoneState) -> u64 {
        let four = self.batch * 4;
        let high = match &self.tuning {
            Tuning::Batches => self.high,
            Tuning::Fixed { .. } if zone.reclaiming => self.high.min(four),
            Tuning::Fixed { .. } => self.high,
            Tuning::Auto(auto) => {
                let falls = zone.reclaiming || zone.below_high;
                let is_settled = self.high == auto.min || !falls && self.high <= auto.max;
                if auto.alloc_factor > 0 || auto.freed_pair || !is_settled || self.high < auto.min {
                    return 0;
                }
                match zone.reclaiming {
                    true => self.high.min(four),
                    false => self.high,
                }
            }
        };
        high.saturating_sub(self.count + 1)
    }

    /// Takes single pages back for which there is [room](Self::room).
    pub(crate) fn free_pages(&mut self, pages: impl Iterator<Item = (List, Frame)>) {
        let before = self.count;
        for (list, frame) in pages {
            self.lists[list as usize].push_front(frame);
            self.count += 1;
        }
        if let Tuning::Auto(auto) = &mut self.tuning {
            let most = (self.batch << SCALE_MAX).max(auto.free_count);
            auto.free_count = (auto.free_count + self.count - before).min(most);
        }
    }

    /// Gives everything back.
    pub(crate) fn drain(&mut self, to: &mut Buddy) {
        while self.give(List::Unmovable, to, u64::MAX).is_some() {}
        self.count = 0;
        self.rest.drain(..).for_each(|frame| to.give(frame, 0));
    }

    /// Lowers a limit that tunes itself, once a second; returns how many pages are to go on to the
    /// zone (`decay_pcp_high`).
    pub(crate) fn decay(&mut self) -> u64 {
        let (count, batch) = (self.count(), self.batch);
        let Tuning::Auto(auto) = self.tuning else {
            return 0;
        };
        if self.high > auto.min {
            let by_count = count.saturating_sub(batch << SCALE_MAX);
            self.high = by_count.max(self.high - self.high / 8).max(auto.min);
        }
        count.saturating_sub(self.high)
    }

    /// How many blocks an empty list draws: single pages by `nr_pcp_alloc`, else what holds a batch
    /// of pages, two at least.
    fn drawn_blocks(&mut self, list: List, zone: ZoneState) -> u64 {
        if list.block() == 1 {
            return self.drawn_singles(zone);
        }
        self.raise_limit(self.batch, zone);
        match self.batch {
            _ if self.tuning == Tuning::Batches => 1,
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

    /// Drawing this many pages raises a limit that tunes itself, unless the zone is low on pages.
    fn raise_limit(&mut self, drawn: u64, zone: ZoneState) {
        let Tuning::Auto(auto) = self.tuning else {
            return;
        };
        self.high = self.high.clamp(auto.min, auto.max);
        if !zone.below_high {
            self.high = (self.high + drawn).min(auto.max);
        }
    }

    /// What goes back because the lists are full, or all, as larger blocks are not to stay where
    /// more is freed than taken.
    fn overflow(&mut self, list: List, zone: ZoneState) -> u64 {
        let count = self.count();
        let batch = self.batch;
        match &mut self.tuning {
            Tuning::Batches if list.block() > 1 => list.block(),
            Tuning::Batches if count < self.high => 0,
            Tuning::Batches => batch,
            Tuning::Fixed { free_factor } => {
                if list.is_pair() && *free_factor > 0 {
                    return count;
                }
                let four = if zone.reclaiming { batch * 4 } else { u64::MAX };
                let high = self.high.min(four);
                if count < high {
                    return 0;
                }
                let most = high.saturating_sub(batch).max(batch);
                let wanted = batch << *free_factor;
                if wanted < most && *free_factor < SCALE_MAX {
                    *free_factor += 1;
                }
                wanted.clamp(batch, most)
            }
            Tuning::Auto(auto) => {
                auto.alloc_factor >>= 1;
                let was_pair = core::mem::replace(&mut auto.freed_pair, list.is_pair());
                let gives_all = was_pair && list.is_pair() && auto.free_count >= batch;
                if auto.free_count < batch << SCALE_MAX {
                    auto.free_count += list.block();
                }
                if gives_all {
                    let most = batch << SCALE_MAX;
                    self.high = self.high.saturating_sub(most).max(auto.min);
                    return count.min(most);
                }
                let of_late = auto.free_count;
                let high = self.tuned_high(zone);
                if count < high {
                    return 0;
                }
                let most = high.saturating_sub(batch).max(batch);
                of_late.clamp(batch, most)
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

    /// The first list behind this one that is not empty.
    fn next_list(&self, first: List) -> Option<List> {
        let mut lists = (1..List::ALL.len()).map(|step| (first as usize + step) % List::ALL.len());
        let list = lists.find(|&list| !self.lists[list].is_empty())?;
        Some(List::ALL[list])
    }

    /// Gives a block of this list, or of the first that follows and is not empty
    /// (`free_pcppages_bulk`), and with it the blocks that it would give next, at most this many
    /// pages in all, if they lie behind it side by side; whose they were, and the pages.
    pub(crate) fn give(&mut self, first: List, to: &mut Buddy, most: u64) -> Option<(List, u64)> {
        let list = match self.lists[first as usize].is_empty() {
            true => self.next_list(first)?,
            false => first,
        };
        let kind = self.remembers_type.then_some(list.kind());
        let blocks = &mut self.lists[list as usize];
        let frame = *blocks.back()?;
        let run = match list.order() {
            0 => Run::at_end(blocks, most),
            _ => Run::Up(list.block()),
        };
        let pages = run.pages();
        blocks.truncate(blocks.len() - (pages / list.block()) as usize);
        match (list.order(), run) {
            (0, Run::Up(pages)) => to.give_run(frame, pages, kind),
            (0, Run::Down(pages)) => to.give_run_down(frame, pages, kind),
            (order, _) => to.give_as(frame, order, kind.unwrap_or(to.block(frame))),
        }
        self.count -= pages;
        Some((list, pages))
    }
}

#[cfg(test)]
mod tests;
