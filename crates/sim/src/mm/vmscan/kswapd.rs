//! kswapd: woken when an allocation finds every zone under low, it reclaims until some zone is
//! above high (`balance_pgdat`), then naps and looks again before it sleeps for good.

use alloc::boxed::Box;

use mm::rules::Mechanism;
use mm::units::Nanos;

use crate::mm::lruvec::state::Lruvecs;
use crate::mm::lruvec::state::ROOT;
use crate::mm::page_alloc::zone::Mark;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::mm::vmscan::scan_control::DEF_PRIORITY;
use crate::mm::vmscan::state::{
    BATCH, Balancing, Kswapd, NAP, Nap, Pass, Progress, WRITES, WaitForWrites,
};
use crate::mm::vmscan::{Control, Reclaimer};
use crate::sched::core::{Flow, Scheduler, Sleep};
use crate::sched::cpu::Cpu;
use crate::sched::events::{Event, Events};
use crate::sched::kthread::KSWAPD;
use crate::sched::timer::Clock;
use crate::sched::wait::WaitsFor;

/// Runs without a reclaimed page after which kswapd stays asleep (`MAX_RECLAIM_RETRIES`).
const FAILURES: u32 = 16;

impl Zones {
    /// Wakes kswapd for a request that can use all zones.
    pub(crate) fn wake_kswapd_for_user(&mut self, cpu: &mut Cpu) {
        self.wake_kswapd(cpu, self.len() - 1);
    }

    /// Wakes kswapd, for a request that can use the zones up to `highest`, unless one of them is
    /// above high already and none is boosted, or kswapd has given up (`wakeup_kswapd`).
    pub(crate) fn wake_kswapd(&mut self, cpu: &mut Cpu, highest: usize) {
        self.kswapd.asked_for = self.kswapd.asked_for.max(Some(highest));
        let hopeless = self.kswapd.is_hopeless();
        let content = || self.is_balanced(cpu, highest) && self.boosts(highest) == 0;
        if !self.kswapd.is_awake() && !hopeless && !content() {
            let was_napping = self.kswapd.nap.take().is_some();
            cpu.events.kswapd_low_wmark_hit_quickly += u64::from(was_napping);
            self.run_kswapd(cpu);
        }
    }

    /// Ends a nap that nobody disturbed: kswapd runs again if no zone is above high any more, else
    /// it sleeps until it is woken.
    pub(crate) fn kswapd_nap_ends(&mut self, cpu: &mut Cpu) {
        self.kswapd.nap = None;
        if !self.kswapd_may_sleep(cpu) {
            self.run_kswapd_again(cpu);
        }
    }

    /// Whether kswapd has nothing to do, or no hope (`prepare_kswapd_sleep`).
    fn kswapd_may_sleep(&mut self, cpu: &Cpu) -> bool {
        let highest = self.kswapd.asked_for.unwrap_or(self.kswapd.highest);
        if self.kswapd.is_hopeless() {
            return true;
        }
        let is_balanced = self.is_balanced(cpu, highest);
        self.kswapd.meets_writing &= !is_balanced;
        self.kswapd.is_congested &= !is_balanced;
        is_balanced
    }

    fn run_kswapd_again(&mut self, cpu: &mut Cpu) {
        cpu.events.kswapd_high_wmark_hit_quickly += 1;
        self.run_kswapd(cpu);
    }

    fn run_kswapd(&mut self, cpu: &mut Cpu) {
        (self.kswapd.awake, self.kswapd.wants_cpu) = (true, true);
        cpu.events.pageoutrun += 1;
    }

    fn begin_balancing(&mut self) -> Balancing {
        let kswapd = &mut self.kswapd;
        kswapd.reclaims = true;
        kswapd.highest = kswapd.asked_for.take().unwrap_or(kswapd.highest);
        let highest = kswapd.highest;
        let zones = &self[..=highest];
        Balancing {
            highest,
            boosts: zones.iter().map(|zone| zone.boost).collect(),
            for_boosts: self.boosts(highest),
            priority: DEF_PRIORITY,
            is_new: true,
            reclaimed: 0,
            since_it_began: 0,
            trim_failed: false,
            no_cache_trim: false,
            pass: None,
        }
    }

    /// Allows kswapd to try again: a direct reclaimer has freed something.
    pub(crate) fn forgive_kswapd(&mut self) {
        self.kswapd.failures = 0;
    }

    /// What one pass aims at: the high watermarks of the zones (`kswapd_shrink_node`).
    fn kswapd_goal(&self, highest: usize) -> u64 {
        let zones = self[..=highest].iter();
        zones.map(|zone| zone.mark(Mark::High).max(BATCH)).sum()
    }

    fn kswapd_ends(&mut self, cpu: &mut Cpu, lruvecs: &mut Lruvecs, run: &Balancing) -> Progress {
        (self.kswapd.awake, self.kswapd.reclaims) = (false, false);
        for (zone, boost) in self.iter_mut().zip(&run.boosts) {
            zone.boost = zone.boost.saturating_sub(*boost);
        }
        lruvecs.snapshot_refaults(cpu, ROOT);
        self.kswapd.failures = if run.reclaimed > 0 {
            0
        } else {
            self.kswapd.failures + 1
        };
        match self.kswapd_may_sleep(cpu) {
            true => self.kswapd.nap = Some(Nap::Begins),
            false => self.run_kswapd_again(cpu),
        }
        Progress::Done
    }
}

impl Memory {
    /// Does the next piece of kswapd's work: a batch of pages, or the decision between two passes.
    /// It is asleep afterwards when it has nothing left to do.
    pub(crate) fn kswapd_step(&mut self) -> Progress {
        if !self.zones.kswapd.awake {
            return Progress::Done;
        }
        let mut run = match self.zones.kswapd.run.take() {
            Some(run) => run,
            None => Box::new(self.zones.begin_balancing()),
        };
        let mut progress = Progress::More;
        match run.pass.take() {
            None if run.ends(self.zones.is_balanced(&self.cpu, run.highest)) => {
                return self
                    .zones
                    .kswapd_ends(&mut self.cpu, &mut self.lruvecs, &run);
            }
            None => {
                let pass = self.begin_kswapd_pass(&run);
                run.priority = pass.control.priority;
                run.is_new = false;
                run.pass = Some(Box::new(pass));
            }
            Some(mut pass) => {
                progress = self.pass_step(&mut pass);
                if progress != Progress::Done {
                    run.pass = Some(pass);
                } else if self
                    .zones
                    .kswapd
                    .is_ahead_of_writes(core::mem::take(&mut pass.met))
                {
                    run.pass = Some(pass);
                    progress = Progress::Throttled { ticks: WRITES };
                } else if let Some(disk) = self
                    .zones
                    .waits_for_writes(&self.swap, &self.io)
                    .filter(|_| pass.reclaimed == 0)
                {
                    progress = Progress::Congested { disk };
                } else if !run.finish_pass(&pass, &self.cpu.rules) {
                    return self
                        .zones
                        .kswapd_ends(&mut self.cpu, &mut self.lruvecs, &run);
                }
            }
        }
        self.zones.kswapd.run = Some(run);
        progress
    }

    fn begin_kswapd_pass(&mut self, run: &Balancing) -> Pass {
        let goal = self.zones.kswapd_goal(run.highest);
        let mut control = Control::new(Reclaimer::Kswapd, goal, self.cpu.rules.swappiness);
        control.priority = run.priority;
        control.highest = run.highest;
        control.may_swap = run.for_boosts == 0;
        control.no_cache_trim = run.no_cache_trim;
        for group in 0..self.lruvecs.len() {
            self.age_active_anon(group, &control);
        }
        self.prepare_generations(&mut control, run.is_new);
        self.begin_pass(control)
    }
}

/// kswapd as a thread, until it has to wait or something happens. It stalls for memory from when it
/// has the CPU, not from when it was woken. `out_of_memory` kills a task for it (`min_ttl_ms`).
pub(crate) fn kswapd(
    memory: &mut Memory,
    scheduler: &mut Scheduler,
    events: &mut Events,
    mut out_of_memory: impl FnMut(&mut Memory, &mut Scheduler, Nanos),
    from: Nanos,
) -> (Nanos, Flow) {
    scheduler.note_stalls(KSWAPD, [(from, true)].into_iter());
    memory.cpu.current.entity = KSWAPD;
    if let Some(wait) = memory.zones.kswapd.waits_for_writes.take() {
        let events = &mut memory.cpu.events;
        events.nr_throttled_written += events.nr_written - wait.written;
    }
    let mut now = from;
    while memory.zones.kswapd.is_awake() {
        memory.cpu.began = now;
        memory.cpu.unbroken = 0;
        let progress = memory.kswapd_step();
        let ran = Nanos(memory.cpu.take_spent() / 1000 + 1);
        now += ran;
        memory.zones.kswapd.cpu_time += ran;
        if core::mem::take(&mut memory.zones.kswapd.wants_kill) {
            out_of_memory(memory, scheduler, now);
        }
        memory.io.expect_disks(events);
        if let Progress::Congested { disk } = progress {
            scheduler.queue.add(WaitsFor::Disk(disk), KSWAPD);
            return (now, Flow::Blocked(Sleep::Io));
        }
        if let Progress::Throttled { ticks } = progress {
            let until = memory.cpu.clock.expiry(now, ticks);
            memory.zones.kswapd.waits_for_writes = Some(WaitForWrites {
                until,
                written: memory.cpu.events.nr_written,
                may_end_early: memory.cpu.rules.has(Mechanism::WaitsUntilWritten),
            });
            events.add(until, Event::ThrottleEnds { at: until });
            scheduler.queue.add(WaitsFor::Written, KSWAPD);
            return (now, Flow::Blocked(Sleep::Idle));
        }
        if now >= scheduler.limit(events, from) {
            return (now, Flow::Continue);
        }
    }
    scheduler.note_stalls(KSWAPD, [(now, false)].into_iter());
    // To fall asleep with a timer and to wake costs it what it costs any task.
    let pause = Nanos(memory.cpu.costs.sleep_ps / 1000);
    memory.zones.kswapd.cpu_time += pause;
    (now + pause, Flow::Blocked(Sleep::Idle))
}

impl Kswapd {
    /// Whether it has given up.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.failures >= FAILURES
    }

    pub(crate) fn wake_if_due(&mut self, scheduler: &mut Scheduler, now: Nanos) {
        self.is_told();
        if self.was_woken(scheduler) {
            scheduler.wake(KSWAPD, now);
        }
    }

    /// Whether it was woken and the scheduler does not know yet.
    pub(crate) fn was_woken(&self, scheduler: &Scheduler) -> bool {
        self.is_awake() && !scheduler.is_runnable(KSWAPD) && !scheduler.queue.holds(KSWAPD)
    }

    /// After a run its nap begins (`kswapd_try_to_sleep`).
    pub(crate) fn falls_asleep(&mut self, clock: Clock, events: &mut Events, now: Nanos) {
        if self.nap == Some(Nap::Begins) {
            let at = clock.expiry(now, NAP);
            self.nap = Some(Nap::Until(at));
            events.add(at, Event::NapEnds { at });
        }
    }
}

impl Zones {
    /// kswapd's timer went off.
    pub(crate) fn kswapd_timer(&mut self, cpu: &mut Cpu, scheduler: &mut Scheduler, at: Nanos) {
        if self.kswapd.nap == Some(Nap::Until(at)) {
            self.kswapd_nap_ends(cpu);
            self.kswapd.wake_if_due(scheduler, at);
        }
    }
}

impl Kswapd {
    /// Its wait for pages to be written has become too long.
    pub(crate) fn throttle_ends(&mut self, scheduler: &mut Scheduler, at: Nanos) {
        if self.waits_for_writes.is_some_and(|it| it.until == at) {
            scheduler.wake_waiters(WaitsFor::Written, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;

    fn run(memory: &mut Memory) {
        while memory.zones.kswapd.is_awake() {
            memory.kswapd_step();
        }
    }

    #[test]
    fn it_stops_once_the_zone_is_above_high() {
        let mut memory = Memory::with_cache(10_000, 1000, 8740, 0);
        assert!(!memory.zones.is_balanced(&memory.cpu, 0));
        memory.zones.wake_kswapd(&mut memory.cpu, 0);
        run(&mut memory);
        assert!(memory.zones.is_balanced(&memory.cpu, 0));
        assert_eq!(memory.cpu.events.pageoutrun, 1);
        assert!(memory.zones[0].free > 1500);
        let stolen = memory.cpu.events.pgsteal_kswapd;
        memory.zones.wake_kswapd(&mut memory.cpu, 0);
        assert!(!memory.zones.kswapd.is_awake(), "there is nothing to do");
        assert_eq!(memory.cpu.events.pgsteal_kswapd, stolen);
    }

    #[test]
    fn the_priority_falls_while_a_pass_is_short_of_its_goal_or_fruitless() {
        let mut memory = Memory::with_cache(1000, 10, 500, 0);
        let pass = |scanned, reclaimed, memory: &mut Memory| {
            let mut pass = memory.begin_pass(Control::new(Reclaimer::Kswapd, 100, 60));
            (pass.scanned, pass.reclaimed) = (scanned, reclaimed);
            pass
        };
        let mut run = memory.zones.begin_balancing();
        assert!(run.finish_pass(&pass(40, 40, &mut memory), &Rules::default()));
        assert_eq!(run.priority, 11);
        assert!(run.finish_pass(&pass(100, 60, &mut memory), &Rules::default()));
        assert_eq!(
            run.priority, 11,
            "a pass that scans the goal and frees something is enough"
        );
        assert!(run.finish_pass(&pass(100, 0, &mut memory), &Rules::default()));
        assert_eq!(run.priority, 10);
        run.priority = 1;
        assert!(
            !run.finish_pass(&pass(0, 0, &mut memory), &Rules::default()),
            "the last"
        );
    }

    #[test]
    fn a_run_that_trims_the_cache_in_vain_begins_anew_once_and_tries_the_rest() {
        let mut memory = Memory::with_cache(1000, 10, 500, 0);
        let mut control = Control::new(Reclaimer::Kswapd, 100, 60);
        control.priority = 1;
        let trims = memory.begin_pass(control);
        assert!(trims.trims_cache());
        control.no_cache_trim = true;
        assert!(!memory.begin_pass(control).trims_cache());
        let rules = Rules::default();
        let mut run = memory.zones.begin_balancing();
        run.priority = 1;
        assert!(run.finish_pass(&trims, &rules));
        assert_eq!((run.priority, run.no_cache_trim), (DEF_PRIORITY, true));
        run.priority = 1;
        assert!(!run.finish_pass(&trims, &rules), "once is enough");
        let mut run = memory.zones.begin_balancing();
        run.priority = 1;
        let before = Rules::of("6.1.0");
        assert!(!run.finish_pass(&trims, &before), "a kernel before 6.10");
    }

    #[test]
    fn it_gives_up_after_sixteen_fruitless_runs_until_it_is_forgiven() {
        let mut memory = Memory::with_zone(1000, 100);
        memory.zones[0].set_free(50);
        memory.zones.wake_kswapd(&mut memory.cpu, 0);
        run(&mut memory);
        assert_eq!(memory.cpu.events.pageoutrun, u64::from(FAILURES));
        memory.zones.wake_kswapd(&mut memory.cpu, 0);
        assert!(!memory.zones.kswapd.is_awake());
        memory.zones.forgive_kswapd();
        memory.zones.wake_kswapd(&mut memory.cpu, 0);
        assert!(memory.zones.kswapd.is_awake());
    }

    #[test]
    fn after_a_run_it_naps_and_runs_again_where_no_zone_is_above_high_any_more() {
        let mut memory = Memory::with_cache(10_000, 1000, 8740, 0);
        memory.zones.wake_kswapd(&mut memory.cpu, 0);
        run(&mut memory);
        assert_eq!(memory.zones.kswapd.nap, Some(Nap::Begins));
        memory.zones.kswapd_nap_ends(&mut memory.cpu);
        assert!(!memory.zones.kswapd.is_awake(), "it is balanced: it sleeps");
        memory.zones[0].set_free(1400);
        memory.zones.wake_kswapd(&mut memory.cpu, 0);
        run(&mut memory);
        memory.zones[0].set_free(1400);
        memory.zones.kswapd_nap_ends(&mut memory.cpu);
        assert!(memory.zones.kswapd.is_awake());
        run(&mut memory);
        memory.zones[0].set_free(1400);
        memory.zones.wake_kswapd(&mut memory.cpu, 0);
        assert_eq!(
            (memory.zones.kswapd.is_awake(), memory.zones.kswapd.nap),
            (true, None)
        );
        let events = memory.cpu.events;
        let quickly = (
            events.kswapd_low_wmark_hit_quickly,
            events.kswapd_high_wmark_hit_quickly,
        );
        assert_eq!((quickly, events.pageoutrun), ((1, 1), 4));
    }

    #[test]
    fn a_boost_alone_is_worth_a_gentle_run_and_is_taken_back() {
        let mut memory = Memory::with_cache(10_000, 100, 8000, 0);
        memory.zones[0].boost = 512;
        assert!(memory.zones.is_balanced(&memory.cpu, 0));
        memory.zones.wake_kswapd(&mut memory.cpu, 0);
        assert!(memory.zones.kswapd.is_awake());
        run(&mut memory);
        let stolen = memory.cpu.events.pgsteal_kswapd;
        assert!((1..1024).contains(&stolen), "{stolen}");
        assert_eq!(
            (memory.zones[0].boost, memory.cpu.events.pageoutrun),
            (0, 1)
        );
    }

    #[test]
    fn a_zone_that_a_boost_leaves_unbalanced_is_reclaimed_as_any_other() {
        let mut memory = Memory::with_cache(10_000, 1000, 8300, 0);
        memory.zones[0].boost = 512;
        assert!(memory.zones[0].free > memory.zones[0].high);
        memory.zones.wake_kswapd(&mut memory.cpu, 0);
        run(&mut memory);
        assert!(memory.zones[0].free > memory.zones[0].high + 512);
        assert_eq!(memory.zones[0].boost, 0);
    }

    #[test]
    fn for_a_request_of_the_lower_zone_only_its_pages_are_reclaimed() {
        let mut memory = Memory::with_two_zones(2000, 20);
        let base = memory.take_range(200).expect("there is room");
        for page in base..base + 200 {
            memory.zones[1].set_free(if page < base + 100 { 2000 } else { 0 });
            memory.cache(page, crate::mm::folio::State::Inactive);
            memory.lruvecs.add_to_list(
                &memory.cpu,
                &mut memory.zones,
                &mut memory.folios,
                page,
                crate::mm::lru::Lru::InactiveFile,
            );
        }
        assert_eq!([0, 1].map(|zone| memory.zones[zone].lru[2]), [100, 100]);
        memory.zones[0].set_free(10);
        memory.zones.wake_kswapd(&mut memory.cpu, 0);
        run(&mut memory);
        assert!(memory.zones.is_balanced(&memory.cpu, 0));
        assert_eq!(memory.zones[1].lru[2], 100);
        let skipped = memory.cpu.events.pgscan_kswapd - memory.cpu.events.pgsteal_kswapd;
        assert!(
            skipped >= 100,
            "those of the higher zone are passed over, and counted: {skipped}"
        );
    }
}
