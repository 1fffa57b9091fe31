//! The control groups as a tree: what the kernel makes of a group's protection and limit, given its
//! ancestors, and which ancestor takes part of it away.
//!
//! `mem_cgroup_calculate_protection`: a group below the root is protected by what it sets; farther
//! down by its claim on what its parent has ([`crate::formula::protection`]). This is what counts
//! when the whole machine is short of memory; reclaim for the limit of a group starts from that
//! group in place of the root.

use alloc::collections::BTreeMap;
use alloc::string::String;

use crate::formula::protection::{self, Unclaimed};
use crate::memcg::{Limit, Memcg};
use crate::units::{Bytes, PageSize, Pages};

/// One of the two protections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protection {
    /// `memory.min`: never reclaimed.
    Min,
    /// `memory.low`: reclaimed only when nothing else is left.
    Low,
}

/// A group's protection as it is set and as it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// As it is set.
    pub setting: Bytes,
    /// What it comes to (`emin`, `elow`). More than the group uses protects no more than that.
    pub effective: Bytes,
    /// Who takes away what the group would use; `None` where nothing is lost.
    pub taken_by: Option<Taker>,
}

/// The ancestor whose own protection is too small for the claims of its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taker {
    /// Its path, without the leading slash.
    pub group: String,
    /// What it is protected by itself.
    pub has: Bytes,
    /// What its children claim: the sum of the smaller of setting and usage.
    pub claimed: Bytes,
}

/// The groups of one moment.
#[derive(Clone, Debug)]
pub struct Hierarchy<'a> {
    groups: &'a BTreeMap<String, Memcg>,
    page: PageSize,
    claims: BTreeMap<(Protection, &'a str), Pages>,
    effective: BTreeMap<(Protection, &'a str), Pages>,
}

/// The name of the group above; `None` for the root.
#[must_use]
pub fn parent(group: &str) -> Option<&str> {
    match group.rsplit_once('/') {
        Some((parent, _)) => Some(parent),
        None => (!group.is_empty()).then_some(""),
    }
}

/// The names of the groups above, nearest first.
pub fn ancestors(group: &str) -> impl Iterator<Item = &str> {
    core::iter::successors(parent(group), |&group| parent(group))
}

impl Protection {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Min, Self::Low];

    /// The kernel's file.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::Min => "memory.min",
            Self::Low => "memory.low",
        }
    }

    fn of(self, group: &Memcg) -> Option<Limit> {
        match self {
            Self::Min => group.min,
            Self::Low => group.low,
        }
    }
}

impl<'a> Hierarchy<'a> {
    /// Computes what every group is protected by. `groups` are those of a
    /// [`crate::snapshot::Snapshot`]; of the groups that it lacks none may be protected.
    #[must_use]
    pub fn new(groups: &'a BTreeMap<String, Memcg>, page: PageSize, unclaimed: Unclaimed) -> Self {
        let mut tree = Self {
            groups,
            page,
            claims: BTreeMap::new(),
            effective: BTreeMap::new(),
        };
        for protection in Protection::ALL {
            for (name, group) in groups {
                if let Some(parent) = parent(name) {
                    let claim = tree.claim(group, protection);
                    let claims = tree.claims.entry((protection, parent)).or_default();
                    *claims = claims.saturating_add(claim);
                }
            }
            // A map lists parents before their children.
            for (name, group) in groups {
                if let Some(pages) = tree.compute(name, group, protection, unclaimed) {
                    tree.effective.insert((protection, name), pages);
                }
            }
        }
        tree
    }

    /// Whether the root of what is seen has a parent that is not: a container's view. Only what is
    /// no real root has a `memory.min`.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        self.groups.get("").is_some_and(|root| root.min.is_some())
    }

    /// A protection of a group. `None` where it sets none, or where a group above could not be
    /// read.
    #[must_use]
    pub fn held(&self, name: &str, protection: Protection) -> Option<Held> {
        let group = self.groups.get(name)?;
        let setting = self.setting(group, protection)?;
        let effective = *self.effective.get(&(protection, name))?;
        (setting > Pages::ZERO).then(|| Held {
            setting: setting.bytes(self.page),
            effective: effective.bytes(self.page),
            taken_by: self.taker(name, protection),
        })
    }

    /// What a group that sets no protection is given of its parent's (`memory_recursiveprot`);
    /// zero where there is none.
    #[must_use]
    pub fn given(&self, name: &str, protection: Protection) -> Bytes {
        let effective = self.effective.get(&(protection, name));
        effective.copied().unwrap_or_default().bytes(self.page)
    }

    /// The tightest `memory.max` above a group that is below its own, and whose it is.
    #[must_use]
    pub fn tighter_max(&self, name: &str) -> Option<(&'a str, Bytes)> {
        let max = |group: &str| self.groups.get(group)?.max?.bytes();
        let own = max(name).unwrap_or(Bytes(u64::MAX));
        let above = ancestors(name).filter_map(|group| {
            let (group, _) = self.groups.get_key_value(group)?;
            Some((group.as_str(), max(group)?))
        });
        let tightest = above.min_by_key(|&(_, max)| max);
        tightest.filter(|&(_, max)| max < own)
    }

    fn compute(
        &self,
        name: &str,
        group: &Memcg,
        protection: Protection,
        unclaimed: Unclaimed,
    ) -> Option<Pages> {
        let setting = self.setting(group, protection)?;
        let above = parent(name).filter(|above| !above.is_empty() || self.is_inside());
        let Some(above) = above else {
            return Some(setting);
        };
        let inputs = protection::Inputs {
            usage: self.usage(group),
            parent_usage: self.usage(self.groups.get(above)?),
            setting,
            parent_effective: *self.effective.get(&(protection, above))?,
            siblings_protected: self.claimed(above, protection),
        };
        Some(protection::effective(inputs, unclaimed))
    }

    /// The nearest group above that is not itself cut short, if the group is.
    fn taker(&self, name: &str, protection: Protection) -> Option<Taker> {
        if !self.is_cut(name, protection) {
            return None;
        }
        let group = ancestors(name).find(|group| !self.is_cut(group, protection))?;
        let has = *self.effective.get(&(protection, group))?;
        Some(Taker {
            group: group.into(),
            has: has.bytes(self.page),
            claimed: self.claimed(group, protection).bytes(self.page),
        })
    }

    fn is_cut(&self, name: &str, protection: Protection) -> bool {
        let claim = self
            .groups
            .get(name)
            .map(|group| self.claim(group, protection));
        let effective = self.effective.get(&(protection, name));
        claim
            .zip(effective)
            .is_some_and(|(claim, &effective)| effective < claim)
    }

    fn claimed(&self, parent: &str, protection: Protection) -> Pages {
        let claims = self.claims.get(&(protection, parent));
        claims.copied().unwrap_or_default()
    }

    fn claim(&self, group: &Memcg, protection: Protection) -> Pages {
        let setting = self.setting(group, protection).unwrap_or_default();
        setting.min(self.usage(group))
    }

    /// What is set, in pages; `max` is the largest number of the kernel's counters.
    fn setting(&self, group: &Memcg, protection: Protection) -> Option<Pages> {
        const MOST: u64 = i64::MAX as u64;
        let bytes = match protection.of(group)? {
            Limit::Max => MOST,
            Limit::Bytes(bytes) => bytes.0.min(MOST),
        };
        Some(Bytes(bytes).pages_floor(self.page))
    }

    fn usage(&self, group: &Memcg) -> Pages {
        group.current.unwrap_or_default().pages_floor(self.page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Groups by name, `memory.current` and `memory.low` in MiB.
    fn tree(groups: &[(&str, u64, u64)]) -> BTreeMap<String, Memcg> {
        let group = |&(name, current, low): &(&str, u64, u64)| {
            let memcg = Memcg {
                current: Some(Bytes(current * MIB)),
                low: Some(Limit::Bytes(Bytes(low * MIB))),
                min: (!name.is_empty()).then_some(Limit::Bytes(Bytes::ZERO)),
                ..Memcg::default()
            };
            (name.into(), memcg)
        };
        groups.iter().map(group).collect()
    }

    fn held(groups: &BTreeMap<String, Memcg>, name: &str) -> Held {
        let tree = Hierarchy::new(groups, PageSize::FOUR_KIB, Unclaimed::Lost);
        tree.held(name, Protection::Low)
            .expect("it sets a protection")
    }

    #[test]
    fn below_the_root_what_is_set_holds() {
        let groups = tree(&[("db", 100, 300)]);
        let held = held(&groups, "db");
        assert_eq!((held.effective, held.taken_by), (Bytes(300 * MIB), None));
    }

    #[test]
    fn a_parent_without_protection_takes_all_of_it() {
        let groups = tree(&[("services", 500, 0), ("services/db", 400, 300)]);
        let held = held(&groups, "services/db");
        assert_eq!(held.effective, Bytes::ZERO);
        let taker = held.taken_by.expect("it is taken");
        assert_eq!((taker.group.as_str(), taker.has), ("services", Bytes::ZERO));
    }

    #[test]
    fn what_is_taken_far_above_is_laid_to_the_group_that_lacks_it() {
        let groups = tree(&[
            ("a", 900, 100),
            ("a/b", 900, 400),
            ("a/b/c", 600, 300),
            ("a/b/d", 300, 100),
        ]);
        let held = held(&groups, "a/b/c");
        // b gets the 100 MiB that a has, c three quarters of them.
        assert_eq!(held.effective, Bytes(75 * MIB));
        let taker = held.taken_by.expect("it is taken");
        assert_eq!((taker.group.as_str(), taker.has.0 / MIB), ("a", 100));
        assert_eq!(taker.claimed.0 / MIB, 400);
    }

    #[test]
    fn siblings_that_claim_more_than_the_parent_has_share_it() {
        let groups = tree(&[("a", 900, 200), ("a/b", 300, 300), ("a/c", 100, 500)]);
        let held = held(&groups, "a/b");
        assert_eq!(held.effective.0 / MIB, 150);
        assert_eq!(held.taken_by.map(|taker| taker.claimed.0 / MIB), Some(400));
    }

    #[test]
    fn a_group_whose_parent_could_not_be_read_has_no_known_protection() {
        let groups = tree(&[("a/b", 300, 300)]);
        let tree = Hierarchy::new(&groups, PageSize::FOUR_KIB, Unclaimed::Lost);
        assert_eq!(tree.held("a/b", Protection::Low), None);
        assert_eq!(tree.tighter_max("a/b"), None);
    }

    #[test]
    fn a_containers_root_counts_as_a_group() {
        let mut groups = tree(&[("", 900, 100), ("db", 400, 300)]);
        let real = held(&groups, "db");
        assert_eq!(real.effective.0 / MIB, 300);
        let root = groups.get_mut("").expect("the root");
        root.min = Some(Limit::Bytes(Bytes::ZERO));
        let inside = held(&groups, "db");
        assert_eq!(inside.effective.0 / MIB, 100);
        assert_eq!(
            inside.taken_by.map(|taker| taker.group),
            Some(String::new())
        );
    }

    #[test]
    fn what_is_not_claimed_is_given_where_the_mount_says_so() {
        let groups = tree(&[("a", 400, 200), ("a/b", 400, 0)]);
        let given = |unclaimed| {
            let tree = Hierarchy::new(&groups, PageSize::FOUR_KIB, unclaimed);
            tree.given("a/b", Protection::Low).0 / MIB
        };
        assert_eq!((given(Unclaimed::Lost), given(Unclaimed::Shared)), (0, 200));
    }

    #[test]
    fn the_tightest_limit_above_is_found() {
        let mut groups = tree(&[("a", 1, 0), ("a/b", 1, 0), ("a/b/c", 1, 0)]);
        let mut limit = |name: &str, max| {
            let group = groups.get_mut(name).expect("a group");
            group.max = Some(Limit::Bytes(Bytes(max)));
        };
        limit("a", 10);
        limit("a/b", 20);
        let tree = Hierarchy::new(&groups, PageSize::FOUR_KIB, Unclaimed::Lost);
        assert_eq!(tree.tighter_max("a/b/c"), Some(("a", Bytes(10))));
        assert_eq!(tree.tighter_max("a"), None);
    }
}
