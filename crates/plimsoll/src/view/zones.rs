//! The zones: free pages on a line between the watermarks, and the watermarks recomputed.

use mm::snapshot::Snapshot;
use mm::units::{PageSize, Pages};
use mm::zoneinfo::{self, Watermarks, Zoneinfo};
use serde::Serialize;

use super::check::Check;
use super::load_line::{self, Mark};
use super::page::Page;

/// One zone with memory. All amounts are in pages.
#[derive(Debug, Serialize)]
pub(crate) struct Zone {
    node: u32,
    name: &'static str,
    present: u64,
    managed: u64,
    free: u64,
    boost: u64,
    min: u64,
    low: u64,
    high: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    promo: Option<u64>,
    lowmem_reserve: Vec<u64>,
    state: State,
    #[serde(skip)]
    page: PageSize,
}

/// What the free pages mean for whoever allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    AboveHigh,
    BelowHigh,
    BelowLow,
    BelowMin,
}

impl State {
    fn of(free: Pages, marks: Watermarks) -> Self {
        match free {
            free if free < marks.min => Self::BelowMin,
            free if free < marks.low => Self::BelowLow,
            free if free < marks.high => Self::BelowHigh,
            _ => Self::AboveHigh,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::AboveHigh => "above high: kswapd sleeps",
            Self::BelowHigh => "below high: kswapd goes on if it is awake",
            Self::BelowLow => "below low: kswapd reclaims",
            Self::BelowMin => "below min: allocations reclaim directly",
        }
    }
}

/// The zones that have memory, in the kernel's order.
pub(crate) fn zones(snapshot: &Snapshot) -> Vec<Zone> {
    let zones = snapshot.zoneinfo.iter().flat_map(Zoneinfo::populated);
    zones.map(|zone| Zone::of(zone, snapshot.page)).collect()
}

impl Zone {
    fn of(zone: &zoneinfo::Zone, page: PageSize) -> Self {
        let marks = zone.watermarks;
        Self {
            node: zone.node,
            name: zone.kind.name(),
            present: zone.present.0,
            managed: zone.managed.0,
            free: zone.free.0,
            boost: zone.boost.unwrap_or_default().0,
            min: marks.min.0,
            low: marks.low.0,
            high: marks.high.0,
            promo: marks.promo.map(|promo| promo.0),
            lowmem_reserve: zone.protection.iter().map(|pages| pages.0).collect(),
            state: State::of(zone.free, marks),
            page,
        }
    }

    fn amount(&self, pages: u64) -> String {
        Pages(pages).bytes(self.page).to_string()
    }

    fn write(&self, page: &mut Page) {
        let head = format!(
            "{} (node {}): free {} of {}, {}",
            self.name,
            self.node,
            self.amount(self.free),
            self.amount(self.managed),
            self.state.words()
        );
        page.line("");
        page.paragraph(2, &head);
        let marks = [("min", self.min), ("low", self.low), ("high", self.high)];
        let marks = marks.map(|(name, at)| Mark {
            name,
            at,
            amount: self.amount(at),
        });
        let canvas = page.canvas();
        for row in load_line::draw(&marks, self.free, canvas.width - 2, canvas.charset) {
            page.line(format!("  {row}"));
        }
        self.write_extras(page);
    }

    fn write_extras(&self, page: &mut Page) {
        if self.boost > 0 {
            let boost = self.amount(self.boost);
            page.paragraph(
                2,
                &format!("The marks are raised by {boost} for now (watermark boost)."),
            );
        }
        let reserve = self.lowmem_reserve.iter().copied().max().unwrap_or(0);
        if reserve > 0 {
            let reserve = self.amount(reserve);
            page.paragraph(
                2,
                &format!("To requests that can use a higher zone each mark is {reserve} higher."),
            );
        }
    }
}

/// Writes the section; the zone that allocations try first comes first.
pub(crate) fn write(zones: &[Zone], page: &mut Page) {
    if zones.is_empty() {
        return;
    }
    page.heading("Load lines: the free pages of each zone against its watermarks");
    let mut order: Vec<&Zone> = zones.iter().rev().collect();
    order.sort_by_key(|zone| zone.node);
    for zone in order {
        zone.write(page);
    }
}

/// Recomputes the watermarks and the lowmem reserves.
pub(crate) fn checks(snapshot: &Snapshot) -> Vec<Check> {
    let mut checks = watermark_checks(snapshot).unwrap_or_default();
    checks.extend(reserve_checks(snapshot).unwrap_or_default());
    checks
}

fn watermark_checks(snapshot: &Snapshot) -> Option<Vec<Check>> {
    let computed = snapshot.watermarks()?;
    let pairs = snapshot.zoneinfo.as_ref()?.zones.iter().zip(computed);
    let check = |(zone, computed): (&zoneinfo::Zone, Watermarks)| {
        let kernel = zone.watermarks;
        let name = |mark| format!("{mark} watermark of {}", title(zone));
        [
            Check::watermark(name("min"), computed.min, kernel.min),
            Check::watermark(name("low"), computed.low, kernel.low),
            Check::watermark(name("high"), computed.high, kernel.high),
        ]
    };
    Some(
        pairs
            .filter(|(zone, _)| zone.is_populated())
            .flat_map(check)
            .collect(),
    )
}

/// One check a zone: the first protection that differs, or the largest.
fn reserve_checks(snapshot: &Snapshot) -> Option<Vec<Check>> {
    let computed = snapshot.protection()?;
    let pairs = snapshot.zoneinfo.as_ref()?.zones.iter().zip(computed);
    let check = |(zone, computed): (&zoneinfo::Zone, Vec<Pages>)| {
        let pairs = || {
            computed
                .iter()
                .copied()
                .zip(zone.protection.iter().copied())
        };
        let differing = pairs().find(|(computed, kernel)| computed != kernel);
        let (computed, kernel) = differing.or_else(|| pairs().max()).unwrap_or_default();
        Check::reserve(
            format!("lowmem reserve of {}", title(zone)),
            computed,
            kernel,
        )
    };
    Some(
        pairs
            .filter(|(zone, _)| zone.is_populated())
            .map(check)
            .collect(),
    )
}

fn title(zone: &zoneinfo::Zone) -> String {
    format!("{} (node {})", zone.kind, zone.node)
}
