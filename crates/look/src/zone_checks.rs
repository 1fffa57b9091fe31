//! The watermarks and the lowmem reserves, recomputed.

use mm::recompute::{Marks, Ratios, ReserveAs, Reserves};
use mm::snapshot::Snapshot;
use mm::units::Pages;
use mm::zoneinfo::{self, Watermarks};

use super::check::{self, Check, STALE_RESERVE, UNKNOWN};
use super::late_pages::{LatePages, late_pages, late_pair, late_zones};

/// Recomputes the watermarks and the lowmem reserves.
pub(crate) fn checks(snapshot: &Snapshot) -> Vec<Check> {
    let all = [watermark_checks(snapshot), reserve_checks(snapshot)];
    all.into_iter().flatten().flatten().collect()
}

fn watermark_checks(snapshot: &Snapshot) -> Option<Vec<Check>> {
    let marks = snapshot.marks()?;
    let by = by(snapshot, &marks);
    let reason = if marks.equal {
        String::new()
    } else {
        stale_marks(snapshot)
    };
    let pairs = snapshot.zoneinfo.as_ref()?.zones.iter().zip(marks.marks);
    let check = |(zone, computed): (&zoneinfo::Zone, Watermarks)| {
        let kernel = zone.watermarks;
        let name = |mark| format!("{mark} watermark of {}", title(zone));
        let one =
            |mark, computed, kernel| Check::still(name(mark), computed, kernel, &reason).by(&by);
        [
            one("min", computed.min, kernel.min),
            one("low", computed.low, kernel.low),
            one("high", computed.high, kernel.high),
        ]
    };
    Some(
        pairs
            .filter(|(zone, _)| zone.is_usable())
            .flat_map(check)
            .collect(),
    )
}

/// By what the marks are equal, beyond the rule of this release.
fn by(snapshot: &Snapshot, marks: &Marks) -> String {
    if let Some(extra) = marks.extra_free {
        return format!(
            "equal with vm.extra_free_kbytes = {} of Android, of which low and high have a share \
             by the size of each zone",
            extra.0
        );
    }
    if let Some(factor) = marks.scale_factor {
        return format!("equal with vm.watermark_scale_factor = {factor}, which the marks tell");
    }
    check::by(snapshot, &[marks.row], ReserveAs::Printed)
}

/// One check a zone: the first protection that differs, or the largest.
fn reserve_checks(snapshot: &Snapshot) -> Option<Vec<Check>> {
    let reserves = snapshot.reserves()?;
    let by = reserves_by(snapshot, &reserves);
    let pairs = snapshot.zoneinfo.as_ref()?.zones.iter().zip(&reserves.rows);
    let check = |(zone, computed): (&zoneinfo::Zone, &Vec<Pages>)| {
        let pairs = || {
            computed
                .iter()
                .copied()
                .zip(zone.protection.iter().copied())
        };
        let differing = pairs().find(|(computed, kernel)| computed != kernel);
        let (computed, kernel) = differing.or_else(|| pairs().max())?;
        let near = computed.0.abs_diff(kernel.0) <= computed.0.max(kernel.0) / 8;
        let reason = if near { STALE_RESERVE } else { UNKNOWN };
        let name = format!("lowmem reserve of {}", title(zone));
        Some(Check {
            circular: matches!(reserves.ratios, Ratios::Inferred(_)),
            ..Check::still(name, computed, kernel, reason).by(&by)
        })
    };
    Some(
        pairs
            .filter(|(zone, _)| zone.is_usable())
            .filter_map(check)
            .collect(),
    )
}

fn reserves_by(snapshot: &Snapshot, reserves: &Reserves) -> String {
    let rule = check::by(snapshot, &[reserves.row], ReserveAs::Printed);
    let Ratios::Inferred(ratios) = &reserves.ratios else {
        return rule;
    };
    let ratios: Vec<String> = ratios.iter().map(u64::to_string).collect();
    let ratios = format!(
        "with vm.lowmem_reserve_ratio = {}, which the reserves themselves tell",
        ratios.join(" ")
    );
    match rule.is_empty() {
        true => format!("equal {ratios}"),
        false => format!("{rule}, {ratios}"),
    }
}

fn title(zone: &zoneinfo::Zone) -> String {
    format!("{} (node {})", zone.kind, zone.node)
}

/// Why the kernel's marks are not those that the tunables give now.
fn stale_marks(snapshot: &Snapshot) -> String {
    let zones = late_zones(snapshot);
    let one = late_pages(snapshot).filter(|_| zones.len() < 2);
    let pair = || late_pair(snapshot).map(|pair| about(&pair));
    let when = match one {
        Some(LatePages { zone, node, pages }) => format!(
            "when {zone} (node {node}) managed {pages} pages ({amount}) less, {AT_BOOT}",
            pages = pages.0,
            amount = pages.bytes(snapshot.page),
        ),
        None => match pair() {
            Some(pair) => format!("when {pair} less, {AT_BOOT}"),
            None if snapshot.min_marks_share_out_min_free() => {
                "when the zones managed other pages: the min marks add up to vm.min_free_kbytes \
                 all the same"
                    .to_owned()
            }
            None => return UNKNOWN.to_owned(),
        },
    };
    format!(
        "The kernel made its marks {when}. Writing vm.watermark_scale_factor to itself makes them \
         again."
    )
}

const AT_BOOT: &str = "as at boot before the initial RAM disk's came back";

/// "DMA32 (node 0) managed about 4600 pages and Normal (node 0) about 1500 pages".
fn about(zones: &[LatePages]) -> String {
    let part = |(index, late): (usize, &LatePages)| {
        let hundreds = late.pages.0.saturating_add(50) / 100 * 100;
        let managed = if index == 0 { " managed" } else { "" };
        format!(
            "{} (node {}){managed} about {hundreds} pages",
            late.zone, late.node
        )
    };
    let parts: Vec<String> = zones.iter().enumerate().map(part).collect();
    parts.join(" and ")
}
