//! MemAvailable, term by term: what can be had without swapping.
//!
//! `si_mem_available` (`mm/show_mem.c`, before 6.4 `mm/page_alloc.c`); compared with 6.1, 6.12 and
//! 6.18. It subtracts the *high* marks, in `totalreserve`, which is why raising
//! `vm.min_free_kbytes` by x lowers it by 1.5 x.

use crate::units::Pages;

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
    /// Taken off: pages that no user can have.
    pub totalreserve: Pages,
    /// Added: page cache, all but the part that is needed.
    pub file: Pages,
    /// Added: reclaimable kernel memory, all but the part that is needed.
    pub reclaimable: Pages,
    /// What they come to; never below zero.
    pub total: Pages,
}

/// Adds up the estimate. Of page cache and of reclaimable kernel memory half is taken to be needed,
/// but no more than the sum of the low marks.
#[must_use]
pub fn available(inputs: Inputs) -> Available {
    let usable = |amount: Pages| {
        let needed = Pages(amount.0 / 2).min(inputs.low_watermarks);
        amount.saturating_sub(needed)
    };
    let (file, reclaimable) = (usable(inputs.file), usable(inputs.reclaimable));
    let sum = inputs.free.saturating_add(file).saturating_add(reclaimable);
    Available {
        free: inputs.free,
        totalreserve: inputs.totalreserve,
        file,
        reclaimable,
        total: sum.saturating_sub(inputs.totalreserve),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_3840_mib_machine_on_6_1_has_900872_pages() {
        let inputs = Inputs {
            free: Pages(3_717_668 / 4),
            totalreserve: Pages(3649 + 103 + 700 + 20_391 + 4845),
            file: Pages(0),
            reclaimable: Pages(9140 / 4),
            low_watermarks: Pages(86 + 16_993 + 4038),
        };
        assert_eq!(available(inputs).total, Pages(3_603_488 / 4));
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
