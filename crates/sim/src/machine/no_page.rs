//! What becomes of a task that gets no page: somebody is killed, or it waits.

use mm::units::Nanos;

use crate::error::Error;
use crate::machine::state::Stop;
use crate::machine::system::System;
use crate::machine::task::Task;
use crate::mm::memcontrol::group_id::{GroupId, ROOT};
use crate::mm::oom_kill::{OomControl, Victim};
use crate::sched::core::Sleep;

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

    /// A charge failed after all retries: a process of the group goes (`mem_cgroup_oom`). The task
    /// itself, where it is the one, tries as often again before it ends; where nobody may be killed
    /// it tries for ever.
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
            let at = self.memory.cpu.clock.expiry(now, 1);
            self.wake_at(task, at);
            return Ok(Some(Stop::Wait(Sleep::Idle)));
        }
        Ok(None)
    }

    /// Lets the OOM killer choose in a group, or in the machine ([`OomControl::out_of_memory`]).
    pub(super) fn out_of_memory(
        &mut self,
        task: &Task<'a>,
        memcg: GroupId,
        now: Nanos,
    ) -> Result<Victim, Error> {
        let (tasks, scheduler) = (&mut self.tasks, &mut self.scheduler);
        OomControl::new(tasks, scheduler, &mut self.memory, memcg).out_of_memory(task, now)
    }
}
