//! What becomes of a task that gets no page: somebody is killed, or it waits.

use crate::error::Error;
use crate::machine::oom_kill::{OomControl, Victim};
use crate::machine::state::Stop;
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::memcontrol::group_id::GroupId;
use crate::sched::core::Sleep;

impl<'a> System<'a> {
    /// A charge failed after all retries: a process of the group goes (`mem_cgroup_oom`). The task
    /// itself, where it is the one, tries as often again before it ends; where nobody may be killed
    /// it tries for ever.
    pub(super) fn over_limit(
        &mut self,
        task: &mut Task<'a>,
        group: GroupId,
    ) -> Result<Option<Stop>, Error> {
        if task.dying {
            return Ok(Some(Stop::Killed));
        }
        let now = self.memory.cpu.now();
        let victim = self.out_of_memory(task, group)?;
        task.dying = victim == Victim::Own;
        if victim == Victim::None {
            let at = self.memory.cpu.clock.expiry(now, 1);
            self.scheduler.wake_at(&mut self.events, task.entity, at);
            return Ok(Some(Stop::Wait(Sleep::Idle)));
        }
        Ok(None)
    }

    /// Lets the OOM killer choose in a group, or in the machine ([`OomControl::out_of_memory`]).
    pub(super) fn out_of_memory(
        &mut self,
        task: &Task<'a>,
        memcg: GroupId,
    ) -> Result<Victim, Error> {
        let (tasks, scheduler, now) = (&mut self.tasks, &mut self.scheduler, self.memory.cpu.now());
        OomControl::new(tasks, scheduler, &mut self.memory, memcg).out_of_memory(task, now)
    }
}
