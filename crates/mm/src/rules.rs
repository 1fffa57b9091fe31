//! The kernel's rules by release: one row for each way in which a figure has been made, for what
//! files print, and for each mechanism.
//!
//! Where a release is not told, [`crate::snapshot::Snapshot::span`] bounds it by the items that the
//! files have. Distributions take newer rules into old releases, so a reader tries the rules of the
//! release first and those of others after them.

mod mechanism;
mod older;
mod table;

use crate::formula::available::Rule as Available;
use crate::formula::dirty::{DirtyableRule as Dirtyable, PercentRule as Percent};
use crate::formula::reserve::Rule as Reserve;
use crate::formula::watermarks::Steps;
use crate::release::Span;

pub use mechanism::{Mechanism, Mechanisms, has};
pub use older::{OLDER, Older};
pub use table::TABLE;

/// One way in which a figure is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The distances of the marks.
    Steps(Steps),
    /// MemAvailable.
    Available(Available),
    /// The memory that dirty ratios are of.
    Dirtyable(Dirtyable),
    /// What a percent of it is.
    Percent(Percent),
    /// The lowmem reserve.
    Reserve(Reserve),
    /// When a node needs no kswapd.
    Balance(Balance),
    /// What zoneinfo, meminfo and vmstat print.
    Prints(Print),
    /// How memory is managed.
    Does(Mechanism),
}

/// When kswapd leaves a node alone, for requests of one page (`pgdat_balanced`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// Every zone that a request could use is at its high mark.
    EveryZone,
    /// One of them is.
    AnyZone,
}

/// A thing that files show, or do not show, in some releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Print {
    /// No `managed` in zoneinfo: marks and reserves are made of `present`.
    NoManaged,
    /// LRU items for each zone, none for nodes.
    ListsOfZones,
    /// A node's item without a name, in bytes.
    Nameless,
    /// Zones without memory are left out.
    NoEmptyZones,
    /// Marks without a boost: there is none.
    NoBoost,
    /// Marks with the boost in them, and no line that says so.
    HiddenBoost,
    /// Marks with the boost in them, and its own line.
    PrintedBoost,
    /// No `MemAvailable` in meminfo.
    NoAvailable,
    /// No `Hugetlb` in meminfo.
    NoHugetlb,
    /// `VmallocUsed` is always 0.
    NoVmalloc,
    /// The square-root rule of `vm.min_free_kbytes` ends at 65536.
    SmallLargestRoot,
    /// What an NFS server was sent and has not committed is `nr_unstable`, and counts against the
    /// dirty thresholds; since then it stays under writeback, and the item is always 0.
    Unstable,
}

/// A row: a rule, the releases that have it, and where that is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The rule.
    pub rule: Rule,
    /// The releases, both ends among them.
    pub releases: Span,
    /// The kernel's function, or the change that brought it.
    pub source: &'static str,
}

/// The rows whose rule `pick` takes out, those that a kernel of `span` may have before the others;
/// each group from the newest to the oldest.
pub fn tried<T>(
    span: Span,
    pick: impl Fn(Rule) -> Option<T> + Copy,
) -> impl Iterator<Item = (T, &'static Row)> {
    let of = move |own: bool| {
        let rows = TABLE.iter().rev();
        let rows = rows.filter(move |row| row.releases.meets(span) == own);
        rows.filter_map(move |row| Some((pick(row.rule)?, row)))
    };
    of(true).chain(of(false))
}

/// Whether a kernel of `span` prints so: `None` where some of its versions do and some do not.
#[must_use]
pub fn prints(span: Span, print: Print) -> Option<bool> {
    let is = |row: &&Row| row.rule == Rule::Prints(print);
    let releases = TABLE.iter().find(is)?.releases;
    match releases.meets(span) {
        false => Some(false),
        true => (releases.from <= span.from && span.to <= releases.to).then_some(true),
    }
}

impl Row {
    /// Whether a kernel of `span` may have it.
    #[must_use]
    pub fn is_of(&self, span: Span) -> bool {
        self.releases.meets(span)
    }

    fn mechanism(&self) -> Option<Mechanism> {
        match self.rule {
            Rule::Does(mechanism) => Some(mechanism),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::Version;
    use alloc::vec::Vec;

    fn at(major: u32, minor: u32, patch: u32) -> Span {
        let version = Version(major, minor, patch);
        Span {
            from: version,
            to: version,
        }
    }

    fn available(rule: Rule) -> Option<Available> {
        match rule {
            Rule::Available(rule) => Some(rule),
            _ => None,
        }
    }

    fn reserve(rule: Rule) -> Option<Reserve> {
        match rule {
            Rule::Reserve(rule) => Some(rule),
            _ => None,
        }
    }

    fn first<T>(span: Span, pick: impl Fn(Rule) -> Option<T> + Copy) -> T {
        tried(span, pick).next().expect("a rule").0
    }

    #[test]
    fn each_rule_changes_at_its_release() {
        assert_eq!(first(at(4, 4, 0), available), Available::LowMarks);
        assert_eq!(first(at(4, 5, 0), available), Available::Reserve);
        assert_eq!(first(at(4, 17, 3), available), Available::Nameless);
        assert_eq!(first(at(4, 19, 300), available), Available::Nameless);
        assert_eq!(first(at(4, 20, 0), available), Available::Reserve);
        assert_eq!(first(at(5, 7, 9), reserve), Reserve::EmptyZonesToo);
        assert_eq!(
            first(at(5, 10, 49), reserve),
            Reserve::SkippedZonesUncounted
        );
        assert_eq!(first(at(5, 10, 50), reserve), Reserve::AllZonesCounted);
        assert_eq!(first(at(5, 9, 0), reserve), Reserve::SkippedZonesUncounted);
    }

    #[test]
    fn an_unknown_release_has_the_newest_rule_first_and_every_other_after_it() {
        let all: Vec<_> = tried(Span::ALL, reserve).map(|(rule, _)| rule).collect();
        let newest_first = [
            Reserve::AllZonesCounted,
            Reserve::SkippedZonesUncounted,
            Reserve::EmptyZonesToo,
        ];
        assert_eq!(all, newest_first);
        let old: Vec<_> = tried(at(4, 18, 0), available)
            .map(|(rule, _)| rule)
            .collect();
        assert_eq!((old[0], old.len()), (Available::Nameless, 4));
    }

    #[test]
    fn rows_of_one_subject_follow_one_another_without_a_gap() {
        let picks: [fn(Rule) -> bool; 6] = [
            |rule| matches!(rule, Rule::Steps(_)),
            |rule| matches!(rule, Rule::Available(_)),
            |rule| matches!(rule, Rule::Dirtyable(_)),
            |rule| matches!(rule, Rule::Percent(_)),
            |rule| matches!(rule, Rule::Reserve(_)),
            |rule| matches!(rule, Rule::Balance(_)),
        ];
        for pick in picks {
            let rows: Vec<&Row> = TABLE.iter().filter(|row| pick(row.rule)).collect();
            assert_eq!(
                rows.first().map(|row| row.releases.from),
                Some(Version::FIRST)
            );
            assert_eq!(rows.last().map(|row| row.releases.to), Some(Version::LAST));
            for pair in rows.windows(2) {
                let (Version(major, minor, patch), next) =
                    (pair[0].releases.to, pair[1].releases.from);
                let follows = match patch {
                    u32::MAX => {
                        next == Version::first(major, minor + 1) || (major, minor) == (4, 20)
                    }
                    patch => next == Version(major, minor, patch + 1),
                };
                assert!(follows, "{:?} before {:?}", pair[0], pair[1]);
            }
        }
    }

    #[test]
    fn what_a_kernel_prints_is_known_where_all_of_its_versions_agree() {
        assert_eq!(prints(at(5, 15, 2), Print::HiddenBoost), Some(true));
        assert_eq!(prints(at(5, 16, 0), Print::HiddenBoost), Some(false));
        assert_eq!(prints(Span::ALL, Print::HiddenBoost), None);
        assert_eq!(prints(at(3, 7, 0), Print::NoManaged), Some(true));
        assert_eq!(prints(at(3, 8, 0), Print::NoManaged), Some(false));
        assert_eq!(prints(at(4, 4, 0), Print::NoVmalloc), Some(true));
        assert_eq!(prints(at(5, 3, 0), Print::NoVmalloc), Some(false));
        assert_eq!(prints(at(4, 12, 1), Print::NoEmptyZones), Some(true));
        assert_eq!(prints(at(4, 13, 0), Print::NoEmptyZones), Some(false));
        assert_eq!(prints(at(4, 15, 0), Print::NoHugetlb), Some(true));
        assert_eq!(prints(at(4, 16, 0), Print::NoHugetlb), Some(false));
        assert_eq!(prints(at(3, 13, 0), Print::NoAvailable), Some(true));
    }
}
