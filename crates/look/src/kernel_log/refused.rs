//! Why the zones refused, by their numbers in the report.

use crate::fact::or_unsaid;
use mm::kernel_log::{Answer, Cause, Event, Refusal, Report, Whose, ZoneCheck, has_high_memory};
use mm::units::{Bytes, Kib, Pages};
use mm::zoneinfo::ZoneKind;

/// Why the zones refused: the main reason, then one that holds beside it.
pub(super) fn of_zones(report: &Report, cause: &Cause) -> Vec<String> {
    let beside = cause.refusals.iter().skip(1).copied();
    let mut sentences = Vec::new();
    if let Some(&main) = cause.refusals.first()
        && (main != Refusal::NotShown || cause.whose != Whose::Unknown)
    {
        sentences.push(reason(report, cause, main));
    }
    let boost = beside.clone().find(|refusal| *refusal == Refusal::Boost);
    let usual = [Refusal::Shortage, Refusal::Boost, Refusal::Reserve];
    let other = beside.filter(|refusal| !usual.contains(refusal));
    let second = boost.or_else(|| other.into_iter().next());
    sentences.extend(second.map(|refusal| reason(report, cause, refusal)));
    sentences.extend(untold_reserve(cause).filter(|_| !report.mixed));
    let mixed = "Lines of two reports are mixed in this one: which of them belongs to which \
                 request is not told, and the first line of each zone is taken.";
    sentences.extend(report.mixed.then(|| mixed.to_owned()));
    sentences
}

/// Zones whose lowmem reserve decides, in a report that does not have it.
fn untold_reserve(cause: &Cause) -> Option<String> {
    let zones = cause.zones.iter();
    let untold = zones.filter(|zone| zone.answer == Answer::NoReserve);
    let names: Vec<String> = untold
        .map(|zone| format!("{} (node {})", zone.kind, zone.node))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "Whether {} refused is not known: above the mark a zone still keeps its lowmem \
             reserve, and the line lowmem_reserve[] is not in this log.",
            names.join(", ")
        )
    })
}

fn reason(report: &Report, cause: &Cause, refusal: Refusal) -> String {
    if refusal == Refusal::NodesNotShown {
        return not_shown(report, cause);
    }
    if report.is_of_2_4() {
        return "Linux 2.4 prints no zones: none that may serve the request gave a page, nor did \
                reclaim where the request may wait."
            .to_owned();
    }
    let told = cause.telling(refusal);
    let Some(zone) = told else {
        let whole = match cause.zones.is_empty() {
            true => "it has no whole line of a zone",
            false => "no zone in it that may serve is below its mark by what is printed",
        };
        return format!("This report does not show what refused: {whole}.");
    };
    let name = format!("{} (node {})", zone.kind, zone.node);
    let (free, usable, needed) = (zone.free.0, zone.usable.0, zone.needed().0);
    match refusal {
        Refusal::Fragmented => fragmented(report, cause, zone, &name),
        Refusal::Cma => format!(
            "Zone {name} has {free} kB free, of them {} kB CMA's, which only \
            movable pages may use: {usable} kB count, below {}.",
            zone.cma.0,
            mark(zone)
        ),
        Refusal::Highatomic => format!(
            "Zone {name} has {free} kB free, of them {} kB kept for \
            atomic requests of higher orders: {usable} kB count, below {}.",
            zone.highatomic.0,
            mark(zone)
        ),
        Refusal::Boost => format!(
            "Of the min mark of {name}, {} kB, {} kB are boost after \
            pageblocks were mixed: without it {} kB, and {usable} kB would be enough.",
            zone.min.0,
            zone.boost.0,
            zone.min.saturating_sub(zone.boost).0
        ),
        Refusal::Reserve => format!(
            "Zone {name} has {usable} kB above which it keeps {} kB from \
            requests that could use a higher zone (lowmem reserve): with the mark {needed} kB must \
            stay.",
            zone.reserve.0
        ),
        Refusal::HigherZones => higher(report, cause, zone, &name),
        Refusal::OtherNodes => format!(
            "Node {} was not allowed and has {} free in {}; of those \
            that were, {}.",
            zone.node,
            free_on(cause, zone.node),
            zone.kind,
            best(cause)
        ),
        Refusal::Shortage => format!("All that it may use is used: {}.", best(cause)),
        Refusal::Unseen => unseen(report, cause, zone, &name),
        Refusal::NodesNotShown | Refusal::NotShown => String::new(),
    }
}

/// A zone could have served. A failed allocation is never for the limit of a group: a charge that
/// is refused prints no such report.
fn unseen(report: &Report, cause: &Cause, zone: &ZoneCheck, name: &str) -> String {
    let (usable, needed) = (zone.usable.0, zone.needed().0);
    let next = match (report.event, zone.answer) {
        (_, Answer::Unknown) => format!(
            "Whether it had {} kB in one piece stands in the free lists, which are not in this \
             log.",
            Pages(1 << cause.order.min(32)).kib(report.page).0
        ),
        (Event::AllocationFailure | Event::AllocationStall | Event::Slab, _) => {
            "Memory came back before it was printed, or the lines of the zone that refused are not \
             in this log."
                .to_owned()
        }
        _ => "The limits of control groups are to be looked at next.".to_owned(),
    };
    format!(
        "This report does not show what refused: when it was printed, {name} had {usable} kB that \
         count, above the {needed} kB needed. {next}"
    )
}

/// Zones that are not printed have what is free by the sums over the machine.
fn not_shown(report: &Report, cause: &Cause) -> String {
    let shown: Bytes = cause.zones.iter().map(free_for_it).sum();
    let movable = report.gfp.as_ref().is_some_and(|gfp| gfp.movable);
    let cma = report.summary.get("free_cma").filter(|_| !movable);
    let all = report.summary.get("free").map(|all| match cma {
        Some(cma) => Pages(all.saturating_sub(cma)),
        None => Pages(all),
    });
    let all = all.map(|all| format!("; {} are free on the machine", all.bytes(report.page)));
    format!(
        "The zones that are printed are short: {shown} free{}. Whether a cpuset or a memory \
         policy kept the request from the other nodes stands in the line \
         \"oom-kill:constraint=\", which is not in this log.",
        or_unsaid(all)
    )
}

/// "the min mark of 10428 kB", with the reserve where there is one.
fn mark(zone: &ZoneCheck) -> String {
    match zone.reserve {
        Kib::ZERO if zone.mark == zone.min => format!("the min mark of {} kB", zone.min.0),
        Kib::ZERO => format!("the {} kB that the min mark leaves to it", zone.mark.0),
        reserve => format!(
            "the min mark and the lowmem reserve, {} and {} kB",
            zone.mark.0, reserve.0
        ),
    }
}

/// The zone that comes nearest, against its mark.
fn best(cause: &Cause) -> String {
    let refused = cause
        .zones
        .iter()
        .filter(|zone| zone.answer == Answer::Refused);
    let best = refused.max_by_key(|zone| zone.managed);
    best.map_or_else(
        || "no zone".to_owned(),
        |zone| {
            format!(
                "{} (node {}) has {} kB that count, not above {}",
                zone.kind,
                zone.node,
                zone.usable.0,
                mark(zone)
            )
        },
    )
}

fn free_on(cause: &Cause, node: u32) -> Bytes {
    let zones = cause.zones.iter().filter(|zone| zone.node == node);
    zones.map(free_for_it).sum()
}

/// What is free without the pages of CMA, where the request may not use those.
fn free_for_it(zone: &ZoneCheck) -> Bytes {
    zone.free.saturating_sub(zone.cma).bytes()
}

fn fragmented(report: &Report, cause: &Cause, zone: &ZoneCheck, name: &str) -> String {
    let zones = report.zones.iter();
    let same = |other: &&mm::kernel_log::Zone| other.node == zone.node && other.kind == zone.kind;
    let blocks = zones.filter(same).flat_map(|zone| zone.blocks.iter());
    let largest = blocks
        .filter(|block| block.count > 0)
        .max_by_key(|block| block.size);
    let wanted = Pages(1 << cause.order.min(32)).kib(report.page).0;
    let largest = match largest {
        Some(block) if block.size >= wanted => format!(
            "its blocks of {} kB are of types that this \
            request may not take ({})",
            block.size, block.types
        ),
        Some(block) => format!("its largest free block has {} kB", block.size),
        None => "its free lists are empty".to_owned(),
    };
    format!(
        "Zone {name} has {} kB that count, above the {} kB needed, but no block of {wanted} kB \
        in one piece: {largest}. Memory is fragmented, not short.",
        zone.usable.0,
        zone.needed().0
    )
}

fn higher(report: &Report, cause: &Cause, zone: &ZoneCheck, name: &str) -> String {
    let gfp = report.gfp.as_ref();
    let why = match gfp {
        Some(gfp) if gfp.dma => "the request is for zone DMA alone (__GFP_DMA)",
        Some(gfp) if gfp.dma32 => "the request is for memory below 4 GiB (__GFP_DMA32)",
        _ if zone.kind == ZoneKind::Movable => "it takes movable pages only",
        _ if has_high_memory(&cause.zones) => {
            "the kernel's own memory must be in low memory, \
            which 32-bit kernels map"
        }
        _ => "the request is for lower zones",
    };
    format!(
        "{} are free in {name}, which may not serve: {why}. Of those that may, {}.",
        free_for_it(zone),
        best(cause)
    )
}
