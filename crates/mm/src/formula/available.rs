//! MemAvailable, term by term: what can be had without swapping.
//!
//! `si_mem_available` (`mm/show_mem.c`, before 6.4 `mm/page_alloc.c`); compared with 4.1, 4.18,
//! 6.1, 6.12 and 6.18. Since 4.5 it subtracts the *high* marks, in `totalreserve`, which is why
//! raising `vm.min_free_kbytes` by x lowers it by 1.5 x. Before 3.14 no kernel prints it.

use crate::units::Pages;

/// What is taken off, and what is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// The low marks of all zones are taken off free pages. So from 3.14 to 4.4.
    LowMarks,
    /// `totalreserve` is. So from 4.5 to 4.16, and since 4.20.
    #[default]
    Reserve,
    /// So too, and what an item without a name holds is added. So from 4.17 to 4.19.
    Nameless,
}

/// What the estimate is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Free pages (`MemFree`).
    pub free: Pages,
    /// [`crate::formula::reserve::totalreserve`].
    pub totalreserve: Pages,
    /// Page cache on both file lists.
    pub file: Pages,
    /// Slab and other kernel memory that can be reclaimed (`KReclaimable`).
    pub reclaimable: Pages,
    /// The low watermarks of all zones, boost and unpopulated zones included.
    pub low_watermarks: Pages,
}

/// The terms, in the order in which they are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Available {
    /// Free pages.
    pub free: Pages,
    /// Taken off: pages that no user can have; by [`Rule::LowMarks`] the low marks.
    pub totalreserve: Pages,
    /// Added: page cache, all but the part that is needed.
    pub file: Pages,
    /// Added: reclaimable kernel memory, all but the part that is needed.
    pub reclaimable: Pages,
    /// Added: the item without a name, in pages; by [`Rule::Nameless`] alone.
    pub nameless: Pages,
    /// What they come to; never below zero.
    pub total: Pages,
}

/// Adds up the estimate. Of page cache and of reclaimable kernel memory half is taken to be needed,
/// but no more than the sum of the low marks.
#[must_use]
pub fn available(inputs: Inputs) -> Available {
    available_by(Rule::Reserve, inputs, Pages::ZERO)
}

/// Adds up the estimate by the rule of a release; `nameless` are the pages of the item without a
/// name, its bytes over the page size.
#[must_use]
pub fn available_by(rule: Rule, inputs: Inputs, nameless: Pages) -> Available {
    let taken = match rule {
        Rule::LowMarks => inputs.low_watermarks,
        Rule::Reserve | Rule::Nameless => inputs.totalreserve,
    };
    let nameless = match rule {
        Rule::Nameless => nameless,
        Rule::LowMarks | Rule::Reserve => Pages::ZERO,
    };
    let usable = |amount: Pages| {
        let needed = Pages(amount.0 / 2).min(inputs.low_watermarks);
        amount.saturating_sub(needed)
    };
    let (file, reclaimable) = (usable(inputs.file), usable(inputs.reclaimable));
    let sum = inputs.free.saturating_add(file).saturating_add(reclaimable);
    Available {
        free: inputs.free,
        totalreserve: taken,
        file,
        reclaimable,
        nameless,
        total: sum.saturating_add(nameless).saturating_sub(taken),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Free, totalreserve, file, reclaimable, low marks, and MemAvailable as the kernel told it, of
    /// machines with 3840 MiB.
    const LINUX_6_1: [[u64; 6]; 9] = [
        [929_417, 29_688, 0, 2285, 21_117, 900_872],
        [518_628, 564_743, 412_400, 3661, 468_748, 161_916],
        [486_156, 564_743, 445_106, 3661, 468_748, 145_797],
        [486_156, 29_689, 445_106, 3661, 21_117, 882_287],
        [328_165, 29_689, 602_905, 3661, 21_117, 882_095],
        [328_859, 564_743, 602_145, 3661, 468_748, 67_020],
        [539_499, 564_743, 91_614, 3694, 468_748, 22_410],
        [612_785, 564_743, 54_108, 3694, 468_748, 76_943],
        [595_882, 29_689, 54_817, 3696, 21_117, 601_741],
    ];
    const LINUX_6_12: [[u64; 6]; 5] = [
        [929_182, 29_686, 0, 163, 21_150, 899_578],
        [512_706, 564_739, 413_360, 1549, 468_780, 155_422],
        [326_856, 564_739, 602_863, 1549, 468_780, 64_324],
        [326_236, 29_686, 602_902, 1549, 21_150, 879_077],
        [237_847, 29_686, 2869, 216, 21_150, 209_704],
    ];

    #[test]
    fn it_is_what_two_kernels_told_idle_full_and_reserved() {
        for row in LINUX_6_1.into_iter().chain(LINUX_6_12) {
            let [free, totalreserve, file, reclaimable, low_watermarks, told] = row.map(Pages);
            let inputs = Inputs {
                free,
                totalreserve,
                file,
                reclaimable,
                low_watermarks,
            };
            assert_eq!(available(inputs).total, told, "{row:?}");
        }
    }

    #[test]
    fn each_release_takes_off_and_adds_its_own() {
        let inputs = Inputs {
            free: Pages(504),
            totalreserve: Pages(459),
            file: Pages(7962),
            reclaimable: Pages(2684),
            low_watermarks: Pages(382),
        };
        let total = |rule| available_by(rule, inputs, Pages(131)).total;
        assert_eq!(total(Rule::LowMarks), Pages(10_004), "as 4.1.25 printed");
        assert_eq!(total(Rule::Reserve), Pages(9927));
        assert_eq!(total(Rule::Nameless), Pages(9927 + 131));
        assert_eq!(available(inputs).total, total(Rule::Reserve));
    }

    #[test]
    fn page_cache_counts_but_for_half_or_the_low_marks() {
        let inputs = |file| Inputs {
            file: Pages(file),
            low_watermarks: Pages(100),
            ..Inputs::default()
        };
        assert_eq!(available(inputs(150)).total, Pages(75));
        assert_eq!(available(inputs(1000)).total, Pages(900));
    }

    #[test]
    fn it_never_falls_below_zero() {
        let inputs = Inputs {
            free: Pages(5),
            totalreserve: Pages(10),
            ..Inputs::default()
        };
        assert_eq!(available(inputs).total, Pages(0));
    }
}
