//! Blocks of pages on their way out of a zone and back, by way of its per-CPU lists (`rmqueue`,
//! `free_unref_page`).

use core::ops::Range;

use mm::formula::vmstat;
use mm::pagetypeinfo::Pagetypeinfo;
use mm::rules::Mechanism;
use mm::units::Pages;

use crate::mm::folio::PageId;
use crate::mm::page_alloc::buddy::{Buddy, Frame, Migrate};
use crate::mm::page_alloc::fallback::Draw;
use crate::mm::page_alloc::pcp::{List, ZoneState};
use crate::mm::page_alloc::pieces::Pieces;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::page_alloc::zone::{HUGE_ORDER, Mark, Zone};
use crate::sched::cpu::Cpu;

impl Zone {
    /// Lays the zone's pages out as boot leaves them, where this many frames are present: what is
    /// in use first, then what lies on the per-CPU lists, then what is free, and that in these
    /// pieces. Of those on the lists that many are not for users.
    pub(crate) fn lay_out(
        &mut self,
        present: u64,
        block_order: usize,
        pieces: &Pieces,
        not_for_users: u64,
    ) {
        let frames = present.max(self.managed);
        self.buddy = Buddy::new(frames, block_order, self.free, pieces);
        let end = self.buddy.first_free();
        self.boot_end = end - self.on_lists as Frame;
        self.pcp.fill(self.boot_end..end, not_for_users);
        if not_for_users > 0 {
            let firsts = self.pcp.frames(List::Unmovable);
            for first in firsts.filter(|frame| frame % (1 << block_order) == 0) {
                self.buddy.set_block(first, Migrate::Unmovable);
            }
        }
    }

    /// Takes a frame of those that boot left in use.
    pub(crate) fn take_boot_frame(&mut self) -> Frame {
        self.boot_end -= 1;
        self.boot_end
    }

    fn take_block(&mut self, list: List, state: ZoneState, draw: &mut Draw) -> Option<Frame> {
        let mut wanted = self.pcp.wanted(list, state);
        while wanted > 0
            && let Some(blocks) = self.draw(list, wanted, draw)
        {
            draw.blocks += blocks;
            wanted -= blocks;
        }
        self.count_at(self.buddy.free());
        self.pcp.take(list)
    }

    /// Draws a block for a list, or several that lie side by side; how many.
    fn draw(&mut self, list: List, most: u64, draw: &mut Draw) -> Option<u64> {
        let free = self.buddy.free();
        let run = match list.order() {
            0 if draw.takes_own() => self.buddy.take_run(list.kind(), most),
            _ => None,
        };
        if let Some((first, pages)) = run {
            self.pcp.put_run(list, first, pages);
            if !draw.takes_pages_with_the_block {
                (1..=pages).for_each(|taken| self.count_at(free - taken));
            }
            return Some(pages);
        }
        let frame = self.buddy.draw(list.order(), list.kind(), draw)?;
        self.pcp.put(list, frame);
        if !draw.takes_pages_with_the_block {
            self.count_at(self.buddy.free());
        }
        Some(1)
    }

    fn give_block(&mut self, frame: Frame, order: usize, state: ZoneState) {
        let list = List::of(order, self.buddy.block(frame));
        let wanted = self.pcp.free(list, frame, state);
        self.give_back(list, wanted);
    }

    /// As [`Self::give_block`] of each of these single pages.
    fn give_pages(&mut self, mut pages: &[(usize, Frame)], is_reclaiming: bool) {
        while let Some(&(_, frame)) = pages.first() {
            let state = ZoneState {
                reclaiming: is_reclaiming,
                below_high: !self.is_above(Mark::High, self.free, 1),
            };
            let room = self.pcp.room(state).min(pages.len() as u64) as usize;
            if room == 0 {
                self.give_block(frame, 0, state);
                pages = &pages[1..];
                continue;
            }
            let (now, later) = pages.split_at(room);
            let buddy = &self.buddy;
            let listed = |&(_, frame): &(_, Frame)| (List::of(0, buddy.block(frame)), frame);
            self.pcp.free_pages(now.iter().map(listed));
            pages = later;
        }
    }

    /// This many pages of the lists go back to the free ones.
    pub(crate) fn give_back(&mut self, first: List, wanted: u64) {
        let (mut given, mut free) = (0, self.buddy.free());
        while given < wanted
            && let Some((list, pages)) = self.pcp.give(first, &mut self.buddy, wanted - given)
        {
            given += pages;
            for _ in 0..pages / list.block() {
                free += list.block();
                self.count_at(free);
            }
        }
    }

    /// This many pages are free by now; the CPU tells the zone once they are enough more or less
    /// than it knows of (`__mod_zone_page_state`).
    fn count_at(&mut self, free: u64) {
        self.untold = free as i64 - self.free as i64;
        if self.untold.unsigned_abs() > self.tells_above {
            (self.free, self.untold) = (free, 0);
        }
    }

    /// The zone is told all that it was not.
    pub(crate) fn count_free(&mut self) {
        (self.free, self.untold) = (self.buddy.free(), 0);
    }

    /// So do all.
    pub(crate) fn drain(&mut self) {
        self.pcp.drain(&mut self.buddy);
        self.count_free();
    }
}

impl Zones {
    /// Lays all zones out as boot leaves them, by the kernel's rules: in the pieces that
    /// /proc/pagetypeinfo showed. That many pages on the highest zone's lists are not for users.
    pub(crate) fn lay_out_zones(&mut self, cpu: &Cpu, free: &Pagetypeinfo, not_for_users: u64) {
        let highest = self.len() - 1;
        let halvings = cpu.scale.ilog2() as usize;
        let block_order = HUGE_ORDER.saturating_sub(halvings);
        for (index, (zone, layout)) in self.listed().enumerate() {
            let kernels = if index == highest { not_for_users } else { 0 };
            let present = layout.present.0 / cpu.scale;
            let pieces = free.zone(layout.node, layout.kind).map(Pieces::of);
            let pieces = pieces.unwrap_or_default().part(halvings);
            zone.lay_out(present, block_order, &pieces, kernels / cpu.scale);
            zone.pcp.remembers_type = cpu.rules.has(Mechanism::TakesPagesWithTheBlock);
            let managed = Pages(zone.managed.saturating_mul(cpu.scale));
            zone.tells_above = vmstat::threshold(managed, cpu.cpus) / cpu.scale;
        }
    }

    /// Takes a block of pages out of a zone; none where nothing that large is free.
    pub(crate) fn take_block(&mut self, cpu: &mut Cpu, zone: usize, list: List) -> Option<Frame> {
        let state = self.zone_state(zone);
        let mut draw = Draw::new(cpu.rules.has(Mechanism::TakesPagesWithTheBlock));
        let frame = self[zone].take_block(list, state, &mut draw);
        if list != List::Huge {
            cpu.spent += draw.blocks * cpu.costs.draw_ps;
        }
        if draw.boosts > 0 {
            self.boost_watermarks(cpu, zone, draw.boosts);
        }
        frame
    }

    /// Pages side by side get frames that lie on the users' list of a zone, as far as these go:
    /// what that many calls of [`Self::take_block`] would hand out; how many.
    pub(crate) fn settle_listed(&mut self, zone: usize, pages: Range<PageId>) -> u64 {
        let (from, frames) = self.with_frames(zone);
        let frames = &mut frames[pages.start as usize..pages.end as usize];
        let taken = from.pcp.take_listed(List::Users, frames);
        for &frame in &frames[..taken] {
            from.buddy.set_user(frame, true);
        }
        taken as u64
    }

    /// Gives single pages back to their zones, one after the other.
    pub(crate) fn give_pages(&mut self, mut pages: &[(usize, Frame)]) {
        while let Some(&(zone, _)) = pages.first() {
            let state = self.zone_state(zone);
            let of_zone = pages.iter().take_while(|(of, _)| *of == zone).count();
            let (now, later) = pages.split_at(of_zone);
            self[zone].give_pages(now, state.reclaiming);
            pages = later;
        }
    }

    /// Gives 2^order pages back to a zone.
    pub(crate) fn give_block(&mut self, zone: usize, frame: Frame, order: usize) {
        let state = self.zone_state(zone);
        self[zone].give_block(frame, order, state);
    }
}

#[cfg(test)]
impl Zone {
    /// Takes pages out of the zone, or adds some to it, until this many are free.
    pub(crate) fn set_free(&mut self, free: u64) {
        while self.buddy.free() > free {
            let mut draw = Draw::default();
            self.buddy.draw(0, Migrate::Movable, &mut draw);
        }
        self.buddy.add_frames(free - self.buddy.free());
        self.count_free();
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use crate::mm::folio::State;
    use crate::mm::page_alloc::buddy::{Buddy, Frame, Migrate};
    use crate::mm::page_alloc::pieces::Pieces;
    use crate::mm::parts::Memory;

    #[test]
    fn who_makes_a_list_draw_pays_for_all_that_it_draws() {
        let mut memory = Memory::with_zone(1000, 10);
        memory.cpu.costs.draw_ps = 7;
        let batch = 32;
        memory.zones[0].pcp = crate::mm::page_alloc::pcp::Pcp::new(
            batch,
            4 * batch,
            crate::mm::page_alloc::pcp::Tuning::of("6.1"),
        );
        let base = memory.take_range(64).expect("there is room");
        let mut paid = |index: u32| {
            let before = memory.cpu.spent;
            memory
                .allocate(base + index, State::Inactive)
                .expect("it fits");
            memory.cpu.spent - before
        };
        assert_eq!(paid(0), batch * 7);
        assert!((1..32).all(|index| paid(index) == 0));
        assert_eq!(paid(32), batch * 7);
    }

    proptest! {
        #[test]
        fn pages_that_come_and_go_together_leave_the_zone_as_one_by_one(
            steps in proptest::collection::vec((1_usize..70, 0_u8..4, 0_usize..3), 1..60)
        ) {
            let mut together = Buddy::new(4096, 9, 3000, &Pieces::default());
            let (mut alone, mut taken) = (together.clone(), Vec::new());
            for (most, does, kind) in steps {
                let kind = Migrate::ALL[kind];
                if does < 2 {
                    let (first, pages) = together.take_run(kind, most as u64).unwrap_or((0, 0));
                    for frame in first..first + pages as Frame {
                        prop_assert_eq!(alone.take(0, kind), Some(frame));
                        taken.push(frame);
                    }
                } else if let Some(&first) = taken.first() {
                    taken.sort_unstable();
                    let behind = (first..).zip(&taken).take_while(|(next, frame)| next == *frame);
                    let pages = behind.count().min(most);
                    let run = taken.drain(..pages);
                    if does == 2 {
                        together.give_run(first, pages as u64, None);
                        run.for_each(|frame| alone.give(frame, 0));
                    } else {
                        let last = first + pages as Frame - 1;
                        together.give_run_down(last, pages as u64, None);
                        run.rev().for_each(|frame| alone.give(frame, 0));
                    }
                }
                prop_assert_eq!(together.pieces(), alone.pieces());
                prop_assert_eq!(together.free(), alone.free());
            }
            while let Some(frame) = alone.take(0, Migrate::Movable) {
                prop_assert_eq!(together.take(0, Migrate::Movable), Some(frame), "in this order");
            }
        }
    }
}
