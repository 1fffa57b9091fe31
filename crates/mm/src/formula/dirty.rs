//! How much may be dirty: the background threshold, from which flusher threads write, and the dirty
//! threshold, at which writers wait.
//!
//! `global_dirtyable_memory` and `domain_dirty_limits` in `mm/page-writeback.c`; equal to
//! `nr_dirty_background_threshold` and `nr_dirty_threshold` in `/proc/vmstat` on 6.1, 6.12 and 6.18
//! (64-bit kernels; with high memory the dirtyable pages are fewer).

use crate::formula::mul_div;
use crate::units::{Bytes, PageSize, Pages};

/// One threshold as it is set: `vm.dirty_ratio` or its exclusive partner `vm.dirty_bytes`, and
/// likewise for the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Percent of the dirtyable memory (0 to 100); the bytes file reads 0.
    Ratio(u64),
    /// So many bytes; the ratio file reads 0.
    Bytes(Bytes),
}

/// Both thresholds in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thresholds {
    /// Above it flusher threads write.
    pub background: Pages,
    /// At it writers wait until pages are clean.
    pub dirty: Pages,
}

impl Amount {
    /// From the two files of a pair: bytes rule unless they are 0.
    #[must_use]
    pub fn from_pair(ratio: u64, bytes: Bytes) -> Self {
        match bytes {
            Bytes::ZERO => Self::Ratio(ratio),
            bytes => Self::Bytes(bytes),
        }
    }

    /// The ratio is taken in units of 1/page size, rounded down: 20 % of a 4 KiB page is 819/4096.
    fn pages(self, dirtyable: Pages, page: PageSize) -> Pages {
        match self {
            Self::Bytes(bytes) => bytes.pages_ceil(page),
            Self::Ratio(percent) => {
                let ratio = percent.saturating_mul(page.bytes()) / 100;
                Pages(mul_div(dirtyable.0, ratio, page.bytes()))
            }
        }
    }
}

/// The memory that ratios are taken of in a control group with `file` pages on its file lists:
/// these, and of its `headroom` (what it and its ancestors may still take) as much as the machine
/// has `clean` beyond the group's own (`mdtc_calc_avail`). Of the group's, `dirty` pages are dirty
/// or being written.
#[must_use]
pub fn group_dirtyable(file: Pages, dirty: Pages, headroom: Pages, clean: Pages) -> Pages {
    let own_clean = file.saturating_sub(dirty);
    let others = clean.saturating_sub(own_clean);
    file.saturating_add(headroom.min(others))
}

/// The thresholds of a group with so much dirtyable memory of its `own`: its ratios are the
/// machine's, and bytes count as their ratio to what is dirtyable there.
#[must_use]
pub fn group_thresholds(
    background: Amount,
    dirty: Amount,
    machine: Pages,
    own: Pages,
    page: PageSize,
) -> Thresholds {
    let pages = |amount: Amount| match amount {
        Amount::Ratio(_) => amount.pages(own, page),
        Amount::Bytes(Bytes(bytes)) => {
            let ratio = bytes.div_ceil(machine.0.max(1)).min(page.bytes());
            Pages(mul_div(own.0, ratio, page.bytes()))
        }
    };
    Thresholds::of(pages(background), pages(dirty))
}

impl Thresholds {
    /// A background threshold that is not below the other is half of it.
    fn of(background: Pages, dirty: Pages) -> Self {
        let background = match background < dirty {
            true => background,
            false => Pages(dirty.0 / 2),
        };
        Self { background, dirty }
    }

    /// Up to here writers are not slowed at all: the mean of both thresholds
    /// (`dirty_freerun_ceiling`).
    #[must_use]
    pub fn freerun(self) -> Pages {
        Pages(self.dirty.saturating_add(self.background).0 / 2)
    }
}

/// Dirty pages from which a NUMA node with so much dirtyable memory of its `own` gives no page to
/// those who write, unless all nodes have as many (`node_dirty_limit`; tasks of real time have a
/// quarter more).
#[must_use]
pub fn node_limit(dirty: Amount, machine: Pages, own: Pages, page: PageSize) -> Pages {
    match dirty {
        Amount::Ratio(ratio) => Pages(mul_div(own.0, ratio, 100)),
        Amount::Bytes(bytes) => {
            let pages = bytes.0.div_ceil(page.bytes());
            Pages(mul_div(pages, own.0, machine.0.max(1)))
        }
    }
}

/// The memory that ratios are taken of: free pages beyond the reserve, and the file lists. Never
/// zero.
#[must_use]
pub fn dirtyable(free: Pages, totalreserve: Pages, file: Pages) -> Pages {
    let free = free.saturating_sub(totalreserve);
    free.saturating_add(file).saturating_add(Pages(1))
}

/// The thresholds. A background threshold that is not below the other becomes half of it: with both
/// at 90 % writing begins at 45 %.
#[must_use]
pub fn thresholds(
    background: Amount,
    dirty: Amount,
    dirtyable: Pages,
    page: PageSize,
) -> Thresholds {
    Thresholds::of(
        background.pages(dirtyable, page),
        dirty.pages(dirtyable, page),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: PageSize = PageSize::FOUR_KIB;

    #[test]
    fn an_idle_3840_mib_machine_on_6_1_may_have_179902_dirty_pages() {
        let reserve = Pages(3649 + 103 + 700 + 20_391 + 4845);
        let dirtyable = dirtyable(Pages(929_417), reserve, Pages(0));
        let limits = thresholds(Amount::Ratio(10), Amount::Ratio(20), dirtyable, PAGE);
        assert_eq!(limits.dirty, Pages(179_902));
        assert_eq!(limits.background, Pages(89_841));
        assert_eq!(limits.freerun(), Pages(134_871));
    }

    #[test]
    fn a_background_that_is_not_below_is_halved() {
        let both = |background, dirty| {
            thresholds(
                Amount::Ratio(background),
                Amount::Ratio(dirty),
                Pages(4096),
                PAGE,
            )
        };
        assert_eq!(both(90, 90).background, Pages(1843), "half of 3686");
        assert_eq!(both(50, 90).background, Pages(2048));
        assert_eq!(both(0, 0).background, Pages(0));
    }

    #[test]
    fn bytes_are_rounded_up_to_pages_and_rule_over_the_ratio() {
        let amount = Amount::from_pair(0, Bytes(8193));
        let limits = thresholds(Amount::Ratio(0), amount, Pages(1), PAGE);
        assert_eq!(limits.dirty, Pages(3));
        assert_eq!(Amount::from_pair(20, Bytes(0)), Amount::Ratio(20));
    }

    #[test]
    fn a_group_has_its_part_of_what_it_holds_and_may_take() {
        let own = |headroom, clean| {
            group_dirtyable(Pages(30_000), Pages(10_000), Pages(headroom), Pages(clean))
        };
        assert_eq!(own(1743, 90_000), Pages(31_743));
        assert_eq!(
            own(1743, 20_500),
            Pages(30_500),
            "no more than is clean elsewhere"
        );
        let limits = |dirty| {
            group_thresholds(
                Amount::Ratio(10),
                dirty,
                Pages(107_745),
                own(1743, 90_000),
                PAGE,
            )
        };
        assert_eq!(
            limits(Amount::Ratio(20)).dirty,
            Pages(6347),
            "as 6.12 printed"
        );
        assert_eq!(limits(Amount::Ratio(20)).background, Pages(3169));
        let bytes = Amount::Bytes(Bytes(64 << 20));
        assert_eq!(limits(bytes).dirty, Pages(31_743 * 623 / 4096));
    }

    #[test]
    fn a_node_has_the_share_of_the_dirty_pages_that_it_has_of_the_memory() {
        let limit = |dirty| node_limit(dirty, Pages(100_000), Pages(25_000), PAGE);
        assert_eq!(limit(Amount::Ratio(40)), Pages(10_000));
        assert_eq!(limit(Amount::Bytes(Bytes(8000 * 4096 + 1))), Pages(2000));
    }

    #[test]
    fn dirtyable_memory_is_never_zero() {
        assert_eq!(dirtyable(Pages(5), Pages(10), Pages(0)), Pages(1));
    }
}
