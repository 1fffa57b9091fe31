//! `/proc/pagetypeinfo`: free blocks of each order in each zone, and all pageblocks, by migrate
//! type. Root alone may read it.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::text::{Line, ParseError, lines};
use crate::zoneinfo::ZoneKind;

/// Path without the leading slash.
pub const PATH: &str = "proc/pagetypeinfo";

/// `/proc/pagetypeinfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pagetypeinfo {
    /// The zones that have memory, in the file's order.
    pub zones: Vec<FreeByType>,
    /// How many pageblocks of each type the zones have, free or not; empty where the second table
    /// is not there.
    pub blocks: Vec<BlocksByType>,
}

/// The pageblocks of one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlocksByType {
    /// Its NUMA node.
    pub node: u32,
    /// Which zone of the node.
    pub kind: ZoneKind,
    /// How many there are of each type, in the table's order.
    pub types: Vec<(String, u64)>,
}

impl BlocksByType {
    /// Those of a type.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<u64> {
        let found = self.types.iter().find(|(other, _)| other == name);
        found.map(|(_, count)| *count)
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> u64 {
        let counts = self.types.iter().map(|(_, count)| *count);
        counts.fold(0, u64::saturating_add)
    }
}

/// The free blocks of one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeByType {
    /// Its NUMA node.
    pub node: u32,
    /// Which zone of the node.
    pub kind: ZoneKind,
    /// Free blocks by order, block i having 2^i pages, for each migrate type by the kernel's name
    /// for it (`Unmovable`). The kernel stops counting at 100000.
    pub types: BTreeMap<String, Vec<u64>>,
}

impl Pagetypeinfo {
    /// Reads the text of `/proc/pagetypeinfo`. Of the second table lines that do not fit are left
    /// out.
    ///
    /// # Errors
    /// The first line of the table that is not "Node N, zone NAME, type NAME COUNT…".
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut zones: Vec<FreeByType> = Vec::new();
        for line in lines(PATH, text).filter(|line| line.text.contains(", type ")) {
            let row = Row::parse(&line)?;
            let is_last = |zone: &FreeByType| (zone.node, zone.kind) == (row.node, row.kind);
            if !zones.last().is_some_and(is_last) {
                zones.push(FreeByType {
                    node: row.node,
                    kind: row.kind,
                    types: BTreeMap::new(),
                });
            }
            if let Some(zone) = zones.last_mut() {
                zone.types.insert(row.name, row.blocks);
            }
        }
        let blocks = blocks(text);
        Ok(Self { zones, blocks })
    }

    /// The free blocks of one zone.
    #[must_use]
    pub fn zone(&self, node: u32, kind: ZoneKind) -> Option<&FreeByType> {
        let mut zones = self.zones.iter();
        zones.find(|zone| (zone.node, zone.kind) == (node, kind))
    }
}

/// The rows of "Number of blocks type …".
fn blocks(text: &str) -> Vec<BlocksByType> {
    let mut lines = text.lines().map(str::trim);
    let heads = lines.by_ref().find_map(|line| {
        let names = line.strip_prefix("Number of blocks type")?;
        Some(names.split_ascii_whitespace().collect::<Vec<_>>())
    });
    let Some(names) = heads else {
        return Vec::new();
    };
    let row = |line: &str| {
        let (node, rest) = line.strip_prefix("Node ")?.split_once(", zone")?;
        let mut words = rest.split_ascii_whitespace();
        let (node, kind) = (node.trim().parse().ok()?, words.next()?.parse().ok()?);
        let counts = words
            .map(|word| word.parse().ok())
            .collect::<Option<Vec<u64>>>()?;
        let named = names.iter().map(|name| name.to_string()).zip(counts);
        Some(BlocksByType {
            node,
            kind,
            types: named.collect(),
        })
    };
    lines.map_while(row).collect()
}

/// A line of the table.
struct Row {
    node: u32,
    kind: ZoneKind,
    name: String,
    blocks: Vec<u64>,
}

impl Row {
    fn parse(line: &Line<'_>) -> Result<Self, ParseError> {
        const EXPECTED: &str = "\"Node N, zone NAME, type NAME COUNT…\"";
        let malformed = || line.error(line.text, EXPECTED);
        let rest = line.text.strip_prefix("Node ").ok_or_else(malformed)?;
        let (node, rest) = rest.split_once(", zone").ok_or_else(malformed)?;
        let (kind, rest) = rest.split_once(", type ").ok_or_else(malformed)?;
        let mut words = rest.split_ascii_whitespace();
        let name = words.next().ok_or_else(malformed)?;
        let count = |word: &str| line.number_in("count", word.trim_start_matches('>'));
        Ok(Self {
            node: line.number_in("Node", node.trim())?,
            kind: kind
                .trim()
                .parse()
                .map_err(|()| line.error(kind, "the name of a zone"))?,
            name: name.to_string(),
            blocks: words.map(count).collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Page block order: 9
Pages per block:  512

Free pages count per migrate type at order       0      1      2
Node    0, zone      DMA, type    Unmovable      0      1      0
Node    0, zone      DMA, type      Movable      0      0 >100000
Node    0, zone    DMA32, type    Unmovable      4      0      1

Number of blocks type     Unmovable      Movable
Node 0, zone      DMA            1            7
";

    #[test]
    fn free_blocks_are_counted_by_zone_type_and_order() {
        let info = Pagetypeinfo::parse(TEXT).expect("a pagetypeinfo");
        assert_eq!(info.zones.len(), 2);
        let dma = info.zone(0, ZoneKind::Dma).expect("it is there");
        assert_eq!(dma.types["Unmovable"], [0, 1, 0]);
        assert_eq!(dma.types["Movable"], [0, 0, 100_000]);
        let types = &info.zone(0, ZoneKind::Dma32).expect("it is there").types;
        assert_eq!(types["Unmovable"], [4, 0, 1]);
        assert_eq!(info.zone(1, ZoneKind::Dma), None);
    }

    #[test]
    fn a_malformed_line_is_named() {
        let error =
            Pagetypeinfo::parse("Node 0, zone DMA, type Movable 1 x").expect_err("no count");
        assert_eq!(error.item, "count");
        assert!(Pagetypeinfo::parse("Node 0, zone Fog, type Movable 1").is_err());
        assert!(Pagetypeinfo::parse("what, type Movable 1").is_err());
    }
}
