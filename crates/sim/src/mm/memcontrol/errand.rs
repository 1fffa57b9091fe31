//! Reclaim that a task does for a group and not for a page it needs: above `memory.high`, after a
//! limit was lowered, or because `memory.reclaim` was written.

use alloc::vec::Vec;

use mm::rules::Mechanism;
use mm::units::Nanos;

use super::{Event, RETRIES};
use crate::mm::memcontrol::group_id::GroupId;
use crate::mm::memcontrol::state::Groups;
use crate::mm::page_alloc::state::DirectReclaim;
use crate::mm::page_alloc::state::NoPage;
use crate::mm::parts::Memory;
use crate::mm::vmscan::state::BATCH;
use crate::sched::cpu::Cpu;

/// Reclaim that a task has to do before it goes on.
#[derive(Clone, Debug)]
pub(crate) struct Errand {
    purpose: Purpose,
    /// The round under way.
    reclaim: Option<DirectReclaim>,
    /// Fruitless rounds that are left.
    retries: u32,
}

#[derive(Clone, Debug)]
enum Purpose {
    /// The task's group, or one above it, is above its high limit.
    AboveHigh {
        group: GroupId,
        /// Pages that the task charged while it was so.
        pages: u64,
        /// Groups that the round under way has still to reclaim, and what it got so far.
        round: Vec<GroupId>,
        got: u64,
        again: bool,
    },
    /// The group's `memory.high` or `memory.max` was written.
    Lower {
        group: GroupId,
        limit: Limit,
        drained: bool,
    },
    /// Proactive reclaim.
    Proactive {
        group: GroupId,
        left: u64,
        swappiness: u64,
    },
}

/// A limit to which a group comes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    High,
    Max,
}

/// How an errand stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// It is done.
    Done,
    /// It is done, and the task is held up for a while.
    Sleep(Nanos),
    /// It waits for a disk, or has used its time.
    NotYet(NoPage),
    /// A process of the group has to go; afterwards it goes on.
    Kill(GroupId),
}

impl Errand {
    fn new(purpose: Purpose) -> Self {
        Self {
            purpose,
            reclaim: None,
            retries: RETRIES,
        }
    }

    /// A task of the group charged `pages` pages above the high limit.
    pub(crate) fn above_high(group: GroupId, pages: u64) -> Self {
        Self::new(Purpose::AboveHigh {
            group,
            pages,
            round: Vec::new(),
            got: 0,
            again: false,
        })
    }

    /// A limit of the group was written.
    pub(crate) fn lower(group: GroupId, limit: Limit) -> Self {
        Self::new(Purpose::Lower {
            group,
            limit,
            drained: false,
        })
    }

    /// `memory.reclaim` was written.
    pub(crate) fn proactive(group: GroupId, pages: u64, swappiness: u64) -> Self {
        Self::new(Purpose::Proactive {
            group,
            left: pages,
            swappiness,
        })
    }
}

impl Memory {
    /// Goes on with an errand.
    pub(crate) fn run_errand(&mut self, errand: &mut Errand) -> Came {
        loop {
            if let Some(reclaim) = &mut errand.reclaim {
                match self.run_reclaim(reclaim) {
                    Ok(got) => errand.account(got),
                    Err(why) => return Came::NotYet(why),
                }
            }
            let next = match errand.purpose {
                Purpose::AboveHigh { .. } => errand.come_below_high(&self.cpu, &mut self.groups),
                Purpose::Lower { .. } => errand.come_down(&self.cpu, &mut self.groups),
                Purpose::Proactive { .. } => errand.reclaim_proactively(&self.cpu),
            };
            match next {
                Ok(reclaim) => errand.reclaim = Some(reclaim),
                Err(came) => return came,
            }
        }
    }
}

impl Groups {
    /// No group is above its high limit of memory; one may be above that of swap.
    fn held_up_for_swap(&self, group: GroupId, pages: u64) -> Result<DirectReclaim, Came> {
        let penalty = self.high_penalty(group, pages);
        Err(penalty.map_or(Came::Done, Came::Sleep))
    }

    fn above(&self, group: GroupId, limit: Limit) -> u64 {
        let memory = self.get(group).memory;
        let limit = match limit {
            Limit::High => memory.high,
            Limit::Max => memory.max,
        };
        memory.usage.saturating_sub(limit)
    }
}

impl Errand {
    /// What a round got.
    fn account(&mut self, reclaimed: u64) {
        self.reclaim = None;
        match &mut self.purpose {
            // Its rounds are counted when all groups had their turn.
            Purpose::AboveHigh { got, .. } => *got += reclaimed,
            Purpose::Lower { .. } => self.retries -= u32::from(reclaimed == 0),
            Purpose::Proactive { left, .. } => {
                *left = left.saturating_sub(reclaimed);
                self.retries -= u32::from(reclaimed == 0);
            }
        }
    }
}

impl Errand {
    /// Each group above its limit is reclaimed, the task's own first; then again, in batches, as
    /// long as it would have to sleep and reclaim finds something (`mem_cgroup_handle_over_high`).
    fn come_below_high(&mut self, cpu: &Cpu, groups: &mut Groups) -> Result<DirectReclaim, Came> {
        let retries = &mut self.retries;
        let Purpose::AboveHigh {
            group,
            pages,
            round,
            got,
            again,
        } = &mut self.purpose
        else {
            return Err(Came::Done);
        };
        if round.is_empty() && *again {
            let Some(penalty) = groups.high_penalty(*group, *pages) else {
                return Err(Came::Done);
            };
            if *got == 0 {
                if *retries == 0 {
                    return Err(Came::Sleep(penalty));
                }
                *retries -= 1;
            }
        }
        if round.is_empty() {
            round.extend(groups.above_high(*group));
            round.reverse();
            *got = 0;
        }
        let goal = if *again { BATCH } else { *pages };
        match round.pop() {
            Some(target) => {
                *again |= round.is_empty();
                groups.count(target, Event::High);
                Ok(DirectReclaim::of_group(target, goal, cpu.rules.swappiness))
            }
            None => groups.held_up_for_swap(*group, *pages),
        }
    }

    /// Reclaims what is above a limit that was written (`memory_high_write`, `memory_max_write`).
    fn come_down(&mut self, cpu: &Cpu, groups: &mut Groups) -> Result<DirectReclaim, Came> {
        let Purpose::Lower {
            group,
            limit,
            drained,
        } = &mut self.purpose
        else {
            return Err(Came::Done);
        };
        if !core::mem::replace(drained, true) && groups.above(*group, *limit) > 0 {
            groups.drain_stock();
        }
        match (groups.above(*group, *limit), *limit, self.retries) {
            (0, ..) | (_, Limit::High, 0) => Err(Came::Done),
            (_, Limit::Max, 0) => Err(Came::Kill(*group)),
            (above, ..) => {
                let reclaim = DirectReclaim::of_group(*group, above, cpu.rules.swappiness);
                Ok(reclaim.on_order())
            }
        }
    }

    /// Until as much was reclaimed as was asked for: since 6.8 a quarter of it at a time.
    fn reclaim_proactively(&mut self, cpu: &Cpu) -> Result<DirectReclaim, Came> {
        let Purpose::Proactive {
            group,
            left,
            swappiness,
        } = self.purpose
        else {
            return Err(Came::Done);
        };
        if left == 0 || self.retries == 0 {
            return Err(Came::Done);
        }
        let goal = match cpu.rules.has(Mechanism::ProactiveInQuarters) {
            true => (left / 4).max(BATCH),
            false => left,
        };
        Ok(DirectReclaim::of_group(group, goal, swappiness).on_order())
    }
}
