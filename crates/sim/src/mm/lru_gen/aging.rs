//! Aging: when a new generation is wanted, and how one is made.

use crate::mm::folio::Folios;
use crate::mm::lru_gen::{Generations, Kind, LEAST, MOST, eviction, slot};

/// How far eviction may go before it asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Pages of all generations of the kinds that may be evicted.
    pub(crate) total: u64,
    /// A new generation is wanted first.
    pub(crate) needs_aging: bool,
    /// There are no cold pages: nothing can be evicted without a new generation.
    pub(crate) is_out: bool,
}

impl Budget {
    /// Pages to look at in a pass at `priority`; none where there are no cold ones.
    pub(crate) fn scan(self, priority: u32) -> u64 {
        match self.is_out {
            true => 0,
            false => self.total >> priority,
        }
    }
}

impl Generations {
    /// What there is to evict, and whether a new generation is wanted (`should_run_aging`): there
    /// are too few, or the three there are hold too many young pages or too few old ones.
    pub(crate) fn budget(&self, swaps: bool) -> Budget {
        let (mut total, mut young, mut old) = (0, 0, 0);
        for &kind in kinds(swaps) {
            for seq in self.min_seq[kind as usize]..=self.max_seq {
                let size = self.size(seq, kind);
                total += size;
                match self.max_seq - seq {
                    0 => young += size,
                    LEAST => old += size,
                    _ => {}
                }
            }
        }
        let count = self.deciding_count(swaps);
        let uneven = young * LEAST > total || old * (LEAST + 2) < total;
        Budget {
            total,
            needs_aging: count <= LEAST || (count == LEAST + 1 && uneven),
            is_out: count <= LEAST,
        }
    }

    /// Generations of the kind that lags behind: anonymous memory if it may be swapped.
    pub(super) fn deciding_count(&self, swaps: bool) -> u64 {
        self.count(kinds(swaps)[0])
    }

    pub(super) fn size(&self, seq: u64, kind: Kind) -> u64 {
        self.pages[slot(seq)][kind as usize].iter().sum()
    }

    /// Makes a new generation, the youngest, at `now` nanoseconds (`inc_max_seq`). Where there are
    /// four already, the oldest is merged into the next; that of anonymous memory that cannot be
    /// swapped is not, and its pages are taken for the youngest.
    pub(crate) fn age(&mut self, folios: &mut Folios, swaps: bool, now: u64) {
        for kind in [Kind::File, Kind::Anon] {
            if self.count(kind) == MOST as u64 {
                if kind == Kind::File || swaps {
                    self.merge_oldest(folios, kind);
                }
                self.step_oldest(kind, 1);
            }
        }
        self.max_seq += 1;
        self.born[slot(self.max_seq)] = now;
    }

    /// Moves the pages of the oldest generation to the tail of the next, or to where they belong
    /// (`inc_min_seq`).
    fn merge_oldest(&mut self, folios: &mut Folios, kind: Kind) {
        let oldest = slot(self.min_seq[kind as usize]);
        for zone in 0..self.lists[oldest][kind as usize].len() {
            while let Some(page) = self.lists[oldest][kind as usize][zone].tail() {
                let generation = eviction::next_generation(self, folios, page, kind);
                self.lists[oldest][kind as usize][zone].pop_tail(folios);
                self.lists[generation][kind as usize][zone].push_tail(folios, page);
            }
        }
    }

    /// Drops oldest generations that are empty (`try_to_inc_min_seq`); true where there was one.
    /// Where anonymous memory may be swapped, it may not get ahead of files, and files step no
    /// further than it.
    pub(crate) fn drop_empty(&mut self, swaps: bool) -> bool {
        let mut oldest = self.min_seq;
        for &kind in kinds(swaps) {
            let oldest = &mut oldest[kind as usize];
            while *oldest + LEAST <= self.max_seq && self.is_empty(*oldest, kind) {
                *oldest += 1;
            }
        }
        if swaps {
            let [anon, file] = oldest;
            oldest = [anon.min(file), anon.min(file).max(self.min_seq[1])];
        }
        let mut stepped = false;
        for &kind in kinds(swaps) {
            let steps = oldest[kind as usize] - self.min_seq[kind as usize];
            if steps > 0 {
                self.step_oldest(kind, steps);
                stepped = true;
            }
        }
        stepped
    }

    fn is_empty(&self, seq: u64, kind: Kind) -> bool {
        let lists = &self.lists[slot(seq)][kind as usize];
        lists.iter().all(|list| list.is_empty())
    }

    fn step_oldest(&mut self, kind: Kind, steps: u64) {
        self.control[kind as usize].carry_over();
        self.min_seq[kind as usize] += steps;
    }
}

/// The kinds that may be evicted.
pub(super) fn kinds(swaps: bool) -> &'static [Kind] {
    &Kind::BOTH[usize::from(!swaps)..]
}
