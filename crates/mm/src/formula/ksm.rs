//! What merging saves and how fast it can go.
//!
//! `ksm_general_profit` and `ksm_process_profit` in `mm/ksm.c`; since Linux 6.4.

use crate::ksm::KsmNumbers;
use crate::units::{Bytes, Nanos, PageSize};

/// Bytes of metadata for each candidate page (`struct ksm_rmap_item` on 64-bit kernels).
pub const RMAP_ITEM: Bytes = Bytes(64);

/// Bytes saved less bytes of metadata: negative where the candidates cost more than merging saves.
#[must_use]
pub fn general_profit(pages_sharing: u64, zero_pages: u64, rmap_items: u64, page: PageSize) -> i64 {
    let saved = u128::from(pages_sharing) + u128::from(zero_pages);
    let saved = signed(saved * u128::from(page.bytes()));
    let spent = signed(u128::from(rmap_items) * u128::from(RMAP_ITEM.0));
    saved.saturating_sub(spent)
}

/// The candidate pages, which the kernel does not print: those shared, sharing, unshared and
/// volatile.
#[must_use]
pub fn rmap_items(ksm: &KsmNumbers) -> Option<u64> {
    let parts = [
        ksm.pages_shared?,
        ksm.pages_sharing?,
        ksm.pages_unshared?,
        ksm.pages_volatile?,
    ];
    Some(parts.into_iter().fold(0, u64::saturating_add))
}

/// The share of ksmd's visits that smart scan left out, 0 to 1; `None` before the first, and before
/// Linux 6.7.
#[must_use]
pub fn skipped_share(ksm: &KsmNumbers) -> Option<f64> {
    let (skipped, scanned) = (ksm.pages_skipped?, ksm.pages_scanned?);
    let visits = skipped.saturating_add(scanned);
    (visits > 0).then(|| skipped as f64 / visits as f64)
}

/// The shortest time in which ksmd can scan `pages` once: the sleeps alone.
#[must_use]
pub fn scan_time(pages: u64, pages_to_scan: u64, sleep: Nanos) -> Option<Nanos> {
    let rounds = (pages_to_scan > 0).then(|| pages.div_ceil(pages_to_scan))?;
    Some(Nanos(rounds.saturating_mul(sleep.0)))
}

/// Scans that smart scan passes over a candidate after one that it was part of, by the scans that
/// the candidate has seen: the first three see it always (`skip_age`, since Linux 6.7).
#[must_use]
pub fn skips(age: u8) -> u8 {
    match age {
        0..=3 => 1,
        4..=5 => 2,
        6..=8 => 4,
        _ => 8,
    }
}

fn signed(bytes: u128) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: PageSize = PageSize::FOUR_KIB;

    #[test]
    fn profit_is_pages_saved_less_metadata() {
        assert_eq!(general_profit(10, 2, 100, PAGE), 12 * 4096 - 6400);
        assert_eq!(general_profit(0, 0, 1, PAGE), -64);
        assert_eq!(general_profit(u64::MAX, u64::MAX, 0, PAGE), i64::MAX);
    }

    #[test]
    fn a_published_host_saves_9_5_gb() {
        // 10.65 GB shared, 17.84 million candidates.
        let profit = general_profit(10_650_000_000 / 4096, 0, 17_840_000, PAGE);
        assert_eq!(profit / 10_000_000, 950);
    }

    #[test]
    fn a_pass_takes_at_least_its_sleeps() {
        let pages = (607_u64 << 30) / 4096;
        let pass = scan_time(pages, 9000, Nanos(20_000_000)).expect("pages_to_scan is not 0");
        assert_eq!(pass.0 / 1_000_000_000, 353);
        assert_eq!(scan_time(1, 0, Nanos(1)), None);
        assert_eq!(
            scan_time(1, 100, Nanos(1)),
            Some(Nanos(1)),
            "a part of a batch"
        );
    }
}
