//! Where zones stand against their marks, and what kswapd of each node makes of it.
//!
//! A zone is what an allocation looks at, a node is what kswapd looks at. `__zone_watermark_ok` and
//! `pgdat_balanced`, for requests of one page without privileges that are not for movable memory.

use alloc::vec::Vec;

use super::era::columns;
use crate::rules::{Balance, Rule, tried};
use crate::snapshot::Snapshot;
use crate::units::Pages;
use crate::zoneinfo::{Zone, ZoneKind};

/// A zone's free pages as the allocator counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Free pages.
    pub free: Pages,
    /// Of them, those of CMA, which movable requests alone may have.
    pub cma: Pages,
    /// Of them, those kept for atomic requests of higher orders.
    pub highatomic: Pages,
    /// What stands against the marks.
    pub against: Pages,
    /// Where that is.
    pub place: Place,
}

/// Between which marks a zone stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At its high mark or above.
    AboveHigh,
    /// Below high.
    BelowHigh,
    /// Below low.
    BelowLow,
    /// Below min.
    BelowMin,
}

/// A node and its kswapd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub node: u32,
    /// What its zones mean for kswapd; `None` where zones of it are missing.
    pub kswapd: Option<Kswapd>,
    /// Whether no zone of it is above min and its reserve: what allocates there reclaims itself.
    pub is_below_min: bool,
}

/// What kswapd of a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kswapd {
    /// The node is balanced by this zone, which is above high and the reserve (since 4.8).
    BalancedBy(ZoneKind),
    /// Every zone is above high (before 4.8).
    Balanced,
    /// The node is not balanced: kswapd goes on if it is awake, but no request wakes it, for some
    /// zone is above low.
    GoesOn,
    /// Every zone that a request could use is below low: kswapd is woken and reclaims.
    Reclaims,
}

impl Snapshot {
    /// Where a zone of this snapshot stands.
    #[must_use]
    pub fn standing(&self, zone: &Zone) -> Standing {
        let cma = Pages(zone.items.get("nr_free_cma").unwrap_or(0)).min(zone.free);
        let highatomic = self.highatomic(zone).min(zone.free.saturating_sub(cma));
        let against = zone.free.saturating_sub(cma).saturating_sub(highatomic);
        let marks = zone.watermarks;
        let place = match against {
            against if against < marks.min => Place::BelowMin,
            against if against < marks.low => Place::BelowLow,
            against if against < marks.high => Place::BelowHigh,
            _ => Place::AboveHigh,
        };
        Standing {
            free: zone.free,
            cma,
            highatomic,
            against,
            place,
        }
    }

    /// Free pages of the reserve for atomic requests: an item since 6.12, else the free blocks of
    /// that type.
    fn highatomic(&self, zone: &Zone) -> Pages {
        if let Some(free) = zone.items.get("nr_free_highatomic") {
            return Pages(free);
        }
        let types = self.pagetypeinfo.as_ref();
        let zone = types.and_then(|types| types.zone(zone.node, zone.kind));
        let blocks = zone.and_then(|zone| zone.types.get("HighAtomic"));
        let pages = blocks.into_iter().flat_map(|blocks| (0_u32..).zip(blocks));
        let pages = pages.map(|(order, &count)| {
            let size = 1_u64.checked_shl(order).unwrap_or(u64::MAX);
            count.saturating_mul(size)
        });
        Pages(pages.fold(0, u64::saturating_add))
    }

    /// Every node with zones that have memory, and what kswapd makes of them.
    #[must_use]
    pub fn nodes(&self) -> Vec<Node> {
        let Some(info) = &self.zoneinfo else {
            return Vec::new();
        };
        let columns = columns(&info.zones);
        let usable = || info.populated().filter(|zone| zone.is_usable());
        let mut nodes: Vec<u32> = usable().map(|zone| zone.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let state = |node| {
            let zones: Vec<&Zone> = usable().filter(|zone| zone.node == node).collect();
            let known = self.is_whole(node);
            Node {
                node,
                kswapd: known.then(|| self.kswapd(&zones, columns.as_deref())),
                is_below_min: known && self.is_below_min(&zones, columns.as_deref()),
            }
        };
        nodes.into_iter().map(state).collect()
    }

    fn kswapd(&self, zones: &[&Zone], columns: Option<&[ZoneKind]>) -> Kswapd {
        let reserve = |zone: &Zone| kept(zones, columns, zone);
        let above = |zone: &Zone, mark: Pages| self.standing(zone).against > mark;
        let beyond = |zone: &Zone, mark: Pages| above(zone, mark.saturating_add(reserve(zone)));
        let balanced = match self.balance() {
            Balance::EveryZone => {
                let every = zones.iter().all(|zone| above(zone, zone.watermarks.high));
                every.then_some(Kswapd::Balanced)
            }
            Balance::AnyZone => {
                let mut from_highest = zones.iter().rev();
                let by = from_highest.find(|zone| beyond(zone, zone.watermarks.high));
                by.map(|zone| Kswapd::BalancedBy(zone.kind))
            }
        };
        let serves = zones.iter().any(|zone| beyond(zone, zone.watermarks.low));
        balanced.unwrap_or(match serves {
            true => Kswapd::GoesOn,
            false => Kswapd::Reclaims,
        })
    }

    fn is_below_min(&self, zones: &[&Zone], columns: Option<&[ZoneKind]>) -> bool {
        let mark = |zone: &Zone| {
            zone.watermarks
                .min
                .saturating_add(kept(zones, columns, zone))
        };
        let mut zones_of_node = zones.iter();
        zones_of_node.all(|zone| self.standing(zone).against <= mark(zone))
    }

    fn balance(&self) -> Balance {
        let pick = |rule| match rule {
            Rule::Balance(rule) => Some(rule),
            _ => None,
        };
        let mut rules = tried(self.span(), pick);
        rules.next().map_or(Balance::AnyZone, |(rule, _)| rule)
    }
}

/// What a zone keeps back from requests that can use the highest of these zones.
fn kept(zones: &[&Zone], columns: Option<&[ZoneKind]>, zone: &Zone) -> Pages {
    let highest = zones.iter().map(|zone| zone.kind).max();
    let column = columns
        .zip(highest)
        .and_then(|(columns, highest)| columns.iter().position(|&kind| kind == highest));
    let kept = column.and_then(|column| zone.protection.get(column));
    kept.copied().unwrap_or_default()
}
