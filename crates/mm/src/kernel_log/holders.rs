//! Who holds the machine's memory, by the summary and the nodes of a report.

use alloc::vec::Vec;

use super::report::Report;
use super::zone::Zone;
use crate::units::{Bytes, Kib, Pages};

/// A part of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its name, in snake case.
    pub name: &'static str,
    /// How much.
    pub bytes: Bytes,
}

/// The parts, of which `other` is the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// What the allocator owns, or RAM less what is reserved where zones do not tell.
    pub total: Option<Bytes>,
    /// The parts; those that the report does not have are left out.
    pub parts: Vec<Holder>,
    /// What is on no list and in no counter: drivers, vmalloc, a balloon. `None` where a large part
    /// is missing from the report.
    pub other: Option<Bytes>,
}

/// The zones' and nodes' items that a part is the sum of, and the summary's.
struct Part {
    name: &'static str,
    items: &'static [&'static str],
}

const PARTS: [Part; 7] = [
    Part {
        name: "free",
        items: &["free"],
    },
    Part {
        name: "file",
        items: &["active_file", "inactive_file", "isolated_file"],
    },
    Part {
        name: "slab_unreclaimable",
        items: &["slab_unreclaimable"],
    },
    Part {
        name: "slab_reclaimable",
        items: &["slab_reclaimable"],
    },
    Part {
        name: "page_tables",
        items: &["pagetables", "sec_pagetables"],
    },
    Part {
        name: "unevictable",
        items: &["unevictable"],
    },
    Part {
        name: "per_cpu_lists",
        items: &["free_pcp"],
    },
];

impl Holders {
    /// Adds up who holds memory.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let mut holders = Self {
            total: total(report),
            ..Self::default()
        };
        let anon = sum(report, &["active_anon", "inactive_anon", "isolated_anon"]);
        let shmem = sum(report, &["shmem"]);
        if let Some(anon) = anon {
            let own = anon.saturating_sub(shmem.unwrap_or_default());
            holders.push("anonymous", Some(own));
            holders.push("shared", shmem.map(|shmem| Bytes(shmem.0.min(anon.0))));
        }
        for part in PARTS {
            holders.push(part.name, sum(report, part.items));
        }
        holders.push("kernel_stacks", kernel_stacks(report));
        holders.push("hugetlb", huge_pages(report));
        let known = anon.is_some() && sum(report, &["slab_unreclaimable"]).is_some();
        let all: Bytes = holders.parts.iter().map(|part| part.bytes).sum();
        let rest = holders.total.map(|total| total.saturating_sub(all));
        holders.other = rest.filter(|_| known);
        holders
    }

    /// How much a part has.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Bytes> {
        self.parts
            .iter()
            .find(|part| part.name == name)
            .map(|part| part.bytes)
    }

    /// The largest part but what is free.
    #[must_use]
    pub fn largest(&self) -> Option<Holder> {
        let other = self.other.map(|bytes| Holder {
            name: "other",
            bytes,
        });
        let used = self
            .parts
            .iter()
            .copied()
            .filter(|part| part.name != "free");
        used.chain(other).max_by_key(|part| part.bytes)
    }

    fn push(&mut self, name: &'static str, bytes: Option<Bytes>) {
        self.parts.extend(bytes.map(|bytes| Holder { name, bytes }));
    }
}

fn total(report: &Report) -> Option<Bytes> {
    let managed = |zone: &Zone| zone.items.get("managed").map(Kib);
    // The free blocks are listed behind the last zone: without them zones may be missing.
    let is_whole = report.zones.iter().any(|zone| !zone.blocks.is_empty());
    let is_whole = is_whole && !has_memory_elsewhere(report);
    let sizes: Option<Vec<Kib>> = report.zones.iter().map(managed).collect();
    let ram = report.ram.zip(report.reserved);
    let ram = ram.map(|(ram, reserved)| ram.saturating_sub(reserved).bytes(report.page));
    let zones = sizes
        .filter(|sizes| is_whole && !sizes.is_empty())
        .map(|sizes| sizes.into_iter().sum::<Kib>());
    ram.or_else(|| zones.map(Kib::bytes))
}

/// Whether the sums over the machine have more free memory than the zones that are printed: more
/// than the high marks of these. A report leaves out zones that the request may not use, and a log
/// may be cut before some.
pub(super) fn has_memory_elsewhere(report: &Report) -> bool {
    let Some(all) = report.summary.get("free") else {
        return false;
    };
    let of = |item| report.zones.iter().map(|zone| zone.kib(item)).sum::<Kib>();
    Pages(all).kib(report.page).saturating_sub(of("free")) > of("high")
}

/// The summary's items in pages, or the sum over the nodes or the zones.
fn sum(report: &Report, items: &[&str]) -> Option<Bytes> {
    let pages = items.iter().filter_map(|item| report.summary.get(item));
    if let Some(pages) = pages.reduce(u64::saturating_add) {
        return Some(Pages(pages).bytes(report.page));
    }
    let parts = items.iter().filter_map(|item| of_nodes(report, item));
    parts.reduce(Kib::saturating_add).map(Kib::bytes)
}

/// The nodes' item; before 4.8 the zones had it, and the zones alone have what is free. `None`
/// where a line is missing that other lines tell of: the sum over the others is not the machine's.
fn of_nodes(report: &Report, item: &str) -> Option<Kib> {
    let isolated = match item {
        "isolated_anon" => "isolated(anon)",
        "isolated_file" => "isolated(file)",
        item => item,
    };
    let of = |items: &crate::items::Items| items.get(isolated).map(Kib);
    let nodes = report.nodes.iter().filter_map(|node| of(&node.items));
    let zones = report.zones.iter().filter_map(|zone| of(&zone.items));
    let nodes = nodes.reduce(Kib::saturating_add);
    let zones = || zones.reduce(Kib::saturating_add);
    nodes
        .filter(|_| has_all_nodes(report))
        .or_else(|| zones().filter(|_| !report.misses_zones))
}

/// Whether each node of a zone has its line.
fn has_all_nodes(report: &Report) -> bool {
    let has = |zone: &Zone| report.nodes.iter().any(|node| node.node == zone.node);
    report.zones.iter().all(has)
}

fn kernel_stacks(report: &Report) -> Option<Bytes> {
    of_nodes(report, "kernel_stack").map(Kib::bytes)
}

/// All pools, used or not; a pool is listed once for each node.
fn huge_pages(report: &Report) -> Option<Bytes> {
    let pools = report.huge_pages.iter();
    let sizes = pools.map(|pool| Bytes(pool.total.saturating_mul(pool.size.bytes().0)));
    let sum: Bytes = sizes.sum();
    (sum > Bytes::ZERO).then_some(sum)
}
