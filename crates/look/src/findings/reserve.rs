//! Memory that is held back: the reserve, the boost, and nodes that keep to themselves.

use crate::fact::Missing;
use crate::share::percent;
use mm::meminfo::Meminfo;
use mm::recompute::{Kswapd, Place};
use mm::units::{Bytes, Kib, Pages};
use mm::zoneinfo::Zone;

use super::facts::Looked;
use super::finding::{Answer, Said, Severity};

/// Every zone of a node that a request could use is below low: kswapd is at work, or allocations
/// reclaim for themselves.
pub(super) fn node_short(looked: &Looked<'_>) -> Answer {
    let nodes = looked.nodes()?;
    let short = nodes
        .iter()
        .find(|node| node.kswapd == Some(Kswapd::Reclaims));
    let Some(node) = short.map(|node| node.node) else {
        return Ok(None);
    };
    let places = looked.places(node)?;
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
    Ok(Some(Said::new(
        severity,
        what,
        "a node is balanced by any zone above its high mark and reserve; below min only requests \
         with a right to the reserve are served at once",
        "plimsoll inspect --section zones",
    )))
}

/// Most free memory is CMA, which only movable requests may have.
pub(super) fn free_is_cma(looked: &Looked<'_>) -> Answer {
    let zones = match looked.standings() {
        Ok(standings) => standings.into_iter().map(FreeOf::of_zone).collect(),
        Err(missing) => of_report(looked).ok_or(missing)?,
    };
    let short = |zone: &&FreeOf| zone.cma.0 > zone.free.0 / 2 && zone.is_short;
    Ok(zones.iter().find(short).map(|zone| {
        Said::new(
            Severity::Warning,
            format!(
                "{} has {} free, but {} of it is CMA: {} stands against the marks.",
                zone.name,
                looked.bytes(zone.free.0),
                looked.bytes(zone.cma.0),
                looked.bytes(zone.free.saturating_sub(zone.cma).0)
            ),
            "__zone_watermark_ok takes free CMA pages off for all requests but movable ones",
            "a smaller CMA area: cma= at boot, or the device tree",
        )
        .not("drop_caches: cache in CMA becomes free CMA")
    }))
}

/// A zone's free memory, and what of it is CMA's.
struct FreeOf {
    name: String,
    free: Pages,
    cma: Pages,
    is_short: bool,
}

impl FreeOf {
    fn of_zone((zone, standing): (&mm::zoneinfo::Zone, mm::recompute::Standing)) -> Self {
        Self {
            name: format!("{} (node {})", zone.kind, zone.node),
            free: standing.free,
            cma: standing.cma,
            is_short: standing.place != Place::AboveHigh,
        }
    }
}

/// The same of a report's zones.
fn of_report(looked: &Looked<'_>) -> Option<Vec<FreeOf>> {
    let report = looked.report().ok()?;
    let page = looked.page();
    let pages = |kib: mm::units::Kib| Pages(kib.bytes().0 / page.bytes());
    let zones = report.zones.iter().filter(|zone| zone.is_whole());
    let zones: Vec<FreeOf> = zones
        .filter_map(|zone| {
            let cma = zone.items.get("free_cma").map(mm::units::Kib)?;
            let (free, high) = (zone.kib("free"), zone.kib("high"));
            Some(FreeOf {
                name: format!("{} (node {})", zone.kind, zone.node),
                free: pages(free),
                cma: pages(cma),
                is_short: free.saturating_sub(cma) < high,
            })
        })
        .collect();
    (!zones.is_empty()).then_some(zones)
}

/// Times the kernel's own choice from which `vm.min_free_kbytes` was raised on purpose.
const RAISED: u64 = 2;

/// `vm.min_free_kbytes` was raised, and what it takes is felt.
pub(super) fn raised(looked: &Looked<'_>) -> Answer {
    let snapshot = looked.snapshot();
    let set = looked.setting("vm.min_free_kbytes")?;
    const CHOICE: Missing = Missing("/proc/zoneinfo");
    let choice = snapshot.chosen_min_free().ok_or(CHOICE)?;
    let chosen = snapshot.default_min_free().ok_or(CHOICE)?.0;
    let held = snapshot.totalreserve().ok_or(CHOICE)?;
    let managed: Pages = looked.zones()?.zones.iter().map(|zone| zone.managed).sum();
    // MemTotal is their sum: a zoneinfo that is cut short has less.
    if let Ok(total) = looked.total()
        && looked.bytes(managed.0).0 < total.bytes().0 / 100 * 98
    {
        return Err(Missing("all zones of /proc/zoneinfo"));
    }
    let twentieth = held.0 >= managed.0 / 20;
    if set < chosen.saturating_mul(RAISED) || !twentieth {
        return Ok(None);
    }
    // khugepaged raises it, and a capture that is cut short does not tell of huge pages.
    if !choice.is_known && set < choice.most.0.saturating_mul(RAISED) {
        return Err(Missing("transparent_hugepage/enabled"));
    }
    let severity = match held.0 >= managed.0 / 5 {
        true => Severity::Critical,
        false => Severity::Warning,
    };
    Ok(Some(
        Said::new(
            severity,
            format!(
                "vm.min_free_kbytes = {set} holds {} back, {} of memory; the kernel would choose \
                 {chosen}.",
                looked.bytes(held.0),
                percent(held.0, managed.0)
            ),
            "the high marks of all zones are taken off MemAvailable and off what may be dirty: \
             1.5 times the value",
            "plimsoll predict min-free-kbytes",
        )
        .not("more RAM for processes: the reserve stays out of their reach"),
    ))
}

/// A zone's marks are boosted far above what is set.
pub(super) fn boosted(looked: &Looked<'_>) -> Answer {
    let zones = looked.zones()?.populated();
    let raised = zones.filter_map(|zone| Some((zone, zone.boost?)));
    let large =
        |&(zone, boost): &(&mm::zoneinfo::Zone, Pages)| boost.0 >= zone.unboosted().high.0 / 2;
    let found = raised.filter(|(_, boost)| boost.0 > 0).find(large);
    Ok(found.map(|(zone, boost)| {
        Said::new(
            Severity::Note,
            format!(
                "The marks of {} (node {}) are raised by {} to {} at the high mark: kswapd frees \
                 more than is set.",
                zone.kind,
                zone.node,
                looked.bytes(boost.0),
                looked.bytes(zone.watermarks.high.0)
            ),
            "watermark boost: after pageblocks of two kinds were mixed, up to \
             vm.watermark_boost_factor/10000 of the high mark",
            "plimsoll inspect --section zones",
        )
        .not("vm.min_free_kbytes: the boost is on top of it")
    }))
}

/// One node has next to nothing that is free or page cache while another has much free.
pub(super) fn node_imbalance(looked: &Looked<'_>) -> Answer {
    let nodes = node_stands(looked)?;
    let share = |part: Bytes, node: &NodeStand| part.0.saturating_mul(100) / node.managed.0.max(1);
    let short = nodes
        .iter()
        .find(|node| share(node.reclaimable(), node) < 10);
    let rich = nodes.iter().find(|node| share(node.free, node) >= 30);
    Ok(short.zip(rich).map(|(short, rich)| {
        Said::new(
            Severity::Warning,
            format!(
                "Node {} has {} free or page cache, of {}; node {} has {} free.",
                short.node,
                short.reclaimable(),
                short.managed,
                rich.node,
                rich.free
            ),
            "what is bound to a node (numactl --membind, a cpuset) reclaims, swaps and is killed \
             there, whatever other nodes have",
            "numastat -m; numastat -p PID",
        )
        .not("more memory as such: the other node's is not used")
    }))
}

/// What a node has.
struct NodeStand {
    node: u32,
    managed: Bytes,
    free: Bytes,
    file: Bytes,
}

impl NodeStand {
    /// By its meminfo; an error names what is missing: `numactl --hardware` has no page cache.
    fn of((node, meminfo): &(u32, Meminfo)) -> Result<Self, Missing> {
        let bytes = |amount: Option<Kib>, what| amount.map(Kib::bytes).ok_or(Missing(what));
        let file = meminfo.active_file.zip(meminfo.inactive_file);
        let file = file.map(|(active, inactive)| Kib(active.0.saturating_add(inactive.0)));
        Ok(Self {
            node: *node,
            managed: bytes(meminfo.mem_total, "a node's MemTotal")?,
            free: bytes(meminfo.mem_free, "a node's MemFree")?,
            file: bytes(file, "page cache of the nodes (numastat -m)")?,
        })
    }

    /// What is free, or page cache that can be dropped.
    fn reclaimable(&self) -> Bytes {
        Bytes(self.free.0.saturating_add(self.file.0))
    }
}

/// By the zones, or by the nodes' meminfo where there are none.
fn node_stands(looked: &Looked<'_>) -> Result<Vec<NodeStand>, Missing> {
    let by_meminfo = looked.meminfo_of_nodes();
    let info = match looked.zones() {
        Err(_) if !by_meminfo.is_empty() => return by_meminfo.iter().map(NodeStand::of).collect(),
        zones => zones?,
    };
    let item = |node: u32, item| {
        let stats = info.nodes.iter().find(|stats| stats.node == node);
        stats
            .and_then(|stats| stats.items.get(item))
            .ok_or(Missing("a node's page cache in /proc/zoneinfo"))
    };
    let zones: Vec<_> = info.populated().collect();
    let nodes = zones.chunk_by(|a, b| a.node == b.node);
    let stand = |zones: &[&Zone]| {
        let node = zones[0].node;
        let sum = |part: fn(&Zone) -> Pages| {
            looked.bytes(zones.iter().copied().map(part).sum::<Pages>().0)
        };
        let file = item(node, "nr_active_file")?.saturating_add(item(node, "nr_inactive_file")?);
        Ok(NodeStand {
            node,
            managed: sum(|zone| zone.managed),
            free: sum(|zone| zone.free),
            file: looked.bytes(file),
        })
    };
    nodes.map(stand).collect()
}

/// Nodes reclaim their own memory while others have memory free.
pub(super) fn zone_reclaim(looked: &Looked<'_>) -> Answer {
    let mode = looked.setting("vm.zone_reclaim_mode")?;
    let zones = &looked.zones()?.zones;
    let nodes = zones.chunk_by(|a, b| a.node == b.node).count();
    Ok((mode > 0 && nodes > 1).then(|| {
        Said::new(
            Severity::Warning,
            format!(
                "vm.zone_reclaim_mode = {mode}: each of {nodes} nodes drops its page cache before \
                 it takes memory of another."
            ),
            "node_reclaim runs before an allocation falls back to another node",
            "plimsoll apply vm.zone_reclaim_mode=0 --dry-run",
        )
    }))
}

/// The smallest order that a zone should still be able to serve in one piece: 512 KiB.
const PIECE: usize = 7;

/// Free memory of the largest zone is in small pieces.
pub(super) fn fragmented(looked: &Looked<'_>) -> Answer {
    const NEEDS: Missing = Missing("/proc/buddyinfo");
    let buddies = looked.snapshot().buddyinfo.as_ref().ok_or(NEEDS)?;
    let zone = buddies.zones.iter().max_by_key(|zone| zone.free());
    let Some(zone) = zone.filter(|zone| zone.blocks.len() > PIECE) else {
        return Ok(None);
    };
    let largest = zone.blocks.iter().rposition(|&count| count > 0);
    let pages = zone.free().0;
    let many = looked.bytes(pages) >= mm::units::Bytes(256 << 20);
    let small = largest.filter(|&order| many && order < PIECE);
    Ok(small.map(|order| {
        let piece = 1 << order;
        Said::new(
            Severity::Note,
            format!(
                "{} (node {}) has {} free and no piece larger than {}: requests above that fail \
                 or compact first.",
                zone.kind,
                zone.node,
                looked.bytes(pages),
                looked.bytes(piece)
            ),
            "an allocation of order n needs 2^n pages in one piece; huge pages are order 9",
            "sudo sysctl -w vm.compact_memory=1",
        )
        .not("more free memory as such: there are enough free pages")
    }))
}
