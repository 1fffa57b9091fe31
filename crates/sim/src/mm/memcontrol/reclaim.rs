//! What reclaim asks of the groups: which it passes over, and how much of each it scans.

use mm::formula::protection::{Inputs, effective, open_to_scan};
use mm::units::Pages;

use crate::mm::memcontrol::group_id::{GroupId, ROOT};
use crate::mm::memcontrol::state::{Groups, Protection};

/// How a group stands to reclaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is scanned.
    Bare,
    /// It is scanned only if nothing else was found, and that is counted.
    BelowLow,
    /// It is not scanned.
    BelowMin,
}

impl Groups {
    /// Works out what protects the group from reclaim of `target` and what is below it; its parent
    /// comes first.
    pub(crate) fn calculate_protection(&mut self, target: GroupId, group: GroupId) {
        if group == target || group == ROOT {
            return;
        }
        let own = self.get(group);
        let parent = own.parent.unwrap_or(ROOT);
        self.get_mut(group).protection = match parent == target {
            true => self.get(group).setting,
            false => Protection {
                min: self.effective(group, parent, |p| p.min),
                low: self.effective(group, parent, |p| p.low),
            },
        };
    }

    fn effective(&self, group: GroupId, parent: GroupId, of: fn(&Protection) -> u64) -> u64 {
        let claim = |id: GroupId| {
            let child = self.get(id);
            child.memory.usage.min(of(&child.setting))
        };
        let siblings = self.all().filter(|&id| self.get(id).parent == Some(parent));
        let inputs = Inputs {
            usage: Pages(self.get(group).memory.usage),
            parent_usage: Pages(self.get(parent).memory.usage),
            setting: Pages(of(&self.get(group).setting)),
            parent_effective: Pages(of(&self.get(parent).protection)),
            siblings_protected: Pages(siblings.map(claim).sum()),
        };
        effective(inputs, self.unclaimed).0
    }

    /// Of a list's `pages`, those of which a priority takes its share: what is protected stays out.
    /// With `low_too` the low limit protects no more.
    pub(crate) fn open_to_scan(
        &self,
        target: GroupId,
        group: GroupId,
        pages: u64,
        low_too: bool,
    ) -> u64 {
        let own = self.get(group);
        let Protection { min, low } = own.protection;
        if group == target || group == ROOT || (min == 0 && low == 0) {
            return pages;
        }
        let kept = match low_too {
            false => low.max(min),
            true => min,
        };
        open_to_scan(Pages(pages), Pages(own.memory.usage), Pages(kept)).0
    }

    /// Whether it is the low limit, and not the minimum alone, that keeps pages of the group.
    pub(crate) fn is_kept_by_low(&self, target: GroupId, group: GroupId) -> bool {
        let Protection { min, low } = self.get(group).protection;
        group != target && group != ROOT && low > min
    }

    /// How the group stands to reclaim of `target`; after [`Self::calculate_protection`].
    pub(crate) fn standing(&self, target: GroupId, group: GroupId) -> Standing {
        let own = self.get(group);
        if group == target || group == ROOT {
            Standing::Bare
        } else if own.protection.min >= own.memory.usage {
            Standing::BelowMin
        } else if own.protection.low >= own.memory.usage {
            Standing::BelowLow
        } else {
            Standing::Bare
        }
    }
}
