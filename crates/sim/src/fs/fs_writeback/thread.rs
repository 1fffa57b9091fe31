//! The flushers as threads, and the timers of writeback.

use mm::units::Nanos;

use crate::mm::page_writeback::state::{Order, Writeback};
use crate::mm::parts::Memory;
use crate::mm::vmscan::state::Progress;
use crate::sched::core::{Flow, Scheduler, Sleep};
use crate::sched::events::{Event, Events};
use crate::sched::wait::WaitsFor;

/// Lets a flusher work, until it has to wait or something happens.
pub(crate) fn wb_workfn(
    memory: &mut Memory,
    scheduler: &mut Scheduler,
    events: &mut Events,
    disk: usize,
    from: Nanos,
) -> (Nanos, Flow) {
    let mut now = from;
    memory.cpu.current.entity = scheduler.kthreads.flusher(disk);
    while memory.writeback.devices[disk].flusher.is_awake() {
        memory.cpu.began = now;
        memory.cpu.unbroken = 0;
        let progress = memory.flusher_step(disk);
        now += Nanos(memory.cpu.take_spent() / 1000 + 1);
        memory.io.expect_disks(events);
        if let Progress::Congested { disk } = progress {
            let entity = scheduler.kthreads.flusher(disk);
            scheduler.queue.add(WaitsFor::Disk(disk), entity);
            return (now, Flow::Blocked(Sleep::Io));
        }
        if now >= scheduler.limit(events, from) {
            return (now, Flow::Continue);
        }
    }
    (now, Flow::Blocked(Sleep::Idle))
}

/// Lets a flusher look for work, unless it waits for its disk (`wb_wakeup`).
fn wb_wakeup(scheduler: &mut Scheduler, disk: usize, now: Nanos) {
    let entity = scheduler.kthreads.flusher(disk);
    if !scheduler.queue.holds(entity) {
        scheduler.wake(entity, now);
    }
}

impl Writeback {
    /// Wakes the threads and sets the timers that writeback has asked for.
    pub(crate) fn follow_orders(
        &mut self,
        scheduler: &mut Scheduler,
        events: &mut Events,
        now: Nanos,
    ) {
        for order in core::mem::take(&mut self.orders) {
            match order {
                Order::WakeFlusher { disk } => wb_wakeup(scheduler, disk, now),
                Order::WakeJournal { disk } => {
                    scheduler.wake(scheduler.kthreads.journal(disk), now);
                }
                Order::FlushAt { disk, at } => events.add(at, Event::Flush { disk, at }),
                Order::EstimateAt { disk, at } => {
                    events.add(at, Event::EstimateBandwidth { disk });
                }
                Order::CommitAt {
                    disk,
                    transaction,
                    at,
                } => events.add(at, Event::Commit { disk, transaction }),
            }
        }
    }

    /// A timer of a flusher went off.
    pub(crate) fn flush_is_due(&mut self, scheduler: &mut Scheduler, disk: usize, at: Nanos) {
        if self.flush_timer(disk, at) {
            wb_wakeup(scheduler, disk, at);
        }
    }
}
