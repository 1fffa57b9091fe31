//! The zones and nodes of a report: their lines under "Mem-Info".

use alloc::string::String;
use alloc::vec::Vec;

use super::text::{leading_number, number_after, pairs};
use crate::items::Items;
use crate::units::{Kib, Pages};
use crate::zoneinfo::ZoneKind;

/// One zone as a report prints it, in kB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its NUMA node; 0 where the kernel has none.
    pub node: u32,
    /// Which zone of the node.
    pub kind: ZoneKind,
    /// All pairs of the line, in kB, in its order.
    pub items: Items,
    /// What it keeps back from requests that could use the zone of each index, in pages.
    pub reserve: Vec<Pages>,
    /// Free blocks by order.
    pub blocks: Vec<Blocks>,
}

/// The free blocks of one order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Size of a block in kB.
    pub size: u64,
    /// How many.
    pub count: u64,
    /// The types of pages that have one: letters of U (unmovable), M, E (reclaimable), R (reserve,
    /// before 4.4), H (highatomic), C (CMA), I (isolated); empty on kernels before 3.10.
    pub types: String,
}

/// The statistics of a node, in kB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The node.
    pub node: u32,
    /// All pairs of the line, in its order.
    pub items: Items,
}

/// A pool of huge pages of one size on one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HugePages {
    /// The node.
    pub node: u32,
    /// Pages in the pool.
    pub total: u64,
    /// Of them free.
    pub free: u64,
    /// Size of one.
    pub size: Kib,
}

/// What a line of this part is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ZoneLine {
    /// "Node 0 DMA free:…".
    Zone(Zone),
    /// "lowmem_reserve[]: …".
    Reserve(Vec<Pages>),
    /// "Node 0 DMA: 1*4kB (U) …".
    Blocks(u32, ZoneKind, Vec<Blocks>),
    /// "Node 0 active_anon:…".
    Node(Node),
    /// "Node 0 hugepages_total=…".
    HugePages(HugePages),
}

/// Reads a line; `None` where it is none of them.
pub(super) fn line(text: &str) -> Option<ZoneLine> {
    if let Some(rest) = text.strip_prefix("lowmem_reserve[]:") {
        let words = rest
            .split_ascii_whitespace()
            .map_while(|word| word.parse().ok());
        return Some(ZoneLine::Reserve(words.map(Pages).take(16).collect()));
    }
    let (node, rest) = match text.strip_prefix("Node ") {
        Some(rest) => {
            let (node, rest) = leading_number(rest)?;
            (u32::try_from(node).ok()?, rest.trim_ascii_start())
        }
        None => (0, text),
    };
    if rest.starts_with("hugepages_total=") {
        return huge_pages(node, rest).map(ZoneLine::HugePages);
    }
    if rest.starts_with("active_anon:") && rest.contains("kB") {
        let items = items(rest);
        return Some(ZoneLine::Node(Node { node, items }));
    }
    zone_line(node, rest)
}

fn zone_line(node: u32, text: &str) -> Option<ZoneLine> {
    let end = text.find([':', ' '])?;
    let kind: ZoneKind = text[..end].parse().ok()?;
    let rest = text[end..].trim_ascii_start();
    if rest.starts_with(':') {
        let blocks = blocks(rest);
        return Some(ZoneLine::Blocks(node, kind, blocks));
    }
    rest.starts_with("free:").then(|| {
        ZoneLine::Zone(Zone {
            node,
            kind,
            items: items(rest),
            reserve: Vec::new(),
            blocks: Vec::new(),
        })
    })
}

/// Pairs of a line; an item that stands twice counts once.
fn items(text: &str) -> Items {
    let mut items = Items::default();
    for (key, value) in pairs(text).take(64) {
        if items.get(key).is_none() {
            items.push(key, value);
        }
    }
    let scanned = text.split("all_unreclaimable?").nth(1);
    if let Some(word) = scanned.and_then(|rest| rest.split_ascii_whitespace().next()) {
        items.push("all_unreclaimable", u64::from(word == "yes"));
    }
    items
}

/// The blocks of ": 1*4kB (UM) 0*8kB = 4kB".
fn blocks(text: &str) -> Vec<Blocks> {
    let mut blocks: Vec<Blocks> = Vec::new();
    for word in text.split_ascii_whitespace().take(96) {
        if word == "=" {
            break;
        }
        if let Some((count, size)) = word.split_once('*') {
            let numbers = count.parse().ok().zip(size.strip_suffix("kB"));
            let block = numbers.and_then(|(count, size)| {
                Some(Blocks {
                    count,
                    size: size.parse().ok()?,
                    types: String::new(),
                })
            });
            blocks.extend(block);
        } else if let (Some(types), Some(last)) = (word.strip_prefix('('), blocks.last_mut()) {
            last.types = types.trim_end_matches(')').into();
        }
    }
    blocks
}

fn huge_pages(node: u32, text: &str) -> Option<HugePages> {
    Some(HugePages {
        node,
        total: number_after(text, "hugepages_total=")?,
        free: number_after(text, "hugepages_free=").unwrap_or(0),
        size: Kib(number_after(text, "hugepages_size=")?),
    })
}

impl Zone {
    /// An item of the zone's line.
    #[must_use]
    pub fn kib(&self, item: &str) -> Kib {
        Kib(self.items.get(item).unwrap_or(0))
    }

    /// Whether its line is whole enough to be held against a request: of one that is cut off, what
    /// stands at its end (CMA's pages) is not told.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let has = |item: &&str| self.items.get(item).is_some();
        ["free", "min", "low", "high"].iter().all(has) && ["present", "managed"].iter().any(has)
    }

    /// Whether it has memory.
    #[must_use]
    pub fn is_populated(&self) -> bool {
        let size = self
            .items
            .get("managed")
            .or_else(|| self.items.get("present"));
        size.is_none_or(|size| size > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_read_with_its_node_or_without() {
        let Some(ZoneLine::Zone(zone)) =
            line("Node 1 DMA32 free:8kB min:4kB low:5kB high:6kB all_unreclaimable? yes")
        else {
            panic!("a zone");
        };
        assert_eq!((zone.node, zone.kind), (1, ZoneKind::Dma32));
        assert_eq!(
            (zone.kib("free"), zone.kib("all_unreclaimable")),
            (Kib(8), Kib(1))
        );
        assert!(matches!(
            line("DMA free:8kB min:4kB"),
            Some(ZoneLine::Zone(_))
        ));
    }

    #[test]
    fn blocks_have_a_size_a_count_and_types() {
        let Some(ZoneLine::Blocks(0, ZoneKind::Normal, blocks)) =
            line("Node 0 Normal: 3*4kB (UM) 0*8kB 1*16kB (C) = 28kB")
        else {
            panic!("blocks");
        };
        assert_eq!(blocks.len(), 3);
        assert_eq!((blocks[0].count, blocks[0].types.as_str()), (3, "UM"));
        assert_eq!((blocks[2].size, blocks[2].types.as_str()), (16, "C"));
        assert!(matches!(
            line("Normal: 7*4kB 0*8kB = 28kB"),
            Some(ZoneLine::Blocks(0, ZoneKind::Normal, _))
        ));
    }

    #[test]
    fn other_lines_are_none() {
        for text in [
            "",
            "Node",
            "Node x",
            "Normal",
            "free:1",
            "Node 0 Strange: 1*4kB",
        ] {
            assert_eq!(line(text), None, "{text}");
        }
    }
}
