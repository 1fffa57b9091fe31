//! The process table: every instance of every process, whether it runs or not.

use alloc::boxed::Box;
use alloc::vec::Vec;

use mm::units::Nanos;
use scenario::Scenario;

use crate::bench::state::Bench;
use crate::error::Error;
use crate::machine::task::{Task, TaskState};
use crate::mm::memcontrol::group_id::ROOT;
use crate::mm::memcontrol::state::Groups;
use crate::mm::page_alloc::state::Allocation;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::sched::core::Scheduler;
use crate::sched::cpu::Cpu;

/// All tasks, by their index.
#[derive(Debug)]
pub(crate) struct Tasks<'a> {
    /// One is taken out while it runs; boxed, so that this moves a pointer.
    all: Vec<Option<Box<Task<'a>>>>,
}

impl<'a> Tasks<'a> {
    /// Those of a scenario, each with its place in the scheduler; none has begun.
    pub(crate) fn new(
        scenario: &'a Scenario,
        groups: &Groups,
        scheduler: &mut Scheduler,
    ) -> Result<Self, Error> {
        for group in groups.all() {
            // The two number their groups alike, the root and the system first.
            let parent = groups.parent(group).unwrap_or(ROOT);
            scheduler.pressure.add_group(parent, Nanos::ZERO);
        }
        let mut all = Vec::new();
        for (process, spec) in scenario.workload.processes.iter().enumerate() {
            for name in spec.instances() {
                let entity = scheduler.add();
                let mut task = Task::new(process, spec, name, entity);
                if let Some(path) = &spec.cgroup {
                    task.group = groups.find(path, &task.place())?;
                    let pressure = &mut scheduler.pressure;
                    pressure.move_task(entity, task.group, Nanos::ZERO);
                }
                all.push(Some(Box::new(task)));
            }
        }
        Ok(Self { all })
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Those that are in the table, as all are but the one that runs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Task<'a>> {
        self.all.iter().flatten().map(Box::as_ref)
    }

    pub(crate) fn alive(&self) -> impl Iterator<Item = &Task<'a>> {
        self.iter().filter(|task| task.state == TaskState::Alive)
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Task<'a>> {
        self.all[index].as_deref()
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut Task<'a>> {
        self.all[index].as_deref_mut()
    }

    pub(crate) fn take(&mut self, index: usize) -> Option<Box<Task<'a>>> {
        self.all[index].take()
    }

    pub(crate) fn put(&mut self, index: usize, task: Box<Task<'a>>) {
        self.all[index] = Some(task);
    }

    /// Whether nothing runs and nothing will start by itself.
    pub(crate) fn are_over(&self) -> bool {
        let to_come = |state| matches!(state, TaskState::Alive | TaskState::Due);
        !self.iter().any(|task| to_come(task.state))
    }

    /// Whether no instance of a process runs or will start by itself. The instance that asks is not
    /// in the table.
    pub(crate) fn has_ended(&self, process: usize) -> bool {
        let mut of_process = self.iter().filter(|task| task.process == process);
        of_process.all(|task| matches!(task.state, TaskState::Idle | TaskState::Ended))
    }

    /// Wakes the tasks that wait for a process: each looks again whether its wait is over
    /// (`__wake_up_parent`).
    pub(crate) fn wake_parents(&self, scheduler: &mut Scheduler, now: Nanos) {
        for task in self.alive().filter(|task| task.waits_for_process()) {
            scheduler.wake(task.entity, now);
        }
    }

    /// A task begins to run (`context_switch`): what it has in hand, and which group pays for
    /// what it asks for.
    pub(crate) fn switch_to(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        allocation: &mut Allocation,
        index: usize,
    ) -> Box<Task<'a>> {
        let task = self.take(index);
        let mut task = task.expect("a task that is picked is not running");
        *allocation = core::mem::take(&mut task.allocation);
        cpu.current.over_high = core::mem::take(&mut task.over_high);
        cpu.current.throttled = task.throttled;
        cpu.current.group = task.group;
        zones.nodes.on_first = task.on_first_node;
        (cpu.current.entity, cpu.current.space) = (task.entity, task.entity);
        task
    }

    /// A task stops running; one that has ended gives back what it had paid for.
    pub(crate) fn switch_from(
        &mut self,
        memory: &mut Memory,
        index: usize,
        mut task: Box<Task<'a>>,
    ) {
        task.allocation = core::mem::take(&mut memory.allocation);
        task.over_high = core::mem::take(&mut memory.cpu.current.over_high);
        task.throttled = memory.cpu.current.throttled;
        memory.cpu.current.group = ROOT;
        task.on_first_node = core::mem::take(&mut memory.zones.nodes.on_first);
        if task.state != TaskState::Alive {
            task.give_up(&mut memory.groups);
        }
        self.put(index, task);
    }

    /// Starts the instances of a process that are not running.
    pub(crate) fn start(
        &mut self,
        memory: &mut Memory,
        scheduler: &mut Scheduler,
        bench: &Bench,
        process: usize,
        now: Nanos,
    ) -> Result<(), Error> {
        let is_wanted = |task: &Task<'a>| task.process == process && task.state != TaskState::Alive;
        self.start_where(memory, scheduler, bench, (now, Nanos::ZERO), is_wanted)
    }

    /// Starts those of a process that start by themselves: nobody waits while they are made, so
    /// they pay for it.
    pub(crate) fn start_due(
        &mut self,
        memory: &mut Memory,
        scheduler: &mut Scheduler,
        bench: &Bench,
        process: usize,
        now: Nanos,
    ) -> Result<(), Error> {
        let spawn = Nanos(memory.cpu.costs.spawn_ps / 1000);
        let is_wanted = |task: &Task<'a>| task.process == process && task.state == TaskState::Due;
        self.start_where(memory, scheduler, bench, (now, spawn), is_wanted)
    }

    fn start_where(
        &mut self,
        memory: &mut Memory,
        scheduler: &mut Scheduler,
        bench: &Bench,
        (now, owed): (Nanos, Nanos),
        is_wanted: impl Fn(&Task<'a>) -> bool,
    ) -> Result<(), Error> {
        for task in &mut self.all {
            let Some(task) = task.as_mut().filter(|task| is_wanted(task)) else {
                continue;
            };
            task.start();
            task.pgd = memory.objects.pgd_alloc(&mut memory.cpu, &mut memory.zones);
            bench.begin_own(memory, task)?;
            scheduler.begin(task.entity, now, owed);
        }
        Ok(())
    }
}

impl Task<'_> {
    /// Gives back what its allocation under way had paid for.
    pub(crate) fn give_up(&mut self, groups: &mut Groups) {
        let allocation = core::mem::take(&mut self.allocation);
        groups.refund(allocation.charging);
        self.over_high = 0;
    }
}
