//! `/proc/buddyinfo`: free blocks of each order in each zone.

use alloc::vec::Vec;

use crate::text::{Line, ParseError, lines};
use crate::units::Pages;
use crate::zoneinfo::ZoneKind;

/// Path without the leading slash.
pub const PATH: &str = "proc/buddyinfo";

/// `/proc/buddyinfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buddyinfo {
    /// The zones that have memory, in the file's order.
    pub zones: Vec<FreeArea>,
}

/// The free blocks of one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeArea {
    /// Its NUMA node.
    pub node: u32,
    /// Which zone of the node.
    pub kind: ZoneKind,
    /// Free blocks by order: block i has 2^i pages.
    pub blocks: Vec<u64>,
}

impl Buddyinfo {
    /// Reads the text of `/proc/buddyinfo`.
    ///
    /// # Errors
    /// The first line that is not "Node N, zone NAME COUNT…".
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let zones = lines(PATH, text).map(|line| FreeArea::parse(&line));
        Ok(Self {
            zones: zones.collect::<Result<_, _>>()?,
        })
    }
}

impl FreeArea {
    /// Pages in all its blocks.
    #[must_use]
    pub fn free(&self) -> Pages {
        self.free_from(0)
    }

    /// Pages in its blocks of at least this order.
    #[must_use]
    pub fn free_from(&self, order: u32) -> Pages {
        let orders = (0_u32..).zip(&self.blocks).skip(order as usize);
        let pages = orders.map(|(order, &blocks)| {
            let size = 1_u64.checked_shl(order).unwrap_or(u64::MAX);
            blocks.saturating_mul(size)
        });
        Pages(pages.fold(0, u64::saturating_add))
    }

    fn parse(line: &Line<'_>) -> Result<Self, ParseError> {
        const EXPECTED: &str = "\"Node N, zone NAME COUNT…\"";
        let malformed = || line.error(line.text, EXPECTED);
        let rest = line.text.strip_prefix("Node ").ok_or_else(malformed)?;
        let (node, rest) = rest.split_once(", zone").ok_or_else(malformed)?;
        let mut words = rest.split_ascii_whitespace();
        let kind = words.next().ok_or_else(malformed)?;
        Ok(Self {
            node: line.number_in("Node", node)?,
            kind: kind
                .parse()
                .map_err(|()| line.error(kind, "the name of a zone"))?,
            blocks: words
                .map(|word| line.number_in("count", word))
                .collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_become_pages_by_their_order() {
        let text = "Node 0, zone      DMA      1      0      3\nNode 1, zone   Normal  0 1 \n";
        let info = Buddyinfo::parse(text).expect("a buddyinfo");
        assert_eq!(info.zones[0].free(), Pages(13));
        assert_eq!(info.zones[0].free_from(2), Pages(12));
        assert_eq!(
            (info.zones[1].node, info.zones[1].kind),
            (1, ZoneKind::Normal)
        );
    }

    #[test]
    fn absurd_counts_saturate() {
        let line = alloc::format!("Node 0, zone DMA {}", "18446744073709551615 ".repeat(70));
        let info = Buddyinfo::parse(&line).expect("a buddyinfo");
        assert_eq!(info.zones[0].free(), Pages(u64::MAX));
        assert_eq!(info.zones[0].free_from(200), Pages(0));
    }

    #[test]
    fn a_malformed_line_is_named() {
        let error = Buddyinfo::parse("Node 0, zone DMA 1 x").expect_err("no count");
        assert_eq!(error.item, "count");
        assert!(Buddyinfo::parse("nonsense").is_err());
    }
}
