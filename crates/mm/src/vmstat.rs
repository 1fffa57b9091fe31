//! `/proc/vmstat`: what the memory management counted since boot, and what it holds now.
//!
//! The file mixes counters, which only grow, with gauges, which go both ways. A difference of two
//! readings has counters only.

use crate::items::Items;
use crate::text::{ParseError, lines};

/// Path without the leading slash.
pub const PATH: &str = "proc/vmstat";

/// What a number in vmstat is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Grows from boot on; the difference of two readings says what happened between them.
    Counter,
    /// What there is at the moment; two readings are never subtracted.
    Gauge,
}

/// `/proc/vmstat`, in the kernel's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vmstat(Items);

/// How far each counter went between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VmstatDelta(Items);

/// Counters whose names begin like a gauge's.
const COUNTERS_CALLED_NR: [&str; 10] = [
    "nr_vmscan_write",
    "nr_vmscan_immediate_reclaim",
    "nr_dirtied",
    "nr_written",
    "nr_throttled_written",
    "nr_foll_pin_acquired",
    "nr_foll_pin_released",
    "nr_tlb_remote_flush",
    "nr_tlb_remote_flush_received",
    "nr_tlb_local_flush_all",
];

/// Whether an item counts or holds.
#[must_use]
pub fn kind(item: &str) -> Kind {
    let holds = item == "workingset_nodes"
        || (item.starts_with("nr_")
            && !COUNTERS_CALLED_NR.contains(&item)
            && !item.starts_with("nr_tlb_"));
    if holds { Kind::Gauge } else { Kind::Counter }
}

impl Vmstat {
    /// Reads the text of `/proc/vmstat`.
    ///
    /// # Errors
    /// The first line that is not "NAME NUMBER", or a text without any.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Items::parse(PATH, text).map(Self)
    }

    /// Reads the lines that can be read, and keeps the error of the first that cannot: a paste may
    /// be cut off. `None` where no line can.
    #[must_use]
    pub fn read(text: &str) -> (Option<Self>, Option<ParseError>) {
        let (mut items, mut first) = (Items::default(), None);
        for line in lines(PATH, text) {
            match line.key_number() {
                Ok((item, value)) => items.push(item, value),
                Err(error) => first = first.or(Some(error)),
            }
        }
        match items.is_empty() {
            true => (None, first.or_else(|| Self::parse(text).err())),
            false => (Some(Self(items)), first),
        }
    }

    /// The number of this item.
    #[must_use]
    pub fn get(&self, item: &str) -> Option<u64> {
        self.0.get(item)
    }

    /// All items in the kernel's order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter()
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How far each counter went since an earlier reading. Gauges, counters that only one of the
    /// two has, and counters that went back (another boot) are left out.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> VmstatDelta {
        let mut delta = Items::default();
        for (item, now) in self.iter().filter(|(item, _)| kind(item) == Kind::Counter) {
            let before = earlier.get(item);
            if let Some(grown) = before.and_then(|before| now.checked_sub(before)) {
                delta.push(item, grown);
            }
        }
        VmstatDelta(delta)
    }
}

impl VmstatDelta {
    /// How far this counter went.
    #[must_use]
    pub fn get(&self, counter: &str) -> Option<u64> {
        self.0.get(counter)
    }

    /// The sum over all counters whose names begin so, as `allocstall_` or `pgsteal_`.
    #[must_use]
    pub fn sum(&self, prefix: &str) -> u64 {
        let matching = self.iter().filter(|(item, _)| item.starts_with(prefix));
        matching.fold(0, |sum: u64, (_, grown)| sum.saturating_add(grown))
    }

    /// All counters in the kernel's order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_subtracted_and_gauges_never() {
        let parse = |text| Vmstat::parse(text).expect("a vmstat");
        let before =
            parse("nr_free_pages 900\nnr_dirtied 5\npgfault 100\nworkingset_nodes 7\nold 1\n");
        let after =
            parse("nr_free_pages 800\nnr_dirtied 9\npgfault 150\nworkingset_nodes 9\nnew 1\n");
        let delta = after.since(&before);
        assert_eq!(delta.get("nr_free_pages"), None);
        assert_eq!(delta.get("workingset_nodes"), None);
        assert_eq!(delta.get("nr_dirtied"), Some(4));
        assert_eq!(delta.get("pgfault"), Some(50));
        assert_eq!((delta.get("old"), delta.get("new")), (None, None));
        assert_eq!(before.since(&after).get("pgfault"), None);
    }

    #[test]
    fn counters_of_one_family_are_summed() {
        let zero = Vmstat::parse("pgsteal_kswapd 0\npgsteal_direct 0\n").expect("a vmstat");
        let now = Vmstat::parse("pgsteal_kswapd 3\npgsteal_direct 4\n").expect("a vmstat");
        assert_eq!(now.since(&zero).sum("pgsteal_"), 7);
    }

    #[test]
    fn a_line_without_a_number_is_named() {
        let error = Vmstat::parse("pgfault 1\npgmajfault\n").expect_err("no number");
        assert_eq!((error.line, error.item.as_str()), (2, "pgmajfault"));
        let (read, error) = Vmstat::read("pgfault 1\npgmajf");
        assert_eq!(read.expect("one line").get("pgfault"), Some(1));
        assert_eq!(error.expect("the other").line, 2);
    }
}
