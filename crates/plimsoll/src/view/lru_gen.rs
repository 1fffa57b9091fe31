//! The multi-generation LRU.

use mm::snapshot::Snapshot;
use mm::units::Nanos;
use serde::Serialize;

use super::page::Page;

/// How it is set.
#[derive(Debug, Serialize)]
pub(crate) struct LruGen {
    enabled: bool,
    features: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_ttl_milliseconds: Option<u64>,
}

impl LruGen {
    /// `None` on a kernel without it.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        let (enabled, min_ttl) = (snapshot.lru_gen.enabled?, snapshot.lru_gen.min_ttl);
        Some(Self {
            enabled: enabled.core(),
            features: enabled.0,
            min_ttl_milliseconds: min_ttl.map(|ttl| ttl.0 / Nanos::MILLI.0),
        })
    }
}

/// Writes the section; a kernel without it says which LRU it has.
pub(crate) fn write(lru_gen: Option<&LruGen>, page: &mut Page) {
    page.heading("LRU");
    let Some(lru_gen) = lru_gen else {
        page.paragraph(
            2,
            "classic: this kernel has no multi-generation LRU (or hides /sys/kernel/mm)",
        );
        return;
    };
    let features = format!("features {:#06x}", lru_gen.features);
    match lru_gen.enabled {
        true => page.row("multi-generation", "on", &features),
        false => page.row("multi-generation", "off", "the classic two lists rule"),
    }
    match lru_gen.min_ttl_milliseconds {
        Some(0) => page.row("min_ttl_ms", 0, "the working set is not protected"),
        Some(ttl) => page.row("min_ttl_ms", ttl, "pages used so lately are kept, else OOM"),
        None => {}
    }
}
