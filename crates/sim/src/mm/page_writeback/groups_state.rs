//! What the groups have dirty.

use crate::mm::memcontrol::group_id::GroupId;
use alloc::vec::Vec;
use mm::formula::throttle::Limit;
use mm::formula::throttle::share::Bounds;
use mm::formula::throttle::share::Completed;
use mm::formula::throttle::share::Completions;
use mm::units::Pages;

/// A group's dirty pages and what they share (`memcg->cgwb_domain`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    /// Its own pages of files that are dirty, and that are being written.
    pub(super) dirty: u64,
    pub(super) writing: u64,
    pub(super) limit: Limit,
    pub(crate) completions: Completions,
    /// Each disk's part of them; none before the group dirties its first page there.
    pub(crate) completed: Vec<Option<Completed>>,
}

/// The dirty pages of all groups but the root.
#[derive(Clone, Debug, Default)]
pub(crate) struct DirtyGroups(Vec<Group>);

impl Group {
    /// Pages of it were written to a disk.
    pub(super) fn complete(&mut self, disk: usize, pages: u64, bounds: Bounds, now: u64) {
        self.completions.tick(now);
        let device = self.completed[disk].get_or_insert_default();
        self.completions.add(device, Pages(pages), bounds, now);
    }

    /// A page of it became dirty; whether that was the first on this disk.
    pub(crate) fn dirty_one(&mut self, disk: usize) -> bool {
        self.dirty += 1;
        let is_first = self.completed[disk].is_none();
        self.completed[disk].get_or_insert_default();
        is_first
    }
}

impl DirtyGroups {
    pub(super) fn begin(&mut self, groups: usize, disks: usize, cpus: u64) {
        let group = Group {
            completions: Completions::new(cpus),
            completed: alloc::vec![None; disks],
            ..Group::default()
        };
        self.0 = alloc::vec![group; groups - 1];
    }

    /// None of the root, which is the machine.
    pub(super) fn get_mut(&mut self, group: GroupId) -> Option<&mut Group> {
        self.0.get_mut(group.checked_sub(1)?)
    }

    /// Pages that are dirty, and that are being written.
    pub(crate) fn counts(&self, group: GroupId) -> [u64; 2] {
        let group = group.checked_sub(1).and_then(|index| self.0.get(index));
        group.map_or([0; 2], |group| [group.dirty, group.writing])
    }
}
