//! How much may be dirty: the background threshold, from which flusher threads write, and the dirty
//! threshold, at which writers wait.
//!
//! `global_dirtyable_memory` and `domain_dirty_limits` in `mm/page-writeback.c`; equal to
//! `nr_dirty_background_threshold` and `nr_dirty_threshold` in `/proc/vmstat` on 3.2, 4.1, 4.18,
//! 6.1, 6.12 and 6.18. With high memory the dirtyable pages are fewer.

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

/// What ratios are taken of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DirtyableRule {
    /// Free pages, the file lists, and the anonymous lists while swap is free. So before 3.3.
    WithAnonymous,
    /// So too, less the reserve. So from 3.3 to 3.13.
    WithAnonymousBeyondReserve,
    /// Free pages beyond the reserve, and the file lists. So since 3.14.
    #[default]
    FileBeyondReserve,
}

/// What a percent of the dirtyable memory is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PercentRule {
    /// A whole hundredth. So before 4.7.
    Hundredths,
    /// In units of 1/page size, rounded down: 20 % of a 4 KiB page is 819/4096. So since 4.7.
    #[default]
    OfPageSize,
}

/// What the dirtyable memory is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dirtyable {
    /// Free pages.
    pub free: Pages,
    /// [`crate::formula::reserve::totalreserve`].
    pub totalreserve: Pages,
    /// Pages on both file lists.
    pub file: Pages,
    /// Pages on both anonymous lists, where any swap is free; else none.
    pub anonymous: Pages,
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

    fn pages(self, dirtyable: Pages, page: PageSize) -> Pages {
        self.pages_by(PercentRule::OfPageSize, dirtyable, page)
    }

    fn pages_by(self, rule: PercentRule, dirtyable: Pages, page: PageSize) -> Pages {
        match (self, rule) {
            (Self::Bytes(bytes), _) => bytes.pages_ceil(page),
            (Self::Ratio(percent), PercentRule::Hundredths) => {
                Pages(mul_div(dirtyable.0, percent, 100))
            }
            (Self::Ratio(percent), PercentRule::OfPageSize) => {
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

impl Dirtyable {
    /// The memory by the rule of a release, without what is in high memory. Never zero.
    #[must_use]
    pub fn by(self, rule: DirtyableRule) -> Pages {
        match rule {
            DirtyableRule::WithAnonymous => dirtyable(
                self.free.saturating_add(self.anonymous),
                Pages::ZERO,
                self.file,
            ),
            DirtyableRule::WithAnonymousBeyondReserve => dirtyable(
                self.free
                    .saturating_add(self.file)
                    .saturating_add(self.anonymous),
                self.totalreserve,
                Pages::ZERO,
            ),
            DirtyableRule::FileBeyondReserve => dirtyable(self.free, self.totalreserve, self.file),
        }
    }

    /// Less what high memory has of it, where that may not be dirty (`vm.highmem_is_dirtyable` is 0
    /// as the kernel starts; `highmem_dirtyable_memory`). Never zero.
    #[must_use]
    pub fn below(self, high: Self, rule: DirtyableRule) -> Pages {
        let (all, high) = (self.by(rule), high.by(rule).saturating_sub(Pages(1)));
        all.saturating_sub(high).max(Pages(1))
    }
}

/// The thresholds by the percent rule of a release.
#[must_use]
pub fn thresholds_by(
    rule: PercentRule,
    [background, dirty]: [Amount; 2],
    dirtyable: Pages,
    page: PageSize,
) -> Thresholds {
    let pages = |amount: Amount| amount.pages_by(rule, dirtyable, page);
    Thresholds::of(pages(background), pages(dirty))
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
    fn before_3_3_the_reserve_counts_and_so_do_anonymous_pages_while_swap_is_free() {
        let memory = Dirtyable {
            free: Pages(1_435_033),
            totalreserve: Pages(36_000),
            file: Pages(458_464),
            anonymous: Pages(19_004),
        };
        let of = memory.by(DirtyableRule::WithAnonymous);
        assert_eq!(of, Pages(1_912_502), "as 3.2 has it");
        let amounts = [Amount::Ratio(5), Amount::Ratio(10)];
        let limits = thresholds_by(PercentRule::Hundredths, amounts, of, PAGE);
        assert_eq!(
            (limits.background, limits.dirty),
            (Pages(95_625), Pages(191_250))
        );
        let beyond = memory.by(DirtyableRule::WithAnonymousBeyondReserve);
        assert_eq!(beyond, Pages(1_912_502 - 36_000));
        let file = memory.by(DirtyableRule::FileBeyondReserve);
        assert_eq!(file, Pages(1_912_502 - 36_000 - 19_004));
    }

    #[test]
    fn a_percent_is_a_hundredth_before_4_7() {
        let limits = |rule| {
            let amounts = [Amount::Ratio(10), Amount::Ratio(20)];
            thresholds_by(rule, amounts, Pages(8008), PAGE)
        };
        assert_eq!(limits(PercentRule::Hundredths).background, Pages(800));
        assert_eq!(limits(PercentRule::OfPageSize).background, Pages(799));
        assert_eq!(limits(PercentRule::Hundredths).dirty, Pages(1601));
    }

    #[test]
    fn what_high_memory_has_may_not_be_dirty() {
        let all = Dirtyable {
            free: Pages(1000),
            totalreserve: Pages(100),
            file: Pages(500),
            anonymous: Pages::ZERO,
        };
        let high = Dirtyable {
            free: Pages(600),
            totalreserve: Pages(50),
            file: Pages(300),
            anonymous: Pages::ZERO,
        };
        let rule = DirtyableRule::FileBeyondReserve;
        assert_eq!(all.below(high, rule), Pages(1401 - 850));
        assert_eq!(high.below(all, rule), Pages(1));
        assert_eq!(all.below(Dirtyable::default(), rule), all.by(rule));
    }

    #[test]
    fn dirtyable_memory_is_never_zero() {
        assert_eq!(dirtyable(Pages(5), Pages(10), Pages(0)), Pages(1));
    }
}
