//! When the inactive list is too short.
//!
//! `inactive_is_low` in `mm/vmscan.c`; unchanged from 6.1 to 7.2.

use crate::formula::mul_div;
use crate::units::{PageSize, Pages};

/// How many active pages one inactive page is good for: 1 below 1 GiB, then the root of ten times
/// the gigabytes.
#[must_use]
pub fn inactive_ratio(both_lists: Pages, page: PageSize) -> u64 {
    let gib = mul_div(both_lists.0, page.bytes(), 1 << 30);
    match gib {
        0 => 1,
        gib => gib.saturating_mul(10).isqrt(),
    }
}

/// Whether pages must move from the active list to the inactive one.
#[must_use]
pub fn inactive_is_low(inactive: Pages, active: Pages, page: PageSize) -> bool {
    let ratio = inactive_ratio(inactive.saturating_add(active), page);
    inactive.0.saturating_mul(ratio) < active.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: PageSize = PageSize::FOUR_KIB;

    #[test]
    fn the_ratio_grows_with_the_root_of_the_size() {
        let ratio = |gib: u64| inactive_ratio(Pages(gib << 18), PAGE);
        assert_eq!(inactive_ratio(Pages((1 << 18) - 1), PAGE), 1);
        assert_eq!((ratio(1), ratio(4), ratio(64)), (3, 6, 25));
        assert_eq!((ratio(1024), ratio(4096)), (101, 202));
    }

    #[test]
    fn the_list_is_low_when_its_multiple_is_below_the_other() {
        assert!(!inactive_is_low(Pages(100), Pages(100), PAGE));
        assert!(inactive_is_low(Pages(100), Pages(101), PAGE));
        let gib = 1 << 18;
        assert!(!inactive_is_low(Pages(gib), Pages(3 * gib), PAGE));
    }
}
