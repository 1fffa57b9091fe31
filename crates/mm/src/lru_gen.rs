//! The multi-generation LRU: `/sys/kernel/mm/lru_gen/` and its table in debugfs.

use alloc::string::String;
use alloc::vec::Vec;

use crate::catalogue::path_of;
use crate::text::{Line, ParseError, lines, number};
use crate::units::{Nanos, Pages};

/// `enabled`, without the leading slash.
pub const ENABLED: &str = path_of("lru_gen.enabled");
/// `min_ttl_ms`, without the leading slash.
pub const MIN_TTL_MS: &str = path_of("lru_gen.min_ttl_ms");
/// The table, without the leading slash.
pub const TABLE: &str = "sys/kernel/debug/lru_gen";

/// The components that are switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Enabled(pub u32);

/// One generation of one control group on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// The control group's number, by which commands name it.
    pub id: u64,
    /// The control group's path in the hierarchy.
    pub memcg: String,
    /// The node.
    pub node: u32,
    /// Its sequence number; the largest is the youngest.
    pub seq: u64,
    /// How long ago it was made.
    pub age: Nanos,
    /// Anonymous pages in it.
    pub anon: Pages,
    /// File pages in it.
    pub file: Pages,
}

impl Enabled {
    /// The LRU itself.
    pub const CORE: u32 = 0x1;
    /// Clears accessed bits of leaf page table entries in batches.
    pub const MM_WALK: u32 = 0x2;
    /// Clears accessed bits of non-leaf entries.
    pub const NONLEAF_YOUNG: u32 = 0x4;

    /// Reads the text of `enabled`, a bit mask in hexadecimal.
    ///
    /// # Errors
    /// Where it is none.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let digits = text.trim_ascii();
        let hex = digits.strip_prefix("0x").unwrap_or(digits);
        let mask = u32::from_str_radix(hex, 16);
        mask.map(Self)
            .map_err(|_| ParseError::new(ENABLED, 1, text, "a bit mask such as 0x0007"))
    }

    /// Whether pages are kept in generations rather than in two lists.
    #[must_use]
    pub fn core(self) -> bool {
        self.0 & Self::CORE != 0
    }
}

/// Reads the text of `min_ttl_ms`.
///
/// # Errors
/// Where it is not a number of milliseconds.
pub fn parse_min_ttl(text: &str) -> Result<Nanos, ParseError> {
    let millis: u64 = number(MIN_TTL_MS, text)?;
    Ok(Nanos(millis.saturating_mul(Nanos::MILLI.0)))
}

/// Reads the table in debugfs.
///
/// # Errors
/// The first line that is neither "memcg ID PATH", nor "node N", nor a generation below them.
pub fn parse_table(text: &str) -> Result<Vec<Generation>, ParseError> {
    let (mut memcg, mut node) = (None, None);
    let mut generations = Vec::new();
    for line in lines(TABLE, text) {
        let mut words = line.words();
        match words.next() {
            Some("memcg") => {
                let id: u64 = line.next_number("memcg", &mut words)?;
                memcg = Some((id, path_of_group(line.text)));
            }
            Some("node") => node = Some(line.next_number("node", &mut words)?),
            _ => match (memcg, node) {
                (Some(memcg), Some(node)) => {
                    generations.push(Generation::parse(&line, memcg, node)?);
                }
                _ => return Err(line.error(line.text, "\"memcg ID PATH\", then \"node N\"")),
            },
        }
    }
    Ok(generations)
}

/// What stands behind "memcg ID": a path may hold blanks.
fn path_of_group(line: &str) -> &str {
    let behind = line.trim_ascii().strip_prefix("memcg").unwrap_or_default();
    let behind = behind.trim_ascii_start();
    let path = behind.trim_start_matches(|c: char| c.is_ascii_digit());
    match path.trim_ascii() {
        "" => "/",
        path => path,
    }
}

impl Generation {
    fn parse(line: &Line<'_>, (id, memcg): (u64, &str), node: u32) -> Result<Self, ParseError> {
        let mut words = line.words();
        let seq = line.next_number("generation", &mut words)?;
        let millis: u64 = line.next_number("age", &mut words)?;
        let mut pages = |item| {
            let word = words.next().unwrap_or("");
            // A type whose oldest generation is younger marks the size with an x.
            let digits = word.strip_suffix('x').unwrap_or(word);
            line.number_in(item, digits).map(Pages)
        };
        Ok(Self {
            id,
            memcg: memcg.into(),
            node,
            seq,
            age: Nanos(millis.saturating_mul(Nanos::MILLI.0)),
            anon: pages("anon pages")?,
            file: pages("file pages")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bit_mask_is_hexadecimal() {
        assert_eq!(Enabled::parse("0x0007\n"), Ok(Enabled(7)));
        assert!(Enabled::parse("0x0007\n").is_ok_and(Enabled::core));
        assert!(Enabled::parse("yes").is_err());
        assert_eq!(parse_min_ttl("1000\n"), Ok(Nanos::SECOND));
    }

    #[test]
    fn the_table_names_group_node_and_generation() {
        let text = "memcg     1 /\n node     0\n       2      15790       3x       1 \n\
                    \x20      3       8000          9        61 \nmemcg 22 /system.slice/a b\n node 1\n 0 1 2 3\n";
        let table = parse_table(text).expect("a table");
        assert_eq!(table.len(), 3);
        assert_eq!((table[0].anon, table[0].file), (Pages(3), Pages(1)));
        assert_eq!((table[1].seq, table[1].id, table[2].id), (3, 1, 22));
        assert_eq!(
            (table[2].memcg.as_str(), table[2].node),
            ("/system.slice/a b", 1)
        );
        assert!(parse_table(" 1 2 3 4\n").is_err());
    }
}
