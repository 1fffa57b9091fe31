//! `memory.high`: tasks of a group above it reclaim on their way back to user space, and where that
//! does not help they are slowed down.

use mm::formula::high_delay::{Excess, ticks};
use mm::units::{Nanos, Pages};

use crate::mm::memcontrol::group_id::{GroupId, ROOT};
use crate::mm::memcontrol::state::{Counter, Groups};
use crate::sched::timer::HZ;

impl Groups {
    /// Whether the group or an ancestor is above its high limit of memory or of swap.
    pub(crate) fn is_above_high(&self, group: GroupId) -> bool {
        self.upwards(group).any(|id| {
            let group = self.get(id);
            group.memory.is_above_high() || group.swap.is_above_high()
        })
    }

    /// The groups from this one up that are above their high limit of memory: each is reclaimed.
    pub(crate) fn above_high(&self, group: GroupId) -> impl Iterator<Item = GroupId> + '_ {
        let above = |&id: &GroupId| id != ROOT && self.get(id).memory.is_above_high();
        self.upwards(group).filter(above)
    }

    /// How long a task of the group must sleep that charged `pages` pages above the high limit;
    /// `None` where it is not worth it.
    pub(crate) fn high_penalty(&self, group: GroupId, pages: u64) -> Option<Nanos> {
        let worst = |of: fn(&crate::mm::memcontrol::state::Group) -> Counter| {
            let overages = self.upwards(group).map(|id| of(self.get(id)).overage());
            overages.max().unwrap_or(0)
        };
        let ticks = ticks(worst(|g| g.memory), worst(|g| g.swap), Pages(pages), HZ);
        (ticks > 0).then(|| Nanos(ticks * (Nanos::SECOND.0 / HZ)))
    }
}

impl Counter {
    fn is_above_high(&self) -> bool {
        self.usage > self.high
    }

    fn overage(self) -> u64 {
        let (usage, high) = (Pages(self.usage), Pages(self.high));
        Excess { usage, high }.overage()
    }
}
