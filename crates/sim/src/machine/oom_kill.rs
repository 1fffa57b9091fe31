//! The OOM killer at work (`mm/oom_kill.c`): it chooses among the tasks and kills (`out_of_memory`,
//! `oom_kill_process`).

use mm::units::Nanos;

use crate::error::Error;
use crate::machine::task::{Task, TaskState};
use crate::machine::tasks::Tasks;
use crate::mm::memcontrol::Event;
use crate::mm::memcontrol::group_id::{GroupId, ROOT};
use crate::mm::memcontrol::state::Groups;
use crate::mm::oom_kill::{Candidate, EXEMPT, select_bad_process};
use crate::mm::parts::Memory;
use crate::sched::core::Scheduler;
use crate::sched::cpu::Cpu;

/// The process that the OOM killer took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Victim {
    /// The task that asked for memory; it still has to exit.
    Own,
    /// Others, or one that has not freed its memory yet.
    Others,
    /// Nobody may be killed.
    None,
}

/// What the OOM killer works on (`struct oom_control`).
#[derive(Debug)]
pub(crate) struct OomControl<'c, 'a> {
    tasks: &'c mut Tasks<'a>,
    scheduler: &'c mut Scheduler,
    cpu: &'c mut Cpu,
    groups: &'c mut Groups,
    /// The group that is out of memory; the root for the machine.
    memcg: GroupId,
    /// Pages that it can have: of the machine, RAM and swap.
    total: u64,
}

impl<'c, 'a> OomControl<'c, 'a> {
    pub(crate) fn new(
        tasks: &'c mut Tasks<'a>,
        scheduler: &'c mut Scheduler,
        memory: &'c mut Memory,
        memcg: GroupId,
    ) -> Self {
        Self {
            tasks,
            scheduler,
            cpu: &mut memory.cpu,
            total: memory.groups.oom_total(&memory.zones, &memory.swap, memcg),
            groups: &mut memory.groups,
            memcg,
        }
    }

    /// Of the tasks in the group it kills the worst one, with all of its own group where that is
    /// set so; nobody while one that it killed still frees its memory. `current` asks for memory
    /// and is not in the table while it runs.
    pub(crate) fn out_of_memory(
        &mut self,
        current: &Task<'a>,
        now: Nanos,
    ) -> Result<Victim, Error> {
        if self.memcg != ROOT {
            self.groups.count(self.memcg, Event::Oom);
        }
        if self.waits_for_exit() {
            // A task may ask without end; that each time costs a system call is a guess.
            self.cpu.spent += self.cpu.costs.syscall_ps;
            return Ok(Victim::Others);
        }
        let chosen = self.allocating_task(current);
        let chosen = chosen.or_else(|| self.select_bad_process(Some(current)));
        let Some(chosen) = chosen else {
            return match self.memcg {
                ROOT => Err(Error::NoVictim),
                _ => Ok(Victim::None),
            };
        };
        let group = self.tasks.get(chosen).unwrap_or(current).group;
        self.count_kill(group);
        let together = self.groups.oom_group(group, self.memcg);
        let mut own = self.tasks.get(chosen).is_none();
        // A group is killed whole, its first victim included: that one is counted twice.
        if let Some(together) = together {
            own |= self.kill_group(current, together, now);
        } else {
            self.oom_kill_process(chosen, now);
        }
        Ok(if own { Victim::Own } else { Victim::Others })
    }

    /// Kills the worst task for kswapd, if there is one: no task is running (`min_ttl_ms`).
    pub(crate) fn out_of_memory_for_kswapd(&mut self, now: Nanos) {
        if self.waits_for_exit() {
            return;
        }
        if let Some(chosen) = self.select_bad_process(None)
            && let Some(task) = self.tasks.get(chosen)
        {
            let group = task.group;
            self.count_kill(group);
            self.oom_kill_process(chosen, now);
        }
    }

    /// Whether a task was killed and has not freed its memory yet (`oom_evaluate_task`).
    fn waits_for_exit(&self) -> bool {
        let mut tasks = self.tasks.iter();
        tasks.any(|task| task.exiting.is_some() && self.groups.is_within(task.group, self.memcg))
    }

    /// The task that asks, where it is to be killed whatever others take
    /// (`oom_kill_allocating_task`; not for a control group's limit, and not if it is exempt).
    fn allocating_task(&self, current: &Task<'a>) -> Option<usize> {
        let is_asked = self.cpu.rules.oom_kill_allocating_task && self.memcg == ROOT;
        let can_be = current.spec.oom_score_adj != EXEMPT;
        let mut tasks = 0..self.tasks.len();
        tasks.find(|&index| is_asked && can_be && self.tasks.get(index).is_none())
    }

    fn select_bad_process(&self, current: Option<&Task<'a>>) -> Option<usize> {
        let candidates = (0..self.tasks.len()).filter_map(|index| {
            let task = self.tasks.get(index).or(current)?;
            let alive = task.state == TaskState::Alive;
            let is_of = alive && self.groups.is_within(task.group, self.memcg);
            is_of.then(|| (index, Candidate::of(task)))
        });
        select_bad_process(candidates, self.total)
    }

    /// Ends all tasks of a group but those that are exempt; true where `current`, which is not
    /// ended, is one of them.
    fn kill_group(&mut self, current: &Task<'a>, together: GroupId, now: Nanos) -> bool {
        self.groups.count(together, Event::OomGroupKill);
        let mut own = false;
        for index in 0..self.tasks.len() {
            let task = self.tasks.get(index).unwrap_or(current);
            let (group, alive) = (task.group, task.state == TaskState::Alive);
            let exempt = task.spec.oom_score_adj == EXEMPT;
            if !alive || exempt || !self.groups.is_within(group, together) {
                continue;
            }
            self.count_kill(group);
            own |= self.tasks.get(index).is_none();
            self.oom_kill_process(index, now);
        }
        own
    }

    fn count_kill(&mut self, group: GroupId) {
        self.cpu.events.oom_kill += 1;
        self.groups.count(group, Event::OomKill);
    }

    /// Kills a task, unless it is the one that runs: whatever it waits for, it goes on to free its
    /// memory itself.
    fn oom_kill_process(&mut self, index: usize, now: Nanos) {
        let Some(task) = self.tasks.get_mut(index) else {
            return;
        };
        let entity = task.entity;
        task.exiting = Some(0);
        task.errand = None;
        task.give_up(self.groups);
        self.scheduler.wait_no_more(entity);
        self.scheduler
            .note_stalls(entity, [(now, false)].into_iter());
        self.scheduler.wake(entity, now);
    }
}

impl Candidate {
    fn of(task: &Task<'_>) -> Self {
        Self {
            rss: task.rss,
            page_tables: task.page_tables,
            score_adj: task.spec.oom_score_adj,
        }
    }
}
