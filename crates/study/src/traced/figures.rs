//! Which tracepoints tell which figure.

use scenario::traced::Figure;

/// Whether the kernel tells a figure that was traced at these tracepoints.
#[must_use]
pub fn tells(figure: Figure, events: &[&str]) -> bool {
    let has = |event: &str| events.contains(&event);
    match figure {
        Figure::DirectReclaims => has("vmscan:mm_vmscan_direct_reclaim_begin"),
        Figure::ReclaimedDirectly => has("vmscan:mm_vmscan_direct_reclaim_end"),
        Figure::ReclaimTime => {
            has("vmscan:mm_vmscan_direct_reclaim_begin")
                && has("vmscan:mm_vmscan_direct_reclaim_end")
        }
        Figure::ReclaimWaits | Figure::ReclaimWaitTime => has("vmscan:mm_vmscan_throttled"),
        Figure::KswapdRuns => has("vmscan:mm_vmscan_kswapd_wake"),
        Figure::Scanned => has("vmscan:mm_vmscan_lru_shrink_inactive"),
        Figure::SwappedOut => {
            has("vmscan:mm_vmscan_writepage") || has("vmscan:mm_vmscan_write_folio")
        }
        Figure::Read | Figure::Written => has("block:block_bio_queue"),
        Figure::Pauses | Figure::PauseTime => has("writeback:balance_dirty_pages"),
        Figure::OomKills => has("oom:mark_victim"),
    }
}
