//! How tasks end (`kernel/exit.c`): by themselves, killed, or by the OOM killer.

use alloc::vec::Vec;

use mm::units::Nanos;
use scenario::outcome::{Status, StepOutcome};

use crate::machine::system::System;
use crate::machine::task::{Task, TaskState};
use crate::mm::filemap::Reader;
use crate::mm::filemap::state::File;
use crate::mm::mlock::Locking;
use crate::mm::parts::Memory;
use crate::sched::core::Flow;

impl Task<'_> {
    pub(crate) fn holds_memory(&self) -> bool {
        !self.regions.is_empty() || !self.mapped.is_empty()
    }

    /// Frees the memory that a task holds (`exit_mm`).
    pub(crate) fn exit_mm(&mut self, memory: &mut Memory, files: &[File]) {
        for name in self.regions.keys().copied().collect::<Vec<_>>() {
            self.unmap(memory, name);
        }
        memory.ksm.leave_process(self.entity);
        for file in core::mem::take(&mut self.mapped) {
            files[file].unmap(self.entity, memory);
        }
        self.end_own(memory);
        memory.objects.pgd_free(&mut memory.zones, self.pgd.take());
    }

    /// Sends the requests for the pages of interrupted windows that are locked already.
    fn send_rests(&mut self, memory: &mut Memory, files: &[File]) {
        for (index, mut readahead) in self.take_readaheads() {
            Reader {
                memory,
                file: &files[index],
                readahead: &mut readahead,
            }
            .send_rest();
        }
    }

    /// Frees a part of a killed task's regions, as much as the CPU time of a step allows
    /// (`exit_mmap`); whether that was the last one.
    fn exit_mmap(&mut self, memory: &mut Memory) -> bool {
        let budget = memory.cpu.budget;
        while let Some(mut entry) = self.regions.first_entry() {
            let (name, region) = (*entry.key(), entry.get_mut());
            let next = self.exiting.get_or_insert(0);
            let held = memory.drop_tables(region, next, budget);
            let is_free = *next == region.table_count();
            self.let_go(held);
            if !is_free {
                return false;
            }
            self.unmap(memory, name);
            self.exiting = Some(0);
        }
        true
    }
}

impl<'a> Task<'a> {
    /// The label of the step to whose end it comes back once it is woken, and when it began.
    fn waits_in(&self) -> Option<(&'a str, Nanos)> {
        let frame = self.frames.last()?;
        let step = frame.steps.get(frame.at)?;
        Some((step.label.as_deref()?, self.began?))
    }
}

impl<'a> System<'a> {
    /// Frees what a task holds and reports how it ended (`do_exit`).
    pub(crate) fn end_task(&mut self, task: &mut Task<'a>, now: Nanos, status: &Status) {
        let memory = &mut self.memory;
        memory
            .io
            .forget(&mut memory.cpu, &memory.folios, task.entity);
        task.stop_guarding(memory, &self.files);
        task.exit_mm(&mut self.memory, &self.files);
        let waiting = task.ordered.take().or_else(|| task.waits_in());
        if let Some((label, began)) = waiting {
            let step = task.outcome(Some(label), began, now);
            self.recorder.step(step.map(|step| StepOutcome {
                status: status.clone(),
                ..step
            }));
        }
        if let Some(mut running) = task.access.take() {
            running.send_rest(&mut self.memory, &self.files);
            self.recorder
                .step(running.figures.outcome(&task.name, now, status.clone()));
        }
        if let Some(mut replaying) = task.replaying.take() {
            replaying.send_rests(&mut self.memory, &self.files);
            let outcome = replaying.figures.outcome(&task.name, now, status.clone());
            self.recorder.step(outcome);
            self.end_stream(replaying.replay.stream, now);
        }
        for frame in task.frames.split_off(0).iter().rev() {
            if let Some(repeat) = &frame.repeat {
                self.recorder
                    .step(task.repetition_outcome(repeat, now, status.clone()));
            }
        }
        task.send_rests(&mut self.memory, &self.files);
        task.locking = Locking::default();
        task.state = TaskState::Ended;
        (task.errand, task.began) = (None, None);
        task.exiting = None;
        self.scheduler.end(task.entity, now);
        self.tasks.wake_parents(&mut self.scheduler, now);
    }

    /// A task that was killed goes on to free its memory; with the last of it, it ends.
    pub(crate) fn exit(&mut self, task: &mut Task<'a>) -> Flow {
        if !task.exit_mmap(&mut self.memory) {
            return Flow::Continue;
        }
        self.end_task(task, self.memory.cpu.now(), &Status::Killed(9));
        Flow::Ended
    }

    /// Ends a task, unless it is the one that runs.
    pub(crate) fn kill(&mut self, index: usize, now: Nanos, status: &Status) {
        let Some(mut task) = self.tasks.take(index) else {
            return;
        };
        self.scheduler.wait_no_more(task.entity);
        task.give_up(&mut self.memory.groups);
        self.end_task(&mut task, now, status);
        self.tasks.put(index, task);
    }

    /// Kills all instances of a process but the one that asks, which is not in the table. One that
    /// is not started yet never will be by itself.
    pub(crate) fn kill_process(&mut self, process: usize, now: Nanos) {
        for index in 0..self.tasks.len() {
            let task = self.tasks.get_mut(index);
            match task.filter(|task| task.process == process) {
                Some(task) if task.state == TaskState::Due => task.state = TaskState::Ended,
                Some(task) if task.state == TaskState::Alive => {
                    self.kill(index, now, &Status::Done);
                }
                _ => {}
            }
        }
        self.tasks.wake_parents(&mut self.scheduler, now);
    }
}
