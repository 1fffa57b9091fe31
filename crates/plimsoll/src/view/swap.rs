//! Swap: its areas, how eagerly it is used, and what compresses it.

use mm::snapshot::Snapshot;
use serde::Serialize;

use super::page::Page;
use super::share::percent;

/// Amounts in bytes.
#[derive(Debug, Serialize)]
pub(crate) struct Swap {
    areas: Vec<Area>,
    total_bytes: u64,
    free_bytes: u64,
    swap_cached_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    swappiness: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_cluster: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zswap: Option<Zswap>,
}

#[derive(Debug, Serialize)]
struct Area {
    path: String,
    kind: String,
    size_bytes: u64,
    used_bytes: u64,
    priority: i32,
}

#[derive(Debug, Serialize)]
struct Zswap {
    enabled: bool,
    stored_bytes: u64,
    compressed_bytes: u64,
}

impl Swap {
    /// What swaps, meminfo and the tunables say.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        let (swaps, meminfo) = (snapshot.swaps.as_ref()?, snapshot.meminfo.as_ref()?);
        let areas = swaps.areas.iter().map(|area| Area {
            path: area.path.clone(),
            kind: area.kind.clone(),
            size_bytes: area.size.bytes().0,
            used_bytes: area.used.bytes().0,
            priority: area.priority,
        });
        let zswap = |state: &str| Zswap {
            enabled: state == "Y",
            stored_bytes: meminfo.zswapped.unwrap_or_default().bytes().0,
            compressed_bytes: meminfo.zswap.unwrap_or_default().bytes().0,
        };
        Some(Self {
            areas: areas.collect(),
            total_bytes: meminfo.swap_total.unwrap_or_default().bytes().0,
            free_bytes: meminfo.swap_free.unwrap_or_default().bytes().0,
            swap_cached_bytes: meminfo.swap_cached.unwrap_or_default().bytes().0,
            swappiness: snapshot.number("vm.swappiness"),
            page_cluster: snapshot.number("vm.page-cluster"),
            zswap: snapshot.tunable("zswap.enabled").map(zswap),
        })
    }

    /// Writes the section.
    pub(crate) fn write(&self, page: &mut Page) {
        page.heading("Swap");
        if self.areas.is_empty() {
            page.paragraph(
                2,
                "none: anonymous memory cannot be reclaimed, whatever vm.swappiness says",
            );
        }
        for area in &self.areas {
            let used = mm::units::Bytes(area.used_bytes);
            let share = percent(area.used_bytes, area.size_bytes);
            let about = format!(
                "{used} used ({share}), {}, priority {}",
                area.kind, area.priority
            );
            page.amount(&area.path, area.size_bytes, &about);
        }
        if let Some(swappiness) = self.swappiness {
            page.row(
                "vm.swappiness",
                swappiness,
                "anonymous against file: 100 is even",
            );
        }
        if let Some(cluster) = self.page_cluster.filter(|_| !self.areas.is_empty()) {
            let about = format!("reads up to {} pages at a time", 1_u64 << cluster.min(10));
            page.row("vm.page-cluster", cluster, &about);
        }
        if let Some(zswap) = self.zswap.as_ref().filter(|zswap| zswap.enabled) {
            let stored = mm::units::Bytes(zswap.stored_bytes);
            page.amount("zswap", zswap.compressed_bytes, &format!("holds {stored}"));
        }
    }
}
