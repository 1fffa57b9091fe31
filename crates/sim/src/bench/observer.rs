//! The bench's supervisor, which takes the samples and snapshots.

use mm::units::Nanos;

use crate::bench::state::Bench;
use crate::machine::recorder::Recorder;
use crate::machine::tasks::Tasks;
use crate::sched::core::{Scheduler, Sleep};
use crate::sched::cpu::Cpu;
use crate::sched::kthread::OBSERVER;

/// What a snapshot takes, in picoseconds; it holds files of each process. Who asks for it is not in
/// the table.
pub(crate) fn snapshot_cost(cpu: &Cpu, tasks: &Tasks<'_>) -> u64 {
    let others = tasks.alive().count() as u64;
    cpu.costs.snapshot_ps + others * cpu.costs.watch_ps
}

impl Bench {
    /// Lets the observer work for so long, in picoseconds, from `now` on; whether it has to.
    ///
    /// Its time counts only where pages are offered for merging: ksmd's batches begin with ticks,
    /// and one that misses a tick stays behind. Elsewhere a look takes no time.
    pub(crate) fn observe(
        self,
        recorder: &Recorder,
        scheduler: &mut Scheduler,
        cost: u64,
        now: Nanos,
    ) -> bool {
        let cost = Nanos(cost / 1000);
        if !self.measures || cost == Nanos::ZERO || !recorder.reads_merging() {
            return false;
        }
        scheduler.wake(OBSERVER, now);
        let owed = scheduler.owed(OBSERVER);
        scheduler.owe(OBSERVER, owed.saturating_add(cost));
        scheduler.block(OBSERVER, now, Sleep::Idle);
        true
    }
}
