//! The value of `vm.min_free_kbytes` that the kernel chooses.
//!
//! `calculate_min_free_kbytes` in `mm/page_alloc.c` at boot, then `set_recommended_min_free_kbytes`
//! in `mm/khugepaged.c` as soon as transparent huge pages are on; compared with 6.1, 6.12 and 6.18.
//! A value that an administrator wrote is only ever raised by the second.

use crate::formula::watermarks::{MovableRule, Rule, SCALE_FACTOR, ZoneSize, watermarks};
use crate::units::{Kib, PageSize, Pages};

/// Smallest value that the kernel chooses.
pub const SMALLEST: Kib = Kib(128);
/// Largest value of the square-root rule (since Linux 5.8).
pub const LARGEST: Kib = Kib(262_144);
/// Largest value of the square-root rule before Linux 5.8.
pub const LARGEST_BEFORE_5_8: Kib = Kib(65_536);

/// The square-root rule: the root of 16 times the low memory in KiB, from 128 to 262144.
///
/// `free_buffer` is the managed pages of the zones up to Normal less their high watermarks, which
/// are zero at boot (`nr_free_buffer_pages`).
#[must_use]
pub fn by_square_root(free_buffer: Pages, page: PageSize) -> Kib {
    by_square_root_to(LARGEST, free_buffer, page)
}

/// The square-root rule with the largest value of a release.
#[must_use]
pub fn by_square_root_to(largest: Kib, free_buffer: Pages, page: PageSize) -> Kib {
    let lowmem = free_buffer.0.saturating_mul(page.kib());
    let root = Kib(lowmem.saturating_mul(16).isqrt());
    root.clamp(SMALLEST, largest)
}

/// The value that a kernel boots with, from the zones up to Normal that have memory: by their
/// square root, and what huge pages want beyond the watermarks that follow from that, where they
/// are on.
#[must_use]
pub fn at_boot(zones: &[ZoneSize], has_huge_pages: bool, pageblock: Pages, page: PageSize) -> Kib {
    let managed: Pages = zones.iter().map(|zone| zone.managed).sum();
    let by_root = by_square_root(managed, page);
    if !has_huge_pages {
        return by_root;
    }
    let rule = Rule {
        min_free: by_root.pages_floor(page),
        scale_factor: SCALE_FACTOR,
        movable: MovableRule::default(),
    };
    let high: Pages = watermarks(zones, rule).iter().map(|it| it.high).sum();
    let beyond = managed.saturating_sub(high);
    by_root.max(for_huge_pages(zones.len() as u64, pageblock, beyond, page))
}

/// What khugepaged may have asked for, from the smallest to the largest value.
///
/// It asks when huge pages are switched on and takes at most a twentieth of the memory beyond the
/// high marks *of that moment*; then it makes higher ones. So the first time the cap is that of the
/// marks by the square-root rule (`before`), and each further time a lower one, down to that of the
/// marks of now (`after`).
#[must_use]
pub fn khugepaged(
    zones: u64,
    pageblock: Pages,
    [before, after]: [Pages; 2],
    page: PageSize,
) -> core::ops::RangeInclusive<u64> {
    let asks = |free_buffer| for_huge_pages(zones, pageblock, free_buffer, page).0;
    let (first, again) = (asks(before), asks(after));
    first.min(again)..=first.max(again)
}

/// What khugepaged wants free so that pageblocks need not be mixed: eleven pageblocks for each
/// populated zone up to Normal, at most 5 % of `free_buffer`.
///
/// Eleven are two for allocating and nine for the pairs of three migrate types.
#[must_use]
pub fn for_huge_pages(zones: u64, pageblock: Pages, free_buffer: Pages, page: PageSize) -> Kib {
    let wanted = pageblock.0.saturating_mul(zones).saturating_mul(2 + 3 * 3);
    let pages = wanted.min(free_buffer.0 / 20);
    Kib(pages.saturating_mul(page.kib()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: PageSize = PageSize::FOUR_KIB;
    const PAGEBLOCK: Pages = Pages(512);

    #[test]
    fn three_zones_with_huge_pages_want_67584() {
        let free_buffer = Pages(941_058);
        assert_eq!(for_huge_pages(3, PAGEBLOCK, free_buffer, PAGE), Kib(67_584));
        assert!(by_square_root(free_buffer, PAGE) < Kib(67_584));
    }

    #[test]
    fn a_small_machine_gives_huge_pages_a_twentieth() {
        assert_eq!(
            for_huge_pages(2, PAGEBLOCK, Pages(100_000), PAGE),
            Kib(20_000)
        );
    }

    #[test]
    fn the_cap_is_of_the_marks_that_there_were_when_it_asked() {
        let managed = Pages(3840 + 115_168);
        let before = managed.saturating_sub(Pages(32 + 980));
        let after = managed.saturating_sub(Pages(284 + 8562));
        let asked = khugepaged(2, PAGEBLOCK, [before, after], PAGE);
        assert_eq!(asked, 22_032..=23_596, "512 MiB with 6.12: 23596");
        let large = khugepaged(3, PAGEBLOCK, [Pages(941_058), Pages(900_000)], PAGE);
        assert_eq!(large, 67_584..=67_584, "no cap");
    }

    #[test]
    fn the_root_ended_lower_before_5_8() {
        let large = Pages(1 << 30);
        let old = by_square_root_to(LARGEST_BEFORE_5_8, large, PAGE);
        assert_eq!(old, LARGEST_BEFORE_5_8);
        assert_eq!(by_square_root(large, PAGE), LARGEST);
    }

    #[test]
    fn the_root_is_clamped_at_both_ends() {
        assert_eq!(by_square_root(Pages(0), PAGE), SMALLEST);
        assert_eq!(by_square_root(Pages(1 << 30), PAGE), LARGEST, "4 TiB");
        // 1 GiB: the root of 16 * 1048576.
        assert_eq!(by_square_root(Pages(1 << 18), PAGE), Kib(4096));
    }
}
