//! The zones: free pages on a line between the watermarks, and the watermarks recomputed.

use mm::snapshot::Snapshot;
use mm::units::{PageSize, Pages};
use mm::zoneinfo::{self, Watermarks, Zoneinfo};
use serde::Serialize;

use super::check::Check;
use super::late_pages::{LatePages, late_pages};
use super::load_line::Mark;
use super::page::Page;
use super::watermark_rule::WatermarkRule;

/// One zone with memory.
#[derive(Debug, Serialize)]
pub(crate) struct Zone {
    node: u32,
    name: &'static str,
    present_pages: u64,
    managed_pages: u64,
    free_pages: u64,
    boost_pages: u64,
    min_pages: u64,
    low_pages: u64,
    high_pages: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    promo_pages: Option<u64>,
    lowmem_reserve_pages: Vec<u64>,
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
            Self::BelowHigh => "below high: kswapd goes on if awake",
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
            present_pages: zone.present.0,
            managed_pages: zone.managed.0,
            free_pages: zone.free.0,
            boost_pages: zone.boost.unwrap_or_default().0,
            min_pages: marks.min.0,
            low_pages: marks.low.0,
            high_pages: marks.high.0,
            promo_pages: marks.promo.map(|promo| promo.0),
            lowmem_reserve_pages: zone.protection.iter().map(|pages| pages.0).collect(),
            state: State::of(zone.free, marks),
            page,
        }
    }

    fn amount(&self, pages: u64) -> String {
        Pages(pages).bytes(self.page).to_string()
    }

    fn write_line(&self, page: &mut Page) {
        let head = format!(
            "{} (node {}): free {} of {}, {}",
            self.name,
            self.node,
            self.amount(self.free_pages),
            self.amount(self.managed_pages),
            self.state.words()
        );
        page.line("");
        page.paragraph(2, &head);
        let marks = [
            ("min", self.min_pages),
            ("low", self.low_pages),
            ("high", self.high_pages),
        ];
        let marks = marks.map(|(name, at)| Mark {
            name,
            at,
            amount: self.amount(at),
        });
        page.load_line(&marks, self.free_pages);
    }

    fn write(&self, page: &mut Page) {
        self.write_line(page);
        self.write_extras(page);
    }

    fn write_extras(&self, page: &mut Page) {
        if self.boost_pages > 0 {
            let boost = self.amount(self.boost_pages);
            page.paragraph(
                2,
                &format!("The marks are raised by {boost} for now (watermark boost)."),
            );
        }
        let reserve = self.lowmem_reserve_pages.iter().copied().max().unwrap_or(0);
        if reserve > 0 {
            let reserve = self.amount(reserve);
            page.paragraph(
                2,
                &format!("To requests that can use a higher zone each mark is {reserve} higher."),
            );
        }
    }
}

/// Writes the section.
pub(crate) fn write(zones: &[Zone], rule: &WatermarkRule, page: &mut Page) {
    if zones.is_empty() {
        return;
    }
    page.heading("Load lines: the free pages of each zone against its watermarks");
    for zone in as_tried(zones) {
        zone.write(page);
    }
    rule.write(page);
}

/// Writes the lines alone, of the zones that hold more than a sixty-fourth of the memory.
pub(crate) fn write_lines(zones: &[Zone], page: &mut Page) {
    let all: Pages = zones.iter().map(|zone| Pages(zone.managed_pages)).sum();
    let large = |zone: &&Zone| zone.managed_pages > all.0 / 64;
    for zone in as_tried(zones).into_iter().filter(large) {
        zone.write_line(page);
    }
}

/// Node by node, the zone that allocations try first before those that stand in for it.
fn as_tried(zones: &[Zone]) -> Vec<&Zone> {
    let mut order: Vec<&Zone> = zones.iter().rev().collect();
    order.sort_by_key(|zone| zone.node);
    order
}

/// Recomputes the watermarks and the lowmem reserves.
pub(crate) fn checks(snapshot: &Snapshot) -> Vec<Check> {
    let mut checks = watermark_checks(snapshot).unwrap_or_default();
    checks.extend(reserve_checks(snapshot).unwrap_or_default());
    checks
}

fn watermark_checks(snapshot: &Snapshot) -> Option<Vec<Check>> {
    let computed = snapshot.watermarks()?;
    let reason = stale_marks(snapshot);
    let pairs = snapshot.zoneinfo.as_ref()?.zones.iter().zip(computed);
    let check = |(zone, computed): (&zoneinfo::Zone, Watermarks)| {
        let kernel = zone.watermarks;
        let name = |mark| format!("{mark} watermark of {}", title(zone));
        [
            Check::watermark(name("min"), computed.min, kernel.min, &reason),
            Check::watermark(name("low"), computed.low, kernel.low, &reason),
            Check::watermark(name("high"), computed.high, kernel.high, &reason),
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

/// Why the kernel's marks are not those that the tunables give now.
fn stale_marks(snapshot: &Snapshot) -> String {
    let when = match late_pages(snapshot) {
        Some(LatePages { zone, node, pages }) => format!(
            "when {zone} (node {node}) managed {pages} pages ({amount}) less, as at boot \
             before the initial RAM disk's came back",
            pages = pages.0,
            amount = pages.bytes(snapshot.page),
        ),
        None => "when the zones managed other pages, or a patch changed the rule".to_owned(),
    };
    format!(
        "The kernel made its marks {when}. Writing vm.watermark_scale_factor to itself makes them \
         anew."
    )
}
