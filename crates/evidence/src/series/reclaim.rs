//! What reclaim looked at and what it freed, from a series.

use super::Item;
use super::columns::Series;

/// Steal of scan below which reclaim works for nothing: half of what it looks at stays.
pub const POOR: f64 = 0.5;

/// Reclaim over a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reclaim {
    /// Rows in which tasks reclaimed for themselves.
    pub direct_rows: usize,
    /// Rows in which anything was scanned.
    pub rows: usize,
    /// Pages in a second that kswapd scanned, on average over all rows.
    pub kswapd: f64,
    /// Pages in a second that tasks scanned, on average over all rows.
    pub direct: f64,
    /// Pages in a second that were freed, on average over the rows that scanned.
    pub stolen: f64,
    /// Pages in a second that were scanned, on average over the rows that scanned.
    pub scanned: f64,
    /// The row with the most scanning.
    pub worst_row: usize,
}

impl Series {
    /// Reclaim over the series; `None` where scans were not measured.
    #[must_use]
    pub fn reclaim(&self) -> Option<Reclaim> {
        let kswapd = self.summary(Item::ScanKswapd)?;
        let direct = self.summary(Item::ScanDirect)?;
        let mut sum = Reclaim {
            direct_rows: 0,
            rows: 0,
            kswapd: kswapd.mean,
            direct: direct.mean,
            stolen: 0.0,
            scanned: 0.0,
            worst_row: kswapd.max_row,
        };
        let mut most = 0.0;
        for row in 0..self.rows.len() {
            let rate = |item| self.value(item, row).unwrap_or(0.0);
            let scanned = rate(Item::ScanKswapd) + rate(Item::ScanDirect);
            sum.direct_rows += usize::from(rate(Item::ScanDirect) > 0.0);
            sum.rows += usize::from(scanned > 0.0);
            sum.scanned += scanned;
            sum.stolen += if scanned > 0.0 {
                rate(Item::Steal)
            } else {
                0.0
            };
            if scanned > most {
                (most, sum.worst_row) = (scanned, row);
            }
        }
        let rows = sum.rows.max(1) as f64;
        sum.scanned /= rows;
        sum.stolen /= rows;
        Some(sum)
    }
}

impl Reclaim {
    /// Steal of scan; `None` where nothing was scanned, or more was freed than scanned, which
    /// counters that overlap make.
    #[must_use]
    pub fn efficiency(&self) -> Option<f64> {
        let share = self.stolen / self.scanned;
        (self.scanned > 0.0 && share <= 1.0).then_some(share)
    }
}
