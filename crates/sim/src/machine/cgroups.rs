//! Control groups and processes: what is written into their files, and the errands of their tasks.

use crate::machine::oom_kill::Victim;
use alloc::boxed::Box;
use mm::units::Nanos;

use crate::error::Error;
use crate::machine::roles::WaitsFor;
use crate::machine::state::Flow;
use crate::machine::system::{System, place};
use crate::machine::task::{Area, Task, TaskState};
use crate::mm::memcontrol::group_id::ROOT;
use crate::mm::memcontrol::{Came, Errand, Limit, Written};
use crate::mm::page_alloc::state::NoPage;
use crate::sched::core::Sleep;

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
        if task.errand.is_none() {
            self.record_ordered(task, now);
        }
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
                self.record_ordered(task, now);
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

    /// The step before is over, if it was not yet.
    fn record_ordered(&mut self, task: &mut Task<'a>, now: Nanos) {
        if let Some((label, began)) = task.ordered.take() {
            self.record_step(task, Some(label), began, self.local_time(now));
        }
    }
}

impl Task<'_> {
    /// Whether it is not inside a system call.
    fn is_in_user_space(&self) -> bool {
        self.access.as_ref().is_none_or(|running| {
            running.operation.is_none() || matches!(running.target, Area::Region { .. })
        })
    }
}
