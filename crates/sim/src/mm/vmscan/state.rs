//! What reclaim keeps: a pass under way, a scan, and kswapd.

use crate::mm::lru::Kind;
use crate::mm::lru::Lru;
use crate::mm::lru_gen::memcg_lru::Walk;
use crate::mm::vmscan::Control;
use crate::mm::vmscan::scan_control::DEF_PRIORITY;
use crate::rules::Rules;
use crate::sched::timer::HZ;
use alloc::boxed::Box;
use alloc::vec::Vec;

use mm::formula::scan_balance::Inputs;
use mm::rules::Mechanism;
use mm::units::Nanos;

/// Pages handled at a time (`SWAP_CLUSTER_MAX`).
pub(crate) const BATCH: u64 = 32;

/// One pass over the groups of a node at one priority (`shrink_node`).
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    pub(crate) control: Control,
    /// What was decided for all groups when the pass began.
    pub(crate) inputs: Inputs,
    pub(crate) floors: Broken,
    /// How many groups have had their turn.
    pub(crate) next: usize,
    /// Where the groups' own LRU decides which has it.
    pub(crate) walk: Option<Walk>,
    pub(crate) scan: Option<Scan>,
    /// The scan of a group's generations, where the multi-generation LRU is on.
    pub(crate) generations: Option<GenerationScan>,
    pub(crate) met: Met,
    pub(crate) scanned: u64,
    pub(crate) reclaimed: u64,
}

/// The pages that a pass over the classic lists met, as kswapd needs them to know whether writing
/// is the bottleneck (`sc->nr`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Met {
    pub(crate) taken: u64,
    pub(crate) unqueued_dirty: u64,
    pub(crate) writing: u64,
    pub(crate) again: u64,
}

/// Which of le9uo's floors are broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) anon_min: bool,
    pub(crate) clean_low: bool,
    pub(crate) clean_min: bool,
}

/// The scan of one group's lists (`shrink_lruvec`).
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    pub(crate) group: usize,
    /// Pages left to scan on each list, and how many it was at first.
    pub(crate) left: [u64; 4],
    pub(crate) targets: [u64; 4],
    /// The scan of a reached goal has been trimmed already, or must not be.
    pub(crate) untrimmable: bool,
    /// The next list of the round.
    pub(crate) next: usize,
    pub(crate) scanned: u64,
    pub(crate) reclaimed: u64,
}

/// How far a step of reclaim came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There is more to do.
    More,
    /// The pass is over.
    Done,
    /// This disk's queue is full: go on when it has done something.
    Congested { disk: usize },
    /// There is little but what has to be written: go on after that many ticks at the latest.
    Throttled { ticks: u64 },
}

impl Pass {
    /// Whether it goes for the page cache alone where there is enough of it.
    pub(crate) fn trims_cache(&self) -> bool {
        self.generations.is_none() && self.inputs.cache_trim()
    }

    pub(crate) fn may_deactivate(&self, kind: Kind) -> bool {
        let may = self.inputs.may_deactivate;
        match kind {
            Kind::Anon => may.anon,
            Kind::File => may.file,
        }
    }
}

impl Scan {
    /// The scan goes on while any list but the active anonymous one has pages to scan.
    pub(crate) fn has_work(&self) -> bool {
        self.left[Lru::InactiveAnon as usize] > 0
            || self.left[Lru::InactiveFile as usize] > 0
            || self.left[Lru::ActiveFile as usize] > 0
    }

    /// Once the goal is met, the smaller of the two types is dropped and the larger trimmed in
    /// proportion (the change of Linux 3.11). With one type only, the scan ends.
    pub(crate) fn trim(&mut self) {
        if self.untrimmable {
            return;
        }
        let anon = self.left[Lru::InactiveAnon as usize] + self.left[Lru::ActiveAnon as usize];
        let file = self.left[Lru::InactiveFile as usize] + self.left[Lru::ActiveFile as usize];
        if anon == 0 || file == 0 {
            self.left = [0; 4];
            return;
        }
        let (small, large) = if file > anon { (0, 2) } else { (2, 0) };
        let target = self.targets[small] + self.targets[small + 1] + 1;
        let percent = anon.min(file) * 100 / target;
        (self.left[small], self.left[small + 1]) = (0, 0);
        for lru in [large, large + 1] {
            let done = self.targets[lru] - self.left[lru];
            let wanted = self.targets[lru] * (100 - percent) / 100;
            self.left[lru] = wanted.saturating_sub(done);
        }
        self.untrimmable = true;
    }
}

/// The priority at which a run stays that only makes room for boosts.
const BOOST_PRIORITY: u32 = DEF_PRIORITY - 2;

/// Ticks of the nap after a run (`kswapd_try_to_sleep`).
pub(crate) const NAP: u64 = HZ / 10;

/// Ticks of a wait for pages to be written, at most (`reclaim_throttle`).
pub(crate) const WRITES: u64 = HZ / 10;

/// kswapd's progress through one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kswapd {
    /// Its run, unless a step has it in hand.
    pub(crate) run: Option<Box<Balancing>>,
    pub(crate) awake: bool,
    /// It was woken and the scheduler does not know yet.
    pub(crate) wants_cpu: bool,
    /// The highest zone that the tasks that woke it since its last run began could use.
    pub(crate) asked_for: Option<usize>,
    /// The highest zone of its last run, which counts where nobody asks for one.
    pub(crate) highest: usize,
    /// It has begun a run.
    pub(crate) reclaims: bool,
    /// It naps after a run.
    pub(crate) nap: Option<Nap>,
    pub(crate) failures: u32,
    /// No group may be reclaimed from: the OOM killer is wanted (`min_ttl_ms`).
    pub(crate) wants_kill: bool,
    /// A pass met nothing but pages that are being written, since the zones were last balanced
    /// (`PGDAT_WRITEBACK`).
    pub(crate) meets_writing: bool,
    /// All dirty pages of files that a pass met were being written and had come round, since then:
    /// direct reclaimers wait after each pass (`LRUVEC_CONGESTED`).
    pub(crate) is_congested: bool,
    /// It waits for pages to be written.
    pub(crate) waits_for_writes: Option<WaitForWrites>,
    /// 6.1: the next pass ages groups of generations that need it.
    pub(crate) ages: bool,
    /// CPU time that it has used.
    pub(crate) cpu_time: Nanos,
}

/// A wait for pages to be written (`VMSCAN_THROTTLE_WRITEBACK`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitForWrites {
    /// It ends at this time at the latest.
    pub(crate) until: Nanos,
    /// Pages that had been written when it began.
    pub(crate) written: u64,
    /// It ends before that once enough pages are written.
    pub(crate) may_end_early: bool,
}

/// The nap after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nap {
    /// It has just begun; its timer is not set yet.
    Begins,
    /// Its timer goes off at this time.
    Until(Nanos),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Balancing {
    /// The zones up to this one are reclaimed and have to be balanced.
    pub(crate) highest: usize,
    /// What each zone was boosted by when the run began, taken back at its end.
    pub(crate) boosts: Vec<u64>,
    /// Pages that are still to be reclaimed for boosts alone.
    pub(crate) for_boosts: u64,
    pub(crate) priority: u32,
    /// No pass has begun yet.
    pub(crate) is_new: bool,
    pub(crate) reclaimed: u64,
    /// Pages since it was last at the first priority, where that counts: before 3.11.
    pub(crate) since_it_began: u64,
    /// A pass that went for the page cache alone got nothing; and that was reason to begin again.
    pub(crate) trim_failed: bool,
    pub(crate) no_cache_trim: bool,
    pub(crate) pass: Option<Box<Pass>>,
}

impl Kswapd {
    /// Whether it is in a run: it was not only woken (`ZONE_RECLAIM_ACTIVE`).
    pub(crate) fn reclaims(&self) -> bool {
        self.reclaims
    }

    pub(crate) fn is_awake(&self) -> bool {
        self.awake
    }

    /// Whether it has to wait after a pass for pages to be written: it met some again, after a pass
    /// that met no others (`shrink_node`).
    pub(crate) fn is_ahead_of_writes(&mut self, met: Met) -> bool {
        let again = if self.meets_writing { met.again } else { 0 };
        let writing = met.writing - again;
        self.meets_writing |= writing > 0 && writing == met.taken;
        self.is_congested |= met.again > 0 && met.again == met.writing + met.unqueued_dirty;
        again > 0
    }

    /// Whether enough pages have been written for its wait to be over (`__acct_reclaim_writeback`).
    pub(crate) fn has_waited_enough(&self, written: u64) -> bool {
        self.waits_for_writes
            .is_none_or(|it| it.may_end_early && written - it.written > BATCH)
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

impl Balancing {
    /// Whether the run is over, now that the zones are balanced or not. Boosts alone are worth a
    /// gentle run; where the zones are not balanced it begins again as any other.
    pub(crate) fn ends(&mut self, is_balanced: bool) -> bool {
        if !is_balanced && self.for_boosts > 0 {
            (self.for_boosts, self.priority) = (0, DEF_PRIORITY);
        }
        is_balanced && self.for_boosts == 0
    }

    /// Accounts a pass and chooses the next priority (the loop of `balance_pgdat`); false when the
    /// last one is done. The priority falls when this pass scanned less than the goal, or freed
    /// nothing.
    pub(crate) fn finish_pass(&mut self, pass: &Pass, rules: &Rules) -> bool {
        let stays = self.for_boosts > 0 && self.priority == BOOST_PRIORITY;
        self.reclaimed += pass.reclaimed;
        self.trim_failed |= pass.reclaimed == 0 && pass.trims_cache();
        self.for_boosts = self.for_boosts.saturating_sub(pass.reclaimed);
        if self.for_boosts > 0 && pass.reclaimed == 0 {
            return false;
        }
        if !rules.has(Mechanism::KswapdStopsAtGoal) {
            return self.falls_until_a_batch(pass.reclaimed);
        }
        let falls = pass.scanned < pass.control.goal && !stays;
        if falls || pass.reclaimed == 0 {
            self.priority -= 1;
        }
        self.priority >= 1 || rules.has(Mechanism::KswapdRetries) && self.begins_anew()
    }

    /// Before 3.11 the priority fell with every pass, to 0, and a batch was reason to begin again.
    fn falls_until_a_batch(&mut self, reclaimed: u64) -> bool {
        self.since_it_began += reclaimed;
        if self.since_it_began >= BATCH {
            (self.priority, self.since_it_began) = (DEF_PRIORITY, 0);
            return true;
        }
        let goes_on = self.priority > 0;
        self.priority = self.priority.saturating_sub(1);
        goes_on
    }

    /// Whether a run that went through all priorities in vain begins again, as it went for the page
    /// cache alone.
    fn begins_anew(&mut self) -> bool {
        let anew = self.reclaimed == 0 && self.trim_failed && !self.no_cache_trim;
        if anew {
            (self.priority, self.no_cache_trim) = (DEF_PRIORITY, true);
        }
        anew
    }
}

/// The scan of one group's generations (`try_to_shrink_lruvec`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct GenerationScan {
    pub(crate) group: usize,
    /// Pages looked at so far.
    pub(crate) looked_at: u64,
    /// How many it is to look at.
    pub(crate) goal: u64,
    /// Pages that are left of the batch that it is in the middle of.
    pub(crate) batch: Option<u64>,
    /// The last batch was anonymous: the next may be, too.
    pub(crate) writes: bool,
    /// A new generation was wanted when the pass last asked.
    pub(crate) needs_aging: bool,
    /// It got one.
    pub(crate) was_aged: bool,
    /// Pages of files that were taken, and those of them that nobody has begun to write.
    pub(crate) files: u64,
    pub(crate) unqueued_dirty: u64,
}
