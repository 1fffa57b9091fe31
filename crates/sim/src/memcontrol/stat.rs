//! `memory.stat`: what a group and those below it hold, and what was done to them.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt::Write as _;

use super::{GroupId, Groups};
use crate::lru::Lru;

macro_rules! counts {
    ($($(#[$doc:meta])* $field:ident = $name:literal in $unit:expr),* $(,)?) => {
        /// A group's own counts; those of the groups below are added when they are told.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct Stat {
            $($(#[$doc])* pub(crate) $field: u64,)*
        }

        impl Stat {
            /// Adds another group's.
            fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }

            /// The lines of `memory.stat` that stand for one count each.
            fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$(($name, self.$field * $unit)),*].into_iter()
            }
        }
    };
}

/// Bytes of a page, and what is counted by itself.
const PAGES: u64 = 4096;
const TIMES: u64 = 1;

counts! {
    /// Pages that are mapped and anonymous.
    anon = "anon" in PAGES,
    file = "file" in PAGES,
    page_tables = "pagetables" in PAGES,
    file_mapped = "file_mapped" in PAGES,
    file_dirty = "file_dirty" in PAGES,
    file_writeback = "file_writeback" in PAGES,
    swap_cached = "swapcached" in PAGES,
    /// Anonymous pages that are parts of huge ones.
    anon_thp = "anon_thp" in PAGES,
    unevictable = "unevictable" in PAGES,
    workingset_refault_anon = "workingset_refault_anon" in TIMES,
    workingset_refault_file = "workingset_refault_file" in TIMES,
    workingset_activate_anon = "workingset_activate_anon" in TIMES,
    workingset_activate_file = "workingset_activate_file" in TIMES,
    workingset_restore_anon = "workingset_restore_anon" in TIMES,
    workingset_restore_file = "workingset_restore_file" in TIMES,
    pgscan_kswapd = "pgscan_kswapd" in TIMES,
    pgscan_direct = "pgscan_direct" in TIMES,
    pgsteal_kswapd = "pgsteal_kswapd" in TIMES,
    pgsteal_direct = "pgsteal_direct" in TIMES,
    pgfault = "pgfault" in TIMES,
    pgmajfault = "pgmajfault" in TIMES,
    pgrefill = "pgrefill" in TIMES,
    pgactivate = "pgactivate" in TIMES,
    pgdeactivate = "pgdeactivate" in TIMES,
    thp_fault_alloc = "thp_fault_alloc" in TIMES,
}

impl Groups {
    /// The counts of a group and those below it.
    pub(crate) fn stat_below(&self, group: GroupId) -> Stat {
        let mut sum = Stat::default();
        for &id in self.subtree(group) {
            sum.add(&self.get(id).stat);
        }
        sum
    }

    /// The text of `memory.stat`: the lines of `like` (that of the root on this kernel), with this
    /// group's numbers. `lists` are the pages on the lists of the group and those below it.
    pub(crate) fn stat_text(&self, group: GroupId, like: &str, lists: [u64; 4]) -> String {
        let stat = self.stat_below(group);
        let mut numbers: BTreeMap<&str, u64> = stat.each().collect();
        let below = || self.subtree(group).iter().map(|&id| self.get(id));
        let slab: u64 = below().map(|group| group.bytes.used()).sum();
        let kernel: u64 = below().map(super::Group::kernel_pages).sum();
        for (lru, name) in [
            (Lru::InactiveAnon, "inactive_anon"),
            (Lru::ActiveAnon, "active_anon"),
            (Lru::InactiveFile, "inactive_file"),
            (Lru::ActiveFile, "active_file"),
        ] {
            numbers.insert(name, lists[lru as usize] * PAGES);
        }
        numbers.extend([
            ("kernel", kernel * PAGES),
            ("slab", slab),
            ("slab_reclaimable", slab),
            ("pgscan", stat.pgscan_kswapd + stat.pgscan_direct),
            ("pgsteal", stat.pgsteal_kswapd + stat.pgsteal_direct),
        ]);
        let mut text = String::new();
        for name in like.lines().filter_map(|line| line.split(' ').next()) {
            let number = numbers.get(name).copied().unwrap_or(0);
            let _ = writeln!(text, "{name} {number}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use mm::workload::Cgroup;

    use super::*;

    #[test]
    fn the_lines_are_the_kernels_and_the_numbers_those_of_the_group_and_below() {
        let cgroup = |path: &str| Cgroup {
            path: path.into(),
            files: vec![],
        };
        let mut groups = Groups::new(&[cgroup("a"), cgroup("a/b")]).expect("they are groups");
        groups.stat(1).anon = 2;
        groups.stat(2).anon = 3;
        groups.stat(2).pgscan_direct = 7;
        let like = "anon 1\nfile 2\npgscan 0\nsock 9\n";
        let text = |group| groups.stat_text(group, like, [0; 4]);
        assert_eq!(text(1), "anon 20480\nfile 0\npgscan 7\nsock 0\n");
        assert_eq!(text(2), "anon 12288\nfile 0\npgscan 7\nsock 0\n");
    }
}
