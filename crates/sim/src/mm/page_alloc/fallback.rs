//! Where a migrate type has no free piece: it claims a block of another's, or takes pages out of it
//! (`__rmqueue`). Each claim that is not of whole blocks boosts the watermarks.

use crate::mm::page_alloc::buddy::{Buddy, Frame, MAX_ORDER, Migrate};

/// How the pages of one draw are found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Draw {
    /// The rule until 6.9: all free pages of a block come with the one that is taken, even where
    /// the block stays what it is.
    pub(crate) takes_pages_with_the_block: bool,
    /// No block could be claimed: further pages are taken one by one.
    steals: bool,
    /// How many times the watermarks are boosted.
    pub(crate) boosts: u32,
    /// Blocks that came from the zone.
    pub(crate) blocks: u64,
}

impl Draw {
    pub(crate) fn new(takes_pages_with_the_block: bool) -> Self {
        Self {
            takes_pages_with_the_block,
            ..Self::default()
        }
    }

    /// Whether pieces of the own type are looked for.
    pub(crate) fn takes_own(&self) -> bool {
        !self.steals
    }
}

impl Buddy {
    /// Takes 2^order pages for a type; none where the zone has no such piece at all.
    pub(crate) fn draw(&mut self, order: usize, kind: Migrate, draw: &mut Draw) -> Option<Frame> {
        if draw.takes_pages_with_the_block {
            return self.draw_with_block(order, kind, draw);
        }
        if !draw.steals {
            let own = self
                .take(order, kind)
                .or_else(|| self.claim(order, kind, draw));
            if own.is_some() {
                return own;
            }
            draw.steals = true;
        }
        self.steal(order, kind)
    }

    /// Claims the block of the largest piece that another type has, or of the next smaller ones
    /// (`__rmqueue_claim`).
    fn claim(&mut self, order: usize, kind: Migrate, draw: &mut Draw) -> Option<Frame> {
        let orders = (order..=MAX_ORDER).rev();
        for size in orders.take_while(|&size| self.may_claim(size, kind)) {
            let Some(frame) = self.fallback(size, kind) else {
                continue;
            };
            if self.is_block(size) {
                return Some(self.take_blocks(frame, order, kind));
            }
            draw.boosts += 1;
            if self.is_mostly(frame, kind) {
                self.move_pieces(frame, kind);
                self.set_block(frame, kind);
                return self.take(order, kind);
            }
        }
        None
    }

    /// Takes pages out of the smallest piece that another type has (`__rmqueue_steal`).
    fn steal(&mut self, order: usize, kind: Migrate) -> Option<Frame> {
        let frame = (order..=MAX_ORDER).find_map(|size| self.fallback(size, kind))?;
        Some(self.take_of(frame, order))
    }

    /// As it was until 6.9 (`__rmqueue_fallback`): users, who may have no block, take the smallest
    /// piece; the kernel's types the largest, with all that is free of its block.
    fn draw_with_block(&mut self, order: usize, kind: Migrate, draw: &mut Draw) -> Option<Frame> {
        loop {
            if let Some(frame) = self.take(order, kind) {
                return Some(frame);
            }
            let mut orders = (order..=MAX_ORDER).rev();
            let size = orders.find(|&size| self.fallback(size, kind).is_some())?;
            let with_block = self.may_claim(size, kind);
            let size = match with_block {
                true => size,
                false => (order..=size).find(|&size| self.fallback(size, kind).is_some())?,
            };
            let frame = self.fallback(size, kind)?;
            if self.is_block(size) {
                return Some(self.take_blocks(frame, order, kind));
            }
            draw.boosts += 1;
            if with_block {
                let becomes = self.is_mostly(frame, kind);
                self.move_pieces(frame, kind);
                if becomes {
                    self.set_block(frame, kind);
                }
            } else {
                self.move_piece(frame, kind);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::page_alloc::pieces::Pieces;
    use Migrate::{Movable, Reclaimable, Unmovable};
    use alloc::vec::Vec;

    /// A block of users', this many of whose pages are free.
    fn users_block(free: u64) -> Buddy {
        let mut buddy = Buddy::new(512, 9, free, &Pieces::default());
        let used = 512..1024 - free as Frame;
        used.for_each(|frame| buddy.set_user(frame, true));
        buddy
    }

    /// Draws this many pages; how many times that boosted.
    fn draw(buddy: &mut Buddy, pages: u64, order: usize, kind: Migrate, early: bool) -> u32 {
        let mut draw = Draw::new(early);
        for _ in 0..pages {
            buddy
                .draw(order, kind, &mut draw)
                .expect("there are free ones");
        }
        draw.boosts
    }

    #[test]
    fn a_block_that_is_half_free_goes_back_and_forth_and_boosts_each_time() {
        for early in [true, false] {
            let mut buddy = users_block(300);
            assert_eq!(draw(&mut buddy, 1, 1, Reclaimable, early), 1);
            assert_eq!(buddy.block(1000), Reclaimable);
            assert_eq!(
                draw(&mut buddy, 1, 1, Reclaimable, early),
                0,
                "it is its own"
            );
            assert_eq!(draw(&mut buddy, 1, 0, Movable, early), 1);
            assert_eq!(buddy.block(1000), Movable);
        }
    }

    #[test]
    fn blocks_that_are_free_as_a_whole_are_claimed_without_a_boost() {
        for early in [true, false] {
            let mut buddy = Buddy::new(2048, 9, 2048, &Pieces::default());
            assert_eq!(draw(&mut buddy, 100, 0, Unmovable, early), 0);
            let blocks: Vec<_> = [0, 512, 1024].map(|frame| buddy.block(frame)).into();
            assert_eq!(
                blocks,
                [Unmovable, Unmovable, Movable],
                "a piece of two blocks"
            );
        }
    }

    #[test]
    fn until_6_9_all_free_pages_of_a_block_come_with_the_one_that_is_taken() {
        let mut buddy = users_block(200);
        assert_eq!(draw(&mut buddy, 200, 0, Reclaimable, true), 1);
        assert_eq!(buddy.block(1000), Movable, "less than half of it was free");
    }

    #[test]
    fn since_then_what_cannot_be_claimed_is_stolen_from_the_smallest_piece() {
        // Free are pieces of 8, 64 and 128 pages; each is a block that it tries to claim.
        let mut buddy = users_block(200);
        let mut first = Draw::default();
        assert_eq!(buddy.draw(0, Reclaimable, &mut first), Some(824));
        assert_eq!(buddy.draw(0, Reclaimable, &mut first), Some(825));
        assert_eq!(first.boosts, 3, "only before the first page");
        assert_eq!(
            draw(&mut buddy, 1, 0, Reclaimable, false),
            4,
            "of 2, 4, 64 and 128"
        );
    }

    #[test]
    fn users_take_small_pieces_of_the_kernels_without_a_boost() {
        let kernels = Pieces::only(Unmovable, [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0]);
        let mut buddy = Buddy::new(512, 9, 15, &kernels);
        assert_eq!(draw(&mut buddy, 15, 0, Movable, false), 0);
        let mut buddy = Buddy::new(512, 9, 15, &kernels);
        assert_eq!(
            draw(&mut buddy, 15, 0, Movable, true),
            4,
            "each piece, until 6.9"
        );
        assert_eq!(buddy.draw(0, Movable, &mut Draw::default()), None);
    }
}
