//! The nodes, which are what kswapd looks at; an allocation looks at zones.

use mm::recompute::{self, Kswapd};
use mm::snapshot::Snapshot;
use schemars::JsonSchema;
use serde::Serialize;

/// A node and what its kswapd does.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct Node {
    node: u32,
    kswapd: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    balanced_by: Option<&'static str>,
    #[serde(skip)]
    words: String,
}

/// Every node with memory.
pub(crate) fn nodes(snapshot: &Snapshot) -> Vec<Node> {
    snapshot.nodes().into_iter().map(Node::of).collect()
}

impl Node {
    fn of(node: recompute::Node) -> Self {
        let number = node.node;
        let (kswapd, words) = match node.kswapd {
            Some(Kswapd::BalancedBy(zone)) => (
                "sleeps",
                format!("node {number}: balanced by {zone}; kswapd sleeps"),
            ),
            Some(Kswapd::Balanced) => (
                "sleeps",
                format!("node {number}: every zone is above high; kswapd sleeps"),
            ),
            Some(Kswapd::GoesOn) => (
                "goes_on",
                format!(
                    "node {number}: not balanced, but a zone is above low: kswapd goes on if awake"
                ),
            ),
            Some(Kswapd::Reclaims) if node.is_below_min => (
                "reclaims",
                format!(
                    "node {number}: no zone is above min and its reserve; kswapd reclaims, and so \
                     does what allocates there"
                ),
            ),
            Some(Kswapd::Reclaims) => (
                "reclaims",
                format!("node {number}: no zone is above low and its reserve; kswapd reclaims"),
            ),
            None => (
                "unknown",
                format!(
                    "node {number}: not all of its zones are here, so what kswapd does is not known"
                ),
            ),
        };
        let balanced_by = match node.kswapd {
            Some(Kswapd::BalancedBy(zone)) => Some(zone.name()),
            _ => None,
        };
        Self {
            node: number,
            kswapd,
            balanced_by,
            words,
        }
    }

    /// Its number.
    pub(crate) fn number(&self) -> u32 {
        self.node
    }

    /// "node 0: balanced by DMA32; kswapd sleeps".
    pub(crate) fn words(&self) -> &str {
        &self.words
    }
}
