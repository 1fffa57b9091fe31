//! Interrupts of disks: requests end, and those who waited for them wake.

use alloc::vec::Vec;

use mm::units::Nanos;

use crate::machine::roles::{KSMD, KSWAPD};
use crate::machine::system::System;
use crate::sched::core::Event;

impl System<'_> {
    /// A disk has done a request: what its interrupt takes passes before those who waited wake.
    pub(crate) fn disk_done(&mut self, disk: usize, now: Nanos) {
        let Some(request) = self.memory.complete(disk, now) else {
            return;
        };
        self.expect_disks();
        let waiters = core::mem::take(&mut self.waiters);
        let (over, waiting): (Vec<_>, Vec<_>) = waiters
            .into_iter()
            .partition(|(waits, _)| self.is_over(*waits, disk, &request));
        self.waiters = waiting;
        let over = over.into_iter().map(|(_, entity)| entity);
        let journal = request.is_journal.then(|| self.journal_of(disk));
        let woken = over.chain(request.waiter).chain(journal).collect();
        match Nanos(core::mem::take(&mut self.memory.cpu.in_interrupt) / 1000) {
            Nanos::ZERO => self.end_waiting(woken, now),
            time => self.interrupt(time, woken, now),
        }
    }

    /// The kernel counts it as CPU time of the task that it interrupts (`/proc/PID/schedstat`).
    fn interrupt(&mut self, time: Nanos, woken: Vec<usize>, now: Nanos) {
        match self.scheduler.interrupt(time) {
            Some(KSWAPD) => self.memory.zones.kswapd.cpu_time += time,
            Some(KSMD) => self.memory.ksm.cpu_time += time,
            _ => {}
        }
        let interrupts = &mut self.interrupts;
        interrupts.until = interrupts.until.max(now) + time;
        interrupts.wakes.push_back(woken);
        self.events.add(interrupts.until, Event::InterruptEnds);
    }

    /// The first interrupt under way is over.
    pub(crate) fn interrupt_ends(&mut self, now: Nanos) {
        let woken = self.interrupts.wakes.pop_front();
        self.end_waiting(woken.unwrap_or_default(), now);
    }

    /// Whatever a task waits for, it is not woken for it.
    pub(crate) fn wait_no_more(&mut self, entity: usize) {
        self.waiters.retain(|(_, waiting)| *waiting != entity);
        for woken in &mut self.interrupts.wakes {
            woken.retain(|waiting| *waiting != entity);
        }
    }

    fn end_waiting(&mut self, woken: Vec<usize>, now: Nanos) {
        for entity in woken {
            self.wake_if_alive(entity, now);
        }
    }
}
