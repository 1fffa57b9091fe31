//! Each zone against the request, by the numbers of the report: `__zone_watermark_ok` done again.

use alloc::vec::Vec;

use super::gfp::Gfp;
use super::report::Report;
use super::zone::{Blocks, Zone};
use crate::units::{Kib, Pages};
use crate::zoneinfo::ZoneKind;

/// Orders above it make the kernel give up rather than kill (`PAGE_ALLOC_COSTLY_ORDER`).
pub const COSTLY_ORDER: u32 = 3;

/// Zones that tell how the kernel was built: a few nodes' are enough.
const LOOKED_AT: usize = 32;

/// What a zone says to the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its memory is not for this kind of request.
    AboveRequest,
    /// Its node is not among those that the memory policy or the cpuset allows.
    OtherNode,
    /// Not enough free pages above the mark.
    Refused,
    /// Enough pages, but no free block of the order.
    NoBlock,
    /// Enough pages; the report has no free lists that would tell of blocks.
    Unknown,
    /// Above the mark; the report does not say what the zone keeps back from this request.
    NoReserve,
    /// It could have served when the report was printed.
    Serves,
}

/// A zone against the request, in kB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneCheck {
    /// Its node.
    pub node: u32,
    /// Which zone.
    pub kind: ZoneKind,
    /// What it says.
    pub answer: Answer,
    /// Free memory, all of it.
    pub free: Kib,
    /// Free memory of CMA that the request must leave; 0 where it is for movable pages.
    pub cma: Kib,
    /// Memory kept for atomic requests of higher orders that it must leave.
    pub highatomic: Kib,
    /// What counts against the mark.
    pub usable: Kib,
    /// The min mark, with the boost.
    pub min: Kib,
    /// The low mark.
    pub low: Kib,
    /// The high mark.
    pub high: Kib,
    /// The boost in it.
    pub boost: Kib,
    /// What is left of the min mark for this request.
    pub mark: Kib,
    /// What the zone keeps from requests that could use a higher zone; 0 where it is not told.
    pub reserve: Kib,
    /// The most that it keeps from any request.
    pub largest_reserve: Kib,
    /// What the allocator owns of it.
    pub managed: Kib,
}

impl ZoneCheck {
    /// What must be exceeded.
    #[must_use]
    pub fn needed(&self) -> Kib {
        self.mark.saturating_add(self.reserve)
    }

    /// Whether its free memory would do for a request of its own kind, with the high mark left.
    #[must_use]
    pub fn has_plenty(&self) -> bool {
        self.usable > self.high
    }
}

/// The request as far as it matters here.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// Its flags; a kernel's usual ones where the report has none.
    pub(super) gfp: Gfp,
    /// Its order.
    pub(super) order: u32,
    /// Whether the report does not tell it.
    pub(super) assumed: bool,
}

impl Request {
    pub(super) fn of(report: &Report) -> Self {
        let told = report.gfp.clone().filter(|gfp| gfp.mask != Some(0));
        let assumed = told.is_none();
        let usual = || Gfp {
            direct_reclaim: true,
            io: true,
            fs: true,
            ..Gfp::default()
        };
        Self {
            gfp: told.unwrap_or_else(usual),
            order: report
                .order
                .and_then(|order| u32::try_from(order).ok())
                .unwrap_or(0),
            assumed,
        }
    }
}

/// All zones with memory whose lines are whole, in the report's order.
pub(super) fn check(report: &Report, request: &Request) -> Vec<ZoneCheck> {
    let length = report.zones.iter().map(|zone| zone.reserve.len()).max();
    let layout = layout(report, length.unwrap_or(0));
    let zones = report.zones.iter();
    zones
        .filter(|zone| zone.is_populated() && zone.is_whole())
        .map(|zone| one(report, request, &layout, zone))
        .collect()
}

fn one(report: &Report, request: &Request, layout: &[ZoneKind], zone: &Zone) -> ZoneCheck {
    let gfp = &request.gfp;
    let highest = gfp.highest_zone();
    let atomic = gfp.is_atomic() && gfp.high;
    let keep = |unless: bool, amount: Kib| if unless { Kib::ZERO } else { amount };
    let cma = keep(gfp.movable, free_cma(report, zone));
    let highatomic = keep(atomic, held_for_atomic(zone));
    let free = zone.kib("free");
    let rest = (1_u64 << request.order.min(32)) - 1;
    let rest = Pages(rest).kib(report.page);
    let usable = free
        .saturating_sub(cma)
        .saturating_sub(highatomic)
        .saturating_sub(rest);
    let min = zone.kib("min");
    let kept = reserve(report, layout, zone, highest);
    let mut check = ZoneCheck {
        node: zone.node,
        kind: zone.kind,
        answer: Answer::Refused,
        free,
        cma,
        highatomic,
        usable,
        min,
        low: zone.kib("low"),
        high: zone.kib("high"),
        boost: boost(report, zone),
        mark: Kib(gfp.mark(min.0)),
        reserve: kept.unwrap_or_default().kib(report.page),
        largest_reserve: zone
            .reserve
            .iter()
            .copied()
            .max()
            .unwrap_or_default()
            .kib(report.page),
        managed: zone
            .items
            .get("managed")
            .map_or_else(|| zone.kib("present"), Kib),
    };
    check.answer = match answer(report, request, zone, &check) {
        Answer::Serves | Answer::Unknown | Answer::NoBlock if kept.is_none() => Answer::NoReserve,
        answer => answer,
    };
    check
}

/// The zone's free pages of CMA: by its line, or where one zone has all that is free by the totals.
fn free_cma(report: &Report, zone: &Zone) -> Kib {
    let told = zone.items.get("free_cma").map(Kib);
    let total = || {
        let total = Pages(report.summary.get("free_cma")?).kib(report.page);
        let mut large = report.zones.iter().filter(|zone| zone.kib("free") >= total);
        let alone = large.next()? == zone && large.next().is_none();
        alone.then_some(total)
    };
    told.or_else(total).unwrap_or_default()
}

/// The boost that the line has, or where it has none the least that the marks tell: a boost raises
/// all three, and low lies at least a quarter of the min mark without it above
/// (`__setup_per_zone_wmarks`, 5.0 on). Rounding takes less than four pages.
fn boost(report: &Report, zone: &Zone) -> Kib {
    let told = zone.items.get("boost").map(Kib);
    let by_marks = || {
        let gap = zone.kib("low").saturating_sub(zone.kib("min"));
        let most = Kib(gap.0.saturating_mul(4)).saturating_add(Pages(4).kib(report.page));
        zone.kib("min").saturating_sub(most)
    };
    told.unwrap_or_else(by_marks)
}

/// Since 6.13 what is free of it is printed, and that is what the allocator takes off; before, the
/// whole (4.4 on).
fn held_for_atomic(zone: &Zone) -> Kib {
    let free = zone.items.get("free_highatomic");
    free.map_or_else(|| zone.kib("reserved_highatomic"), Kib)
}

fn answer(report: &Report, request: &Request, zone: &Zone, check: &ZoneCheck) -> Answer {
    let allowed = [&report.nodemask, &report.mems_allowed];
    let mut sets = allowed.into_iter().flatten();
    if !sets.all(|nodes| nodes.contains(zone.node)) {
        return Answer::OtherNode;
    }
    if zone.kind > request.gfp.highest_zone() {
        return Answer::AboveRequest;
    }
    if check.usable <= check.needed() {
        return Answer::Refused;
    }
    match request.order {
        0 => Answer::Serves,
        _ if zone.blocks.is_empty() => Answer::Unknown,
        order if by_orders(report) && !spread(order, zone, check) => Answer::NoBlock,
        order if has_block(zone, &request.gfp, order) => Answer::Serves,
        _ => Answer::NoBlock,
    }
}

/// Before 4.4 the blocks of each smaller order were taken off, against a mark halved each time.
fn by_orders(report: &Report) -> bool {
    report.version().is_some_and(|version| version < (4, 4))
}

fn spread(order: u32, zone: &Zone, check: &ZoneCheck) -> bool {
    let (mut free, mut mark) = (check.usable.0, check.mark.0);
    zone.blocks.iter().take(order as usize).all(|block| {
        free = free.saturating_sub(block.count.saturating_mul(block.size));
        mark /= 2;
        free > mark
    })
}

/// Whether a block of the order or larger is free that the request may take.
fn has_block(zone: &Zone, gfp: &Gfp, order: u32) -> bool {
    let may = |block: &&Blocks| block.count > 0 && may_take(block, gfp);
    zone.blocks
        .iter()
        .skip(order as usize)
        .any(|block| may(&block))
}

/// The types of pages that a request may take from: movable ones CMA's too, privileged ones those
/// kept for them. Kernels that print no types kept none apart here.
fn may_take(block: &Blocks, gfp: &Gfp) -> bool {
    let has = |types: &[char]| block.types.contains(types);
    block.types.is_empty()
        || has(&['U', 'M', 'E', 'R'])
        || (gfp.movable && has(&['C']))
        || (gfp.is_atomic() && gfp.high && has(&['H']))
}

/// What the zone keeps from a request that could use `highest`, by its place in the printed list.
/// Where the list is not there: nothing, if its node has no higher zone that the request could use.
fn reserve(report: &Report, layout: &[ZoneKind], zone: &Zone, highest: ZoneKind) -> Option<Pages> {
    let at = layout.iter().rposition(|kind| *kind <= highest);
    let told = at.and_then(|at| zone.reserve.get(at)).copied();
    let above =
        |other: &&Zone| other.node == zone.node && other.kind > zone.kind && other.kind <= highest;
    let mut above = report.zones.iter().filter(above);
    told.or_else(|| (!above.any(Zone::is_populated)).then_some(Pages(0)))
}

/// The zones that this kernel was built with: those of the report, `Normal` and `Movable`, and of
/// the rest the ones that make the length right and the reserves grow where a zone has memory.
fn layout(report: &Report, length: usize) -> Vec<ZoneKind> {
    const ALL: [ZoneKind; 6] = [
        ZoneKind::Dma,
        ZoneKind::Dma32,
        ZoneKind::Normal,
        ZoneKind::HighMem,
        ZoneKind::Movable,
        ZoneKind::Device,
    ];
    let seen = |kind: ZoneKind| report.zones.iter().any(|zone| zone.kind == kind);
    let always = |kind| matches!(kind, ZoneKind::Normal | ZoneKind::Movable) || seen(kind);
    let mut best: (usize, Vec<ZoneKind>) = (0, Vec::new());
    for chosen in (0_u32..16).rev() {
        let optional = [
            ZoneKind::Dma,
            ZoneKind::Dma32,
            ZoneKind::HighMem,
            ZoneKind::Device,
        ];
        let built = |kind: &ZoneKind| {
            let at = optional.iter().position(|optional| optional == kind);
            always(*kind) || at.is_some_and(|at| chosen >> at & 1 == 1)
        };
        let layout: Vec<ZoneKind> = ALL.into_iter().filter(built).collect();
        if layout.len() != length {
            continue;
        }
        let fits = 1 + growths(report, &layout);
        if fits > best.0 {
            best = (fits, layout);
        }
    }
    best.1
}

/// How many reserves grow at the place of a zone that has memory.
fn growths(report: &Report, layout: &[ZoneKind]) -> usize {
    let zones = || report.zones.iter().take(LOOKED_AT);
    let grows = |zone: &Zone, at: usize| {
        let kind = layout[at];
        let here = zones()
            .any(|other| other.node == zone.node && other.kind == kind && other.is_populated());
        let now = zone.reserve.get(at).copied().unwrap_or_default();
        let before = zone
            .reserve
            .get(at.wrapping_sub(1))
            .copied()
            .unwrap_or_default();
        kind > zone.kind && (now > before) == here
    };
    zones()
        .map(|zone| (0..layout.len()).filter(|&at| grows(zone, at)).count())
        .sum()
}
