//! The flushers and the journals' threads, the timers of writeback, and tasks that make files
//! durable.

use alloc::boxed::Box;

use mm::units::Nanos;

use crate::error::Error;
use crate::fs::fs_writeback::state::Syncing;
use crate::machine::roles::{Role, WaitsFor};
use crate::machine::state::Durable;
use crate::machine::state::Flow;
use crate::machine::state::Stop;
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::filemap;
use crate::mm::page_writeback::state::Order;
use crate::mm::vmscan::state::Progress;
use crate::sched::core::{Event, Sleep};

impl<'a> System<'a> {
    /// Lets a flusher work, until it has to wait or something happens.
    pub(crate) fn run_flusher(&mut self, disk: usize, from: Nanos) -> (Nanos, Flow) {
        let mut now = from;
        while self.memory.writeback.devices[disk].flusher.is_awake() {
            self.memory.cpu.began = now;
            self.memory.cpu.unbroken = 0;
            let progress = self.memory.flusher_step(disk);
            now += Nanos(self.memory.cpu.take_spent() / 1000 + 1);
            self.expect_disks();
            if let Progress::Congested { disk } = progress {
                let entity = self.flusher_of(disk);
                self.waiters.push((WaitsFor::Disk(disk), entity));
                return (now, Flow::Blocked(Sleep::Io));
            }
            if now >= self.limit(from) {
                return (now, Flow::Continue);
            }
        }
        (now, Flow::Blocked(Sleep::Idle))
    }

    /// Wakes the flushers and sets the timers that writeback has asked for.
    pub(crate) fn follow_orders(&mut self, now: Nanos) {
        for order in core::mem::take(&mut self.memory.writeback.orders) {
            match order {
                Order::WakeFlusher { disk } => self.wake_flusher(disk, now),
                Order::WakeJournal { disk } => {
                    self.scheduler.wake(self.journal_of(disk), now);
                }
                Order::FlushAt { disk, at } => self.events.add(at, Event::Flush { disk, at }),
                Order::EstimateAt { disk, at } => {
                    self.events.add(at, Event::EstimateBandwidth { disk });
                }
                Order::CommitAt {
                    disk,
                    transaction,
                    at,
                } => self.events.add(at, Event::Commit { disk, transaction }),
            }
        }
    }

    fn wake_flusher(&mut self, disk: usize, now: Nanos) {
        let entity = self.flusher_of(disk);
        if !self.waiters.iter().any(|(_, waiter)| *waiter == entity) {
            self.scheduler.wake(entity, now);
        }
    }

    fn flusher_of(&self, disk: usize) -> usize {
        Role::Flusher { disk }.entity(self.flushers)
    }

    /// A timer of a flusher went off.
    pub(crate) fn flush_is_due(&mut self, disk: usize, at: Nanos) {
        if self.memory.writeback.flush_timer(disk, at) {
            self.wake_flusher(disk, at);
        }
    }

    /// A window of the throttling of a disk's writes ends: if more may be under way now, those who
    /// wait may try again.
    pub(crate) fn window_ends(&mut self, disk: usize, now: Nanos) {
        if self.memory.io.disks[disk].end_window(now) {
            self.wake_waiters(WaitsFor::Disk(disk), now);
        }
        self.expect_disks();
    }

    pub(crate) fn journal_of(&self, disk: usize) -> usize {
        Role::Journal { disk }.entity(self.flushers)
    }

    /// Lets a journal's thread go on until it has to wait: for the disk, or for more to commit.
    /// Those who waited for it wake.
    pub(crate) fn run_journal(&mut self, disk: usize, from: Nanos) -> (Nanos, Flow) {
        (self.memory.cpu.began, self.memory.cpu.unbroken) = (from, 0);
        let sleep = self.memory.journal_step(disk);
        let now = from + Nanos(self.memory.cpu.take_spent() / 1000 + 1);
        self.expect_disks();
        for (waits, entity) in core::mem::take(&mut self.waiters) {
            let goes_on = match waits {
                WaitsFor::Commit { disk, transaction } => {
                    self.memory.writeback.has_committed(disk, transaction)
                }
                WaitsFor::Shadow { disk } => !self
                    .memory
                    .writeback
                    .is_shadowed(&self.memory.objects, disk),
                _ => false,
            };
            match goes_on {
                true => self.wake_if_alive(entity, now),
                false => self.waiters.push((waits, entity)),
            }
        }
        (now, sleep.map_or(Flow::Continue, Flow::Blocked))
    }

    /// Begins to make files durable: one, or where the page cache is to be dropped afterwards all
    /// of them.
    pub(crate) fn begin_sync(
        &mut self,
        task: &mut Task<'a>,
        file: Option<usize>,
        label: Option<&'a str>,
        now: Nanos,
    ) {
        let files = match file {
            Some(file) => {
                self.memory.cpu.spent += self.memory.cpu.costs.fsync_call_ps;
                file..file + 1
            }
            None => 0..self.files.len(),
        };
        task.durable = Some(Box::new(Durable {
            syncing: Syncing::new(files),
            label,
            began: now,
            drops: file.is_none(),
        }));
    }

    /// Goes on making files durable.
    pub(crate) fn sync(
        &mut self,
        task: &mut Task<'a>,
        mut durable: Box<Durable<'a>>,
        now: Nanos,
    ) -> Result<Flow, Error> {
        let progress = self.memory.sync_step(&mut durable.syncing);
        if progress == filemap::state::Progress::Complete {
            self.end_sync(task, &durable, now);
            return Ok(Flow::Continue);
        }
        task.durable = Some(durable);
        match self.stop(task, progress, now)? {
            Some(Stop::Wait(sleep)) => Ok(Flow::Blocked(sleep)),
            _ => Ok(Flow::Continue),
        }
    }

    fn end_sync(&mut self, task: &mut Task<'a>, durable: &Durable<'a>, now: Nanos) {
        if durable.drops {
            self.memory.writeback.sync_disks(
                &mut self.memory.cpu,
                &self.memory.folios,
                &self.memory.objects,
                &mut self.memory.io,
            );
            self.memory.drop_journal_blocks();
            for file in &self.files {
                file.drop_pages(&mut self.memory);
            }
        }
        self.recorder
            .step(durable.outcome(&task.name, self.local_time(now)));
        task.go_past_step();
    }
}
