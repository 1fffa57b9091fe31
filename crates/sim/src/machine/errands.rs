//! What a task does for its control groups before it goes on: it reclaims above a high limit, and
//! for what it wrote into a group's files.

use mm::rules::Mechanism;
use mm::units::Nanos;

use crate::error::Error;
use crate::machine::running::Area;
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::memcontrol::state::Groups;
use crate::mm::memcontrol::{Came, Errand, Limit, Written};
use crate::mm::oom_kill::Victim;
use crate::mm::page_alloc::state::NoPage;
use crate::rules::Rules;
use crate::sched::core::{Flow, Sleep};
use crate::sched::wait::WaitsFor;

impl<'a> System<'a> {
    /// What a task has to do for its groups before it goes on; `None` where that is nothing.
    pub(crate) fn run_errands(
        &mut self,
        task: &mut Task<'a>,
        now: Nanos,
    ) -> Result<Option<Flow>, Error> {
        if task.errand.is_none() && task.exiting.is_none() {
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
                let at = self.local_time(now).saturating_add(span);
                self.wake_at(task, at);
                return Ok(Some(Flow::Blocked(Sleep::Idle)));
            }
            Came::NotYet(NoPage::Congested { disk }) => {
                self.scheduler.queue.add(WaitsFor::Disk(disk), task.entity);
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
    /// Writes into a file of a group; reclaim that follows is the writer's errand
    /// (`cgroup_file_write`).
    pub(crate) fn write_cgroup(
        &mut self,
        groups: &mut Groups,
        rules: &Rules,
        path: &str,
        file: &str,
        text: &str,
    ) -> Result<(), Error> {
        let group = groups.find(path, &self.place())?;
        self.errand = match groups.write(group, file, text)? {
            Written::Done => None,
            Written::LoweredHigh => Some(Errand::lower(group, Limit::High)),
            Written::LoweredMax => Some(Errand::lower(group, Limit::Max)),
            Written::Reclaim { pages, swappiness } => {
                let known = swappiness.filter(|_| rules.has(Mechanism::ReclaimTakesSwappiness));
                let swappiness = known.unwrap_or(rules.swappiness);
                Some(Errand::proactive(group, pages, swappiness))
            }
        };
        Ok(())
    }

    /// Whether it is not inside a system call.
    fn is_in_user_space(&self) -> bool {
        let is_outside = self.access.as_ref().is_none_or(|running| {
            running.operation.is_none() || matches!(running.target, Area::Region { .. })
        });
        is_outside && self.replaying.as_ref().is_none_or(|it| !it.is_in_call())
    }
}
