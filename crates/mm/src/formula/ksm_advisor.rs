//! The scan-time advisor of KSM: it sets `pages_to_scan` after each full scan, so that one takes
//! the target time.
//!
//! `scan_time_advisor` in `mm/ksm.c`; since Linux 6.8.

use crate::units::Nanos;

/// Weight of the newest figure in the moving average, in percent.
const WEIGHT: u64 = 30;

/// Full scans after which the advisor is taken to have settled.
const SCANS: u32 = 100;

/// The share of one CPU that the advisor lets ksmd have at least, in percent.
const LEAST_CPU: u64 = 10;

/// `/sys/kernel/mm/ksm/advisor_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// `advisor_target_scan_time`, in seconds.
    pub target: u64,
    /// `advisor_max_cpu`, in percent of one CPU.
    pub max_cpu: u64,
    /// `advisor_min_pages_to_scan`: what the advisor begins with. Later it may choose less.
    pub min_pages: u64,
    /// `advisor_max_pages_to_scan`.
    pub max_pages: u64,
}

/// What the advisor remembers from one full scan to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advisor {
    /// The last full scan's time in seconds; 0 before the first.
    scan_time: u64,
    /// The average change of the scan time from one scan to the next, in percent.
    change: u64,
}

/// A full scan as the advisor sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullScan {
    /// From its beginning to its end.
    pub took: Nanos,
    /// ksmd's CPU time in it.
    pub cpu: Nanos,
    /// `pages_to_scan` while it ran.
    pub pages_to_scan: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            target: 200,
            max_cpu: 70,
            min_pages: 500,
            max_pages: 30_000,
        }
    }
}

impl Bounds {
    /// The `pages_to_scan` at which the advisor arrives after many full scans of this many
    /// candidates, each of whose visits takes `visit`. Where a scan takes much less than a second
    /// that is the most that it may choose, whatever the target.
    #[must_use]
    pub fn settles(self, candidates: u64, sleep: Nanos, visit: Nanos) -> u64 {
        let mut advisor = Advisor::default();
        let cpu = Nanos(candidates.saturating_mul(visit.0));
        (0..SCANS).fold(self.min_pages, |pages, _| {
            let batches = candidates.div_ceil(pages.max(1));
            let asleep = Nanos(batches.saturating_mul(sleep.0));
            let scan = FullScan {
                took: cpu.saturating_add(asleep),
                cpu,
                pages_to_scan: pages,
            };
            advisor.advise(scan, self)
        })
    }
}

impl Advisor {
    /// The `pages_to_scan` for the next full scan.
    ///
    /// Whole seconds and percent, each at least one: the arithmetic is the kernel's.
    pub fn advise(&mut self, scan: FullScan, bounds: Bounds) -> u64 {
        let seconds = (scan.took.0 / Nanos::SECOND.0).max(1);
        let percent = scan.cpu.0 / Nanos::MILLI.0 * 100 / seconds.saturating_mul(1000);
        let last = match self.scan_time {
            0 => seconds,
            last => last,
        };
        let factor = (bounds.target.saturating_mul(100) / seconds).max(1);
        let change = (seconds.saturating_mul(100) / last).max(1);
        let change = self
            .change
            .saturating_mul(100 - WEIGHT)
            .saturating_add(change.saturating_mul(WEIGHT))
            / 100;
        let pages = scan.pages_to_scan.saturating_mul(100) / factor;
        let pages = pages.saturating_mul(change) / 100;
        let per_percent = (scan.pages_to_scan / percent.max(1)).max(1);
        (self.scan_time, self.change) = (seconds, change);
        pages
            .min(per_percent.saturating_mul(bounds.max_cpu))
            .max(per_percent.saturating_mul(LEAST_CPU))
            .min(bounds.max_pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(seconds: u64, cpu_millis: u64, pages_to_scan: u64) -> FullScan {
        FullScan {
            took: Nanos(seconds * Nanos::SECOND.0),
            cpu: Nanos(cpu_millis * Nanos::MILLI.0),
            pages_to_scan,
        }
    }

    #[test]
    fn a_scan_that_takes_too_long_raises_the_pages_and_the_cpu_limit_bounds_them() {
        let bounds = Bounds::default();
        let mut advisor = Advisor {
            scan_time: 0,
            change: 100,
        };
        assert_eq!(advisor.advise(scan(400, 80_000, 1000), bounds), 2000);
        let busy = scan(400, 200_000, 1000);
        assert_eq!(advisor.advise(busy, bounds), 1000 / 50 * 70);
    }

    #[test]
    fn it_settles_at_its_target_within_what_a_cpu_gives_and_runs_away_where_scans_are_short() {
        let (bounds, sleep, visit) = (Bounds::default(), Nanos(20_000_000), Nanos(2_000));
        let settled = |candidates| bounds.settles(candidates, sleep, visit);
        let took = |candidates: u64, pages: u64| candidates as f64 * (2e-6 + 0.02 / pages as f64);
        let pages = settled(40_000_000);
        assert!((took(40_000_000, pages) - 200.0).abs() < 20.0, "{pages}");
        assert_eq!(settled(12_288), 30_000);
        let share = |pages: u64| pages as f64 * 2e-6 / (pages as f64 * 2e-6 + 0.02);
        assert!(share(settled(1 << 36)) < 0.75);
    }

    #[test]
    fn a_scan_within_the_target_falls_back_to_a_tenth_of_a_cpu() {
        // Traced on 6.12: 500 pages at 12 % of a CPU become 410, and those at 65 % 60.
        let mut advisor = Advisor::default();
        let bounds = Bounds {
            target: 4,
            ..Bounds::default()
        };
        assert_eq!(advisor.advise(scan(1, 120, 500), bounds), 410);
        assert_eq!(advisor.advise(scan(1, 650, 410), bounds), 60);
        assert!(advisor.advise(scan(0, 0, 0), bounds) > 0);
    }
}
