//! kswapd: woken when an allocation finds every zone under low, it reclaims until some zone is
//! above high (`balance_pgdat`).

use crate::memory::Memory;
use crate::vmscan::{DEF_PRIORITY, Reclaimer, Scan};

/// Runs without a reclaimed page after which kswapd stays asleep (`MAX_RECLAIM_RETRIES`).
const FAILURES: u32 = 16;

/// kswapd's progress through one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kswapd {
    /// Its run, unless a step has it in hand.
    run: Option<Balancing>,
    awake: bool,
    failures: u32,
}

#[derive(Clone, Debug)]
struct Balancing {
    priority: u32,
    scanned: u64,
    reclaimed: u64,
    pass: Option<Scan>,
}

impl Kswapd {
    pub(crate) fn is_awake(&self) -> bool {
        self.awake
    }
}

impl Memory {
    /// Wakes kswapd unless a zone is above high already or kswapd has given up (`wakeup_kswapd`).
    pub(crate) fn wake_kswapd(&mut self) {
        let hopeless = self.kswapd.failures >= FAILURES;
        if !self.kswapd.is_awake() && !hopeless && !self.is_balanced() {
            self.kswapd.run = Some(Balancing::new());
            self.kswapd.awake = true;
            self.events.pageoutrun += 1;
        }
    }

    /// Does the next piece of kswapd's work: a batch of pages, or the decision between two passes.
    /// It is asleep afterwards when it has nothing left to do.
    pub(crate) fn kswapd_step(&mut self) {
        let Some(mut run) = self.kswapd.run.take() else {
            return;
        };
        match run.pass.take() {
            None if self.is_balanced() => return self.kswapd_ends(&run),
            None => run.pass = Some(self.begin_kswapd_pass(run.priority)),
            Some(mut pass) => {
                if self.scan_batch(&mut pass) {
                    run.pass = Some(pass);
                } else if !run.finish_pass(&pass, self.kswapd_goal()) {
                    return self.kswapd_ends(&run);
                }
            }
        }
        self.kswapd.run = Some(run);
    }

    /// Allows kswapd to try again: a direct reclaimer has freed something.
    pub(crate) fn forgive_kswapd(&mut self) {
        self.kswapd.failures = 0;
    }

    fn begin_kswapd_pass(&self, priority: u32) -> Scan {
        self.begin_scan(Reclaimer::Kswapd, priority, self.kswapd_goal())
    }

    /// What one pass aims at: the high watermarks of all zones (`kswapd_shrink_node`).
    fn kswapd_goal(&self) -> u64 {
        self.zones
            .iter()
            .map(|zone| zone.high.max(crate::vmscan::BATCH))
            .sum()
    }

    fn kswapd_ends(&mut self, run: &Balancing) {
        self.kswapd.awake = false;
        self.refaults_seen = self.events.workingset_activate_file;
        self.kswapd.failures = if run.reclaimed > 0 {
            0
        } else {
            self.kswapd.failures + 1
        };
        self.wake_kswapd();
    }
}

impl Balancing {
    fn new() -> Self {
        Self {
            priority: DEF_PRIORITY,
            scanned: 0,
            reclaimed: 0,
            pass: None,
        }
    }

    /// Accounts a pass and chooses the next priority; false when the last one is done. The priority
    /// falls when the passes have scanned less than the goal, or this one freed nothing.
    fn finish_pass(&mut self, pass: &Scan, goal: u64) -> bool {
        self.scanned += pass.scanned;
        self.reclaimed += pass.reclaimed;
        if self.scanned < goal || pass.reclaimed == 0 {
            self.priority -= 1;
        }
        self.priority >= 1
    }
}
