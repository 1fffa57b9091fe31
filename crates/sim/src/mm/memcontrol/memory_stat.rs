//! The text of `memory.stat`: what a group and those below it hold, and what was done to them
//! (`memory_stat_format`).

use crate::mm::folio::{Flag, Folios, PageId, State};
use crate::mm::lru::Kind;
use crate::mm::lruvec::state::{Lruvec, Lruvecs};
use crate::mm::memcontrol::group_id::GroupId;
use crate::mm::memcontrol::stat::{PAGES, Stat};
use crate::mm::memcontrol::state::Groups;
use crate::mm::objects::state::Objects;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

impl Groups {
    /// The text of `memory.stat`: the lines of `like` (that of the root on this kernel), with this
    /// group's numbers. `levels` are what each group holds of itself.
    pub(super) fn stat_text(&self, group: GroupId, like: &str, levels: &[Levels]) -> String {
        let (mut stat, mut lists, mut slab, mut kernel) = (Stat::default(), [0; 4], 0, 0);
        for &id in self.subtree(group) {
            let own = self.get(id);
            stat.add(&own.stat);
            stat.add(&levels[id].stat);
            (0..4).for_each(|lru| lists[lru] += levels[id].lists[lru]);
            slab += own.bytes.used();
            kernel += own.kernel_pages();
        }
        let mut numbers: BTreeMap<&str, u64> = stat.each().collect();
        for (name, pages) in LISTS.iter().zip(lists) {
            numbers.insert(name, pages * PAGES);
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

/// The lines of the lists.
const LISTS: [&str; 4] = [
    "inactive_anon",
    "active_anon",
    "inactive_file",
    "active_file",
];

/// What a group holds at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Levels {
    pub(super) stat: Stat,
    pub(super) lists: [u64; 4],
}

impl Groups {
    /// The files of the control groups, by path; `like` is the root's `memory.stat` on this kernel.
    pub(crate) fn group_files(
        &self,
        folios: &Folios,
        lruvecs: &Lruvecs,
        objects: &Objects,
        like: &str,
    ) -> Vec<(String, String)> {
        if !self.any() {
            return Vec::new();
        }
        let levels = levels(folios, lruvecs, objects);
        let files = self.all().flat_map(|group| {
            let stat = self.stat_text(group, like, &levels);
            self.snapshot(group, stat)
        });
        files.collect()
    }
}

/// What each group holds, page by page.
fn levels(folios: &Folios, lruvecs: &Lruvecs, objects: &Objects) -> Vec<Levels> {
    let lists = |lruvec: &Lruvec| lruvec.lists.map(|list| list.len());
    let mut levels: Vec<Levels> = lruvecs
        .iter()
        .map(|lruvec| Levels {
            lists: lists(lruvec),
            ..Levels::default()
        })
        .collect();
    for page in 0..folios.len() as PageId {
        if folios.is_resident(page) {
            add_level(folios, objects, page, &mut levels[folios.group(page)].stat);
        }
    }
    levels
}

fn add_level(folios: &Folios, objects: &Objects, page: PageId, stat: &mut Stat) {
    let has = |flag| u64::from(folios.has(page, flag));
    stat.unevictable += u64::from(folios.state(page) == State::Unevictable);
    if folios.kind(page) == Kind::Anon {
        stat.anon += u64::from(folios.is_mapped(page));
        stat.anon_thp += u64::from(objects.huge_first(page).is_some());
        stat.swap_cached += has(Flag::Swapcache);
    } else {
        stat.file += 1;
        stat.file_mapped += u64::from(folios.is_mapped(page));
        stat.file_dirty += has(Flag::Dirty);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use scenario::workload::Cgroup;

    use super::*;

    #[test]
    fn the_lines_are_the_kernels_and_the_numbers_those_of_the_group_and_below() {
        let cgroup = |path: &str| Cgroup {
            path: path.into(),
            files: vec![],
        };
        let mut groups = Groups::new(&[cgroup("a"), cgroup("a/b")]).expect("they are groups");
        let mut levels = [Levels::default(); 3];
        levels[1].stat.anon = 2;
        levels[2].stat.anon = 3;
        levels[2].lists[2] = 4;
        groups.stat(2).pgscan_direct = 7;
        let like = "anon 1\ninactive_file 2\npgscan 0\nsock 9\n";
        let text = |group| groups.stat_text(group, like, &levels);
        assert_eq!(
            text(1),
            "anon 20480\ninactive_file 16384\npgscan 7\nsock 0\n"
        );
        assert_eq!(
            text(2),
            "anon 12288\ninactive_file 16384\npgscan 7\nsock 0\n"
        );
    }
}
