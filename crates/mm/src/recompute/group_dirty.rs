//! The dirty thresholds of a control group, which are its own beside the machine's.

use crate::formula::dirty::{Thresholds, group_dirtyable, group_thresholds};
use crate::hierarchy::ancestors;
use crate::memcg::{Limit, Memcg};
use crate::snapshot::Snapshot;
use crate::units::{Bytes, Pages};

/// What a group may have dirty, and what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupDirty {
    /// Its thresholds.
    pub thresholds: Thresholds,
    /// What of it is dirty or being written.
    pub unwritten: Pages,
}

impl Snapshot {
    /// The dirty thresholds of a control group of v2 that is bound, or below one that is. `None`
    /// where a file of it or the machine's thresholds are not known.
    #[must_use]
    pub fn group_dirty(&self, name: &str) -> Option<GroupDirty> {
        let group = self.memcgs.get(name).filter(|group| !group.is_v1)?;
        let stat = group.stat.as_ref()?;
        let pages = |bytes: u64| Bytes(bytes).pages_floor(self.page);
        let file = pages(stat.inactive_file?.saturating_add(stat.active_file?));
        let unwritten = pages(stat.file_dirty?.saturating_add(stat.file_writeback?));
        let machine = self.dirtyable()?;
        let clean = machine.saturating_sub(self.unwritten()?);
        let own = group_dirtyable(file, unwritten, self.headroom(name)?, clean);
        let [background, dirty] = self.dirty_amounts()?;
        Some(GroupDirty {
            thresholds: group_thresholds(background, dirty, machine, own, self.page),
            unwritten,
        })
    }

    /// What a group may still take before a limit of it or of a group above; `None` where none is
    /// known to bind it.
    fn headroom(&self, name: &str) -> Option<Pages> {
        let groups = core::iter::once(name).chain(ancestors(name));
        let left = groups.filter_map(|name| left(self.memcgs.get(name)?));
        left.min().map(|left| left.pages_floor(self.page))
    }
}

/// What is left to the smaller of `memory.max` and `memory.high`.
fn left(group: &Memcg) -> Option<Bytes> {
    let limits = [group.max, group.high].into_iter().flatten();
    let limit = limits.filter_map(Limit::bytes).min()?;
    Some(limit.saturating_sub(group.current?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Frame;

    const MIB: u64 = 1 << 20;

    /// A machine with 100 000 free pages of page cache to come, and a group of 40 MiB.
    fn snapshot(max: &str) -> Snapshot {
        let stat = alloc::format!(
            "inactive_file {}\nactive_file 0\nfile_dirty 0\nfile_writeback {}\n",
            40 * MIB,
            8 * MIB
        );
        let current = alloc::format!("{}", 40 * MIB);
        let zone = "Node 0, zone   Normal\n  pages free     100000\n        min      0\n        \
                    low      0\n        high     0\n        spanned  200000\n        present  \
                    200000\n        managed  200000\n        protection: (0, 0)\n";
        let vmstat = "nr_free_pages 100000\nnr_inactive_file 20000\nnr_active_file 0\nnr_dirty 0\n\
                      nr_writeback 2048\n";
        let files = [
            ("sys/fs/cgroup/a/memory.current", current.as_str()),
            ("sys/fs/cgroup/a/memory.max", max),
            ("sys/fs/cgroup/a/memory.stat", &stat),
            ("proc/sys/vm/dirty_ratio", "20"),
            ("proc/sys/vm/dirty_background_ratio", "10"),
            ("proc/vmstat", vmstat),
            ("proc/zoneinfo", zone),
        ];
        let files = files.map(|(path, text)| (path.into(), text.into()));
        Snapshot::parse(&Frame {
            files: files.into(),
            ..Frame::default()
        })
    }

    #[test]
    fn ratios_are_of_what_a_group_may_have() {
        let dirty = snapshot("50331648").group_dirty("a").expect("all is told");
        // 20 and 10 % of 40 MiB of page cache and 8 MiB that are left.
        assert_eq!(dirty.unwritten, Pages(2048));
        assert_eq!(dirty.thresholds.dirty, Pages(2457));
        assert_eq!(dirty.thresholds.background, Pages(1227));
    }

    #[test]
    fn a_group_that_nothing_binds_has_the_machines_thresholds_alone() {
        assert_eq!(snapshot("max").group_dirty("a"), None);
    }
}
