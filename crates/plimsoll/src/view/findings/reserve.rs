//! Memory that is held back: the reserve, the boost, and nodes that keep to themselves.

use mm::recompute::{Kswapd, Place, Standing};
use mm::units::Pages;

use super::finding::{Finding, Looked, Severity};
use crate::view::share::percent;

/// Every zone of a node that a request could use is below low: kswapd is at work, or allocations
/// reclaim for themselves.
pub(super) fn node_short(looked: &Looked<'_>) -> Option<Finding> {
    let nodes = looked.snapshot.nodes();
    let node = nodes
        .iter()
        .find(|node| node.kswapd == Some(Kswapd::Reclaims))?
        .node;
    let zones = looked.snapshot.zoneinfo.as_ref()?.populated();
    let places: Vec<Place> = zones
        .filter(|zone| zone.node == node)
        .map(|zone| looked.snapshot.standing(zone).place)
        .collect();
    let below_min = places.iter().all(|&place| place == Place::BelowMin);
    let (severity, what) = match below_min {
        true => (
            Severity::Critical,
            format!("Every zone of node {node} is below min: allocations reclaim for themselves."),
        ),
        false => (
            Severity::Note,
            format!("No zone of node {node} is above low: its kswapd reclaims."),
        ),
    };
    Some(Finding {
        id: "node_below_low",
        severity,
        what,
        rule: "a node is balanced by any zone above its high mark and reserve; below min only \
               requests with a right to the reserve are served at once"
            .to_owned(),
        next: "plimsoll inspect --section zones".to_owned(),
    })
}

/// Most free memory is CMA, which only movable requests may have.
pub(super) fn free_is_cma(looked: &Looked<'_>) -> Option<Finding> {
    let snapshot = looked.snapshot;
    let zones = snapshot.zoneinfo.as_ref()?.populated();
    let standing = |zone| (zone, snapshot.standing(zone));
    let short = |(_, standing): &(&mm::zoneinfo::Zone, Standing)| {
        standing.cma.0 >= standing.free.0 / 2 && standing.place != Place::AboveHigh
    };
    let (zone, standing) = zones
        .map(standing)
        .filter(|(zone, _)| zone.free.0 > 0)
        .find(short)?;
    Some(Finding {
        id: "free_is_cma",
        severity: Severity::Warning,
        what: format!(
            "{} (node {}) has {} free, but {} of it is CMA: {} stands against the marks.",
            zone.kind,
            zone.node,
            standing.free.bytes(snapshot.page),
            standing.cma.bytes(snapshot.page),
            standing.against.bytes(snapshot.page)
        ),
        rule: "__zone_watermark_ok takes free CMA pages off for all requests but movable ones"
            .to_owned(),
        next: "plimsoll inspect --section zones".to_owned(),
    })
}

/// Times the kernel's own choice from which `vm.min_free_kbytes` was raised on purpose.
const RAISED: u64 = 2;

/// `vm.min_free_kbytes` was raised, and what it takes is felt.
pub(super) fn raised(looked: &Looked<'_>) -> Option<Finding> {
    let snapshot = looked.snapshot;
    let set = snapshot.number("vm.min_free_kbytes")?;
    let chosen = snapshot.default_min_free()?.0;
    let held = snapshot.totalreserve()?;
    let managed: Pages = snapshot
        .zoneinfo
        .as_ref()?
        .zones
        .iter()
        .map(|zone| zone.managed)
        .sum();
    let twentieth = held.0 >= managed.0 / 20;
    if set < chosen.saturating_mul(RAISED) || !twentieth {
        return None;
    }
    let severity = match held.0 >= managed.0 / 5 {
        true => Severity::Critical,
        false => Severity::Warning,
    };
    Some(Finding {
        id: "min_free_raised",
        severity,
        what: format!(
            "vm.min_free_kbytes = {set} holds {} back, {} of memory; the kernel would choose \
             {chosen}.",
            held.bytes(snapshot.page),
            percent(held.0, managed.0)
        ),
        rule: "the high marks of all zones are taken off MemAvailable and off what may be dirty: \
               1.5 times the value"
            .to_owned(),
        next: "plimsoll predict min-free-kbytes".to_owned(),
    })
}

/// A zone's marks are boosted far above what is set.
pub(super) fn boosted(looked: &Looked<'_>) -> Option<Finding> {
    let zones = looked.snapshot.zoneinfo.as_ref()?.populated();
    let raised = zones.filter_map(|zone| Some((zone, zone.boost?)));
    let large =
        |&(zone, boost): &(&mm::zoneinfo::Zone, Pages)| boost.0 >= zone.unboosted().high.0 / 2;
    let (zone, boost) = raised.filter(|(_, boost)| boost.0 > 0).find(large)?;
    let page = looked.snapshot.page;
    Some(Finding {
        id: "watermark_boost",
        severity: Severity::Note,
        what: format!(
            "The marks of {} (node {}) are raised by {} to {} at the high mark: kswapd frees more \
             than is set.",
            zone.kind,
            zone.node,
            boost.bytes(page),
            zone.watermarks.high.bytes(page)
        ),
        rule: "watermark boost: after pageblocks of two kinds were mixed, up to \
               vm.watermark_boost_factor/10000 of the high mark"
            .to_owned(),
        next: "plimsoll inspect --section zones".to_owned(),
    })
}

/// Nodes reclaim their own memory while others have memory free.
pub(super) fn zone_reclaim(looked: &Looked<'_>) -> Option<Finding> {
    let mode = looked
        .snapshot
        .number("vm.zone_reclaim_mode")
        .filter(|&mode| mode > 0)?;
    let zones = &looked.snapshot.zoneinfo.as_ref()?.zones;
    let nodes = zones.chunk_by(|a, b| a.node == b.node).count();
    (nodes > 1).then(|| Finding {
        id: "zone_reclaim",
        severity: Severity::Warning,
        what: format!(
            "vm.zone_reclaim_mode = {mode}: each of {nodes} nodes drops its page cache before it \
             takes memory of another."
        ),
        rule: "node_reclaim runs before an allocation falls back to another node".to_owned(),
        next: "plimsoll inspect --section zones".to_owned(),
    })
}
