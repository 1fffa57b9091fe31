//! Watermarks, boosts and lowmem reserves, zone by zone.

use crate::fact::or_unsaid;
use crate::share::percent;
use mm::units::{Bytes, Pages};
use mm::zoneinfo::{Zone, Zoneinfo};

use super::super::value::Values;
use super::row::Row;
use crate::explain::looked::Looked;

fn zones(looked: Looked<'_>) -> impl Iterator<Item = &'_ Zone> {
    let zones = looked
        .snapshot
        .zoneinfo
        .iter()
        .flat_map(Zoneinfo::populated);
    zones.filter(|zone| zone.is_usable())
}

fn name(zone: &Zone) -> String {
    format!("node {} {}", zone.node, zone.kind.name())
}

/// Of each zone the min mark, or for the scale factor the distance of the marks, with low and high;
/// and what the marks leave out of MemAvailable.
pub(super) fn marks(looked: Looked<'_>, _values: &Values) -> Vec<Row> {
    let page = looked.snapshot.page;
    let amount = |pages: Pages| pages.bytes(page);
    let is_factor = looked.named.tunable.name == "vm.watermark_scale_factor";
    let row = |zone: &Zone| {
        let marks = zone.unboosted();
        let about = format!("low {}, high {}", amount(marks.low), amount(marks.high));
        match is_factor {
            true => {
                let step = marks.low.saturating_sub(marks.min);
                Row::amount(format!("{}: steps", name(zone)), amount(step), about)
            }
            false => Row::amount(format!("{}: min", name(zone)), amount(marks.min), about),
        }
    };
    let mut rows: Vec<Row> = zones(looked).map(row).collect();
    let marks = zones(looked).map(|zone| zone.unboosted().high.min(zone.managed));
    let Some(high) = marks.reduce(|a, b| Pages(a.0.saturating_add(b.0))) else {
        return rows;
    };
    if let Some(total) = looked
        .snapshot
        .meminfo
        .as_ref()
        .and_then(|meminfo| meminfo.mem_total)
    {
        let share = percent(amount(high).0, total.bytes().0);
        let about = format!("{share} of memory; MemAvailable is less by it");
        rows.push(Row::amount("all high marks", amount(high), about));
    }
    rows
}

/// How far the marks of each zone can be raised.
pub(super) fn boost(looked: Looked<'_>, values: &Values) -> Vec<Row> {
    let factor: Option<u64> = values.value.as_deref().and_then(|value| value.parse().ok());
    let page = looked.snapshot.page;
    let row = |zone: &Zone| {
        let high = zone.unboosted().high.bytes(page).0;
        let most = u128::from(high) * u128::from(factor?) / 10_000;
        let now = zone
            .boost
            .map(|boost| format!("; {} now", boost.bytes(page)));
        let about = format!("at most are its marks raised{}", or_unsaid(now));
        Some(Row::amount(
            name(zone),
            Bytes(u64::try_from(most).ok()?),
            about,
        ))
    };
    zones(looked).filter_map(row).collect()
}

/// What each zone keeps back from requests that could use a higher one.
pub(super) fn reserves(looked: Looked<'_>, _values: &Values) -> Vec<Row> {
    let page = looked.snapshot.page;
    let row = |zone: &Zone| {
        let most = zone.protection.iter().copied().max()?;
        let share = percent(most.0, zone.managed.0);
        let about = format!("{share} of the zone");
        Some(Row::amount(
            format!("{} keeps", name(zone)),
            most.bytes(page),
            about,
        ))
    };
    zones(looked).filter_map(row).collect()
}
