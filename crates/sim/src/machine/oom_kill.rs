//! The OOM killer at work: who has to go when the machine or a group is out of memory
//! (`out_of_memory`, `mem_cgroup_oom`). Whom it chooses is in [`crate::mm::oom_kill`].

use alloc::boxed::Box;

use mm::units::Nanos;

use crate::error::Error;
use crate::machine::state::Stop;
use crate::machine::system::System;
use crate::machine::task::{Task, TaskState};
use crate::mm::memcontrol::Event;
use crate::mm::memcontrol::group_id::{GroupId, ROOT};
use crate::mm::oom_kill;
use crate::sched::core::Sleep;

/// Whom the OOM killer took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Victim {
    /// The task that asked for memory; it still has to exit.
    Own,
    /// Others, or one that has not freed its memory yet.
    Others,
    /// Nobody may be killed.
    None,
}

impl<'a> System<'a> {
    /// The machine is out of memory: somebody goes.
    pub(super) fn kill_someone(
        &mut self,
        task: &Task<'a>,
        began: Nanos,
    ) -> Result<Option<Stop>, Error> {
        let victim = self.out_of_memory(task, ROOT, self.local_time(began))?;
        Ok((victim == Victim::Own).then_some(Stop::Killed))
    }

    /// A charge failed after all retries: a process of the group goes. The task itself, where it is
    /// the one, tries as often again before it ends; where nobody may be killed it tries for ever.
    pub(super) fn over_limit(
        &mut self,
        task: &mut Task<'a>,
        group: GroupId,
        began: Nanos,
    ) -> Result<Option<Stop>, Error> {
        if task.dying {
            return Ok(Some(Stop::Killed));
        }
        let now = self.local_time(began);
        let victim = self.out_of_memory(task, group, now)?;
        task.dying = victim == Victim::Own;
        if victim == Victim::None {
            self.wake_at(task, self.memory.cpu.clock.expiry(now, 1));
            return Ok(Some(Stop::Wait(Sleep::Idle)));
        }
        Ok(None)
    }

    /// The OOM killer: of the tasks in `domain` (the root for the machine) it kills the worst one,
    /// with all of its group where that is set so; nobody while one that it killed still frees its
    /// memory. `current` is not in the table while it runs.
    pub(crate) fn out_of_memory(
        &mut self,
        current: &Task<'a>,
        domain: GroupId,
        now: Nanos,
    ) -> Result<Victim, Error> {
        if domain != ROOT {
            self.memory.groups.count(domain, Event::Oom);
        }
        if self.waits_for_exit(domain) {
            // A task may ask without end; that each time costs a system call is a guess.
            self.memory.cpu.spent += self.memory.cpu.costs.syscall_ps;
            return Ok(Victim::Others);
        }
        let Some(victim) = self.choose_victim(current, domain) else {
            return match domain {
                ROOT => Err(Error::NoVictim),
                _ => Ok(Victim::None),
            };
        };
        let group = self.task(current, victim).group;
        self.count_kill(group);
        let together = self.memory.groups.oom_group(group, domain);
        let mut own = self.tasks[victim].is_none();
        // A group is killed whole, its first victim included: that one is counted twice.
        if let Some(together) = together {
            own |= self.kill_group(current, together, now);
        } else {
            self.oom_kill(victim, now);
        }
        Ok(if own { Victim::Own } else { Victim::Others })
    }

    /// Whether a task in `domain` was killed and has not freed its memory yet
    /// (`oom_evaluate_task`).
    fn waits_for_exit(&self, domain: GroupId) -> bool {
        let groups = &self.memory.groups;
        let mut exiting = self.tasks.iter().flatten();
        exiting.any(|task| task.exiting.is_some() && groups.is_within(task.group, domain))
    }

    /// Kills the worst task for kswapd, if there is one: no task is running (`min_ttl_ms`).
    pub(crate) fn kill_worst(&mut self, now: Nanos) {
        if self.waits_for_exit(ROOT) {
            return;
        }
        let tasks = self.tasks.iter().enumerate();
        let tasks = tasks.filter_map(|(index, task)| Some((index, task.as_ref()?)));
        let alive = tasks.filter(|(_, task)| task.state == TaskState::Alive);
        let candidates = alive.map(|(index, task)| (index, task.candidate()));
        let victim = oom_kill::victim(
            candidates,
            self.memory
                .groups
                .oom_total(&self.memory.zones, &self.memory.swap, ROOT),
        );
        let group = |task: &Option<Box<Task<'a>>>| task.as_ref().map(|task| task.group);
        let group = victim.and_then(|victim| group(&self.tasks[victim]));
        if let (Some(victim), Some(group)) = (victim, group) {
            self.count_kill(group);
            self.oom_kill(victim, now);
        }
    }

    /// Ends all tasks of a group but those that are exempt; true where `current`, which is not
    /// ended, is one of them.
    fn kill_group(&mut self, current: &Task<'a>, together: GroupId, now: Nanos) -> bool {
        self.memory.groups.count(together, Event::OomGroupKill);
        let mut own = false;
        for index in 0..self.tasks.len() {
            let task = self.task(current, index);
            let (group, alive) = (task.group, task.state == TaskState::Alive);
            let exempt = task.spec.oom_score_adj == oom_kill::EXEMPT;
            if !alive || exempt || !self.memory.groups.is_within(group, together) {
                continue;
            }
            self.count_kill(group);
            own |= self.tasks[index].is_none();
            self.oom_kill(index, now);
        }
        own
    }

    fn count_kill(&mut self, group: GroupId) {
        self.memory.cpu.events.oom_kill += 1;
        self.memory.groups.count(group, Event::OomKill);
    }

    fn choose_victim(&self, current: &Task<'a>, domain: GroupId) -> Option<usize> {
        let groups = &self.memory.groups;
        let candidates = (0..self.tasks.len()).filter_map(|index| {
            let task = self.task(current, index);
            let alive = task.state == TaskState::Alive;
            (alive && groups.is_within(task.group, domain)).then(|| (index, task.candidate()))
        });
        oom_kill::victim(
            candidates,
            self.memory
                .groups
                .oom_total(&self.memory.zones, &self.memory.swap, domain),
        )
    }

    /// A task by its place; the one that is not in the table is `current`.
    pub(super) fn task<'t>(&'t self, current: &'t Task<'a>, index: usize) -> &'t Task<'a> {
        self.tasks[index].as_deref().unwrap_or(current)
    }
}

impl Task<'_> {
    pub(crate) fn candidate(&self) -> oom_kill::Candidate {
        oom_kill::Candidate {
            rss: self.rss,
            page_tables: self.page_tables,
            score_adj: self.spec.oom_score_adj,
        }
    }
}
