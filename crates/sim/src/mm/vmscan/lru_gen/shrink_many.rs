//! Which control group has its turn in global reclaim, by the groups' own LRU
//! ([`crate::mm::lru_gen::memcg_lru`]), and where it goes afterwards.

use crate::mm::lru_gen::memcg_lru::Rotation;
use crate::mm::lruvec::state::{Lruvecs, ROOT};
use crate::mm::memcontrol::state::Groups;
use crate::mm::memcontrol::{self, Standing};
use crate::mm::parts::Memory;
use crate::mm::vmscan::state::{GenerationScan, Pass};
use crate::sched::cpu::Cpu;

impl Memory {
    /// A group has had its turn (`shrink_one`); whether there is enough by now.
    pub(super) fn ends_turn(&mut self, pass: &mut Pass, scan: &GenerationScan) -> bool {
        let Some(mut walk) = pass.walk else {
            return false;
        };
        let swaps = self.swap.eviction_swappiness(&self.cpu, &pass.control) > 0;
        let rotation = self.lruvecs.rotation(pass.control.priority, scan, swaps);
        self.lruvecs
            .memcg_lru
            .rotate(&mut walk, scan.group, rotation);
        pass.walk = Some(walk);
        self.zones.has_enough(&self.cpu, pass, scan)
    }
}

impl Lruvecs {
    /// The next group of the groups' own LRU that may be reclaimed from (`shrink_many`): what
    /// `memory.min` protects goes on to the youngest generation, what `memory.low` does has one
    /// more try.
    pub(super) fn next_of_walk(
        &mut self,
        cpu: &mut Cpu,
        groups: &mut Groups,
        pass: &mut Pass,
    ) -> Option<usize> {
        let walk = pass.walk.as_mut()?;
        loop {
            let group = self.memcg_lru.next(walk)?;
            groups.calculate_protection(ROOT, group);
            match groups.standing(ROOT, group) {
                Standing::BelowMin => self.memcg_lru.rotate(walk, group, Rotation::Young),
                Standing::BelowLow if !self.memcg_lru.is_at_tail(group) => {
                    self.memcg_lru.rotate(walk, group, Rotation::Tail);
                }
                standing => {
                    if standing == Standing::BelowLow {
                        groups.count(group, memcontrol::Event::Low);
                    }
                    cpu.pay_for_visit(group);
                    return Some(group);
                }
            }
        }
    }

    /// Where a group goes after its turn: one that was aged to the youngest generation; one that is
    /// too small to help has one more try first (`shrink_one`).
    fn rotation(&self, priority: u32, scan: &GenerationScan, swaps: bool) -> Rotation {
        let total = self[scan.group].generations.budget(swaps).total;
        let is_sizable = total >> priority > 0;
        match (
            scan.was_aged,
            is_sizable,
            self.memcg_lru.is_at_tail(scan.group),
        ) {
            (true, ..) | (false, false, true) => Rotation::Young,
            (false, true, _) => Rotation::Stay,
            (false, false, false) => Rotation::Tail,
        }
    }
}
