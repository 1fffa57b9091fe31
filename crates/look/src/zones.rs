//! The zones: free pages on a line between the watermarks, and what each node's kswapd makes of it.

use mm::recompute::Place;
use mm::snapshot::Snapshot;
use mm::units::{PageSize, Pages};
use mm::zoneinfo::{self, Zoneinfo};
use schemars::JsonSchema;
use serde::Serialize;

use super::load_line::{Level, Mark, apart};
use super::nodes::{Node, nodes};
use super::page::Page;
use super::watermark_rule::WatermarkRule;

/// One zone with memory.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Zone {
    node: u32,
    name: &'static str,
    present_pages: u64,
    managed_pages: u64,
    free_pages: u64,
    #[serde(skip_serializing_if = "is_zero")]
    free_cma_pages: u64,
    #[serde(skip_serializing_if = "is_zero")]
    free_highatomic_pages: u64,
    against_marks_pages: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    boost_pages: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    boost_is_hidden: bool,
    min_pages: u64,
    low_pages: u64,
    high_pages: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    promo_pages: Option<u64>,
    lowmem_reserve_pages: Vec<u64>,
    state: State,
    #[serde(skip)]
    kswapd: Option<Node>,
    #[serde(skip)]
    page: PageSize,
}

/// Where the free pages stand. What it means for kswapd is the node's affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    AboveHigh,
    BelowHigh,
    BelowLow,
    BelowMin,
}

impl State {
    fn of(place: Place) -> Self {
        match place {
            Place::BelowMin => Self::BelowMin,
            Place::BelowLow => Self::BelowLow,
            Place::BelowHigh => Self::BelowHigh,
            Place::AboveHigh => Self::AboveHigh,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::AboveHigh => "above high",
            Self::BelowHigh => "below high",
            Self::BelowLow => "below low",
            Self::BelowMin => "below min",
        }
    }
}

/// The zones of which the allocator has memory, in the kernel's order.
pub(crate) fn zones(snapshot: &Snapshot) -> Vec<Zone> {
    let nodes = nodes(snapshot);
    let zones = snapshot.zoneinfo.iter().flat_map(Zoneinfo::populated);
    let zones = zones.filter(|zone| zone.is_usable());
    let node = |zone: &zoneinfo::Zone| nodes.iter().find(|node| node.number() == zone.node);
    zones
        .map(|zone| Zone::of(zone, snapshot, node(zone)))
        .collect()
}

impl Zone {
    fn of(zone: &zoneinfo::Zone, snapshot: &Snapshot, node: Option<&Node>) -> Self {
        let marks = zone.watermarks;
        let standing = snapshot.standing(zone);
        Self {
            node: zone.node,
            name: zone.kind.name(),
            present_pages: zone.present.0,
            managed_pages: zone.managed.0,
            free_pages: zone.free.0,
            free_cma_pages: standing.cma.0,
            free_highatomic_pages: standing.highatomic.0,
            against_marks_pages: standing.against.0,
            boost_is_hidden: snapshot.hidden_boost && zone.boost.is_some(),
            boost_pages: zone.boost.map(|boost| boost.0),
            min_pages: marks.min.0,
            low_pages: marks.low.0,
            high_pages: marks.high.0,
            promo_pages: marks.promo.map(|promo| promo.0),
            lowmem_reserve_pages: zone.protection.iter().map(|pages| pages.0).collect(),
            state: State::of(standing.place),
            kswapd: node.cloned(),
            page: snapshot.page,
        }
    }

    fn amount(&self, pages: u64) -> String {
        Pages(pages).bytes(self.page).to_string()
    }

    fn write_line(&self, page: &mut Page) {
        let head = format!(
            "{} (node {}): free {} of {}{}, {}",
            self.name,
            self.node,
            self.amount(self.free_pages),
            self.amount(self.managed_pages),
            self.kept(),
            self.state.words()
        );
        page.line("");
        page.paragraph(2, &head);
        page.load_line(&self.marks(), self.against_marks_pages);
    }

    fn marks(&self) -> [Mark; 3] {
        let marks = [
            ("min", self.min_pages),
            ("low", self.low_pages),
            ("high", self.high_pages),
        ];
        marks.map(|(name, at)| Mark {
            name,
            at,
            amount: self.amount(at),
        })
    }

    /// What stands against the marks, and how far that is from them.
    fn level(&self) -> Level {
        let against = self.against_marks_pages;
        let from = |mark: u64| apart(against, mark, self.page);
        let mut says = match self.state {
            State::AboveHigh => format!("{} above high", from(self.high_pages)),
            State::BelowHigh => format!("{} above low", from(self.low_pages)),
            State::BelowLow => format!("{} above min", from(self.min_pages)),
            State::BelowMin => format!("{} below min", from(self.min_pages)),
        };
        if let Some(boost) = self.boost_pages.filter(|&pages| pages > 0) {
            says += &format!(", boost {}", self.amount(boost));
        }
        let name = format!("{} {}", self.name, self.node);
        let is_pressing = matches!(self.state, State::BelowLow | State::BelowMin);
        Level::new(name, Some(against), self.marks().into()).says(says, is_pressing)
    }

    /// The free pages that do not stand against the marks.
    fn kept(&self) -> String {
        let parts = [
            (self.free_cma_pages, "CMA"),
            (self.free_highatomic_pages, "for atomic requests"),
        ];
        let parts = parts.into_iter().filter(|(pages, _)| *pages > 0);
        let parts: Vec<String> = parts
            .map(|(pages, name)| format!("{} {name}", self.amount(pages)))
            .collect();
        match parts.is_empty() {
            true => String::new(),
            false => format!(
                ", of it {}: {} against the marks",
                parts.join(" and "),
                self.amount(self.against_marks_pages)
            ),
        }
    }

    fn write(&self, page: &mut Page) {
        self.write_line(page);
        self.write_extras(page);
    }

    fn write_extras(&self, page: &mut Page) {
        let boost = self.boost_pages.filter(|&pages| pages > 0);
        if let Some(pages) = boost.filter(|_| self.boost_is_hidden) {
            let without = |mark: u64| mark.saturating_sub(pages);
            let text = format!(
                "The marks are boosted by {} pages ({}), which this kernel does not print. Without \
                 the boost they are {}, {} and {} pages.",
                pages,
                self.amount(pages),
                without(self.min_pages),
                without(self.low_pages),
                without(self.high_pages)
            );
            page.paragraph(2, &text);
        } else if let Some(pages) = boost {
            let boost = self.amount(pages);
            page.paragraph(
                2,
                &format!("The marks are raised by {boost} for now (watermark boost)."),
            );
        }
        let reserve = self.lowmem_reserve_pages.iter().copied().max();
        if let Some(reserve) = reserve.filter(|&pages| pages > 0) {
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
    for node in as_tried(zones).chunk_by(|a, b| a.node == b.node) {
        node.iter().for_each(|zone| zone.write(page));
        write_kswapd(node, page);
    }
    rule.write(page);
}

/// Writes the lines alone, of the zones that hold more than a sixty-fourth of the memory.
pub(crate) fn write_lines(zones: &[Zone], page: &mut Page) {
    for node in large(zones).chunk_by(|a, b| a.node == b.node) {
        node.iter().for_each(|zone| zone.write_line(page));
        write_kswapd(node, page);
    }
}

/// The same as rows of a screen, and what kswapd of each node does.
pub(crate) fn levels(zones: &[Zone]) -> (Vec<Level>, Vec<String>) {
    let large = large(zones);
    let nodes = large.chunk_by(|a, b| a.node == b.node);
    let kswapd = nodes.filter_map(|node| Some(node.first()?.kswapd.as_ref()?.words().to_owned()));
    let kswapd = kswapd.collect();
    (large.into_iter().map(Zone::level).collect(), kswapd)
}

/// Those that hold more than a sixty-fourth of the memory, as they are tried.
fn large(zones: &[Zone]) -> Vec<&Zone> {
    let all: Pages = zones.iter().map(|zone| Pages(zone.managed_pages)).sum();
    let large = |zone: &&Zone| zone.managed_pages > all.0 / 64;
    as_tried(zones).into_iter().filter(large).collect()
}

/// What kswapd of these zones' node does.
fn write_kswapd(zones: &[&Zone], page: &mut Page) {
    if let Some(node) = zones.first().and_then(|zone| zone.kswapd.as_ref()) {
        page.line("");
        page.paragraph(2, node.words());
    }
}

/// Node by node, the zone that allocations try first before those that stand in for it.
fn as_tried(zones: &[Zone]) -> Vec<&Zone> {
    let mut order: Vec<&Zone> = zones.iter().rev().collect();
    order.sort_by_key(|zone| zone.node);
    order
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
