//! What the watermarks are made from, and who chose it.

use mm::formula::min_free::for_huge_pages;
use mm::snapshot::Snapshot;
use mm::units::{Bytes, Kib, Pages};
use mm::zoneinfo::ZoneKind;
use serde::Serialize;

use super::page::Page;

/// What the watermarks are made from.
#[derive(Debug, Serialize)]
pub(crate) struct WatermarkRule {
    #[serde(skip_serializing_if = "Option::is_none")]
    min_free_kbytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    khugepaged_min_free_kbytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    watermark_scale_factor: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    watermark_boost_factor: Option<u64>,
    outside_zones_bytes: u64,
}

impl WatermarkRule {
    /// The tunables, and what they are measured against.
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        Self {
            min_free_kbytes: snapshot.number("vm.min_free_kbytes"),
            khugepaged_min_free_kbytes: khugepaged_wants(snapshot).map(|kib| kib.0),
            watermark_scale_factor: snapshot.number("vm.watermark_scale_factor"),
            watermark_boost_factor: snapshot.number("vm.watermark_boost_factor"),
            outside_zones_bytes: outside_zones(snapshot).unwrap_or_default().0,
        }
    }

    /// Writes the last rows of the section.
    pub(crate) fn write(&self, page: &mut Page) {
        page.line("");
        if let Some(value) = self.min_free_kbytes {
            let about = match self.khugepaged_min_free_kbytes {
                Some(wanted) if wanted == value => "what khugepaged asks for".to_owned(),
                Some(wanted) if wanted > value => format!("khugepaged asks for {wanted}"),
                _ => "spread over the zones: the min marks".to_owned(),
            };
            page.row("vm.min_free_kbytes", value, &about);
        }
        if let Some(value) = self.watermark_scale_factor {
            let percent = format!("{}.{:02}", value / 100, value % 100);
            let about = format!("steps: min/4, at least {percent} % of a zone");
            page.row("vm.watermark_scale_factor", value, &about);
        }
        if self.outside_zones_bytes > 0 {
            let amount = Bytes(self.outside_zones_bytes);
            let text = format!(
                "{amount} of MemTotal are in no zone yet: this kernel brings memory in when it is \
                 needed, and makes the marks anew then."
            );
            page.paragraph(2, &text);
        }
    }
}

/// What khugepaged raises `vm.min_free_kbytes` to; `None` without transparent huge pages.
fn khugepaged_wants(snapshot: &Snapshot) -> Option<Kib> {
    let thp = snapshot.thp.as_ref().filter(|thp| thp.is_on())?;
    let pageblock = thp.size?.pages_floor(snapshot.page);
    let zones = snapshot.zoneinfo.as_ref()?.populated();
    let low: Vec<_> = zones.filter(|zone| zone.kind <= ZoneKind::Normal).collect();
    let free_buffer = low
        .iter()
        .map(|zone| zone.managed.saturating_sub(zone.watermarks.high));
    let zones = u64::try_from(low.len()).ok()?;
    Some(for_huge_pages(
        zones,
        pageblock,
        free_buffer.sum(),
        snapshot.page,
    ))
}

/// Memory that the kernel counts and no zone manages yet.
fn outside_zones(snapshot: &Snapshot) -> Option<Bytes> {
    let total = snapshot.meminfo.as_ref()?.mem_total?.bytes();
    let zones = snapshot.zoneinfo.as_ref()?.zones.iter();
    let managed: Pages = zones.map(|zone| zone.managed).sum();
    Some(total.saturating_sub(managed.bytes(snapshot.page)))
}
