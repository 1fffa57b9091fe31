//! Allocation without a page at hand: kswapd is woken, the task reclaims 32 pages itself
//! (`try_to_free_pages`) and tries again, until it is time for the OOM killer.

use alloc::boxed::Box;

use mm::rules::Mechanism;

use crate::mm::lru::Lru;
use crate::mm::lruvec::state::ROOT;
use crate::mm::page_alloc::state::DirectReclaim;
use crate::mm::page_alloc::state::{Allocation, Effort, NoPage};
use crate::mm::page_alloc::zone::Mark;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::page_writeback::state::Writeback;
use crate::mm::parts::Memory;
use crate::mm::swapfile::Swap;
use crate::mm::vmscan::state::{BATCH, Progress, WRITES};
use crate::mm::vmscan::{Control, Reclaimer};
use crate::sched::cpu::Cpu;

/// Fruitless rounds of direct reclaim before the OOM killer is called (`MAX_RECLAIM_RETRIES`).
const RECLAIM_RETRIES: u32 = 16;

impl Memory {
    /// All zones are under low: wake kswapd, go down to min, reclaim directly, give up
    /// (`__alloc_pages_slowpath`). Gives back the zone that has a page.
    ///
    /// # Errors
    /// The effort was in vain, or reclaim is not done yet.
    pub(crate) fn allocate_slowly(&mut self, effort: Effort) -> Result<usize, NoPage> {
        loop {
            if self.allocation.reclaim.is_none() {
                self.cpu.spent += self.cpu.costs.slowpath_ps;
                self.zones.wake_kswapd_for_user(&mut self.cpu);
                if let Some(zone) = self.zones.find_zone(&self.cpu, Mark::Min, 1) {
                    self.allocation = Allocation::default();
                    return Ok(zone);
                }
                self.cpu.events.allocstall_movable += 1;
                self.zones
                    .begin_direct_reclaim(&self.cpu, &mut self.allocation)?;
            }
            let progress = self.reclaim_directly()?;
            if progress > 0 && !self.zones.is_above_min(&self.cpu) {
                self.zones.drain();
            }
            if !self.zones.is_above_min(&self.cpu)
                && (effort == Effort::Once
                    || !self
                        .zones
                        .should_retry(&self.swap, &mut self.allocation, progress))
            {
                let allocation = core::mem::take(&mut self.allocation);
                self.groups.refund(allocation.charging);
                return Err(NoPage::OutOfMemory);
            }
            let waits = progress == 0 && !self.cpu.rules.has(Mechanism::WaitsUntilWritten);
            if waits && self.zones.are_mostly_unwritten(&self.swap, &self.writeback) {
                return Err(NoPage::Throttled { ticks: WRITES });
            }
        }
    }

    /// Reclaims 32 pages, or goes on doing so (`__alloc_pages_direct_reclaim`); returns how many it
    /// got.
    ///
    /// # Errors
    /// It is not done: it waits for a disk, or has used its time.
    pub(crate) fn reclaim_directly(&mut self) -> Result<u64, NoPage> {
        let control = Control::new(Reclaimer::Direct, BATCH, self.cpu.rules.swappiness);
        let begin = || DirectReclaim::new(control);
        let mut reclaim = self.allocation.reclaim.take().unwrap_or_else(begin);
        let got = self.run_reclaim(&mut reclaim);
        self.allocation.reclaim = got.is_err().then_some(reclaim);
        got
    }

    /// Goes on with a reclaim to its end (`try_to_free_pages`); returns how many pages it got.
    ///
    /// # Errors
    /// It is not done: it waits for a disk, or has used its time.
    pub(crate) fn run_reclaim(&mut self, reclaim: &mut DirectReclaim) -> Result<u64, NoPage> {
        if !core::mem::replace(&mut reclaim.begun, true) && reclaim.is_stall {
            self.cpu.stalls.push((self.cpu.now(), true));
        }
        while !reclaim.over {
            let not_yet = match self.direct_step(reclaim) {
                Progress::Congested { disk } => Some(NoPage::Congested {
                    disk,
                    refaults: false,
                }),
                Progress::Throttled { ticks } => Some(NoPage::Throttled { ticks }),
                _ if self.cpu.spent >= self.cpu.budget && !reclaim.over => Some(NoPage::Again),
                _ => None,
            };
            if let Some(why) = not_yet {
                return Err(why);
            }
        }
        if reclaim.is_stall {
            self.cpu.stalls.push((self.cpu.now(), false));
        }
        self.lruvecs
            .snapshot_refaults(&self.cpu, reclaim.control.target);
        if reclaim.reclaimed > 0 {
            self.zones.forgive_kswapd();
        }
        Ok(reclaim.reclaimed)
    }

    fn direct_step(&mut self, reclaim: &mut DirectReclaim) -> Progress {
        let Some(mut pass) = reclaim.pass.take() else {
            reclaim.pass = Some(Box::new(self.begin_pass(reclaim.control)));
            return Progress::More;
        };
        let progress = self.pass_step(&mut pass);
        if progress != Progress::Done {
            reclaim.pass = Some(pass);
            return progress;
        }
        reclaim.finish_pass(&pass, self.cpu.rules.has(Mechanism::WalksTwice));
        let got_nothing = reclaim.reclaimed == 0 && pass.control.priority == 1;
        let reasons = [self.zones.kswapd.is_congested, got_nothing];
        let ticks = reasons.into_iter().filter(|&holds| holds).count() as u64;
        match pass.control.target == ROOT && ticks > 0 && self.may_throttle() {
            true => Progress::Throttled { ticks },
            false => progress,
        }
    }

    /// Whether a reclaimer may have to wait between its passes (`skip_throttle_noprogress`).
    fn may_throttle(&self) -> bool {
        self.cpu.rules.has(Mechanism::WaitsUntilWritten)
            && !self.zones.kswapd.is_hopeless()
            && self.zones.are_mostly_unwritten(&self.swap, &self.writeback)
    }
}

impl Zones {
    /// Whether reclaim is worth another try: not after too many that got nothing, nor where all
    /// that could be reclaimed would not do (`should_reclaim_retry`).
    fn should_retry(&self, swap: &Swap, allocation: &mut Allocation, progress: u64) -> bool {
        let fruitless = &mut allocation.fruitless;
        *fruitless = if progress > 0 { 0 } else { *fruitless + 1 };
        *fruitless <= RECLAIM_RETRIES && self.could_meet_min(swap)
    }

    /// Whether most of what there is to reclaim has to be written first.
    fn are_mostly_unwritten(&self, swap: &Swap, writeback: &Writeback) -> bool {
        let files = self.list(Lru::InactiveFile) + self.list(Lru::ActiveFile);
        let anon = self.list(Lru::InactiveAnon) + self.list(Lru::ActiveAnon);
        let anon = if swap.can_swap() { anon } else { 0 };
        let reclaimable = files + anon + swap.writing;
        2 * (writeback.dirty + writeback.under_writeback(swap)) > reclaimable
    }

    /// Whether some zone would meet min if all its reclaimable pages were free; without swap only
    /// the page cache is reclaimable. Of a zone that has none its free pages count twice
    /// (`zone_reclaimable_pages`): the lowest one, which users hardly get, speaks for another try.
    fn could_meet_min(&self, swap: &Swap) -> bool {
        self.iter().any(|zone| {
            let anon = match swap.can_swap() {
                true => zone.lru[0] + zone.lru[1],
                false => 0,
            };
            let reclaimable = match zone.lru[2] + zone.lru[3] + anon {
                0 => zone.free,
                pages => pages,
            };
            zone.is_above(Mark::Min, zone.free + reclaimable + swap.writing, 1)
        })
    }

    /// Lets kswapd, where it has just been woken, have the CPU before a task reclaims itself
    /// (`__perform_reclaim`); the task does so whatever kswapd has found.
    ///
    /// # Errors
    /// kswapd waits for the CPU.
    pub(crate) fn begin_direct_reclaim(
        &self,
        cpu: &Cpu,
        allocation: &mut Allocation,
    ) -> Result<(), NoPage> {
        let control = Control::new(Reclaimer::Direct, BATCH, cpu.rules.swappiness);
        allocation.reclaim = Some(DirectReclaim::new(control));
        match cpu.may_yield && self.kswapd.wants_cpu() {
            true => Err(NoPage::Again),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::folio::State;
    use crate::mm::lruvec::state::ROOT;

    #[test]
    fn it_scans_larger_shares_until_it_has_a_batch() {
        let mut memory = Memory::with_cache(20_000, 10, 8192, 0);
        // A 4096th of the list, a 2048th of what is left, …: four passes come to 27.
        assert_eq!(memory.reclaim_directly(), Ok(2 + 3 + 7 + 15 + 31));
        assert_eq!(memory.cpu.events.pgsteal_direct, 58);
        assert_eq!(Memory::with_zone(100, 1).reclaim_directly(), Ok(0));
    }

    #[test]
    fn a_pass_over_the_node_costs_even_where_it_finds_nothing() {
        let mut memory = Memory::with_zone(100, 1);
        memory.cpu.costs.pass_ps = 9_000_000;
        assert_eq!(memory.reclaim_directly(), Ok(0));
        assert_eq!(
            memory.cpu.take_spent(),
            26 * 9_000_000,
            "priorities 12 to 0, twice"
        );
        memory
            .cpu
            .rules
            .mechanisms
            .set(Mechanism::WalksTwice, false);
        assert_eq!(memory.reclaim_directly(), Ok(0));
        assert_eq!(memory.cpu.take_spent(), 13 * 9_000_000, "before 6.11 once");
    }

    #[test]
    fn what_is_read_ahead_is_worth_one_reclaim_and_what_is_needed_seventeen() {
        let mut memory = Memory::with_two_zones(1000, 100);
        let page = memory.take_range(1).expect("there is room");
        // The lower zone would meet min if its free pages came on top of themselves.
        memory.zones[1].set_free(100);
        memory.zones[0].set_free(60);
        let mut tries = |effort| {
            let before = memory.cpu.events.allocstall_movable;
            let got = memory.allocate_with(effort, page, State::Inactive);
            assert_eq!(got, Err(NoPage::OutOfMemory));
            memory.cpu.events.allocstall_movable - before
        };
        assert_eq!(tries(Effort::Once), 1);
        assert_eq!(tries(Effort::Full), 17);
    }

    /// 5.15 `should_reclaim_retry`: where little but dirty pages is left, it waits before it tries
    /// again; since, reclaim itself does.
    #[test]
    fn before_5_16_a_task_that_got_nothing_waits_for_writes() {
        let mut memory = Memory::with_two_zones(1000, 100);
        let page = memory.take_range(1).expect("there is room");
        memory.zones[1].set_free(100);
        memory.zones[0].set_free(60);
        memory.writeback.dirty = 1;
        let mut tries = |waits_until_written| {
            let mechanisms = &mut memory.cpu.rules.mechanisms;
            mechanisms.set(Mechanism::WaitsUntilWritten, waits_until_written);
            let before = memory.cpu.events.allocstall_movable;
            let got = memory.allocate(page, State::Inactive);
            (got, memory.cpu.events.allocstall_movable - before)
        };
        let waits = Err(NoPage::Throttled { ticks: WRITES });
        for _ in 0..16 {
            assert_eq!(tries(false), (waits, 1));
        }
        assert_eq!(tries(false), (Err(NoPage::OutOfMemory), 1));
        assert_eq!(tries(true).0, Err(NoPage::Throttled { ticks: 1 }));
    }

    #[test]
    fn active_pages_are_taken_when_nothing_else_is_left() {
        let mut memory = Memory::with_cache(20_000, 10, 0, 64);
        memory.lruvecs[ROOT].refaults_seen = memory.lruvecs[ROOT].activated_refaults;
        assert!(memory.reclaim_directly().expect("no disk") > 0);
    }

    #[test]
    fn kswapd_has_the_cpu_first_and_the_task_reclaims_whatever_it_found() {
        let mut memory = Memory::with_cache(10_000, 1000, 8000, 0);
        memory.cpu.may_yield = true;
        memory.zones[0].set_free(900);
        let page = memory.take_range(1).expect("there is room");
        let again = memory.allocate(page, State::Inactive);
        assert_eq!(
            (again, memory.zones.kswapd.is_awake()),
            (Err(NoPage::Again), true)
        );
        memory.zones.kswapd.is_told();
        while memory.zones.kswapd.is_awake() {
            memory.kswapd_step();
        }
        assert!(
            memory.zones.is_balanced(&memory.cpu, 0),
            "there would be a page without it"
        );
        assert_eq!(memory.allocate(page, State::Inactive), Ok(()));
        assert!(memory.cpu.events.pgsteal_direct > 0);
    }
}
