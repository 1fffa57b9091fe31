//! Sets of NUMA nodes, as the kernel prints them: "0-1,3".

use alloc::vec::Vec;
use core::fmt;

/// A set of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSet(Vec<(u32, u32)>);

impl NodeSet {
    /// The set that a text begins with; `None` for "(null)" and anything else that is no list.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '-' && c != ',');
        let list = text[..end.unwrap_or(text.len())].trim_end_matches(',');
        let range = |range: &str| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some((first.parse().ok()?, last.parse().ok()?))
        };
        let ranges: Option<Vec<_>> = list.split(',').take(256).map(range).collect();
        ranges.map(Self)
    }

    /// Whether a node is in it.
    #[must_use]
    pub fn contains(&self, node: u32) -> bool {
        self.0
            .iter()
            .any(|&(first, last)| (first..=last).contains(&node))
    }
}

impl fmt::Display for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, last)) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn lists_are_read_and_written_as_the_kernel_does() {
        let set = NodeSet::parse("0-1,3, order=0").expect("a set");
        assert!(set.contains(1) && !set.contains(2) && set.contains(3));
        assert_eq!(set.to_string(), "0-1,3");
        assert_eq!(
            NodeSet::parse("0,cpuset=a").map(|set| set.to_string()),
            Some("0".into())
        );
        assert_eq!(NodeSet::parse("(null),cpuset=/"), None);
    }
}
