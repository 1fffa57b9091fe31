//! Nodes that hold nothing but shadow entries.

use crate::mm::page_writeback::Tags;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Nodes that are dropped at a time (`SHRINK_BATCH`).
const BATCH: u64 = 128;

/// The nodes of all groups; empty where there is no group but the root, which never has too many.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShadowNodes {
    /// Which nodes hold nothing but shadows.
    pub(crate) listed: Tags,
    /// A page is about to come into this one.
    pub(crate) held: Option<u32>,
    pub(crate) of_group: Vec<Listed>,
}

/// A group's nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listed {
    /// Oldest first; those that are not listed any more are passed over.
    pub(crate) nodes: VecDeque<u32>,
    pub(crate) count: u64,
    /// Nodes that earlier reclaim was to scan and did not (`nr_deferred`).
    pub(crate) deferred: u64,
}

impl Listed {
    /// How many of this many nodes too many are scanned now (`do_shrink_slab`): half of them, as
    /// they cost no I/O, in whole batches unless that is all.
    pub(crate) fn due(&mut self, freeable: u64, priority: u32) -> u64 {
        let delta = freeable / 2;
        let total = ((self.deferred >> priority) + delta).min(2 * freeable);
        let due = match total < BATCH && total >= freeable {
            true => total,
            false => total - total % BATCH,
        };
        self.deferred = (self.deferred + delta)
            .saturating_sub(due)
            .min(2 * freeable);
        due
    }
}
