//! kswapd: woken when an allocation finds every zone under low, it reclaims until some zone is
//! above high (`balance_pgdat`).

use mm::units::Nanos;

use crate::lruvec::ROOT;
use crate::memory::Memory;
use crate::vmscan::{BATCH, Control, DEF_PRIORITY, Pass, Progress, Reclaimer};

/// Runs without a reclaimed page after which kswapd stays asleep (`MAX_RECLAIM_RETRIES`).
const FAILURES: u32 = 16;

/// kswapd's progress through one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kswapd {
    /// Its run, unless a step has it in hand.
    run: Option<Balancing>,
    awake: bool,
    /// It was woken and the scheduler does not know yet.
    wants_cpu: bool,
    failures: u32,
    /// No group may be reclaimed from: the OOM killer is wanted (`min_ttl_ms`).
    pub(crate) wants_kill: bool,
    /// 6.1: the next pass ages groups of generations that need it.
    pub(crate) ages: bool,
    /// CPU time that it has used.
    pub(crate) cpu_time: Nanos,
}

#[derive(Clone, Debug)]
struct Balancing {
    priority: u32,
    /// No pass has begun yet.
    is_new: bool,
    reclaimed: u64,
    pass: Option<Pass>,
}

impl Kswapd {
    pub(crate) fn is_awake(&self) -> bool {
        self.awake
    }

    /// Whether it was woken since the scheduler was last told.
    pub(crate) fn wants_cpu(&self) -> bool {
        self.wants_cpu
    }

    /// The scheduler knows.
    pub(crate) fn is_told(&mut self) {
        self.wants_cpu = false;
    }
}

impl Memory {
    /// Wakes kswapd unless a zone is above high already or kswapd has given up (`wakeup_kswapd`).
    pub(crate) fn wake_kswapd(&mut self) {
        let hopeless = self.kswapd.failures >= FAILURES;
        if !self.kswapd.is_awake() && !hopeless && !self.is_balanced() {
            self.kswapd.run = Some(Balancing::new());
            self.kswapd.awake = true;
            self.kswapd.wants_cpu = true;
            self.events.pageoutrun += 1;
        }
    }

    /// Does the next piece of kswapd's work: a batch of pages, or the decision between two passes.
    /// It is asleep afterwards when it has nothing left to do.
    pub(crate) fn kswapd_step(&mut self) -> Progress {
        let Some(mut run) = self.kswapd.run.take() else {
            return Progress::Done;
        };
        let mut progress = Progress::More;
        match run.pass.take() {
            None if self.is_balanced() => return self.kswapd_ends(&run),
            None => {
                let pass = self.begin_kswapd_pass(run.priority, run.is_new);
                run.priority = pass.control.priority;
                run.is_new = false;
                run.pass = Some(pass);
            }
            Some(mut pass) => {
                progress = self.pass_step(&mut pass);
                if progress != Progress::Done {
                    run.pass = Some(pass);
                } else if let Some(disk) = self.waits_for_writes().filter(|_| pass.reclaimed == 0) {
                    progress = Progress::Congested { disk };
                } else if !run.finish_pass(&pass, self.rules.kswapd_stops_at_goal) {
                    return self.kswapd_ends(&run);
                }
            }
        }
        self.kswapd.run = Some(run);
        progress
    }

    /// Allows kswapd to try again: a direct reclaimer has freed something.
    pub(crate) fn forgive_kswapd(&mut self) {
        self.kswapd.failures = 0;
    }

    fn begin_kswapd_pass(&mut self, priority: u32, first: bool) -> Pass {
        for group in 0..self.lruvecs.len() {
            self.age_active_anon(group);
        }
        let goal = self.kswapd_goal();
        let mut control = Control::new(Reclaimer::Kswapd, goal, self.rules.swappiness);
        control.priority = priority;
        self.prepare_generations(&mut control, first);
        self.begin_pass(control)
    }

    /// What one pass aims at: the high watermarks of all zones (`kswapd_shrink_node`).
    fn kswapd_goal(&self) -> u64 {
        self.zones.iter().map(|zone| zone.high.max(BATCH)).sum()
    }

    fn kswapd_ends(&mut self, run: &Balancing) -> Progress {
        self.kswapd.awake = false;
        self.snapshot_refaults(ROOT);
        self.kswapd.failures = if run.reclaimed > 0 {
            0
        } else {
            self.kswapd.failures + 1
        };
        self.wake_kswapd();
        Progress::Done
    }
}

impl Balancing {
    fn new() -> Self {
        Self {
            priority: DEF_PRIORITY,
            is_new: true,
            reclaimed: 0,
            pass: None,
        }
    }

    /// Accounts a pass and chooses the next priority; false when the last one is done. The priority
    /// falls when this pass scanned less than the goal, or freed nothing; before 3.11 it always
    /// did.
    fn finish_pass(&mut self, pass: &Pass, stops_at_goal: bool) -> bool {
        self.reclaimed += pass.reclaimed;
        if pass.scanned < pass.control.goal || pass.reclaimed == 0 || !stops_at_goal {
            self.priority -= 1;
        }
        self.priority >= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(memory: &mut Memory) {
        while memory.kswapd.is_awake() {
            memory.kswapd_step();
        }
    }

    #[test]
    fn it_stops_once_the_zone_is_above_high() {
        let mut memory = Memory::with_cache(10_000, 1000, 8740, 0);
        assert!(!memory.is_balanced());
        memory.wake_kswapd();
        run(&mut memory);
        assert!(memory.is_balanced());
        assert_eq!(memory.events.pageoutrun, 1);
        assert!(memory.zones[0].free > 1500);
        let stolen = memory.events.pgsteal_kswapd;
        memory.wake_kswapd();
        assert!(!memory.kswapd.is_awake(), "there is nothing to do");
        assert_eq!(memory.events.pgsteal_kswapd, stolen);
    }

    #[test]
    fn the_priority_falls_while_a_pass_is_short_of_its_goal_or_fruitless() {
        let mut memory = Memory::with_cache(1000, 10, 500, 0);
        let pass = |scanned, reclaimed, memory: &mut Memory| {
            let mut pass = memory.begin_pass(Control::new(Reclaimer::Kswapd, 100, 60));
            (pass.scanned, pass.reclaimed) = (scanned, reclaimed);
            pass
        };
        let mut run = Balancing::new();
        assert!(run.finish_pass(&pass(40, 40, &mut memory), true));
        assert_eq!(run.priority, 11);
        assert!(run.finish_pass(&pass(100, 60, &mut memory), true));
        assert_eq!(
            run.priority, 11,
            "a pass that scans the goal and frees something is enough"
        );
        assert!(run.finish_pass(&pass(100, 0, &mut memory), true));
        assert_eq!(run.priority, 10);
        run.priority = 1;
        assert!(!run.finish_pass(&pass(0, 0, &mut memory), true), "the last");
    }

    #[test]
    fn it_gives_up_after_sixteen_fruitless_runs_until_it_is_forgiven() {
        let mut memory = Memory::with_zone(1000, 100);
        memory.zones[0].free = 50;
        memory.wake_kswapd();
        run(&mut memory);
        assert_eq!(memory.events.pageoutrun, u64::from(FAILURES));
        memory.wake_kswapd();
        assert!(!memory.kswapd.is_awake());
        memory.forgive_kswapd();
        memory.wake_kswapd();
        assert!(memory.kswapd.is_awake());
    }
}
