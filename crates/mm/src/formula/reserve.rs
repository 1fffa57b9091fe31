//! What zones keep back: the lowmem reserve of each (`protection` in `/proc/zoneinfo`) and the
//! pages that no user can have (`totalreserve_pages`).
//!
//! `setup_per_zone_lowmem_reserve` and `calculate_totalreserve_pages` in `mm/page_alloc.c`;
//! compared with 6.1, 6.12 and 6.18. The kernel computes the first at boot and when
//! `vm.lowmem_reserve_ratio` is written, so like the marks it may know fewer managed pages than
//! zoneinfo shows.

use alloc::vec::Vec;

use crate::units::Pages;
use crate::zoneinfo::Zone;

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

    #[test]
    fn a_zone_with_ratio_0_protects_nothing() {
        let rows = protection(&[Pages(100), Pages(1000)], &[0]);
        assert_eq!(rows[0], [Pages(0), Pages(0)]);
    }
}
