//! The lists of pages that reclaim works on, and which of them the next pass would scan.

use crate::fact::or_unsaid;
use mm::formula::inactive::{inactive_is_low, inactive_ratio};
use mm::formula::scan_balance::{Inputs, Reason, anon_permille};
use mm::lru_gen::Enabled;
use mm::snapshot::Snapshot;
use mm::units::{Bytes, PageSize, Pages};
use mm::zoneinfo::NodeStats;
use schemars::JsonSchema;
use serde::Serialize;

use super::lru_gen::Absent;
use super::page::Page;

/// The priority at which reclaim begins: a 4096th of each list.
const FIRST: u32 = 12;

/// Sizes in bytes, of all nodes together and of each.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Lists {
    #[serde(flatten)]
    all: Sizes,
    #[serde(skip_serializing_if = "Option::is_none")]
    mlocked_bytes: Option<u64>,
    nodes: Vec<NodeLists>,
    /// The sizes are those of generations: the classic rules do not hold.
    #[serde(skip)]
    generations: bool,
}

/// The lists of a node.
#[derive(Debug, JsonSchema, Serialize)]
struct NodeLists {
    node: u32,
    #[serde(flatten)]
    lists: Sizes,
    /// Where the classic LRU rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_pass: Option<NextPass>,
}

#[derive(Debug, JsonSchema, Serialize)]
struct Sizes {
    anonymous: List,
    file: List,
    #[serde(skip_serializing_if = "Option::is_none")]
    unevictable_bytes: Option<u64>,
}

/// The two lists of one kind of page.
#[derive(Debug, JsonSchema, Serialize)]
struct List {
    active_bytes: u64,
    inactive_bytes: u64,
    /// The classic LRU deactivates while active is more than n times inactive.
    inactive_ratio: u64,
    inactive_is_low: bool,
}

/// What the next pass of reclaim would scan at first.
#[derive(Debug, JsonSchema, Serialize)]
struct NextPass {
    scans: &'static str,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    anonymous_permille_least: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anonymous_permille_most: Option<u64>,
    #[serde(skip)]
    because: String,
}

impl Lists {
    /// The sizes; `None` where meminfo has no lists.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        let (meminfo, page) = (snapshot.meminfo.as_ref()?, snapshot.page);
        let pages = |amount: mm::units::Kib| amount.pages_floor(page);
        let list = |active, inactive| List::of(pages(active), pages(inactive), page);
        let generations = snapshot.lru_gen.enabled.is_some_and(Enabled::core);
        let nodes = snapshot
            .zoneinfo
            .iter()
            .flat_map(|zoneinfo| &zoneinfo.nodes);
        let node = |stats: &NodeStats| NodeLists::of(stats, snapshot, generations);
        Some(Self {
            all: Sizes {
                anonymous: list(meminfo.active_anon?, meminfo.inactive_anon?),
                file: list(meminfo.active_file?, meminfo.inactive_file?),
                unevictable_bytes: meminfo.unevictable.map(|it| it.bytes().0),
            },
            mlocked_bytes: meminfo.mlocked.map(|it| it.bytes().0),
            nodes: nodes.filter_map(node).collect(),
            generations,
        })
    }

    /// Writes the section: of a machine with several nodes the lists of each.
    pub(crate) fn write(&self, page: &mut Page) {
        page.heading("Page lists");
        match self.nodes.as_slice() {
            [] | [_] => self.write_sizes(&self.all, page),
            nodes => {
                for node in nodes {
                    page.line(format!("  node {}", node.node));
                    self.write_sizes(&node.lists, page);
                }
            }
        }
        if self.generations {
            let text = "Of the multi-generation LRU: active are the two youngest generations, \
                        inactive the older ones.";
            page.paragraph(2, text);
        }
        for node in &self.nodes {
            let of_node = match self.nodes.len() {
                1 => String::new(),
                _ => format!(" of node {}", node.node),
            };
            if let Some(pass) = &node.next_pass {
                page.paragraph(
                    2,
                    &format!("The next pass{of_node} scans {}.", pass.because),
                );
            }
        }
    }

    fn write_sizes(&self, sizes: &Sizes, page: &mut Page) {
        for (name, list) in [("anonymous", &sizes.anonymous), ("page cache", &sizes.file)] {
            page.amount(&format!("{name}, active"), list.active_bytes, "");
            let about = if self.generations {
                String::new()
            } else {
                list.rule()
            };
            page.amount(&format!("{name}, inactive"), list.inactive_bytes, &about);
        }
        if let Some(unevictable) = sizes.unevictable_bytes.filter(|&bytes| bytes > 0) {
            let mlocked = self.mlocked_bytes.filter(|_| self.nodes.len() <= 1);
            let about = mlocked.map(|bytes| format!("of it mlocked: {}", Bytes(bytes)));
            page.amount("unevictable", unevictable, &or_unsaid(about));
        }
    }
}

impl NodeLists {
    fn of(stats: &NodeStats, snapshot: &Snapshot, generations: bool) -> Option<Self> {
        let item = |name| stats.items.get(name).map(Pages);
        let list = |active, inactive| Some(List::of(item(active)?, item(inactive)?, snapshot.page));
        let unevictable = item("nr_unevictable");
        // Before 4.8 each zone is scanned for itself; of a paste it is not known which LRU rules.
        let by_node = snapshot.span().is_since(4, 8) || snapshot.is_live;
        let classic = !generations && by_node && (snapshot.is_live || is_classic(snapshot));
        let pass = snapshot.scan_inputs(stats.node, FIRST).filter(|_| classic);
        Some(Self {
            node: stats.node,
            lists: Sizes {
                anonymous: list("nr_active_anon", "nr_inactive_anon")?,
                file: list("nr_active_file", "nr_inactive_file")?,
                unevictable_bytes: unevictable.map(|pages| pages.bytes(snapshot.page).0),
            },
            next_pass: pass.map(|pass| NextPass::of(&pass, snapshot.page)),
        })
    }
}

/// Whether the classic LRU rules: by its switch, or by the release.
fn is_classic(snapshot: &Snapshot) -> bool {
    let switched_off = snapshot
        .lru_gen
        .enabled
        .is_some_and(|enabled| !enabled.core());
    switched_off || Absent::of(snapshot) != Absent::NotGiven
}

impl List {
    fn of(active: Pages, inactive: Pages, page: PageSize) -> Self {
        Self {
            active_bytes: active.bytes(page).0,
            inactive_bytes: inactive.bytes(page).0,
            inactive_ratio: inactive_ratio(active.saturating_add(inactive), page),
            inactive_is_low: inactive_is_low(inactive, active, page),
        }
    }

    /// When the inactive list is refilled, and whether it is now.
    fn rule(&self) -> String {
        let now = if self.inactive_is_low {
            "now"
        } else {
            "not now"
        };
        match self.inactive_ratio {
            1 => format!("refilled while below active: {now}"),
            ratio => format!("refilled below 1/{ratio} of active: {now}"),
        }
    }
}

impl NextPass {
    fn of(pass: &Inputs, page: PageSize) -> Self {
        let swappiness = pass.swappiness;
        let (least, most) = anon_permille(swappiness);
        let weighed = |permille| Some(permille).filter(|_| pass.reason() == Reason::Costs);
        let (scans, reason, because) = match pass.reason() {
            Reason::NoSwap => (
                "file",
                "no_swap",
                "the page cache only: there is no free swap".to_owned(),
            ),
            Reason::CacheTrim => (
                "file",
                "cache_trim",
                "the page cache only, whatever vm.swappiness says: its inactive list is not low \
                 (unless refaults were activated since the last pass, which no file says)"
                    .to_owned(),
            ),
            Reason::FileIsTiny => {
                let left = pass.node_file.saturating_add(pass.free).bytes(page);
                let high = pass.high_watermarks.bytes(page);
                let why = format!(
                    "anonymous memory only, whatever vm.swappiness says: page cache and free \
                     memory, {left}, do not reach the high watermarks, {high}"
                );
                ("anonymous", "file_is_tiny", why)
            }
            _ => {
                let why = format!(
                    "both, {} to {} % of it anonymous memory: vm.swappiness = {swappiness} weighs \
                     against what reclaim of each has cost, which no file says",
                    least / 10,
                    most / 10
                );
                ("both", "costs", why)
            }
        };
        Self {
            scans,
            reason,
            anonymous_permille_least: weighed(least),
            anonymous_permille_most: weighed(most),
            because,
        }
    }
}
