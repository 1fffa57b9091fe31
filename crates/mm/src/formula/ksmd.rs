//! How fast ksmd goes, and what share of a CPU it takes.
//!
//! ksmd visits `pages_to_scan` pages, sleeps `sleep_millisecs`, and so on. A page is not merged at
//! its first visit, which only takes its checksum, so what can be merged is merged after two full
//! scans.

use crate::units::Nanos;

/// Cache lines that a step down the unstable tree loads one after the other: the item, the page
/// table's entry, the frame's descriptor, the page.
const UNSTABLE_LINES: u64 = 4;

/// The same of the stable tree, which knows its frames.
const STABLE_LINES: u64 = 3;

/// What ksmd's visit of a page consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisitCost {
    /// Finding a page of another process and going through its bytes once, for the checksum.
    pub page: Nanos,
    /// Loading a cache line from anywhere in memory.
    pub line: Nanos,
}

/// What becomes of the candidates, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// All of them.
    pub candidates: u64,
    /// Pages that are kept for others (`pages_shared`).
    pub shared: u64,
    /// Mappings that these serve beside their own (`pages_sharing`).
    pub sharing: u64,
}

/// The settings that pace it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Pages visited between two sleeps.
    pub pages_to_scan: u64,
    /// The sleep.
    pub sleep: Nanos,
}

impl VisitCost {
    /// A visit of a page that is not merged, once its checksum stood still: the checksum, and a
    /// search in both trees.
    #[must_use]
    pub fn search(self, load: Load) -> Nanos {
        let unmerged = load.candidates.saturating_sub(load.sharing);
        let levels = |pages: u64| u64::from(pages.saturating_add(1).ilog2());
        let lines = UNSTABLE_LINES * levels(unmerged) + STABLE_LINES * levels(load.shared);
        Nanos(
            self.page
                .0
                .saturating_add(lines.saturating_mul(self.line.0)),
        )
    }

    /// A visit on average, once everything is merged that can be: a merged page is only found.
    #[must_use]
    pub fn settled(self, load: Load) -> Nanos {
        let candidates = load.candidates.max(1);
        let merged = load.shared.saturating_add(load.sharing).min(candidates);
        let found = u128::from(UNSTABLE_LINES.saturating_mul(self.line.0)) * u128::from(merged);
        let searched = u128::from(self.search(load).0) * u128::from(candidates - merged);
        Nanos(u64::try_from((found + searched) / u128::from(candidates)).unwrap_or(u64::MAX))
    }
}

impl Pace {
    /// The share of one CPU that ksmd takes, from 0 to 1, where a visit takes `visit`.
    #[must_use]
    pub fn cpu(self, visit: Nanos) -> f64 {
        let busy = self.busy(visit);
        busy / (busy + self.sleep.0 as f64).max(1.0)
    }

    /// How long a full scan of n candidates takes, with the sleep after each of its batches;
    /// `None` where ksmd visits none.
    #[must_use]
    pub fn scan(self, candidates: u64, visit: Nanos) -> Option<Nanos> {
        let each = (self.pages_to_scan > 0).then_some(self.pages_to_scan)?;
        let visits = candidates.saturating_mul(visit.0);
        // The end of a full scan ends its batch, however many pages it might still visit.
        let sleeps = candidates.div_ceil(each).saturating_mul(self.sleep.0);
        Some(Nanos(visits.saturating_add(sleeps)))
    }

    /// How long it takes until everything is merged that can be: a scan for checksums, and one
    /// that searches.
    #[must_use]
    pub fn until_merged(self, load: Load, cost: VisitCost) -> Option<Nanos> {
        let first = self.scan(load.candidates, cost.page)?;
        Some(first.saturating_add(self.scan(load.candidates, cost.search(load))?))
    }

    fn busy(self, visit: Nanos) -> f64 {
        self.pages_to_scan as f64 * visit.0 as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLEEP: Nanos = Nanos(20_000_000);
    const VISIT: Nanos = Nanos(2_000);

    #[test]
    fn a_published_host_keeps_ksmd_at_half_a_cpu() {
        // 607 GiB, 9000 pages every 20 ms.
        let pace = Pace {
            pages_to_scan: 9000,
            sleep: SLEEP,
        };
        assert!((pace.cpu(VISIT) - 18.0 / 38.0).abs() < 1e-9);
        let scan = pace.scan((607 << 30) / 4096, VISIT).expect("it scans");
        assert_eq!(scan.0 / Nanos::SECOND.0, 671);
        let scan = pace.scan(100, VISIT);
        assert_eq!(scan, Some(Nanos(100 * VISIT.0 + SLEEP.0)), "one batch");
        let asleep = Pace {
            pages_to_scan: 0,
            sleep: SLEEP,
        };
        assert_eq!((asleep.scan(1, VISIT), asleep.cpu(VISIT)), (None, 0.0));
    }

    #[test]
    fn a_search_takes_longer_in_a_larger_tree_and_a_merged_page_is_only_found() {
        let cost = VisitCost {
            page: Nanos(1300),
            line: Nanos(60),
        };
        let load = |candidates, shared, sharing| Load {
            candidates,
            shared,
            sharing,
        };
        assert_eq!(cost.search(load(8191, 0, 0)), Nanos(1300 + 13 * 4 * 60));
        assert_eq!(
            cost.search(load(8191, 1023, 0)),
            Nanos(1300 + (13 * 4 + 10 * 3) * 60)
        );
        assert_eq!(
            cost.settled(load(8191, 0, 0)),
            cost.search(load(8191, 0, 0))
        );
        assert_eq!(cost.settled(load(1000, 1, 999)), Nanos(240));
        let pace = Pace {
            pages_to_scan: 100,
            sleep: SLEEP,
        };
        let merged = pace.until_merged(load(8191, 0, 0), cost).expect("it scans");
        let scans = 2.0 * 82.0 * 0.02 + 8191.0 * (1300.0 + 4420.0) / 1e9;
        assert!((merged.seconds() - scans).abs() < 0.001, "{merged}");
        let asleep = Pace {
            pages_to_scan: 0,
            sleep: SLEEP,
        };
        assert_eq!(asleep.until_merged(load(1, 0, 0), cost), None);
        let _ = cost.settled(load(u64::MAX, u64::MAX, u64::MAX));
        let _ = cost.search(load(u64::MAX, u64::MAX, 0));
    }
}
