//! The lives of processes: how they start, are waited for, killed and end.

use alloc::boxed::Box;
use alloc::vec::Vec;

use mm::outcome::Status;
use mm::units::Nanos;

use crate::error::Error;
use crate::machine::state::Flow;
use crate::machine::system::{System, place};
use crate::machine::task::{Task, TaskState};
use crate::mm::filemap::Reader;
use crate::mm::memcontrol::group_id::ROOT;
use crate::mm::mlock::Locking;

impl<'a> System<'a> {
    /// Starts the instances of a process that are not running.
    pub(crate) fn start_process(&mut self, process: usize, now: Nanos) -> Result<(), Error> {
        self.start_where(now, Nanos::ZERO, |task| {
            task.process == process && task.state != TaskState::Alive
        })
    }

    /// Starts those of a process that start by themselves: nobody waits while they are made, so
    /// they pay for it.
    pub(crate) fn start_due(&mut self, process: usize, now: Nanos) -> Result<(), Error> {
        let spawn = Nanos(self.memory.cpu.costs.spawn_ps / 1000);
        self.start_where(now, spawn, |task| {
            task.process == process && task.state == TaskState::Due
        })
    }

    /// Whether no instance of a process runs or will start by itself. The instance that asks is not
    /// in the table.
    pub(crate) fn has_ended(&self, process: usize) -> bool {
        let mut of_process = self.tasks.iter().flatten().filter(|t| t.process == process);
        of_process.all(|task| matches!(task.state, TaskState::Idle | TaskState::Ended))
    }

    /// Index of a process by name.
    pub(crate) fn process(&self, name: &str) -> Option<usize> {
        self.scenario
            .workload
            .processes
            .iter()
            .position(|process| process.name == name)
    }

    /// Kills all instances of a process but the one that asks, which is not in the table. One that
    /// is not started yet never will be by itself.
    pub(crate) fn kill_process(&mut self, process: usize, now: Nanos) {
        for index in 0..self.tasks.len() {
            let task = self.tasks[index].as_mut();
            match task.filter(|task| task.process == process) {
                Some(task) if task.state == TaskState::Due => task.state = TaskState::Ended,
                Some(task) if task.state == TaskState::Alive => {
                    self.kill(index, now, &Status::Done);
                }
                _ => {}
            }
        }
        self.wake_all(now);
    }

    /// Frees what a task holds and reports how it ended.
    pub(crate) fn end_task(&mut self, task: &mut Task<'a>, now: Nanos, status: &Status) {
        for name in task.regions.keys().copied().collect::<Vec<_>>() {
            self.unmap(task, name);
        }
        self.memory.ksm.leave_process(task.entity);
        for file in core::mem::take(&mut task.mapped) {
            self.files[file].unmap(task.entity, &mut self.memory);
        }
        if let Some(mut running) = task.access.take() {
            self.send_rest(&mut running);
            self.recorder
                .step(running.outcome(&task.name, now, status.clone()));
        }
        self.send_rests(task);
        for frame in task.frames.split_off(0).iter().rev() {
            if let Some(repeat) = &frame.repeat {
                self.recorder
                    .step(task.repetition_outcome(repeat, now, status.clone()));
            }
        }
        self.end_own(task);
        task.state = TaskState::Ended;
        (task.errand, task.ordered) = (None, None);
        task.locking = Locking::default();
        task.exiting = None;
        self.scheduler.end(task.entity, now);
        self.wake_all(now);
    }

    /// Sends the requests for the pages of interrupted windows that are locked already.
    fn send_rests(&mut self, task: &mut Task<'a>) {
        for (index, mut readahead) in task.take_readaheads() {
            if let Some(rest) = readahead.take_rest() {
                let mut reader = Reader {
                    memory: &mut self.memory,
                    file: &self.files[index],
                    readahead: &mut readahead,
                };
                reader.request(rest.gap, rest.window.start);
            }
        }
    }

    pub(crate) fn kill(&mut self, index: usize, now: Nanos, status: &Status) {
        let Some(mut task) = self.tasks[index].take() else {
            return;
        };
        self.wait_no_more(task.entity);
        let allocation = core::mem::take(&mut task.allocation);
        self.memory.groups.refund(allocation.charging);
        task.over_high = 0;
        self.end_task(&mut task, now, status);
        self.tasks[index] = Some(task);
    }

    /// Kills a task, unless it is the one that runs: whatever it waits for, it goes on to free its
    /// memory itself.
    pub(crate) fn oom_kill(&mut self, index: usize, now: Nanos) {
        let Some(task) = self.tasks[index].as_mut() else {
            return;
        };
        let entity = task.entity;
        task.exiting = Some(0);
        task.over_high = 0;
        (task.errand, task.ordered) = (None, None);
        let allocation = core::mem::take(&mut task.allocation);
        self.memory.groups.refund(allocation.charging);
        self.wait_no_more(entity);
        self.scheduler
            .note_stalls(entity, [(now, false)].into_iter());
        self.scheduler.wake(entity, now);
    }

    /// Frees a part of what a killed task holds; with the last one it ends (`exit_mmap`).
    pub(crate) fn exit(&mut self, task: &mut Task<'a>, now: Nanos) -> Flow {
        let budget = self.memory.cpu.budget;
        while let Some(mut entry) = task.regions.first_entry() {
            let (name, region) = (*entry.key(), entry.get_mut());
            let next = task.exiting.get_or_insert(0);
            let held = self.memory.drop_tables(region, next, budget);
            let is_free = *next == region.table_count();
            task.rss -= held.pages;
            task.page_tables -= held.page_tables;
            if !is_free {
                return Flow::Continue;
            }
            self.unmap(task, name);
            task.exiting = Some(0);
        }
        self.end_task(task, self.local_time(now), &Status::Killed(9));
        Flow::Ended
    }

    /// Wakes the tasks that wait for a process: each looks again whether its wait is over.
    fn wake_all(&mut self, now: Nanos) {
        for task in self.tasks.iter().flatten() {
            if task.state == TaskState::Alive && task.waits_for_process() {
                self.scheduler.wake(task.entity, now);
            }
        }
    }

    pub(crate) fn make_tasks(&mut self) -> Result<(), Error> {
        for group in self.memory.groups.all() {
            // The two number their groups alike, the root and the system first.
            let parent = self.memory.groups.parent(group).unwrap_or(ROOT);
            self.scheduler.pressure.add_group(parent, Nanos::ZERO);
        }
        for (process, spec) in self.scenario.workload.processes.iter().enumerate() {
            for name in spec.instances() {
                let entity = self.scheduler.add();
                let mut task = Task::new(process, spec, name, entity);
                if let Some(path) = &spec.cgroup {
                    task.group = self.memory.groups.find(path, &place(&task))?;
                    let pressure = &mut self.scheduler.pressure;
                    pressure.move_task(entity, task.group, Nanos::ZERO);
                }
                self.tasks.push(Some(Box::new(task)));
            }
        }
        Ok(())
    }

    fn start_where(
        &mut self,
        now: Nanos,
        owed: Nanos,
        wanted: impl Fn(&Task<'a>) -> bool,
    ) -> Result<(), Error> {
        for index in 0..self.tasks.len() {
            let Some(mut task) = self.tasks[index].take_if(|task| wanted(task)) else {
                continue;
            };
            task.start();
            self.begin_own(&mut task)?;
            self.scheduler.owe(task.entity, owed);
            self.scheduler.wake(task.entity, now);
            self.tasks[index] = Some(task);
        }
        Ok(())
    }

    pub(crate) fn wake_sleeper(&mut self, entity: usize, life: u32, now: Nanos) {
        let sleeper = self.tasks.iter().flatten().find(|t| t.entity == entity);
        if sleeper.is_some_and(|task| task.state == TaskState::Alive && task.life == life) {
            self.scheduler.wake(entity, now);
        }
    }
}
