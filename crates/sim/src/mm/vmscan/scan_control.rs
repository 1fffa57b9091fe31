//! What a reclaim is about: who asked for it, for which group and zones, and how hard it tries.

use crate::mm::lruvec::state::ROOT;

/// The priority at which a scan begins (`DEF_PRIORITY`): a 4096th of each list.
pub(crate) const DEF_PRIORITY: u32 = 12;

/// Who reclaims: it decides the counters and how a scan ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reclaimer {
    Kswapd,
    Direct,
}

/// What a reclaim is about (`struct scan_control`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Control {
    pub(crate) reclaimer: Reclaimer,
    /// The group whose pages, and those of the groups below it, are reclaimed.
    pub(crate) target: usize,
    pub(crate) priority: u32,
    /// Pages wanted of a pass.
    pub(crate) goal: u64,
    pub(crate) swappiness: u64,
    /// Only pages of the zones up to this one are reclaimed.
    pub(crate) highest: usize,
    /// Anonymous pages may go to swap.
    pub(crate) may_swap: bool,
    /// Active pages are deactivated whatever the lists look like.
    pub(crate) force_deactivate: bool,
    /// A list was left alone because its active pages may not be deactivated.
    pub(crate) skipped_deactivate: bool,
    /// Groups below their low limit are reclaimed too.
    pub(crate) low_too: bool,
    /// Pages were left alone because a low limit protects them.
    pub(crate) low_skipped: bool,
    /// The page cache is not trimmed alone: that got nothing.
    pub(crate) no_cache_trim: bool,
}

impl Control {
    pub(crate) fn new(reclaimer: Reclaimer, goal: u64, swappiness: u64) -> Self {
        Self {
            reclaimer,
            target: ROOT,
            priority: DEF_PRIORITY,
            goal,
            swappiness,
            highest: usize::MAX,
            may_swap: true,
            force_deactivate: false,
            skipped_deactivate: false,
            low_too: false,
            low_skipped: false,
            no_cache_trim: false,
        }
    }
}
