//! Requests end (`block/blk-mq.c`): a disk interrupts, and the tasks that waited for it wake.

use mm::units::Nanos;

use crate::block::disk::{Direction, Request};
use crate::mm::page_io::state::PageIo;
use crate::mm::parts::Memory;
use crate::sched::core::Scheduler;
use crate::sched::events::{Event, Events};
use crate::sched::kthread::{KSMD, KSWAPD, OBSERVER};
use crate::sched::wait::{WaitQueue, WaitsFor};

/// A disk has done a request (`blk_mq_complete_request`): what its interrupt takes passes before
/// the tasks that waited wake.
pub(crate) fn complete_request(
    memory: &mut Memory,
    scheduler: &mut Scheduler,
    events: &mut Events,
    disk: usize,
    now: Nanos,
) {
    let Some(request) = memory.complete(disk, now) else {
        return;
    };
    memory.io.expect_disks(events);
    let observes = scheduler.is_runnable(OBSERVER);
    let gone_on = memory.io.disks[disk].take_woken();
    let is_over = |waits, entity| match waits {
        WaitsFor::Observer => !observes,
        // A reclaimer that got nothing waits for some write to end (`reclaim_throttle`).
        WaitsFor::Disk(of) if of == disk && request.direction == Direction::Write => {
            !gone_on.contains(&entity) && !memory.io.disks[disk].is_in_line(entity)
        }
        waits => is_done(memory, waits, &request),
    };
    let mut woken = scheduler.queue.take(is_over);
    woken.extend(request.waiter);
    woken.extend(request.is_journal.then(|| scheduler.kthreads.journal(disk)));
    // What was transferred is unlocked before its room and its tag go to others.
    woken.extend(scheduler.queue.take_each(WaitsFor::Disk(disk), gone_on));
    match Nanos(core::mem::take(&mut memory.cpu.in_interrupt) / 1000) {
        Nanos::ZERO => scheduler.wake_up(woken, now),
        // The kernel counts it as CPU time of the task that it interrupts
        // (`/proc/PID/schedstat`).
        time => match scheduler.interrupt(events, time, woken, now) {
            Some(KSWAPD) => memory.zones.kswapd.cpu_time += time,
            Some(KSMD) => memory.ksm.cpu_time += time,
            _ => {}
        },
    }
}

/// Whether the end of a request is what somebody waits for.
fn is_done(memory: &Memory, waits: WaitsFor, request: &Request) -> bool {
    match waits {
        WaitsFor::Page(page) => request.pages.iter().any(|range| range.contains(&page)),
        WaitsFor::Written => memory
            .zones
            .kswapd
            .has_waited_enough(memory.cpu.events.nr_written),
        WaitsFor::Ksmd => !memory.ksm.is_in_batch,
        // The disk says, the journal's thread wakes them, the observer, or another task.
        WaitsFor::Disk(_)
        | WaitsFor::Commit { .. }
        | WaitsFor::Shadow { .. }
        | WaitsFor::Wake { .. }
        | WaitsFor::Observer => false,
    }
}

impl PageIo {
    /// Expects what the disks began to serve.
    pub(crate) fn expect_disks(&mut self, events: &mut Events) {
        for (done, disk) in self.dispatched.drain(..) {
            events.add(done, Event::DiskDone { disk });
        }
        for (disk, device) in self.disks.iter_mut().enumerate() {
            if let Some(ends) = device.take_window() {
                events.add(ends, Event::WriteWindow { disk });
            }
        }
    }

    /// A window of the throttling of a disk's writes ends (`wb_timer_fn`): if more may be under way
    /// now, the tasks that wait may go on.
    pub(crate) fn window_ends(&mut self, events: &mut Events, disk: usize, now: Nanos) {
        self.disks[disk].end_window(now);
        self.expect_disks(events);
    }

    /// Wakes the tasks that have been given room or a tag other than by the end of a request: by a
    /// task that was killed, by a window, or by a write that became part of another.
    pub(crate) fn wake_up(&mut self, scheduler: &mut Scheduler, now: Nanos) {
        for (disk, device) in self.disks.iter_mut().enumerate() {
            let gone_on = device.take_woken();
            let woken = scheduler.queue.take_each(WaitsFor::Disk(disk), gone_on);
            scheduler.wake_up(woken, now);
        }
    }

    /// Whoever waits for room or a tag can be woken.
    ///
    /// # Panics
    /// If a task would sleep for good: the model is wrong.
    pub(crate) fn check(&self, queue: &WaitQueue) {
        for disk in 0..self.disks.len() {
            assert_eq!(
                self.lost_wakeup(queue, disk),
                None,
                "{:?}",
                self.disks[disk]
            );
        }
    }

    fn lost_wakeup(&self, queue: &WaitQueue, disk: usize) -> Option<&'static str> {
        let sleeps = |entity| queue.waits_for(WaitsFor::Disk(disk), entity);
        self.disks[disk].lost_wakeup(sleeps)
    }
}

#[cfg(test)]
mod tests;
