//! When a scan of generations is enough, and with which priority it begins.

use mm::rules::Mechanism;

use crate::mm::lru::Kind;
use crate::mm::lru_gen::BATCH;
use crate::mm::lruvec::state::ROOT;
use crate::mm::page_alloc::zone::{Mark, Zones};
use crate::mm::swapfile::Swap;
use crate::mm::vmscan::scan_control::DEF_PRIORITY;
use crate::mm::vmscan::state::{GenerationScan, Pass};
use crate::mm::vmscan::{Control, Reclaimer};
use crate::sched::cpu::Cpu;

impl Zones {
    /// Whether the reclaimer may stop, by the zones that it is for (`should_abort_scan`); reclaim
    /// of a group never does, for fairness.
    pub(super) fn has_enough(&self, cpu: &Cpu, pass: &mut Pass, scan: &GenerationScan) -> bool {
        let control = pass.control;
        if control.target != ROOT {
            return false;
        }
        let kswapd = control.reclaimer == Reclaimer::Kswapd;
        if cpu.rules.has(Mechanism::EarlyLruGen) {
            return self.has_enough_early(pass, scan);
        }
        let highest = control.highest.min(self.len() - 1);
        pass.reclaimed >= control.goal || kswapd && self.are_safe(cpu, highest, BATCH as u64)
    }

    /// 6.1: kswapd once it has its goal, a task at any time, if all zones have pages enough; a task
    /// that swaps stops at its goal.
    fn has_enough_early(&self, pass: &mut Pass, scan: &GenerationScan) -> bool {
        let Control {
            reclaimer,
            priority,
            goal,
            highest,
            ..
        } = pass.control;
        let kswapd = reclaimer == Reclaimer::Kswapd;
        let done = pass.reclaimed >= goal;
        if !kswapd && done && scan.writes {
            return true;
        }
        let mark = if kswapd { Mark::High } else { Mark::Low };
        let mut zones = self.iter().take(highest.saturating_add(1));
        let above = zones.all(|zone| zone.free >= zone.mark(mark));
        let enough = (done || !kswapd) && priority <= DEF_PRIORITY - 2 && above;
        pass.reclaimed += if enough { BATCH as u64 } else { 0 };
        enough
    }

    /// 6.1: kswapd ages no group in its next pass if this one went well without.
    pub(super) fn note_success(&mut self, pass: &Pass, scan: &GenerationScan) {
        let kswapd = pass.control.reclaimer == Reclaimer::Kswapd;
        if kswapd && pass.reclaimed >= BATCH as u64 && !scan.needs_aging {
            self.kswapd.ages = false;
        }
    }

    /// The first priority of a direct reclaim, by how much it is of what can be reclaimed
    /// (`set_initial_priority`).
    pub(super) fn set_initial_priority(&self, swap: &Swap, control: &mut Control) {
        if control.priority != DEF_PRIORITY || control.goal < BATCH as u64 {
            return;
        }
        let mut reclaimable = self.list(Kind::File.inactive());
        if swap.can_swap() {
            reclaimable += self.list(Kind::Anon.inactive());
        }
        let log = |pages: u64| pages.checked_ilog2().map_or(-1, i64::from);
        let priority = log(reclaimable) - log(control.goal - 1) - 1;
        control.priority = priority.clamp(6, 12) as u32;
    }
}
