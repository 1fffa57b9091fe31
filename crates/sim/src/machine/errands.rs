//! What a task does for its control groups before it goes on: it reclaims above a high limit, and
//! for what it wrote into a group's files.

use mm::rules::Mechanism;

use crate::error::Error;
use crate::machine::oom_kill::Victim;
use crate::machine::recorder::Recorder;
use crate::machine::running::Area;
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::memcontrol::{Came, Errand, Limit, Written};
use crate::mm::page_alloc::state::NoPage;
use crate::mm::parts::Memory;
use crate::sched::core::{Flow, Sleep};
use crate::sched::cpu::Cpu;
use crate::sched::wait::WaitsFor;

impl<'a> System<'a> {
    /// What a task has to do for its groups before it goes on; `None` where that is nothing.
    pub(crate) fn run_errands(&mut self, task: &mut Task<'a>) -> Result<Option<Flow>, Error> {
        if task.errand.is_none() && task.exiting.is_none() {
            task.record_ordered(&self.memory.cpu, &mut self.recorder);
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
                task.record_ordered(&self.memory.cpu, &mut self.recorder);
                return Ok(Some(Flow::Continue));
            }
            Came::Sleep(span) => {
                let at = self.memory.cpu.now().saturating_add(span);
                self.scheduler.wake_at(&mut self.events, task.entity, at);
                return Ok(Some(Flow::Blocked(Sleep::Idle)));
            }
            Came::NotYet(NoPage::Congested { disk, .. }) => {
                self.scheduler.queue.add(WaitsFor::Disk(disk), task.entity);
                Flow::Blocked(Sleep::Io)
            }
            Came::NotYet(_) => Flow::Continue,
            Came::Kill(group) => match self.out_of_memory(task, group)? {
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
}

impl Task<'_> {
    /// The step before is over, if it was not yet.
    fn record_ordered(&mut self, cpu: &Cpu, recorder: &mut Recorder) {
        if let Some((label, began)) = self.ordered.take() {
            recorder.step(self.outcome(Some(label), began, cpu.now()));
        }
    }

    /// Writes into a file of a group; reclaim that follows is the writer's errand
    /// (`cgroup_file_write`).
    pub(crate) fn write_cgroup(
        &mut self,
        memory: &mut Memory,
        path: &str,
        file: &str,
        text: &str,
    ) -> Result<(), Error> {
        let Memory { groups, cpu, .. } = memory;
        let (group, rules) = (groups.find(path, &self.place())?, &cpu.rules);
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
