//! The free pages of a zone: pieces of 2^order pages on a list for each order and migrate type
//! (`mm/page_alloc.c`, `struct free_area`). A pageblock is of one type; where a type has no piece
//! left it claims blocks of another, or takes pages out of them.

use alloc::vec::Vec;

use crate::mm::page_alloc::pieces::Pieces;

/// The number of a page frame, from the first of its zone on.
pub(crate) type Frame = u32;

const NONE: Frame = Frame::MAX;

/// The largest order of a piece (`MAX_PAGE_ORDER`).
pub(crate) const MAX_ORDER: usize = 10;

/// What pages of a block are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Migrate {
    /// The kernel's own.
    Unmovable,
    /// Users'.
    Movable,
    /// Slabs that reclaim can have.
    Reclaimable,
}

impl Migrate {
    pub(crate) const ALL: [Self; 3] = [Self::Unmovable, Self::Movable, Self::Reclaimable];

    /// The kernel's name for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unmovable => "Unmovable",
            Self::Movable => "Movable",
            Self::Reclaimable => "Reclaimable",
        }
    }

    /// Whose pieces are taken where there is none of the own type, in this order (`fallbacks`).
    fn fallbacks(self) -> [Self; 2] {
        match self {
            Self::Unmovable => [Self::Reclaimable, Self::Movable],
            Self::Movable => [Self::Reclaimable, Self::Unmovable],
            Self::Reclaimable => [Self::Unmovable, Self::Movable],
        }
    }
}

/// The free pages of a zone.
#[derive(Clone, Debug)]
pub(crate) struct Buddy {
    /// A block has 2^this pages (`pageblock_order`).
    block_order: usize,
    /// The type of each block.
    blocks: Vec<Migrate>,
    marks: Vec<Mark>,
    /// The neighbours on its list of each frame that begins a free piece.
    links: Vec<[Frame; 2]>,
    /// First and last piece, by order and type.
    lists: [[[Frame; 2]; 3]; MAX_ORDER + 1],
    free: u64,
}

/// What is known of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// In use by the kernel, on a per-CPU list, or within a free piece.
    Other,
    /// In use by a user: it could be moved.
    User,
    /// The first of a free piece.
    Free { order: u8, kind: Migrate },
}

impl Buddy {
    /// A zone of this many frames at least, in blocks of 2^`block_order`, of which the last `free`
    /// are free, in these pieces as far as they are as many. A block of smaller pieces has at most
    /// one of each order, the smaller before the larger, as the kernel leaves a block that it uses
    /// from its beginning. What is in use comes first.
    pub(crate) fn new(frames: u64, block_order: usize, free: u64, pieces: &Pieces) -> Self {
        let scattered = |pieces: &Pieces| {
            let buddy = Self::empty(frames, block_order);
            let pieces = pieces.fitted(free, buddy.largest());
            buddy.scatter(pieces)
        };
        scattered(pieces)
            .or_else(|| scattered(&Pieces::default()))
            .expect("a zone has room for its free pages")
    }

    /// A zone all of whose frames are in use.
    fn empty(frames: u64, block_order: usize) -> Self {
        let size = frames.next_multiple_of(1 << MAX_ORDER) as usize;
        Self {
            block_order,
            blocks: alloc::vec![Migrate::Movable; size >> block_order],
            marks: alloc::vec![Mark::Other; size],
            links: alloc::vec![[NONE; 2]; size],
            lists: [[[NONE; 2]; 3]; MAX_ORDER + 1],
            free: 0,
        }
    }

    /// Places the pieces, the largest at the end of the zone; none where it is too small.
    fn scatter(mut self, mut pieces: Pieces) -> Option<Self> {
        let mut end = self.marks.len() as Frame;
        for order in (self.block_order..=MAX_ORDER).rev() {
            for kind in [Migrate::Movable, Migrate::Unmovable, Migrate::Reclaimable] {
                for _ in 0..pieces.count(kind, order) {
                    end = end.checked_sub(1 << order)?;
                    self.set_blocks(end, order, kind);
                    self.add(end, order, kind, false);
                }
            }
        }
        for kind in [Migrate::Reclaimable, Migrate::Unmovable, Migrate::Movable] {
            while (0..self.block_order).any(|order| pieces.count(kind, order) > 0) {
                let mut place = end;
                end = end.checked_sub(1 << self.block_order)?;
                self.set_block(end, kind);
                for order in pieces.take_one_each(kind, self.block_order) {
                    place -= 1 << order;
                    self.add(place, order, kind, false);
                }
            }
        }
        Some(self)
    }

    /// The order of the largest piece: two blocks, which are smaller where a page stands for many.
    fn largest(&self) -> usize {
        self.block_order + 1
    }

    /// The first free frame of a zone that is as boot leaves it.
    pub(crate) fn first_free(&self) -> Frame {
        let of_free = |mark: &Mark| matches!(mark, Mark::Free { .. });
        (self.marks.iter().position(of_free)).unwrap_or(self.marks.len()) as Frame
    }

    /// Free pages.
    pub(crate) fn free(&self) -> u64 {
        self.free
    }

    /// Whether there is a piece of this order or a larger one.
    pub(crate) fn has(&self, order: usize) -> bool {
        let mut areas = self.lists[order..].iter();
        match order {
            0 => self.free > 0,
            _ => areas.any(|area| area.iter().any(|list| list[0] != NONE)),
        }
    }

    /// The block that a frame lies in becomes a type's.
    pub(crate) fn set_block(&mut self, frame: Frame, kind: Migrate) {
        self.blocks[frame as usize >> self.block_order] = kind;
    }

    /// The type of the block that a frame lies in.
    pub(crate) fn block(&self, frame: Frame) -> Migrate {
        self.blocks[frame as usize >> self.block_order]
    }

    /// A user has got the frame, or given it back.
    pub(crate) fn set_user(&mut self, frame: Frame, is_users: bool) {
        self.marks[frame as usize] = match is_users {
            true => Mark::User,
            false => Mark::Other,
        };
    }

    /// Takes 2^order pages from the smallest piece of a type (`__rmqueue_smallest`).
    pub(crate) fn take(&mut self, order: usize, kind: Migrate) -> Option<Frame> {
        let from = (order..=MAX_ORDER).find(|&order| self.first(order, kind).is_some())?;
        let frame = self.first(from, kind)?;
        self.remove(frame);
        self.expand(frame, from, order, kind);
        Some(frame)
    }

    /// Takes single pages off the smallest piece of a type, as many as it has and at most this
    /// many: what as many calls of [`Self::take`] would take, for there is no smaller piece and the
    /// rest of this one is the next. The first page, and how many follow it side by side.
    pub(crate) fn take_run(&mut self, kind: Migrate, most: u64) -> Option<(Frame, u64)> {
        let from = (0..=MAX_ORDER).find(|&order| self.first(order, kind).is_some())?;
        let frame = self.first(from, kind)?;
        self.remove(frame);
        let end = frame + (1 << from);
        let taken = most.min(1 << from) as Frame;
        let mut rest = frame + taken;
        while rest < end {
            let order = (rest - frame).trailing_zeros() as usize;
            self.add(rest, order, kind, false);
            rest += 1 << order;
        }
        Some((frame, u64::from(taken)))
    }

    /// Gives this many pages that lie side by side back, one after the other, to a type's list or
    /// to that of their block: those that fill a piece join to it whatever lies around it.
    pub(crate) fn give_run(&mut self, first: Frame, pages: u64, kind: Option<Migrate>) {
        let (mut at, end) = (first, first + pages as Frame);
        while at < end {
            let fits = (end - at).ilog2().min(self.block_order as u32);
            let order = at.trailing_zeros().min(fits) as usize;
            self.give_as(at, order, kind.unwrap_or(self.block(at)));
            at += 1 << order;
        }
    }

    /// As [`Self::give_run`], the last page first: all orders of a piece's pages come to the same.
    pub(crate) fn give_run_down(&mut self, last: Frame, pages: u64, kind: Option<Migrate>) {
        let (mut end, begin) = (last + 1, last + 1 - pages as Frame);
        while begin < end {
            let fits = (end - begin).ilog2().min(self.block_order as u32);
            let order = end.trailing_zeros().min(fits) as usize;
            end -= 1 << order;
            self.give_as(end, order, kind.unwrap_or(self.block(end)));
        }
    }

    /// Gives 2^order pages back, which join their free neighbours (`__free_one_page`).
    pub(crate) fn give(&mut self, frame: Frame, order: usize) {
        self.give_as(frame, order, self.block(frame));
    }

    /// Gives 2^order pages back to a type's list, whatever their block is by now.
    pub(crate) fn give_as(&mut self, frame: Frame, order: usize, kind: Migrate) {
        let (mut frame, mut order) = (frame, order);
        while order < self.largest() {
            let other = frame ^ (1 << order);
            if self.order_of(other) != Some(order) {
                break;
            }
            self.remove(other);
            frame &= other;
            order += 1;
        }
        if order > self.block_order {
            self.set_blocks(frame, order, kind);
        }
        // Its neighbour's neighbours are free: it is left alone, as it may soon join them.
        let next = (frame & !(1 << order)) ^ (2 << order);
        let likely = order + 1 < self.largest() && self.order_of(next) == Some(order + 1);
        self.add(frame, order, kind, likely);
    }

    /// The first piece of an order that a type without any would take (`find_suitable_fallback`).
    pub(crate) fn fallback(&self, order: usize, kind: Migrate) -> Option<Frame> {
        let mut others = kind.fallbacks().into_iter();
        others.find_map(|other| self.first(order, other))
    }

    /// Takes 2^order pages of a free piece, whose rest stays on its list.
    pub(crate) fn take_of(&mut self, frame: Frame, order: usize) -> Frame {
        let (from, kind) = self.remove(frame);
        self.expand(frame, from, order, kind);
        frame
    }

    /// All blocks of a free piece, of a block at least, become a type's, and 2^order pages of it
    /// are taken.
    pub(crate) fn take_blocks(&mut self, frame: Frame, order: usize, kind: Migrate) -> Frame {
        let (from, _) = self.remove(frame);
        self.set_blocks(frame, from, kind);
        self.expand(frame, from, order, kind);
        frame
    }

    /// A free piece goes to another type's list.
    pub(crate) fn move_piece(&mut self, frame: Frame, kind: Migrate) {
        let (order, _) = self.remove(frame);
        self.add(frame, order, kind, true);
    }

    /// All free pieces of the block that a frame lies in go to a type's list
    /// (`move_freepages_block`).
    pub(crate) fn move_pieces(&mut self, frame: Frame, kind: Migrate) {
        let (mut at, end) = self.block_of(frame);
        while at < end {
            let order = self.order_of(at);
            if order.is_some() {
                self.move_piece(at, kind);
            }
            at += 1 << order.unwrap_or(0);
        }
    }

    /// Whether so much of the block that a frame lies in is free, or in a use like that of the
    /// type, that the type should have it.
    pub(crate) fn is_mostly(&self, frame: Frame, kind: Migrate) -> bool {
        let (begin, end) = self.block_of(frame);
        let (mut free, mut users, mut at) = (0, 0, begin);
        while at < end {
            let order = self.order_of(at);
            free += order.map_or(0, |order| 1 << order);
            users += u32::from(self.marks[at as usize] == Mark::User);
            at += 1 << order.unwrap_or(0);
        }
        let alike = match (kind, self.block(frame)) {
            (Migrate::Movable, _) => users,
            (_, Migrate::Movable) => end - begin - free - users,
            _ => 0,
        };
        free + alike >= (end - begin).div_ceil(2)
    }

    /// Whether a type may claim the block of a piece of this order (`should_try_claim_block`).
    pub(crate) fn may_claim(&self, order: usize, kind: Migrate) -> bool {
        order >= self.block_order / 2 || kind != Migrate::Movable
    }

    /// Whether a piece of this order is a block or more.
    pub(crate) fn is_block(&self, order: usize) -> bool {
        order >= self.block_order
    }

    fn block_of(&self, frame: Frame) -> (Frame, Frame) {
        let begin = frame >> self.block_order << self.block_order;
        (begin, begin + (1 << self.block_order))
    }

    fn set_blocks(&mut self, frame: Frame, order: usize, kind: Migrate) {
        let first = frame as usize >> self.block_order;
        self.blocks[first..first + (1 << (order - self.block_order))].fill(kind);
    }

    fn first(&self, order: usize, kind: Migrate) -> Option<Frame> {
        Some(self.lists[order][kind as usize][0]).filter(|&frame| frame != NONE)
    }

    /// The order of the free piece that begins at a frame.
    fn order_of(&self, frame: Frame) -> Option<usize> {
        match self.marks.get(frame as usize) {
            Some(Mark::Free { order, .. }) => Some(usize::from(*order)),
            _ => None,
        }
    }

    /// Gives the upper halves of a piece back until it has 2^`to` pages.
    fn expand(&mut self, frame: Frame, from: usize, to: usize, kind: Migrate) {
        for order in (to..from).rev() {
            self.add(frame + (1 << order), order, kind, false);
        }
    }

    /// A piece comes to the front of a list, or to its end.
    fn add(&mut self, frame: Frame, order: usize, kind: Migrate, at_end: bool) {
        debug_assert!(frame.trailing_zeros() as usize >= order);
        self.free += 1 << order;
        self.marks[frame as usize] = Mark::Free {
            order: order as u8,
            kind,
        };
        let list = &mut self.lists[order][kind as usize];
        let neighbours = match at_end {
            true => [core::mem::replace(&mut list[1], frame), NONE],
            false => [NONE, core::mem::replace(&mut list[0], frame)],
        };
        self.links[frame as usize] = neighbours;
        match neighbours {
            [NONE, NONE] => *list = [frame; 2],
            [last, NONE] => self.links[last as usize][1] = frame,
            [_, first] => self.links[first as usize][0] = frame,
        }
    }

    /// Takes a piece off its list; its order and type.
    fn remove(&mut self, frame: Frame) -> (usize, Migrate) {
        let mark = core::mem::replace(&mut self.marks[frame as usize], Mark::Other);
        let Mark::Free { order, kind } = mark else {
            unreachable!("frame {frame} begins no free piece");
        };
        self.free -= 1 << order;
        let list = &mut self.lists[usize::from(order)][kind as usize];
        let [before, after] = self.links[frame as usize];
        match before {
            NONE => list[0] = after,
            _ => self.links[before as usize][1] = after,
        }
        match after {
            NONE => list[1] = before,
            _ => self.links[after as usize][0] = before,
        }
        (usize::from(order), kind)
    }
}

#[cfg(test)]
impl Buddy {
    /// Adds this many free pages.
    pub(crate) fn add_frames(&mut self, pages: u64) {
        let first = self.marks.len();
        let size = (first + pages as usize).next_multiple_of(1 << MAX_ORDER);
        self.marks.resize(size, Mark::Other);
        self.links.resize(size, [NONE; 2]);
        self.blocks
            .resize(size >> self.block_order, Migrate::Movable);
        (first..first + pages as usize).for_each(|frame| self.give(frame as Frame, 0));
    }

    /// Free pieces of each order, as /proc/buddyinfo counts them.
    pub(crate) fn pieces(&self) -> [usize; MAX_ORDER + 1] {
        let mut pieces = [0; MAX_ORDER + 1];
        for mark in &self.marks {
            if let Mark::Free { order, .. } = mark {
                pieces[usize::from(*order)] += 1;
            }
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Migrate::{Movable, Reclaimable, Unmovable};
    use proptest::prelude::*;

    #[test]
    fn a_zone_begins_with_the_pieces_that_pagetypeinfo_shows() {
        // Zone DMA of 6.1 and 6.12 after boot: 3808 of 3840 pages.
        let dma = Pieces::only(Unmovable, [0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0]);
        let mut buddy = Buddy::new(3998, 9, 3808, &dma);
        assert_eq!(buddy.pieces(), [0, 0, 0, 0, 0, 1, 1, 1, 0, 1, 3]);
        assert_eq!(buddy.take(0, Reclaimable), None);
        assert_eq!(buddy.take(0, Unmovable), Some(288), "the smallest");
        assert_eq!(buddy.take(5, Unmovable), Some(320));
        assert_eq!(buddy.take(0, Movable), Some(512));
        assert_eq!(buddy.take(1, Movable), Some(514));
        buddy.give(512, 0);
        buddy.give(514, 1);
        buddy.give(288, 0);
        buddy.give(320, 5);
        assert_eq!(buddy.pieces(), [0, 0, 0, 0, 0, 1, 1, 1, 0, 1, 3]);
    }

    #[test]
    fn of_two_small_pieces_of_an_order_each_is_in_a_block_of_its_own() {
        let pieces = Pieces::only(Reclaimable, [0, 0, 0, 2, 1, 0, 0, 0, 0, 1, 0]);
        let mut buddy = Buddy::new(4096, 9, 1024 + 544, &pieces);
        assert_eq!(buddy.pieces(), [0, 0, 0, 2, 1, 0, 0, 0, 0, 1, 1]);
        let taken = [4, 3, 3, 9].map(|order| buddy.take(order, Reclaimable));
        assert_eq!(taken, [2544, 2040, 2536, 2560].map(Some));
        assert!(buddy.has(10) && !Buddy::new(2048, 9, 1023, &Pieces::default()).has(10));
    }

    #[test]
    fn a_zone_without_room_for_holes_has_its_free_pages_side_by_side() {
        let pieces = Pieces::only(Unmovable, [600, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let buddy = Buddy::new(1024, 9, 1000, &pieces);
        assert_eq!((buddy.first_free(), buddy.free()), (24, 1000));
    }

    #[test]
    fn a_block_is_mostly_a_types_where_half_of_it_is_free_or_in_like_use() {
        let block = Pieces::only(Reclaimable, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
        let mut buddy = Buddy::new(1024, 9, 1024, &block);
        let taken: Vec<_> = (0..300)
            .filter_map(|_| buddy.take(0, Reclaimable))
            .collect();
        assert!(!buddy.is_mostly(0, Movable));
        taken[..44]
            .iter()
            .for_each(|&frame| buddy.set_user(frame, true));
        assert!(buddy.is_mostly(0, Movable), "212 free and 44 users'");
        assert!(!buddy.is_mostly(0, Unmovable));
        assert!(buddy.is_mostly(512, Unmovable));
    }

    proptest! {
        #[test]
        fn pages_are_neither_made_nor_lost_and_all_join_again(
            steps in prop::collection::vec((0..4usize, 0..3usize, any::<bool>()), 0..400),
        ) {
            let pieces = Pieces::only(Unmovable, [1, 1, 0, 2, 0, 0, 0, 1, 0, 1, 0]);
            let mut buddy = Buddy::new(4096, 9, 3000, &pieces);
            let begins = buddy.pieces();
            let mut taken: Vec<(Frame, usize)> = Vec::new();
            for (order, kind, gives) in steps {
                match (gives, taken.is_empty()) {
                    (true, false) => {
                        let (frame, order) = taken.swap_remove(taken.len() / 2);
                        buddy.give(frame, order);
                    }
                    _ => taken.extend(buddy.take(order, Migrate::ALL[kind]).map(|f| (f, order))),
                }
                let out: u64 = taken.iter().map(|&(_, order)| 1 << order).sum();
                prop_assert_eq!(buddy.free() + out, 3000);
            }
            let mut frames: Vec<_> = taken.iter().flat_map(|&(f, o)| f..f + (1 << o)).collect();
            frames.sort_unstable();
            prop_assert!(frames.windows(2).all(|pair| pair[0] < pair[1]), "no page twice");
            taken.into_iter().for_each(|(frame, order)| buddy.give(frame, order));
            prop_assert_eq!(buddy.pieces(), begins);
        }
    }
}
