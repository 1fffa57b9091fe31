//! `/proc/zoneinfo`: each zone with its watermarks, reserves and lists.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::items::Items;
use crate::text::{Line, ParseError, lines};
use crate::units::Pages;

/// Path without the leading slash.
pub const PATH: &str = "proc/zoneinfo";

/// A range of a node, by use. The order is the kernel's, lowest zone first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ZoneKind {
    /// The first 16 MiB on `x86_64`.
    Dma,
    /// What 32-bit devices reach.
    Dma32,
    /// All other memory that the kernel maps.
    Normal,
    /// Memory beyond the kernel's map, on 32-bit machines.
    HighMem,
    /// Memory for movable pages only.
    Movable,
    /// Memory of devices; the allocator never hands it out.
    Device,
}

/// The free-page marks of a zone. Those that zoneinfo prints have the zone's boost in them; see
/// [`Zone::unboosted`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermarks {
    /// Below it only privileged allocations succeed without reclaiming.
    pub min: Pages,
    /// Below it kswapd is woken.
    pub low: Pages,
    /// At it kswapd sleeps again.
    pub high: Pages,
    /// At it kswapd sleeps where memory is tiered; printed since Linux 6.13.
    pub promo: Option<Pages>,
}

/// One zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its NUMA node.
    pub node: u32,
    /// Which zone of the node.
    pub kind: ZoneKind,
    /// Free pages.
    pub free: Pages,
    /// Raise of the watermarks after pageblocks were mixed.
    pub boost: Option<Pages>,
    /// The marks.
    pub watermarks: Watermarks,
    /// Page frames between its first and its last.
    pub spanned: Pages,
    /// Page frames that exist.
    pub present: Pages,
    /// Pages that the allocator owns.
    pub managed: Pages,
    /// Pages reserved for contiguous allocations.
    pub cma: Option<Pages>,
    /// What this zone keeps back from requests that could use the zone of each index: the lowmem
    /// reserve.
    pub protection: Vec<Pages>,
    /// The zone's `nr_*` and `numa_*` items.
    pub items: Items,
    /// The per-CPU page lists.
    pub pagesets: Vec<Pageset>,
}

/// One CPU's list of free pages in front of the buddy allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pageset {
    /// The CPU.
    pub cpu: u32,
    /// Pages in the list.
    pub count: u64,
    /// Above it pages go back to the buddy allocator.
    pub high: u64,
    /// Pages moved at a time.
    pub batch: u64,
    /// How far this CPU's counters may run ahead of the global ones.
    pub stat_threshold: Option<u64>,
}

/// Statistics that a node keeps as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeStats {
    /// The node.
    pub node: u32,
    /// Its items.
    pub items: Items,
}

/// `/proc/zoneinfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zoneinfo {
    /// The zones in the file's order: nodes ascending, lowest zone first. Zones without memory are
    /// among them.
    pub zones: Vec<Zone>,
    /// The nodes that print statistics (kernels since 4.8), in the file's order.
    pub nodes: Vec<NodeStats>,
}

impl ZoneKind {
    const NAMES: [(Self, &'static str); 6] = [
        (Self::Dma, "DMA"),
        (Self::Dma32, "DMA32"),
        (Self::Normal, "Normal"),
        (Self::HighMem, "HighMem"),
        (Self::Movable, "Movable"),
        (Self::Device, "Device"),
    ];

    /// The kernel's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        let named = Self::NAMES.iter().find(|(kind, _)| *kind == self);
        named.map_or("", |(_, name)| name)
    }
}

impl fmt::Display for ZoneKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ZoneKind {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let named = Self::NAMES.iter().find(|(_, known)| *known == name);
        named.map(|(kind, _)| *kind).ok_or(())
    }
}

impl Zone {
    /// Whether it has any memory.
    #[must_use]
    pub fn is_populated(&self) -> bool {
        self.present > Pages::ZERO
    }

    /// The marks without the boost, as the formula gives them.
    #[must_use]
    pub fn unboosted(&self) -> Watermarks {
        let boost = self.boost.unwrap_or_default();
        let marks = self.watermarks;
        Watermarks {
            min: marks.min.saturating_sub(boost),
            low: marks.low.saturating_sub(boost),
            high: marks.high.saturating_sub(boost),
            promo: marks.promo.map(|promo| promo.saturating_sub(boost)),
        }
    }
}

impl Zoneinfo {
    /// Reads the text of `/proc/zoneinfo`.
    ///
    /// # Errors
    /// A line that breaks the format, a zone of unknown name, a zone that lacks one of free, min,
    /// low, high, spanned, present and managed, or a text without zones.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut reader = Reader::default();
        for line in lines(PATH, text) {
            reader.line(&line)?;
        }
        reader.finish()
    }

    /// The zones that have memory.
    pub fn populated(&self) -> impl Iterator<Item = &Zone> {
        self.zones.iter().filter(|zone| zone.is_populated())
    }

    /// The zone of this kind on this node.
    #[must_use]
    pub fn zone(&self, node: u32, kind: ZoneKind) -> Option<&Zone> {
        let same = |zone: &&Zone| zone.node == node && zone.kind == kind;
        self.zones.iter().find(same)
    }

    /// An item of the nodes' statistics, summed over all nodes.
    #[must_use]
    pub fn node_item(&self, item: &str) -> Option<u64> {
        let values = self.nodes.iter().filter_map(|node| node.items.get(item));
        values.reduce(u64::saturating_add)
    }
}

/// Which part of a zone's text the next line belongs to.
#[derive(Default)]
enum Part {
    #[default]
    Zone,
    NodeStats,
    Pagesets,
}

#[derive(Default)]
struct Reader {
    info: Zoneinfo,
    draft: Option<Draft>,
    part: Part,
}

/// A zone of which not every line has been read.
struct Draft {
    node: u32,
    kind: ZoneKind,
    header: (usize, Box<str>),
    marks: Items,
    protection: Vec<Pages>,
    items: Items,
    pagesets: Vec<Pageset>,
}

/// The lines of a zone that are its size and marks, not its statistics.
const MARKS: [&str; 10] = [
    "free", "boost", "min", "low", "high", "promo", "spanned", "present", "managed", "cma",
];

impl Reader {
    fn line(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        if line.text.starts_with("Node ") {
            return self.begin_zone(line);
        }
        let Some(draft) = &mut self.draft else {
            return Err(line.error(line.text, "\"Node N, zone NAME\""));
        };
        match line.text.trim_ascii() {
            "per-node stats" => {
                self.part = Part::NodeStats;
                let node = draft.node;
                let items = Items::default();
                self.info.nodes.push(NodeStats { node, items });
                return Ok(());
            }
            "pagesets" => self.part = Part::Pagesets,
            text if text.starts_with("pages free") => self.part = Part::Zone,
            _ => {}
        }
        match self.part {
            Part::Zone => draft.zone_line(line),
            Part::Pagesets => draft.pageset_line(line),
            Part::NodeStats => {
                let (item, value) = line.key_number()?;
                if let Some(node) = self.info.nodes.last_mut() {
                    node.items.push(item, value);
                }
                Ok(())
            }
        }
    }

    fn begin_zone(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        self.end_zone()?;
        let words = line.text.strip_prefix("Node ");
        let (node, kind) = words
            .and_then(|words| words.split_once(", zone"))
            .ok_or_else(|| line.error(line.text, "\"Node N, zone NAME\""))?;
        let unknown = |()| {
            line.error(
                kind,
                "DMA, DMA32, Normal, HighMem, Movable or Device for a zone",
            )
        };
        self.draft = Some(Draft {
            node: line.number_in("Node", node)?,
            kind: kind.trim_ascii().parse().map_err(unknown)?,
            header: (line.number, line.text.into()),
            marks: Items::default(),
            protection: Vec::new(),
            items: Items::default(),
            pagesets: Vec::new(),
        });
        self.part = Part::Zone;
        Ok(())
    }

    fn end_zone(&mut self) -> Result<(), ParseError> {
        if let Some(draft) = self.draft.take() {
            self.info.zones.push(draft.finish()?);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Zoneinfo, ParseError> {
        self.end_zone()?;
        if self.info.zones.is_empty() {
            return Err(ParseError::new(PATH, 1, "", "\"Node N, zone NAME\""));
        }
        Ok(self.info)
    }
}

impl Draft {
    fn zone_line(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        let mut text = line.text.trim_ascii();
        if let Some(list) = text.strip_prefix("protection:") {
            return self.protection_line(line, list);
        }
        text = text.strip_prefix("pages ").unwrap_or(text);
        let (item, value) = Line { text, ..*line }.key_number()?;
        if MARKS.contains(&item) {
            self.marks.push(item, line.amount(item, value)?);
        } else {
            self.items.push(item, value);
        }
        Ok(())
    }

    fn protection_line(&mut self, line: &Line<'_>, list: &str) -> Result<(), ParseError> {
        let list = list.trim_ascii().strip_prefix('(');
        let list = list
            .and_then(|list| list.strip_suffix(')'))
            .ok_or_else(|| line.error(line.text, "\"protection: (N, N, …)\""))?;
        let number = |word| {
            let pages = line.number_in("protection", word)?;
            line.amount("protection", pages).map(Pages)
        };
        self.protection = list.split(',').map(number).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn pageset_line(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        let text = line.text.trim_ascii();
        let Some((item, value)) = text.rsplit_once(':') else {
            return Ok(());
        };
        let value: u64 = line.number_in(item, value)?;
        if item == "cpu" {
            self.pagesets.push(Pageset {
                cpu: line.number_in(item, text.trim_start_matches("cpu:"))?,
                ..Pageset::default()
            });
            return Ok(());
        }
        let Some(pageset) = self.pagesets.last_mut() else {
            self.items.push(item, value);
            return Ok(());
        };
        match item {
            "count" => pageset.count = value,
            "high" => pageset.high = value,
            "batch" => pageset.batch = value,
            "vm stats threshold" => pageset.stat_threshold = Some(value),
            "high_min" | "high_max" => {}
            _ => self.items.push(item, value),
        }
        Ok(())
    }

    fn finish(self) -> Result<Zone, ParseError> {
        let optional = |item| self.marks.get(item).map(Pages);
        let needed = |item| {
            let (line, header) = &self.header;
            let expected = "free, min, low, high, spanned, present and managed in every zone";
            optional(item).ok_or_else(|| ParseError::new(PATH, *line, header, expected))
        };
        let watermarks = Watermarks {
            min: needed("min")?,
            low: needed("low")?,
            high: needed("high")?,
            promo: optional("promo"),
        };
        Ok(Zone {
            node: self.node,
            kind: self.kind,
            free: needed("free")?,
            boost: optional("boost"),
            watermarks,
            spanned: needed("spanned")?,
            present: needed("present")?,
            managed: needed("managed")?,
            cma: optional("cma"),
            protection: self.protection,
            items: self.items,
            pagesets: self.pagesets,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_ZONES: &str = "\
Node 0, zone    DMA32
  per-node stats
      nr_inactive_anon 11509
      nr_dirty     2697
  pages free     772918
        boost    0
        min      11161
        low      13951
        high     16741
        promo    19531
        spanned  1044480
        present  782336
        managed  772918
        cma      0
        protection: (0, 0, 1536, 1536, 1536)
      nr_free_pages 772918
      nr_mlock     3
  pagesets
    cpu: 0
              count:    7
              high:     6975
              batch:    63
              high_min: 6975
  vm stats threshold: 24
  node_unreclaimable:  0
  start_pfn:           4096
Node 0, zone  Movable
  pages free     0
        min      32
        low      32
        high     32
        spanned  0
        present  0
        managed  0
";

    #[test]
    fn every_part_of_a_zone_is_read() {
        let info = Zoneinfo::parse(TWO_ZONES).expect("a zoneinfo");
        let zone = info.zone(0, ZoneKind::Dma32).expect("the zone");
        assert_eq!(zone.free, Pages(772_918));
        assert_eq!(zone.watermarks.promo, Some(Pages(19_531)));
        assert_eq!(zone.protection[2], Pages(1536));
        assert_eq!(zone.items.get("nr_mlock"), Some(3));
        assert_eq!(zone.items.get("start_pfn"), Some(4096));
        let pageset = zone.pagesets[0];
        assert_eq!((pageset.count, pageset.batch), (7, 63));
        assert_eq!(pageset.stat_threshold, Some(24));
        assert_eq!(info.node_item("nr_dirty"), Some(2697));
    }

    #[test]
    fn zones_without_memory_are_listed_but_not_populated() {
        let info = Zoneinfo::parse(TWO_ZONES).expect("a zoneinfo");
        let movable = &info.zones[1];
        assert_eq!(movable.kind, ZoneKind::Movable);
        assert_eq!((movable.boost, movable.watermarks.promo), (None, None));
        assert!(!movable.is_populated());
        assert_eq!(info.populated().count(), 1);
    }

    #[test]
    fn a_zone_that_lacks_a_mark_is_named() {
        let cut = TWO_ZONES.replace("        managed  0\n", "");
        let error = Zoneinfo::parse(&cut).expect_err("managed is missing");
        assert_eq!(
            (error.line, error.item.as_str()),
            (27, "Node 0, zone  Movable")
        );
        let odd = Zoneinfo::parse("Node 0, zone Mauve\n").expect_err("no such zone");
        assert_eq!(odd.item, "Mauve");
    }
}
