//! `/proc/zoneinfo`: each zone with its watermarks, reserves and lists.
//!
//! Its shape changed: `managed` came with 3.8 (before, `present` stands for it), the nodes' own
//! statistics with 4.8 (before, each zone has the items of its lists; here they are summed up), a
//! line with a number and no name stood among them from 4.17 to 4.19, zones without pages are
//! listed since 4.13.

mod reader;

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::items::Items;
use crate::text::{ParseError, lines};
use crate::units::Pages;

use self::reader::Reader;

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
    /// Raise of the watermarks after pageblocks were mixed. Kernels from 5.0 to 5.15 do not print
    /// it; see [`crate::snapshot::Snapshot::hides_boost`].
    pub boost: Option<Pages>,
    /// The marks.
    pub watermarks: Watermarks,
    /// Page frames between its first and its last.
    pub spanned: Pages,
    /// Page frames that exist.
    pub present: Pages,
    /// Pages that the allocator owns; what is present where the kernel does not tell them.
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
    /// The bounds between which the kernel tunes `high`; since Linux 6.7.
    pub tuned: [Option<u64>; 2],
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
    /// The nodes' statistics, in the file's order; before Linux 4.8 the sums over their zones.
    pub nodes: Vec<NodeStats>,
    /// What the text shows and what it lacks.
    pub shape: Shape,
    /// Zones and lines that could not be read, at most [`MOST_ERRORS`]: cut off, or malformed.
    pub left_out: Vec<ParseError>,
}

/// What a text of zoneinfo shows, from which its kernel's release can be bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Whether every zone tells its managed pages.
    pub managed: bool,
    /// Whether nodes have statistics of their own.
    pub node_stats: bool,
    /// The number without a name, summed over the nodes: bytes that can be reclaimed indirectly.
    pub nameless: Option<u64>,
}

/// How many errors of one text are kept.
pub const MOST_ERRORS: usize = 8;

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

    /// Whether the allocator hands any of it out: memory of devices it does not.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.managed > Pages::ZERO && self.kind != ZoneKind::Device
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
    /// What is malformed or cut off is left out and kept in [`Zoneinfo::left_out`].
    ///
    /// # Errors
    /// A zone of unknown name, or a text without a zone that has free, min, low, high and present.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut reader = Reader::default();
        for line in lines(PATH, text) {
            if line.text.starts_with("Node ") {
                reader.begin_zone(&line)?;
            } else if let Err(error) = reader.line(&line) {
                reader.leave_out(error);
            }
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
        assert_eq!(pageset.tuned, [Some(6975), None]);
        assert!(info.shape.managed && info.shape.node_stats);
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
    fn a_zone_that_lacks_a_mark_is_named_and_the_others_are_read() {
        let cut = TWO_ZONES.replace("        high     32\n", "");
        let info = Zoneinfo::parse(&cut).expect("the other zone");
        let error = info.left_out.first().expect("the zone that is left out");
        assert_eq!(
            (error.line, error.item.as_str()),
            (27, "Node 0, zone  Movable")
        );
        assert_eq!(info.zones.len(), 1);
        let cut = Zoneinfo::parse("Node 0, zone DMA\n  pages free 5\n        min");
        assert!(cut.is_err(), "no zone is whole");
        let odd = Zoneinfo::parse("Node 0, zone Mauve\n").expect_err("no such zone");
        assert_eq!(odd.item, "Mauve");
    }

    #[test]
    fn before_3_8_present_stands_for_managed_and_lists_are_summed_over_zones() {
        let zone = |name: &str, inactive: u64| {
            alloc::format!(
                "Node 0, zone {name}\n  pages free     9\n        min      3\n        low      4\n\
                 \x20       high     5\n        scanned  0\n        spanned  4080\n        \
                 present  3914\n    nr_free_pages 9\n    nr_inactive_file {inactive}\n    \
                 nr_active_file 1\n        protection: (0, 7)\n  pagesets\n    cpu: 0\n              \
                 count: 0\n  all_unreclaimable: 0\n  start_pfn:         16\n  \
                 inactive_ratio:    1\n"
            )
        };
        let info = Zoneinfo::parse(&(zone("DMA", 5) + &zone("Normal", 7))).expect("a zoneinfo");
        assert_eq!(info.left_out, []);
        assert_eq!(info.zones[0].managed, Pages(3914));
        assert!(!info.shape.managed && !info.shape.node_stats);
        assert_eq!(info.node_item("nr_inactive_file"), Some(12));
        assert_eq!(info.node_item("nr_active_file"), Some(2));
    }

    #[test]
    fn a_number_without_a_name_is_kept_and_loses_nothing() {
        let blanks = alloc::format!("{:19}537792\n", "");
        let nameless = TWO_ZONES.replace("      nr_dirty ", &(blanks + "      nr_dirty "));
        let info = Zoneinfo::parse(&nameless).expect("a zoneinfo");
        assert_eq!(info.shape.nameless, Some(537_792));
        assert_eq!((info.zones.len(), info.left_out.len()), (2, 0));
        assert_eq!(info.node_item("nr_dirty"), Some(2697));
    }

    #[test]
    fn a_line_that_is_cut_off_is_left_out_and_said() {
        let end = TWO_ZONES
            .find("        managed  0\n")
            .expect("the last line");
        let cut = alloc::format!("{}        mana", &TWO_ZONES[..end]);
        let info = Zoneinfo::parse(&cut).expect("a zoneinfo");
        assert_eq!((info.zones.len(), info.left_out.len()), (2, 1));
        assert!(!info.shape.managed, "one zone does not tell");
    }
}
