//! Memory that is held back: the reserve, the boost, and nodes that keep to themselves.

use mm::units::Pages;

use super::{Finding, Looked, Severity};
use crate::view::share::percent;

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
