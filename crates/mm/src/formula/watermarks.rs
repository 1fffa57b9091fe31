//! The free-page marks of each zone.
//!
//! `__setup_per_zone_wmarks` in `mm/page_alloc.c`, compared with 3.2, 3.4, 4.1, 4.18, 5.4, 6.1,
//! 6.12 and 6.18. The kernel runs it at boot and whenever `vm.min_free_kbytes` or
//! `vm.watermark_scale_factor` is written, with the managed pages of that moment. Pages that are
//! freed to the allocator later (the initial RAM disk) are in `managed` but not in the marks until
//! the next write.

use alloc::vec::Vec;

use crate::formula::mul_div;
use crate::units::Pages;
use crate::zoneinfo::{Watermarks, Zone, ZoneKind};

/// `vm.watermark_scale_factor` as the kernel starts.
pub const SCALE_FACTOR: u64 = 10;

/// What the marks depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// `vm.min_free_kbytes` in pages, rounded down.
    pub min_free: Pages,
    /// `vm.watermark_scale_factor`, in 1/10000 of a zone (1 to 3000).
    pub scale_factor: u64,
    /// What the kernel does with Movable zones.
    pub movable: MovableRule,
}

/// How far the marks above min are from one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steps {
    /// A quarter and a half of the zone's share of `min_free_kbytes`. So before 4.6.
    Quarters,
    /// Equal steps: a quarter of the share or `watermark_scale_factor` of the zone, whichever is
    /// larger. So since 4.6.
    #[default]
    Scaled,
}

/// How a Movable zone takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MovableRule {
    /// Its min mark is 1/1024 of it, from 32 to 128 pages, and `min_free_kbytes` is shared among
    /// the other zones. So on 6.12 and 6.18.
    #[default]
    Apart,
    /// As any other zone. So on 6.1.
    Shared,
}

/// The part of a zone that the marks depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneSize {
    /// Which zone.
    pub kind: ZoneKind,
    /// Pages that the allocator owns.
    pub managed: Pages,
}

impl MovableRule {
    /// The rule that a kernel follows, from its own zones: where Movable zones stand apart even an
    /// empty one has a min mark of 32 pages.
    #[must_use]
    pub fn observed(zones: &[Zone]) -> Self {
        let mut movable = zones.iter().filter(|zone| zone.kind == ZoneKind::Movable);
        let empty_and_unmarked =
            |zone: &Zone| zone.managed == Pages::ZERO && zone.watermarks.min == Pages::ZERO;
        let large = |zone: &Zone| zone.unboosted().min > Pages(128);
        match movable.any(|zone| empty_and_unmarked(zone) || large(zone)) {
            true => Self::Shared,
            false => Self::Apart,
        }
    }
}

impl From<&Zone> for ZoneSize {
    fn from(zone: &Zone) -> Self {
        Self {
            kind: zone.kind,
            managed: zone.managed,
        }
    }
}

/// What a zone's marks are boosted by when pages of another migrate type come into one of its
/// blocks of `block` pages (`boost_watermark`): a block more than the present `boost`, but at most
/// `watermark_boost_factor` (1/10000) of the high mark and never less than a block. Where the
/// factor is 0, or the zone has fewer than four blocks, it stays as it is.
#[must_use]
pub fn boosted(boost: Pages, zone: ZoneSize, high: Pages, block: Pages, factor: u64) -> Pages {
    let most = Pages(mul_div(high.0, factor, 10_000));
    if most == Pages::ZERO || Pages(block.0 * 4) > zone.managed {
        return boost;
    }
    Pages((boost.0 + block.0).min(most.max(block).0))
}

/// The marks of every zone of a machine (all nodes), in the order of `zones`, without boost.
#[must_use]
pub fn watermarks(zones: &[ZoneSize], rule: Rule) -> Vec<Watermarks> {
    watermarks_by(Steps::Scaled, zones, rule)
}

/// The marks by one of the two rules; by that of quarters there is no promo mark and no scale
/// factor.
#[must_use]
pub fn watermarks_by(steps: Steps, zones: &[ZoneSize], rule: Rule) -> Vec<Watermarks> {
    let lowmem = lowmem(zones, rule.movable);
    let marks = zones.iter().map(|&zone| match steps {
        Steps::Scaled => zone_marks(zone, lowmem, rule),
        Steps::Quarters => quarter_marks(zone, lowmem, rule),
    });
    marks.collect()
}

/// What Android's `vm.extra_free_kbytes` puts on the low and the high mark of each zone: its share
/// of `extra` by the managed pages of all zones. Not in stock kernels.
#[must_use]
pub fn extra_free(zones: &[ZoneSize], extra: Pages) -> Vec<Pages> {
    let all: Pages = zones.iter().map(|zone| zone.managed).sum();
    let share = |zone: &ZoneSize| Pages(mul_div(extra.0, zone.managed.0, all.0));
    zones.iter().map(share).collect()
}

/// The managed pages among which `min_free_kbytes` is shared.
#[must_use]
pub fn lowmem(zones: &[ZoneSize], movable: MovableRule) -> Pages {
    let sharing = zones.iter().filter(|zone| !is_apart(zone.kind, movable));
    sharing.map(|zone| zone.managed).sum()
}

/// min is the zone's share of `min_free`; the marks above follow at equal steps, each a quarter of
/// that share or `scale_factor` of the zone, whichever is larger.
fn zone_marks(zone: ZoneSize, lowmem: Pages, rule: Rule) -> Watermarks {
    let share = mul_div(rule.min_free.0, zone.managed.0, lowmem.0);
    let scaled = mul_div(zone.managed.0, rule.scale_factor, 10_000);
    let step = (share / 4).max(scaled);
    let min = zone_min(zone, share, rule.movable);
    let mark = |steps| Pages(min.saturating_add(step.saturating_mul(steps)));
    Watermarks {
        min: mark(0),
        low: mark(1),
        high: mark(2),
        promo: Some(mark(3)),
    }
}

fn quarter_marks(zone: ZoneSize, lowmem: Pages, rule: Rule) -> Watermarks {
    let share = mul_div(rule.min_free.0, zone.managed.0, lowmem.0);
    let min = zone_min(zone, share, rule.movable);
    Watermarks {
        min: Pages(min),
        low: Pages(min.saturating_add(share / 4)),
        high: Pages(min.saturating_add(share / 2)),
        promo: None,
    }
}

fn zone_min(zone: ZoneSize, share: u64, movable: MovableRule) -> u64 {
    match is_apart(zone.kind, movable) {
        true => (zone.managed.0 / 1024).clamp(32, 128),
        false => share,
    }
}

fn is_apart(kind: ZoneKind, movable: MovableRule) -> bool {
    match kind {
        ZoneKind::HighMem => true,
        ZoneKind::Movable => movable == MovableRule::Apart,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Kib, PageSize};

    fn marks(managed: [u64; 4], min_free: u64, movable: MovableRule) -> Vec<[u64; 3]> {
        let kinds = [
            ZoneKind::Dma,
            ZoneKind::Dma32,
            ZoneKind::Normal,
            ZoneKind::Movable,
        ];
        let sizes = kinds.into_iter().zip(managed.map(Pages));
        let zones: Vec<_> = sizes
            .map(|(kind, managed)| ZoneSize { kind, managed })
            .collect();
        let rule = Rule {
            min_free: Kib(min_free).pages_floor(PageSize::FOUR_KIB),
            scale_factor: 10,
            movable,
        };
        let all = watermarks(&zones, rule).into_iter();
        all.map(|m| [m.min.0, m.low.0, m.high.0]).collect()
    }

    #[test]
    fn a_3840_mib_machine_on_6_1_at_both_values() {
        let managed = [3840, 757_818, 179_400, 0];
        assert_eq!(
            marks(managed, 1_500_000, MovableRule::Shared),
            [
                [1530, 1912, 2294],
                [301_981, 377_476, 452_971],
                [71_488, 89_360, 107_232],
                [0, 0, 0]
            ]
        );
        // The kernel's marks after vm.min_free_kbytes was written back to 67584.
        assert_eq!(
            marks(managed, 67_584, MovableRule::Shared),
            [
                [68, 85, 102],
                [13_606, 17_007, 20_408],
                [3220, 4025, 4830],
                [0, 0, 0]
            ]
        );
    }

    #[test]
    fn a_lazily_filled_machine_on_6_18() {
        assert_eq!(
            marks([3840, 772_918, 393_216, 0], 67_584, MovableRule::Apart),
            [
                [55, 68, 81],
                [11_161, 13_951, 16_741],
                [5678, 7097, 8516],
                [32, 32, 32]
            ]
        );
    }

    #[test]
    fn the_scale_factor_rules_where_a_quarter_of_the_share_is_smaller() {
        // 4 TiB: min 256 MiB, steps of 4.2 GB.
        let pages = 1_u64 << 30;
        let [min, low, high] = marks([0, 0, pages, 0], 262_144, MovableRule::Apart)[2];
        assert_eq!(
            (min, low - min, high - low),
            (65_536, pages / 1000, pages / 1000)
        );
    }

    #[test]
    fn a_movable_zone_stands_apart_on_newer_kernels() {
        let managed = [0, 0, 1_000_000, 1_000_000];
        let apart = marks(managed, 40_000, MovableRule::Apart);
        assert_eq!(apart[2][0], 10_000);
        assert_eq!(apart[3], [128, 128 + 2500, 128 + 5000]);
        let shared = marks(managed, 40_000, MovableRule::Shared);
        assert_eq!((shared[2][0], shared[3][0]), (5000, 5000));
    }

    fn by(
        steps: Steps,
        zones: &[(ZoneKind, u64)],
        [min_free, scale_factor]: [u64; 2],
    ) -> Vec<[u64; 3]> {
        let size = |&(kind, managed)| ZoneSize {
            kind,
            managed: Pages(managed),
        };
        let sizes: Vec<ZoneSize> = zones.iter().map(size).collect();
        let rule = Rule {
            min_free: Kib(min_free).pages_floor(PageSize::FOUR_KIB),
            scale_factor,
            movable: MovableRule::Apart,
        };
        let all = watermarks_by(steps, &sizes, rule).into_iter();
        all.map(|m| [m.min.0, m.low.0, m.high.0]).collect()
    }

    #[test]
    fn before_4_6_the_marks_are_a_quarter_and_a_half_above_min() {
        let zone = [(ZoneKind::Normal, 23_603)];
        assert_eq!(by(Steps::Quarters, &zone, [1227, 10]), [[306, 382, 459]]);
        assert_eq!(by(Steps::Scaled, &zone, [1227, 10]), [[306, 382, 458]]);
        // The scale factor of a kernel that has none counts for nothing.
        assert_eq!(by(Steps::Quarters, &zone, [1227, 3000]), [[306, 382, 459]]);
    }

    #[test]
    fn high_memory_has_a_min_of_its_own_and_the_distances_of_its_share() {
        let zones = [(ZoneKind::Normal, 121_412), (ZoneKind::HighMem, 129_238)];
        let marks = by(Steps::Quarters, &zones, [2784, 10]);
        assert_eq!(marks, [[696, 870, 1044], [126, 311, 496]]);
    }

    #[test]
    fn extra_free_pages_are_shared_out_by_size() {
        let zone = |kind, managed| ZoneSize {
            kind,
            managed: Pages(managed),
        };
        let zones = [
            zone(ZoneKind::Dma, 105_724),
            zone(ZoneKind::HighMem, 381_696),
        ];
        assert_eq!(extra_free(&zones, Pages(5979)), [Pages(1296), Pages(4682)]);
        assert_eq!(extra_free(&[], Pages(5979)), []);
    }

    #[test]
    fn a_boost_grows_by_a_block_up_to_half_as_much_again_as_the_high_mark() {
        let zone = |managed| ZoneSize {
            kind: ZoneKind::Dma32,
            managed: Pages(managed),
        };
        let boost = |boost, managed, high, factor| {
            boosted(Pages(boost), zone(managed), Pages(high), Pages(512), factor).0
        };
        assert_eq!(boost(0, 111_000, 985, 15_000), 512);
        assert_eq!(boost(1024, 111_000, 985, 15_000), 1477);
        assert_eq!(boost(0, 3840, 32, 15_000), 512, "a block at least");
        assert_eq!(boost(512, 3840, 32, 15_000), 512);
        assert_eq!(boost(0, 2047, 32, 15_000), 0, "fewer than four blocks");
        assert_eq!(boost(0, 3840, 32, 0), 0, "switched off");
    }
}
