//! Where zones stand against their marks, and what kswapd of each node makes of it.
//!
//! A zone is what an allocation looks at, a node is what kswapd looks at. `__zone_watermark_ok` and
//! `pgdat_balanced`, for requests of one page without privileges that are not for movable memory.

use alloc::vec::Vec;

use super::era::columns;
use crate::rules::{Balance, Rule, tried};
use crate::snapshot::Snapshot;
use crate::units::Pages;
use crate::zoneinfo::{Watermarks, Zone, ZoneKind};

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
    /// How far its best zone stands above each mark; `None` where zones of it are missing.
    pub above: Option<Above>,
    /// Whether no zone of it is above min and its reserve: what allocates there reclaims itself.
    pub is_below_min: bool,
}

/// How far free pages stand above the three marks, in pages; below a mark where negative. For a
/// node it is that of its best zone, after what the zone keeps back from requests that could use
/// the node's highest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Above {
    /// Above min.
    pub min: i64,
    /// Above low.
    pub low: i64,
    /// Above high.
    pub high: i64,
}

impl Above {
    /// Where these pages stand above marks to which what is kept back is added.
    fn of(against: Pages, marks: Watermarks, kept: Pages) -> Self {
        let pages = |Pages(pages)| i64::try_from(pages).unwrap_or(i64::MAX);
        let above = |mark: Pages| pages(against) - pages(mark.saturating_add(kept));
        Self {
            min: above(marks.min),
            low: above(marks.low),
            high: above(marks.high),
        }
    }

    /// The better of both, mark by mark.
    fn best(self, other: Self) -> Self {
        Self {
            min: self.min.max(other.min),
            low: self.low.max(other.low),
            high: self.high.max(other.high),
        }
    }
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
            let above = self.above_reserve(&zones, columns.as_deref());
            let above = above.filter(|_| self.is_whole(node));
            Node {
                node,
                kswapd: above.map(|above| self.kswapd(&zones, columns.as_deref(), above)),
                above,
                is_below_min: above.is_some_and(|above| above.min <= 0),
            }
        };
        nodes.into_iter().map(state).collect()
    }

    /// How far the free pages of a zone stand above its marks.
    #[must_use]
    pub fn above(&self, zone: &Zone) -> Above {
        Above::of(self.standing(zone).against, zone.watermarks, Pages::ZERO)
    }

    /// The best of a node's zones; `None` of none.
    fn above_reserve(&self, zones: &[&Zone], columns: Option<&[ZoneKind]>) -> Option<Above> {
        let above = |zone: &&Zone| {
            let against = self.standing(zone).against;
            Above::of(against, zone.watermarks, kept(zones, columns, zone))
        };
        zones.iter().map(above).reduce(Above::best)
    }

    fn kswapd(&self, zones: &[&Zone], columns: Option<&[ZoneKind]>, best: Above) -> Kswapd {
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
        balanced.unwrap_or(match best.low > 0 {
            true => Kswapd::GoesOn,
            false => Kswapd::Reclaims,
        })
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
