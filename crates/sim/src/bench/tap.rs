//! What each task meets, for `report --trace`: the kernel's counters are looked at before and after
//! whatever runs, and the difference is its own. Nothing of it is there unless a run is traced.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use mm::units::Nanos;
use scenario::traced::{Figure, Traced};

use crate::machine::tasks::Tasks;
use crate::mm::parts::Memory;
use crate::sched::core::Scheduler;
use crate::sched::kthread::{KSWAPD, Role};
use crate::sched::timer::HZ;

/// What is counted by the kernel's counters.
const COUNTED: [Figure; 8] = [
    Figure::DirectReclaims,
    Figure::ReclaimedDirectly,
    Figure::KswapdRuns,
    Figure::Scanned,
    Figure::SwappedOut,
    Figure::Read,
    Figure::Written,
    Figure::OomKills,
];

/// Counts what tasks meet.
#[derive(Clone, Debug)]
pub(crate) struct Tap {
    traced: Traced,
    /// The number of each entity's name.
    names: Vec<u32>,
    before: [u64; COUNTED.len()],
    /// Since when each entity reclaims, and waits as it does.
    reclaims: BTreeMap<usize, Nanos>,
    waits: BTreeMap<usize, Wait>,
}

/// A wait of reclaim for pages to be written.
#[derive(Clone, Copy, Debug)]
struct Wait {
    since: Nanos,
    /// Waits of a tick each, one after the other; the kernel tells them as such, however long the
    /// timer took. 0 for one that ends when pages are written.
    ticks: u64,
}

impl Tap {
    pub(crate) fn new(scheduler: &Scheduler, tasks: &Tasks<'_>) -> Self {
        let mut traced = Traced::default();
        let all = scheduler.kthreads.len() + tasks.len();
        let name = |entity| match scheduler.kthreads.role(entity) {
            Role::Kswapd => "kswapd0".to_owned(),
            Role::Ksmd => "ksmd".to_owned(),
            Role::Observer => "observer".to_owned(),
            Role::Flusher { .. } => "kworker".to_owned(),
            Role::Journal { .. } => "jbd2".to_owned(),
            Role::Task { index } => tasks
                .get(index)
                .map_or_else(|| "task".to_owned(), |task| task.name.clone()),
        };
        let names = (0..all).map(|entity| traced.task(&name(entity))).collect();
        Self {
            traced,
            names,
            before: [0; COUNTED.len()],
            reclaims: BTreeMap::new(),
            waits: BTreeMap::new(),
        }
    }

    /// An entity runs; if it waited for pages to be written, that is over.
    pub(crate) fn begins(&mut self, memory: &Memory, entity: usize, now: Nanos) {
        self.before = counters(memory);
        if let Some(Wait { since, ticks }) = self.waits.remove(&entity) {
            let waited = match ticks {
                0 => now.saturating_sub(since).0,
                ticks => ticks * Nanos::SECOND.0 / HZ,
            };
            self.add(now, entity, Figure::ReclaimWaits, ticks.max(1));
            self.add(now, entity, Figure::ReclaimWaitTime, waited);
        }
    }

    /// It has run until now.
    pub(crate) fn ends(&mut self, memory: &Memory, entity: usize, now: Nanos) {
        let before = core::mem::replace(&mut self.before, counters(memory));
        for (at, figure) in COUNTED.into_iter().enumerate() {
            // The model counts a run of kswapd when it is woken.
            let entity = match figure {
                Figure::KswapdRuns => KSWAPD,
                _ => entity,
            };
            self.add(now, entity, figure, self.before[at] - before[at]);
        }
        if entity == KSWAPD && memory.zones.kswapd.waits_for_writes.is_some() {
            self.throttles(entity, now, 0);
        }
    }

    /// When an entity that runs began and ended to work for reclaim.
    pub(crate) fn stalls(&mut self, entity: usize, stalls: &[(Nanos, bool)]) {
        for &(at, begins) in stalls {
            if begins {
                self.reclaims.insert(entity, at);
            } else if let Some(since) = self.reclaims.remove(&entity) {
                let took = at.saturating_sub(since).0;
                self.add(at, entity, Figure::ReclaimTime, took);
            }
        }
    }

    /// Reclaim waits for pages to be written, until the entity runs again: for that many
    /// ticks, or for these pages.
    pub(crate) fn throttles(&mut self, entity: usize, since: Nanos, ticks: u64) {
        self.waits.insert(entity, Wait { since, ticks });
    }

    /// A task pauses for so long, as too much is dirty.
    pub(crate) fn pauses(&mut self, entity: usize, now: Nanos, pause: Nanos) {
        self.add(now, entity, Figure::Pauses, 1);
        self.add(now, entity, Figure::PauseTime, pause.0);
    }

    pub(crate) fn into_traced(self) -> Traced {
        self.traced
    }

    fn add(&mut self, now: Nanos, entity: usize, figure: Figure, amount: u64) {
        self.traced.add(now, self.names[entity], figure, amount);
    }
}

/// The counters of [`COUNTED`], of the real machine.
fn counters(memory: &Memory) -> [u64; COUNTED.len()] {
    let (events, scale) = (&memory.cpu.events, memory.cpu.scale);
    [
        events.allocstall_movable * scale,
        events.pgsteal_direct * scale,
        events.pageoutrun,
        (events.pgscan_direct + events.pgscan_kswapd) * scale,
        events.nr_vmscan_write * scale,
        events.pgpgin / 4 * scale,
        events.pgpgout / 4 * scale,
        events.oom_kill,
    ]
}
