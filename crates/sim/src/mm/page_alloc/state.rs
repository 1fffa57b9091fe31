//! What an allocation in hand keeps from one attempt to the next.

use crate::mm::vmscan::Control;
use crate::mm::vmscan::scan_control::DEF_PRIORITY;
use crate::mm::vmscan::state::Pass;
use alloc::boxed::Box;

use crate::mm::memcontrol::group_id::GroupId;
use crate::mm::memcontrol::state::RETRIES;

/// A charge that has not succeeded yet, kept from one attempt to the next.
#[derive(Clone, Debug)]
pub(crate) struct Charging {
    /// The group that has paid for a page which is not there yet.
    pub(crate) paid: Option<GroupId>,
    /// Reclaim under way, and the group whose limit it is for.
    pub(crate) reclaim: Option<(GroupId, DirectReclaim)>,
    /// What the stock held has been given back.
    pub(crate) drained: bool,
    /// Fruitless rounds that are left.
    pub(crate) retries: u32,
}

impl Default for Charging {
    fn default() -> Self {
        Self {
            paid: None,
            reclaim: None,
            drained: false,
            retries: RETRIES,
        }
    }
}

/// How much a request for a page is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// One direct reclaim (`__GFP_NORETRY`): a page that is read ahead.
    Once,
    /// Direct reclaim until the OOM killer has to be called.
    Full,
    /// As much, for a page that is to be written (`__GFP_WRITE`).
    Write,
}

/// Why there is no page now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPage {
    /// The effort was in vain. If it was a full one, the OOM killer is due.
    OutOfMemory,
    /// A disk has to take what reclaim writes, or what is read: ask again when it has done
    /// something. To read a page that reclaim should not have taken is a stall for memory.
    Congested { disk: usize, refaults: bool },
    /// Direct reclaim finds little but what has to be written: ask again after that many ticks.
    Throttled { ticks: u64 },
    /// kswapd has just been woken, or direct reclaim has used its time slice: ask again when others
    /// have had the CPU, if they have a claim to it.
    Again,
    /// The OOM killer is due in this control group.
    OverLimit { group: usize },
}

impl NoPage {
    /// Whether to ask again rather than to do without.
    pub(crate) fn is_over_soon(self) -> bool {
        self != Self::OutOfMemory
    }
}

/// An allocation that has not found its page yet, kept from one attempt to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allocation {
    /// Rounds of direct reclaim without progress.
    pub(crate) fruitless: u32,
    /// The round under way.
    pub(crate) reclaim: Option<DirectReclaim>,
    /// What its control group has to do with it.
    pub(crate) charging: Charging,
}

/// A direct reclaim under way.
#[derive(Clone, Debug)]
pub(crate) struct DirectReclaim {
    pub(crate) control: Control,
    pub(crate) pass: Option<Box<Pass>>,
    pub(crate) reclaimed: u64,
    /// It is a stall for memory.
    pub(crate) is_stall: bool,
    pub(crate) begun: bool,
    /// It has begun again, with all groups (`memcg_full_walk`).
    walked_fully: bool,
    pub(crate) over: bool,
}

impl DirectReclaim {
    pub(crate) fn new(control: Control) -> Self {
        Self {
            control,
            pass: None,
            reclaimed: 0,
            is_stall: true,
            begun: false,
            walked_fully: false,
            over: false,
        }
    }

    /// It is somebody's order, and nobody waits for a page: no stall for memory.
    pub(crate) fn on_order(self) -> Self {
        Self {
            is_stall: false,
            ..self
        }
    }

    /// The loop of `do_try_to_free_pages`: larger shares until there is a batch; where even the
    /// whole lists gave nothing, once more if it `walks_twice`, then with active pages deactivated
    /// whatever the lists look like, and then with the groups that are below their low limit.
    pub(crate) fn finish_pass(&mut self, pass: &Pass, walks_twice: bool) {
        self.reclaimed += pass.reclaimed;
        self.control.skipped_deactivate |= pass.control.skipped_deactivate;
        self.control.low_skipped |= pass.control.low_skipped;
        if self.reclaimed >= self.control.goal {
            self.over = true;
        } else if self.control.priority > 0 {
            self.control.priority -= 1;
        } else if self.reclaimed == 0 && walks_twice && !self.walked_fully {
            self.walked_fully = true;
            self.control.priority = DEF_PRIORITY;
        } else if self.reclaimed == 0 && self.control.skipped_deactivate {
            self.control.skipped_deactivate = false;
            self.control.force_deactivate = true;
            self.control.priority = DEF_PRIORITY;
        } else if self.reclaimed == 0 && self.control.low_skipped {
            self.control.low_skipped = false;
            self.control.low_too = true;
            self.control.force_deactivate = false;
            self.control.priority = DEF_PRIORITY;
        } else {
            self.over = true;
        }
    }
}
