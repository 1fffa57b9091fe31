//! The refault controller of one kind of pages: which tiers come back, and may tiers be evicted?
//!
//! Each tier's share of refaults is compared with another's, as a controller compares a process
//! variable with its set point (`positive_ctrl_err`).

use crate::mm::lru_gen::BATCH;

/// Tiers of use (`MAX_NR_TIERS`): the logarithm of the number of uses, rounded up.
pub(super) const TIERS: usize = 4;

/// What became of the pages of each tier.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    /// Since the oldest generation became so.
    evicted: [u64; TIERS],
    refaulted: [u64; TIERS],
    protected: [u64; TIERS],
    /// Before, the further back the less.
    average_refaulted: [u64; TIERS],
    average_total: [u64; TIERS],
}

/// Refaults of some pages, weighted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    refaulted: u64,
    total: u64,
    gain: u64,
}

impl Control {
    pub(super) fn note_evicted(&mut self, tier: usize, pages: u64) {
        self.evicted[tier] += pages;
    }

    pub(super) fn note_refaulted(&mut self, tier: usize) {
        self.refaulted[tier] += 1;
    }

    pub(super) fn note_protected(&mut self, tier: usize) {
        self.protected[tier] += 1;
    }

    /// How a tier stands; a larger gain makes its refaults count less.
    pub(super) fn position(&self, tier: usize, gain: u32) -> Position {
        Position {
            refaulted: self.average_refaulted[tier] + self.refaulted[tier],
            total: self.average_total[tier] + self.evicted[tier] + self.protected[tier],
            gain: u64::from(gain),
        }
    }

    /// Begins a new oldest generation: what was counted so far counts half (`reset_ctrl_pos`).
    pub(super) fn carry_over(&mut self) {
        for tier in 0..TIERS {
            let position = self.position(tier, 0);
            self.average_refaulted[tier] = position.refaulted / 2;
            self.average_total[tier] = position.total / 2;
        }
        self.evicted = [0; TIERS];
        self.refaulted = [0; TIERS];
        self.protected = [0; TIERS];
    }

    /// The last tier to evict: up to it, each tier refaults less than twice as much as `base`.
    pub(super) fn last_tier(&self, base: Position, gain: u32) -> usize {
        let fits = |tier: &usize| self.position(*tier, gain).is_better_than(base);
        (1..TIERS).take_while(fits).last().unwrap_or(0)
    }
}

impl Position {
    /// Whether these pages are the ones to evict rather than those of the set point: their
    /// refaults are few, or fewer for what was taken.
    pub(super) fn is_better_than(self, set_point: Self) -> bool {
        let wide = u128::from;
        let batch = BATCH as u64;
        self.refaulted < batch
            || wide(self.refaulted) * wide(set_point.total + batch) * wide(set_point.gain)
                <= wide(set_point.refaulted + 1) * wide(self.total) * wide(self.gain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(refaulted: u64, total: u64, gain: u64) -> Position {
        Position {
            refaulted,
            total,
            gain,
        }
    }

    #[test]
    fn few_refaults_say_nothing_and_many_are_weighed() {
        let base = position(100, 1000, 1);
        assert!(position(63, 63, 1).is_better_than(base));
        assert!(!position(64, 64, 1).is_better_than(base));
        // 190 of 1000 is less than twice 101 of 1064.
        assert!(position(189, 1000, 2).is_better_than(base));
        assert!(!position(191, 1000, 2).is_better_than(base));
    }

    #[test]
    fn what_lies_back_counts_half() {
        let mut control = Control::default();
        control.note_evicted(1, 100);
        (0..20).for_each(|_| control.note_protected(1));
        (0..81).for_each(|_| control.note_refaulted(1));
        control.carry_over();
        let position = control.position(1, 3);
        assert_eq!((position.refaulted, position.total), (40, 60));
        (0..5).for_each(|_| control.note_refaulted(1));
        control.carry_over();
        assert_eq!(control.position(1, 3).refaulted, 22);
    }

    #[test]
    fn tiers_are_evicted_up_to_the_first_that_comes_back_too_often() {
        let mut control = Control::default();
        for tier in [0, 1, 2] {
            control.note_evicted(tier, 1000);
        }
        let base = control.position(0, 1);
        assert_eq!(control.last_tier(base, 2), 3, "nothing came back");
        (0..64).for_each(|_| control.note_refaulted(2));
        assert_eq!(control.last_tier(base, 2), 1);
        (0..64).for_each(|_| control.note_refaulted(1));
        assert_eq!(control.last_tier(base, 2), 0);
    }
}
