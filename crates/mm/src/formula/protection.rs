//! How much of a control group reclaim leaves alone.
//!
//! `effective_protection` in `mm/page_counter.c` (6.12 and 7.2; in 6.1 in `mm/memcontrol.c`).

use crate::formula::mul_div;
use crate::units::Pages;

/// A group and its parent, all for the same file (`memory.min` or `memory.low`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Pages that the group uses.
    pub usage: Pages,
    /// Pages that the parent uses.
    pub parent_usage: Pages,
    /// The group's own setting.
    pub setting: Pages,
    /// What the parent itself is protected by.
    pub parent_effective: Pages,
    /// The sum over the parent's children of the smaller of setting and usage.
    pub siblings_protected: Pages,
}

/// What becomes of a parent's protection that its children do not claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unclaimed {
    /// It protects nobody: the default of a plain cgroup2 mount.
    #[default]
    Lost,
    /// It is shared in proportion to unprotected usage: the mount option
    /// `memory_recursiveprot`, which systemd sets.
    Shared,
}

/// The protected pages of the group.
///
/// Claims beyond what the parent has are cut in proportion.
#[must_use]
pub fn effective(inputs: Inputs, unclaimed: Unclaimed) -> Pages {
    let protected = inputs.usage.min(inputs.setting);
    let claimed = inputs.siblings_protected;
    let parent = inputs.parent_effective;
    if claimed > parent {
        return Pages(mul_div(protected.0, parent.0, claimed.0));
    }
    let shares = unclaimed == Unclaimed::Shared
        && parent > claimed
        && inputs.parent_usage > claimed
        && inputs.usage > protected;
    if !shares {
        return protected;
    }
    let left = parent.saturating_sub(claimed);
    let bare = inputs.usage.saturating_sub(protected);
    let all_bare = inputs.parent_usage.saturating_sub(claimed);
    let share = Pages(mul_div(left.0, bare.0, all_bare.0));
    protected.saturating_add(share)
}

/// Pages of a list that reclaim leaves in the reckoning however much is protected
/// (`SWAP_CLUSTER_MAX`).
const LEAST: Pages = Pages(32);

/// Of a list's pages, those of which a scan's priority takes its share (`get_scan_count`): the
/// share of the group that is protected stays out, 32 pages are in at least.
#[must_use]
pub fn open_to_scan(list: Pages, usage: Pages, protected: Pages) -> Pages {
    let size = usage.max(protected).saturating_add(Pages(1));
    let kept = Pages(mul_div(list.0, protected.0, size.0));
    list.saturating_sub(kept).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_takes_its_share_of_what_is_not_protected() {
        let open = |protected| open_to_scan(Pages(1000), Pages(1999), Pages(protected));
        assert_eq!(open(0), Pages(1000));
        assert_eq!(open(500), Pages(750), "a quarter of the group is protected");
        assert_eq!(open(1999), Pages(32), "never nothing");
        assert_eq!(open(1 << 40), Pages(32));
    }

    const GROUP: Inputs = Inputs {
        usage: Pages(1000),
        parent_usage: Pages(3000),
        setting: Pages(400),
        parent_effective: Pages(1000),
        siblings_protected: Pages(600),
    };

    #[test]
    fn a_claim_that_the_parent_covers_holds() {
        assert_eq!(effective(GROUP, Unclaimed::Lost), Pages(400));
        let small = Inputs {
            usage: Pages(100),
            ..GROUP
        };
        assert_eq!(effective(small, Unclaimed::Lost), Pages(100));
    }

    #[test]
    fn claims_beyond_the_parent_are_cut_in_proportion() {
        let crowded = Inputs {
            siblings_protected: Pages(2000),
            ..GROUP
        };
        assert_eq!(effective(crowded, Unclaimed::Shared), Pages(200));
    }

    #[test]
    fn what_nobody_claims_is_shared_by_bare_usage() {
        // 400 left, of 2400 bare pages 600 are this group's.
        assert_eq!(effective(GROUP, Unclaimed::Shared), Pages(500));
    }
}
