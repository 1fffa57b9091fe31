//! What zones keep back: the lowmem reserve of each (`protection` in `/proc/zoneinfo`) and the
//! pages that no user can have (`totalreserve_pages`).
//!
//! `setup_per_zone_lowmem_reserve` and `calculate_totalreserve_pages` in `mm/page_alloc.c`;
//! compared with 3.2, 3.4, 4.14, 5.4, 6.1, 6.12 and 6.18. The kernel computes the first at boot and
//! when `vm.lowmem_reserve_ratio` is written or read, so like the marks it may know fewer managed
//! pages than zoneinfo shows.

use alloc::vec::Vec;

use crate::units::Pages;
use crate::zoneinfo::{Zone, ZoneKind};

/// How zones without pages, or with ratio 0, take part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// Zones without pages have a reserve of their own. So up to 5.7.
    EmptyZonesToo,
    /// They have none; and the pages of a zone with ratio 0 are not counted for those below it. So
    /// from 5.8 to 5.10.49.
    SkippedZonesUncounted,
    /// They have none, and all pages are counted. So since 5.10.50.
    #[default]
    AllZonesCounted,
}

/// What the kernel starts with for a zone. High memory had a ratio, 32, before 4.18.
#[must_use]
pub fn default_ratio(kind: ZoneKind) -> u64 {
    match kind {
        ZoneKind::Dma | ZoneKind::Dma32 => 256,
        ZoneKind::Normal => 32,
        ZoneKind::HighMem | ZoneKind::Movable | ZoneKind::Device => 0,
    }
}

/// The protection of each zone of one node by the rule of a release; see [`protection`].
#[must_use]
pub fn protection_by(rule: Rule, managed: &[Pages], ratios: &[u64]) -> Vec<Vec<Pages>> {
    match rule {
        Rule::AllZonesCounted => protection(managed, ratios),
        Rule::EmptyZonesToo => {
            let row = |lower| against(lower, managed, ratios, |_| true);
            (0..managed.len()).map(row).collect()
        }
        Rule::SkippedZonesUncounted => {
            let has = |zone: usize| {
                let ratio = ratios.get(zone).copied().unwrap_or(0);
                ratio > 0 && managed[zone] > Pages::ZERO
            };
            let row = |lower| match has(lower) {
                true => against(lower, managed, ratios, has),
                false => managed.iter().map(|_| Pages::ZERO).collect(),
            };
            (0..managed.len()).map(row).collect()
        }
    }
}

/// What zone `lower` keeps back from a request that could use each zone: that zone's pages, and
/// those of the zones between that are counted, over its ratio.
fn against(
    lower: usize,
    managed: &[Pages],
    ratios: &[u64],
    counted: impl Fn(usize) -> bool,
) -> Vec<Pages> {
    let ratio = ratios.get(lower).copied().unwrap_or(0);
    let mut between = Pages::ZERO;
    let against = |(zone, &pages): (usize, &Pages)| {
        if zone <= lower || ratio == 0 {
            return Pages::ZERO;
        }
        let above = pages.saturating_add(between);
        if counted(zone) {
            between = between.saturating_add(pages);
        }
        Pages(above.0 / ratio)
    };
    managed.iter().enumerate().map(against).collect()
}

/// The protection of each zone of one node against each higher zone.
///
/// `managed` and `ratios` (`vm.lowmem_reserve_ratio`) go from the lowest zone up; a zone without a
/// ratio, or with ratio 0, protects nothing. Element `[i][j]` is what zone `i` keeps back from a
/// request that could use zone `j`.
#[must_use]
pub fn protection(managed: &[Pages], ratios: &[u64]) -> Vec<Vec<Pages>> {
    let zones = 0..managed.len();
    let zone = |lower: usize| {
        let ratio = ratios.get(lower).copied().unwrap_or(0);
        let protects = ratio > 0 && managed[lower] > Pages::ZERO;
        let mut above = 0_u64;
        let against = |(index, pages): (usize, &Pages)| {
            if index <= lower || !protects {
                return Pages::ZERO;
            }
            above = above.saturating_add(pages.0);
            Pages(above / ratio)
        };
        managed.iter().enumerate().map(against).collect()
    };
    zones.map(zone).collect()
}

/// The pages that the kernel holds back from users in all zones: each zone's largest protection
/// plus its high watermark, at most what it manages.
#[must_use]
pub fn totalreserve(zones: &[Zone]) -> Pages {
    let reserve = |zone: &Zone| {
        let largest = zone.protection.iter().copied().max().unwrap_or_default();
        let wanted = largest.saturating_add(zone.unboosted().high);
        wanted.min(zone.managed)
    };
    zones.iter().map(reserve).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn lower_zones_protect_themselves_against_all_above() {
        let managed = [3840, 772_918, 393_216, 0, 0].map(Pages);
        let expected = vec![
            vec![0, 3019, 4555, 4555, 4555],
            vec![0, 0, 1536, 1536, 1536],
            vec![0; 5],
            vec![0; 5],
            vec![0; 5],
        ];
        let pages = |row: &Vec<Pages>| row.iter().map(|p| p.0).collect::<Vec<_>>();
        let rows = protection(&managed, &[256, 256, 32, 0, 0]);
        assert_eq!(rows.iter().map(pages).collect::<Vec<_>>(), expected);
    }

    fn by(rule: Rule, managed: &[u64], ratios: &[u64]) -> Vec<Vec<u64>> {
        let managed: Vec<Pages> = managed.iter().copied().map(Pages).collect();
        let rows = protection_by(rule, &managed, ratios).into_iter();
        rows.map(|row| row.into_iter().map(|pages| pages.0).collect())
            .collect()
    }

    /// DMA, Normal (empty), `HighMem` and Movable (empty) of a 32-bit machine.
    const HIGHMEM: [u64; 4] = [105_724, 0, 381_696, 0];

    #[test]
    fn zones_without_pages_had_a_reserve_up_to_5_7() {
        let rows = by(Rule::EmptyZonesToo, &HIGHMEM, &[256, 32, 32]);
        let printed = [[0, 0, 1491, 1491], [0, 0, 11_928, 11_928], [0; 4], [0; 4]];
        assert_eq!(rows, printed, "as 4.14.65 printed");
        let rows = by(Rule::AllZonesCounted, &HIGHMEM, &[256, 32, 32]);
        assert_eq!(rows[1], [0; 4]);
    }

    #[test]
    fn from_5_8_to_5_10_49_pages_of_a_zone_with_ratio_0_are_not_counted_below() {
        let ratios = [256, 32, 0, 0];
        let rows = by(Rule::SkippedZonesUncounted, &HIGHMEM, &ratios);
        assert_eq!(rows, [[0, 0, 1491, 0], [0; 4], [0; 4], [0; 4]]);
        let rows = by(Rule::AllZonesCounted, &HIGHMEM, &ratios);
        assert_eq!(rows, [[0, 0, 1491, 1491], [0; 4], [0; 4], [0; 4]]);
        let rows = by(Rule::EmptyZonesToo, &HIGHMEM, &ratios);
        assert_eq!(rows[0], [0, 0, 1491, 1491]);
    }

    #[test]
    fn where_every_zone_has_pages_and_a_ratio_the_rules_agree() {
        let (managed, ratios) = ([3840, 772_918, 393_216], [256, 256, 32]);
        let modern = by(Rule::AllZonesCounted, &managed, &ratios);
        assert_eq!(by(Rule::EmptyZonesToo, &managed, &ratios), modern);
        assert_eq!(by(Rule::SkippedZonesUncounted, &managed, &ratios), modern);
    }

    #[test]
    fn a_zone_with_ratio_0_protects_nothing() {
        let rows = protection(&[Pages(100), Pages(1000)], &[0]);
        assert_eq!(rows[0], [Pages(0), Pages(0)]);
    }
}
