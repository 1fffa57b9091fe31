//! Tests of the per-CPU lists: how many pages they draw, keep and give back.

use super::*;
use crate::mm::page_alloc::pieces::Pieces;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

const QUIET: ZoneState = ZoneState {
    reclaiming: false,
    below_high: false,
};
const FIXED: Tuning = Tuning::Fixed { free_factor: 0 };

/// Lists, and the free pages that they draw from and give to.
struct Lists(Pcp, Buddy);

impl Lists {
    /// With this many pages of users' that boot has freed.
    fn new(count: u32, batch: u64, high: u64, tuning: Tuning) -> Self {
        let mut pcp = Pcp::new(batch, high, tuning);
        (0..count).for_each(|frame| pcp.put(List::Users, frame));
        Self(pcp, Buddy::new(40_960, 9, 30_000, &Pieces::default()))
    }

    /// Takes a block; how many pages were drawn for it.
    fn allocate(&mut self, list: List) -> u64 {
        let before = self.1.free();
        for _ in 0..self.0.wanted(list, QUIET) {
            let frame = self.1.take(list.order(), Migrate::Movable);
            self.0.put(list, frame.expect("enough is free"));
        }
        self.0.take(list).expect("one was drawn");
        before - self.1.free()
    }

    /// Gives a block back; how many pages went on.
    fn free(&mut self, list: List, zone: ZoneState) -> u64 {
        let frame = self.1.take(list.order(), Migrate::Movable);
        let frame = frame.expect("enough is free");
        let wanted = self.0.free(list, frame, zone);
        self.give(list, wanted)
    }

    /// Gives single pages back, those together for which there is room.
    fn free_together(&mut self, pages: usize, zone: ZoneState) {
        let mut left = pages;
        while left > 0 {
            let room = left.min(self.0.room(zone) as usize);
            let mut take = || self.1.take(0, Migrate::Movable).expect("enough is free");
            let frames: Vec<Frame> = (0..room).map(|_| take()).collect();
            self.0
                .free_pages(frames.into_iter().map(|frame| (List::Users, frame)));
            if room == 0 {
                self.free(List::Users, zone);
            }
            left -= room.max(1);
        }
    }

    fn give(&mut self, list: List, wanted: u64) -> u64 {
        let mut given = 0;
        while given < wanted
            && let Some((_, pages)) = self.0.give(list, &mut self.1, wanted - given)
        {
            given += pages;
        }
        given
    }

    /// Blocks on each list.
    fn lengths(&self) -> Vec<usize> {
        self.0.lists.iter().map(VecDeque::len).collect()
    }
}

#[test]
fn pages_go_through_in_batches_and_come_back_in_growing_ones() {
    let mut lists = Lists::new(0, 63, 378, FIXED);
    let drawn: Vec<u64> = (0..63).map(|_| lists.allocate(List::Users)).collect();
    assert_eq!((drawn[0], drawn[1..].iter().sum()), (63, 0));
    assert_eq!(lists.0.count(), 0);
    let given = (0..1000).map(|_| lists.free(List::Users, QUIET));
    let given: Vec<u64> = given.filter(|n| *n > 0).collect();
    assert_eq!(given[..3], [63, 126, 252]);
    assert_eq!(given.iter().sum::<u64>() + lists.0.count(), 1000);
    let busy = ZoneState {
        reclaiming: true,
        ..QUIET
    };
    assert_eq!(
        Lists::new(300, 63, 378, FIXED).free(List::Users, busy),
        63,
        "kswapd leaves four batches"
    );
}

/// Seen in zoneinfo of Debian's 5.10: 63 a batch, 378 at most.
#[test]
fn until_5_13_one_batch_of_six_goes_back_and_larger_blocks_go_past() {
    let tuning = Tuning::of("5.10.0-46-cloud-amd64");
    let mut lists = Lists::new(0, 63, 378, tuning);
    lists.0.set_limits(4000, 200_000);
    let given = (0..1000).map(|_| lists.free(List::Users, QUIET));
    let given: Vec<u64> = given.filter(|n| *n > 0).collect();
    assert_eq!(given, [63; 10]);
    assert_eq!(lists.0.count(), 370);
    assert_eq!(lists.allocate(List::Slab), 2);
    assert_eq!(lists.free(List::Slab, QUIET), 2);
    assert_eq!(lists.0.count(), 370);
}

#[test]
fn freed_huge_pages_wait_for_the_next_huge_fault() {
    let mut lists = Lists::new(0, 63, 2000, FIXED);
    assert_eq!(
        lists.allocate(List::Huge),
        1024,
        "two are drawn, one is kept"
    );
    assert_eq!(lists.allocate(List::Huge), 0);
    let given: u64 = (0..3).map(|_| lists.free(List::Huge, QUIET)).sum();
    assert_eq!(given, 0, "below the limit");
    assert_eq!(lists.free(List::Huge, QUIET), 512);
    assert_eq!(lists.0.count(), 3 * 512);
}

#[test]
fn what_is_given_back_in_a_row_grows_to_32_batches() {
    let mut lists = Lists::new(0, 63, 13_856, FIXED);
    let given = (0..40_000).map(|_| lists.free(List::Users, QUIET));
    let given: Vec<u64> = given.filter(|pages| *pages > 0).collect();
    assert_eq!(given[..7], [63, 126, 252, 504, 1008, 2016, 2016]);
}

#[test]
fn since_6_7_batches_grow_while_nothing_is_freed_and_the_limit_decays() {
    assert_eq!(Tuning::of("6.1.0-56-cloud-amd64"), FIXED);
    let auto = Tuning::of("6.12.117+deb12-cloud-amd64");
    assert_ne!(auto, FIXED);
    let mut lists = Lists::new(0, 63, 0, auto);
    lists.0.set_limits(4000, 200_000);
    let drawn = (0..10_000).map(|_| lists.allocate(List::Users));
    let drawn: Vec<u64> = drawn.filter(|n| *n > 0).collect();
    assert_eq!(drawn[..6], [63, 126, 252, 504, 1008, 2016]);
    let grown = lists.0.high();
    assert!(grown > 4000);
    lists.0.decay();
    assert_eq!(lists.0.high(), grown - grown / 8);
}

#[test]
fn pages_of_the_kernels_own_have_lists_of_their_own() {
    let mut lists = Lists::new(10, 31, 0, Tuning::of("6.12"));
    lists.0.set_limits(4000, 200_000);
    let drawn = (0..200).map(|_| lists.allocate(List::Unmovable));
    let drawn: Vec<u64> = drawn.filter(|&pages| pages > 0).collect();
    assert_eq!(drawn, [31, 62, 124], "batches of single pages grow");
    assert_eq!(lists.allocate(List::Slab), 30, "blocks of two pages");
    let more: u64 = (0..14).map(|_| lists.allocate(List::Slab)).sum();
    assert_eq!((more, lists.0.count()), (0, 10 + 17));
    assert_eq!(
        lists.allocate(List::Users),
        0,
        "users' have not been touched"
    );
}

#[test]
fn what_is_given_back_comes_from_the_freed_pages_list_first() {
    let mut lists = Lists::new(100, 31, 0, FIXED);
    (0..4).for_each(|pair| lists.0.put(List::Slab, 200 + 2 * pair));
    (0..10).for_each(|frame| lists.0.put(List::Unmovable, 300 + frame));
    assert_eq!(lists.give(List::Slab, 3), 4, "whole slabs");
    assert_eq!(lists.lengths(), [10, 100, 0, 0, 0, 2, 0]);
    assert_eq!(lists.give(List::Users, 103), 100 + 4);
    assert_eq!(lists.give(List::Users, 550), 10, "all that is left");
}

#[test]
fn a_page_is_taken_from_the_front_and_given_back_from_the_end() {
    let mut lists = Lists::new(3, 31, 100, FIXED);
    lists.0.free(List::Users, 7, QUIET);
    assert_eq!(lists.0.take(List::Users), Some(7));
    lists.give(List::Users, 1);
    assert_eq!(lists.1.take(0, Migrate::Movable), Some(2));
}

#[test]
fn a_freed_pair_takes_all_others_along_where_more_is_freed_than_taken() {
    let mut lists = Lists::new(377, 63, 378, FIXED);
    assert_eq!(lists.free(List::Slab, QUIET), 63, "the lists are full");
    assert_eq!(lists.free(List::Slab, QUIET), 377 + 4 - 63);
    let mut lists = Lists::new(100, 31, 0, Tuning::of("6.12"));
    lists.0.set_limits(4000, 200_000);
    let given: u64 = (0..100).map(|_| lists.free(List::Users, QUIET)).sum();
    assert_eq!((given, lists.free(List::Slab, QUIET)), (0, 0));
    assert_eq!(lists.free(List::Slab, QUIET), 204, "the second in a row");
}

#[test]
fn what_boot_has_left_on_other_lists_comes_back_when_all_does() {
    let mut lists = Lists::new(0, 31, 4000, FIXED);
    lists.0.fill(0..452, 0);
    assert_eq!(lists.lengths(), [15, 347, 15, 7, 0, 7, 0]);
    assert_eq!((lists.0.rest.len(), lists.0.count()), (47, 452));
    assert_eq!(lists.give(List::Users, 1000), 405);
    let before = lists.1.free();
    lists.0.drain(&mut lists.1);
    assert_eq!((lists.1.free() - before, lists.0.count()), (47, 0));
    let mut odd = Lists::new(0, 63, 4000, FIXED);
    odd.0.fill(1..453, 0);
    assert_eq!(odd.lengths(), [31, 235, 31, 15, 0, 15, 0]);
    odd.0.drain(&mut odd.1);
    let mut few = Lists::new(0, 31, 4000, FIXED);
    few.0.fill(0..5, 0);
    assert_eq!(few.lengths(), [0, 5, 0, 0, 0, 0, 0]);
}

#[test]
fn what_boot_has_left_that_is_not_for_users_stays_when_they_take_all_theirs() {
    let mut lists = Lists::new(0, 31, 4000, FIXED);
    lists.0.fill(0..2000, 1500);
    assert_eq!(lists.lengths(), [1410, 500, 15, 7, 0, 7, 0]);
    let drawn: u64 = (0..500).map(|_| lists.allocate(List::Users)).sum();
    assert_eq!((drawn, lists.0.count()), (0, 1500));
    assert_eq!(lists.allocate(List::Users), 31);
    let mut fewer = Lists::new(0, 31, 4000, FIXED);
    fewer.0.fill(0..300, 1500);
    assert_eq!(
        fewer.lengths(),
        [210, 0, 15, 7, 0, 7, 0],
        "all that there are"
    );
}

#[test]
fn a_small_zone_gives_page_by_page() {
    let mut lists = Lists::new(0, 1, 0, FIXED);
    assert_eq!(lists.allocate(List::Slab), 2);
    assert_eq!(lists.allocate(List::Unmovable), 1);
}

proptest! {
    #[test]
    fn pages_that_come_and_go_together_leave_the_lists_as_one_by_one(
        tuning in prop::sample::select(vec![FIXED, Tuning::Batches, Tuning::of("6.12")]),
        steps in prop::collection::vec((1_usize..80, any::<bool>(), any::<[bool; 2]>()), 1..60),
    ) {
        let mut together = Lists::new(0, 8, 40, tuning);
        together.0.set_limits(40, 2000);
        let mut alone = Lists(together.0.clone(), together.1.clone());
        for (pages, takes, [reclaiming, below_high]) in steps {
            let zone = ZoneState { reclaiming, below_high };
            if takes {
                let mut frames = vec![0; pages];
                let taken = together.0.take_listed(List::Users, &mut frames);
                for &frame in &frames[..taken] {
                    prop_assert_eq!(alone.0.wanted(List::Users, zone), 0);
                    prop_assert_eq!(alone.0.take(List::Users), Some(frame));
                }
            } else {
                together.free_together(pages, zone);
                (0..pages).for_each(|_| {
                    alone.free(List::Users, zone);
                });
            }
            prop_assert_eq!(&together.0.lists, &alone.0.lists);
            prop_assert_eq!(together.0.tuning, alone.0.tuning);
            let numbers = |lists: &Lists| (lists.0.count, lists.0.high, lists.1.free());
            prop_assert_eq!(numbers(&together), numbers(&alone));
        }
    }
}
