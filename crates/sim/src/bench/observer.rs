//! The bench's supervisor, which takes the samples and snapshots.

use mm::units::Nanos;

use crate::machine::roles::OBSERVER;
use crate::machine::system::System;
use crate::machine::task::TaskState;
use crate::sched::core::Sleep;

impl System<'_> {
    /// What a snapshot takes, in picoseconds; it holds files of each process. Who asks for it is
    /// not in the table.
    pub(crate) fn snapshot_cost(&self) -> u64 {
        let tasks = self.tasks.iter().flatten();
        let others = tasks.filter(|task| task.state == TaskState::Alive).count() as u64;
        let costs = &self.memory.cpu.costs;
        costs.snapshot_ps + others * costs.watch_ps
    }

    /// Lets the observer work for so long, in picoseconds, from `now` on; whether it has to.
    ///
    /// Its time counts only where pages are offered for merging: ksmd's batches begin with ticks,
    /// and one that misses a tick stays behind. Elsewhere a look takes no time.
    pub(crate) fn observe(&mut self, cost: u64, now: Nanos) -> bool {
        let cost = Nanos(cost / 1000);
        if !self.measured || cost == Nanos::ZERO || !self.recorder.reads_merging() {
            return false;
        }
        self.scheduler.wake(OBSERVER, now);
        let owed = self.scheduler.owed(OBSERVER);
        self.scheduler.owe(OBSERVER, owed.saturating_add(cost));
        self.scheduler.block(OBSERVER, now, Sleep::Idle);
        true
    }
}
