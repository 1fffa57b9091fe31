//! Boosted watermarks: where pages of one migrate type come into a block of another, the zone's
//! watermarks are raised until kswapd has made room (`boost_watermark`).

use mm::formula::watermarks::{ZoneSize, boosted};
use mm::units::Pages;

use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::page_alloc::zone::Zones;
use crate::sched::cpu::Cpu;

impl Zones {
    /// Raises a zone's watermarks this many times by a block, and wakes kswapd for that.
    pub(crate) fn boost_watermarks(&mut self, cpu: &mut Cpu, zone: usize, times: u32) {
        let (block, factor) = (Pages(cpu.block()), cpu.rules.boost_factor);
        let raised = &mut self[zone];
        let size = ZoneSize {
            kind: raised.kind,
            managed: Pages(raised.managed),
        };
        for _ in 0..times {
            raised.boost = boosted(Pages(raised.boost), size, Pages(raised.high), block, factor).0;
        }
        if factor > 0 && raised.boost > 0 {
            self.wake_kswapd(cpu, zone);
        }
    }

    /// What the zones up to `highest` are boosted by.
    pub(crate) fn boosts(&self, highest: usize) -> u64 {
        self[..=highest].iter().map(|zone| zone.boost).sum()
    }
}

impl Cpu {
    /// Pages of a block: one at least, where a page stands for more than that.
    fn block(&self) -> u64 {
        (HUGE_PAGES / self.scale).max(1)
    }
}

#[cfg(test)]
mod tests {

    use crate::mm::page_alloc::pcp::List;
    use crate::mm::parts::Memory;

    /// A lower zone, of whose only block with free pages this many are free.
    fn memory(free: u64) -> Memory {
        let mut memory = Memory::with_two_zones(4096, 20);
        memory.zones[0].set_free(free);
        memory
    }

    #[test]
    fn a_claim_of_half_a_block_raises_the_marks_by_one_and_wakes_kswapd() {
        let mut memory = memory(300);
        memory
            .zones
            .take_block(&mut memory.cpu, 0, List::Slab)
            .expect("it fits");
        assert_eq!((memory.zones.boosts(0), memory.zones.boosts(1)), (512, 512));
        assert!(memory.zones.kswapd.is_awake());
        memory.zones.boost_watermarks(&mut memory.cpu, 0, 9);
        assert_eq!(
            memory.zones.boosts(1),
            512,
            "a block at least, else 1.5 times high"
        );
        memory
            .zones
            .take_block(&mut memory.cpu, 1, List::Slab)
            .expect("it fits");
        assert_eq!(memory.zones.boosts(1), 512, "there whole blocks are free");
    }

    #[test]
    fn a_factor_of_0_switches_it_off() {
        for (factor, wakes) in [(0, false), (15_000, true)] {
            let mut memory = memory(25);
            assert!(!memory.zones.is_balanced(&memory.cpu, 0));
            memory.cpu.rules.boost_factor = factor;
            memory.zones.boost_watermarks(&mut memory.cpu, 0, 1);
            assert_eq!(
                (memory.zones.boosts(1) > 0, memory.zones.kswapd.is_awake()),
                (wakes, wakes)
            );
        }
    }
}
