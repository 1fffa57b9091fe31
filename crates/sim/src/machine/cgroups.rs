//! Control groups and processes: what is written into their files, the errands of their tasks, and
//! who has to go when a group is out of memory.

use alloc::boxed::Box;
use mm::units::Nanos;

use crate::error::Error;
use crate::machine::roles::WaitsFor;
use crate::machine::system::{Flow, System, place};
use crate::machine::task::{Area, Task, TaskState};
use crate::mm::memcontrol::{Came, Errand, Event, GroupId, Limit, ROOT, Written};
use crate::mm::oom_kill;
use crate::mm::page_alloc::NoPage;
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
    /// A task begins to run: what it has in hand, and who pays for what it asks for.
    pub(crate) fn take_in_hand(&mut self, index: usize) -> Box<Task<'a>> {
        let mut task = self.tasks[index]
            .take()
            .expect("a task that is picked is not running");
        self.memory.allocation = core::mem::take(&mut task.allocation);
        self.memory.cpu.current.over_high = core::mem::take(&mut task.over_high);
        self.memory.cpu.current.throttled = task.throttled;
        self.memory.cpu.current.group = task.group;
        self.memory.zones.nodes.on_first = task.on_first_node;
        self.memory.cpu.current.space = task.entity;
        task
    }

    /// A task stops running; one that has ended gives back what it had paid for.
    pub(crate) fn put_away(&mut self, index: usize, mut task: Box<Task<'a>>) {
        task.allocation = core::mem::take(&mut self.memory.allocation);
        task.over_high = core::mem::take(&mut self.memory.cpu.current.over_high);
        task.throttled = self.memory.cpu.current.throttled;
        self.memory.cpu.current.group = ROOT;
        task.on_first_node = core::mem::take(&mut self.memory.zones.nodes.on_first);
        if task.state != TaskState::Alive {
            let allocation = core::mem::take(&mut task.allocation);
            self.memory.groups.refund(allocation.charging);
            task.over_high = 0;
        }
        self.tasks[index] = Some(task);
    }

    /// Writes into a file of a group; reclaim that follows is the writer's errand.
    pub(crate) fn write_cgroup(
        &mut self,
        task: &mut Task<'a>,
        path: &str,
        file: &str,
        text: &str,
    ) -> Result<(), Error> {
        let group = self.memory.groups.find(path, &place(task))?;
        task.errand = match self.memory.groups.write(group, file, text)? {
            Written::Done => None,
            Written::LoweredHigh => Some(Errand::lower(group, Limit::High)),
            Written::LoweredMax => Some(Errand::lower(group, Limit::Max)),
            Written::Reclaim { pages, swappiness } => {
                let known = swappiness.filter(|_| self.memory.cpu.rules.reclaim_knows_swappiness);
                let swappiness = known.unwrap_or(self.memory.cpu.rules.swappiness);
                Some(Errand::proactive(group, pages, swappiness))
            }
        };
        Ok(())
    }

    /// What a task has to do for its groups before it goes on; `None` where that is nothing.
    pub(crate) fn run_errands(
        &mut self,
        task: &mut Task<'a>,
        now: Nanos,
    ) -> Result<Option<Flow>, Error> {
        if task.errand.is_none() && self.memory.cpu.current.over_high > 0 && task.is_in_user_space()
        {
            let pages = core::mem::take(&mut self.memory.cpu.current.over_high);
            task.errand = Some(Errand::above_high(task.group, pages));
        }
        let Some(mut errand) = task.errand.take() else {
            return Ok(None);
        };
        let flow = match self.memory.run_errand(&mut errand) {
            Came::Done => {
                if let Some((label, began)) = task.ordered.take() {
                    self.record_step(task, Some(label), began, self.local_time(now));
                }
                return Ok(Some(Flow::Continue));
            }
            Came::Sleep(span) => {
                self.wake_at(task, self.local_time(now).saturating_add(span));
                return Ok(Some(Flow::Blocked(Sleep::Idle)));
            }
            Came::NotYet(NoPage::Congested { disk }) => {
                self.waiters.push((WaitsFor::Disk(disk), task.entity));
                Flow::Blocked(Sleep::Io)
            }
            Came::NotYet(_) => Flow::Continue,
            Came::Kill(group) => match self.out_of_memory(task, group, self.local_time(now))? {
                Victim::Own => {
                    task.exiting = Some(0);
                    return Ok(Some(Flow::Continue));
                }
                Victim::Others => Flow::Continue,
                Victim::None => return Ok(Some(Flow::Continue)),
            },
        };
        task.errand = Some(errand);
        Ok(Some(flow))
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
    fn task<'t>(&'t self, current: &'t Task<'a>, index: usize) -> &'t Task<'a> {
        self.tasks[index].as_deref().unwrap_or(current)
    }
}

impl Task<'_> {
    /// Whether it is not inside a system call.
    fn is_in_user_space(&self) -> bool {
        self.access.as_ref().is_none_or(|running| {
            running.operation.is_none() || matches!(running.target, Area::Region { .. })
        })
    }

    pub(crate) fn candidate(&self) -> oom_kill::Candidate {
        oom_kill::Candidate {
            rss: self.rss,
            page_tables: self.page_tables,
            score_adj: self.spec.oom_score_adj,
        }
    }
}
