//! The groups, what is charged to them and what they may use.

use crate::error::Error;
use crate::mm::memcontrol::group_id::{GroupId, LAST, ROOT};
use crate::mm::memcontrol::stat::Stat;
use crate::mm::memcontrol::stock::BATCH;
use crate::mm::memcontrol::stock::ByteStock;
use crate::mm::memcontrol::stock::Stock;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use mm::formula::protection::Unclaimed;
use scenario::workload::Cgroup;

/// Fruitless rounds of reclaim after which a charge, a lowered limit or proactive reclaim gives up
/// (`MAX_RECLAIM_RETRIES`).
pub(crate) const RETRIES: u32 = 16;

/// What `memory.events` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It was reclaimed although it was below its low limit.
    Low = 0,
    /// Its tasks were sent to reclaim because it was above its high limit.
    High = 1,
    /// A charge met its maximum.
    Max = 2,
    /// A charge failed after all retries.
    Oom = 3,
    /// A process of it was killed.
    OomKill = 4,
    /// All its processes were killed together.
    OomGroupKill = 5,
}

impl Event {
    pub(super) const ALL: [(Self, &'static str); 6] = [
        (Self::Low, "low"),
        (Self::High, "high"),
        (Self::Max, "max"),
        (Self::Oom, "oom"),
        (Self::OomKill, "oom_kill"),
        (Self::OomGroupKill, "oom_group_kill"),
    ];
}

/// No limit (`PAGE_COUNTER_MAX`).
pub(crate) const NO_LIMIT: u64 = u64::MAX;

/// What a group uses of one thing and what it may use, in pages (`struct page_counter`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    pub(crate) usage: u64,
    pub(crate) max: u64,
    pub(crate) high: u64,
}

impl Default for Counter {
    fn default() -> Self {
        Self {
            usage: 0,
            max: NO_LIMIT,
            high: NO_LIMIT,
        }
    }
}

/// Pages of a group that reclaim leaves alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Protection {
    pub(crate) min: u64,
    pub(crate) low: u64,
}

/// A control group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    /// Path below the root, empty for the root itself.
    pub(crate) path: String,
    pub(crate) parent: Option<GroupId>,
    pub(crate) memory: Counter,
    pub(crate) swap: Counter,
    /// Pages of `memory` that are the group's own user pages.
    pages: u64,
    /// Pages of `memory` that the kernel took for the group: page tables, slab.
    kernel: u64,
    pub(crate) bytes: ByteStock,
    /// What is written in `memory.min` and `memory.low`.
    pub(crate) setting: Protection,
    /// What of it holds, from the last walk of reclaim.
    pub(crate) protection: Protection,
    pub(crate) oom_group: bool,
    pub(crate) events: [u64; Event::ALL.len()],
    pub(crate) stat: Stat,
}

impl Group {
    /// Pages that the kernel holds for the group.
    pub(crate) fn kernel_pages(&self) -> u64 {
        self.kernel + self.bytes.pages()
    }
}

/// The hierarchy.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    groups: Vec<Group>,
    /// All of them, in the order of a walk.
    walk: Vec<GroupId>,
    stock: Stock,
    /// What the mount of the hierarchy makes of protection that no child claims.
    pub(crate) unclaimed: Unclaimed,
}

impl Default for Groups {
    /// The root alone.
    fn default() -> Self {
        Self {
            groups: alloc::vec![Group::default()],
            walk: alloc::vec![ROOT],
            stock: Stock::default(),
            // The VM mounts the hierarchy plainly, without `memory_recursiveprot`.
            unclaimed: Unclaimed::Lost,
        }
    }
}

impl Groups {
    /// The workload's groups below the root, their files written in order.
    pub(crate) fn new(cgroups: &[Cgroup]) -> Result<Self, Error> {
        let mut groups = Self::default();
        for cgroup in cgroups {
            let id = groups.add(cgroup)?;
            for (file, text) in &cgroup.files {
                // Nothing is charged yet: there is nothing to be reclaimed.
                groups.write(id, file, text)?;
            }
        }
        groups.walk = groups.walk_from(ROOT);
        Ok(groups)
    }

    fn add(&mut self, cgroup: &Cgroup) -> Result<GroupId, Error> {
        let parent = match cgroup.path.rsplit_once('/') {
            Some((parent, _)) => self.find(parent, &cgroup.path)?,
            None => ROOT,
        };
        let id = self.groups.len();
        if id > LAST {
            return Err(Error::Unsupported {
                what: alloc::format!("more than {LAST} control groups"),
                place: cgroup.path.clone(),
            });
        }
        self.groups.push(Group {
            path: cgroup.path.clone(),
            parent: Some(parent),
            ..Group::default()
        });
        Ok(id)
    }

    /// The group with this path, which `place` names.
    pub(crate) fn find(&self, path: &str, place: &str) -> Result<GroupId, Error> {
        let found = self.groups.iter().position(|group| group.path == path);
        let unknown = || Error::Unknown {
            what: alloc::format!("control group {path}"),
            place: place.to_string(),
        };
        found.ok_or_else(unknown)
    }

    pub(crate) fn get(&self, group: GroupId) -> &Group {
        &self.groups[group]
    }

    pub(crate) fn get_mut(&mut self, group: GroupId) -> &mut Group {
        &mut self.groups[group]
    }

    /// The group's own statistics, to be counted in.
    pub(crate) fn stat(&mut self, group: GroupId) -> &mut Stat {
        &mut self.get_mut(group).stat
    }

    /// The group above this one.
    pub(crate) fn parent(&self, group: GroupId) -> Option<GroupId> {
        self.get(group).parent
    }

    /// Whether there is a group but the root.
    pub(crate) fn any(&self) -> bool {
        self.groups.len() > 1
    }

    /// How many there are, with the root.
    pub(crate) fn len(&self) -> usize {
        self.groups.len()
    }

    /// All groups but the root, in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = GroupId> + use<> {
        1..self.groups.len()
    }

    /// The group and its ancestors, the root last.
    pub(crate) fn upwards(&self, group: GroupId) -> impl Iterator<Item = GroupId> + '_ {
        core::iter::successors(Some(group), |&id| self.get(id).parent)
    }

    /// Whether the group is `ancestor` or below it.
    pub(crate) fn is_within(&self, group: GroupId, ancestor: GroupId) -> bool {
        self.upwards(group).any(|id| id == ancestor)
    }

    /// The group and all below it, parents first, in the order in which reclaim walks them: depth
    /// first, children in the order in which they were made.
    pub(crate) fn subtree(&self, top: GroupId) -> &[GroupId] {
        let from = self.walk.iter().position(|&id| id == top).unwrap_or(0);
        let below = self.walk[from..].iter();
        let count = below.take_while(|&&id| self.is_within(id, top)).count();
        &self.walk[from..from + count]
    }

    fn walk_from(&self, top: GroupId) -> Vec<GroupId> {
        let children = self.all().filter(|&id| self.get(id).parent == Some(top));
        let below = children.flat_map(|child| self.walk_from(child));
        core::iter::once(top).chain(below).collect()
    }

    /// Charges pages for a task of the group, to it and its ancestors.
    ///
    /// # Errors
    /// The lowest group whose limit it would exceed; nothing is charged then.
    pub(crate) fn charge(&mut self, group: GroupId, pages: u64) -> Result<Charged, GroupId> {
        let charged = self.charge_counters(group, pages)?;
        self.get_mut(group).pages += pages;
        Ok(charged)
    }

    fn charge_counters(&mut self, group: GroupId, pages: u64) -> Result<Charged, GroupId> {
        if group == ROOT || self.stock.take(group, pages) {
            return Ok(Charged(0));
        }
        let batch = pages.max(BATCH);
        let taken = match self.try_counters(group, batch) {
            Ok(()) => batch,
            Err(_) => {
                self.try_counters(group, pages)?;
                pages
            }
        };
        self.keep_spare(group, taken - pages);
        Ok(Charged(taken))
    }

    /// Charges pages whatever the limits say.
    fn charge_anyway(&mut self, group: GroupId, pages: u64) {
        if self.charge_counters(group, pages).is_err() {
            self.add_usage(group, pages);
        }
    }

    /// Gives charged pages back.
    pub(crate) fn uncharge(&mut self, group: GroupId, pages: u64) {
        if group != ROOT {
            self.get_mut(group).pages -= pages;
            self.sub_usage(group, pages);
        }
    }

    /// Bytes more that the kernel's objects take which are charged to the group, in whole pages and
    /// whatever the limits say.
    pub(crate) fn charge_bytes(&mut self, group: GroupId, bytes: u64) {
        let old = self.get(group).bytes;
        let new = old.with(bytes);
        self.get_mut(group).bytes = new;
        if new.pages() > old.pages() {
            self.charge_anyway(group, new.pages() - old.pages());
        }
    }

    /// Gives the bytes of such objects back.
    pub(crate) fn uncharge_bytes(&mut self, group: GroupId, bytes: u64) {
        let old = self.get(group).bytes;
        let new = old.without(bytes);
        self.get_mut(group).bytes = new;
        // The kernel's pages go by way of the stock.
        self.keep_spare(group, old.pages() - new.pages());
    }

    /// Charges pages that the kernel takes for the group, whatever the limits say.
    pub(crate) fn charge_kernel(&mut self, group: GroupId, pages: u64) {
        if group != ROOT {
            self.charge_anyway(group, pages);
            self.get_mut(group).kernel += pages;
        }
    }

    /// Gives such pages back.
    pub(crate) fn uncharge_kernel(&mut self, group: GroupId, pages: u64) {
        if group != ROOT {
            self.get_mut(group).kernel -= pages;
            self.keep_spare(group, pages);
        }
    }

    /// Gives back what was charged and is not used (`drain_all_stock`).
    pub(crate) fn drain_stock(&mut self) {
        if let Some((group, pages)) = self.stock.empty() {
            self.sub_usage(group, pages);
        }
    }

    fn try_counters(&mut self, group: GroupId, pages: u64) -> Result<(), GroupId> {
        let over = |id: &GroupId| {
            let memory = self.get(*id).memory;
            memory.usage.saturating_add(pages) > memory.max
        };
        let limiting = self.upwards(group).find(over);
        if let Some(limiting) = limiting {
            return Err(limiting);
        }
        self.add_usage(group, pages);
        Ok(())
    }

    /// Keeps pages that were charged beyond the need for the group's next charges; what another
    /// group had kept goes back.
    fn keep_spare(&mut self, group: GroupId, pages: u64) {
        if pages == 0 {
            return;
        }
        for (owner, returned) in self.stock.put(group, pages) {
            self.sub_usage(owner, returned);
        }
    }

    fn add_usage(&mut self, group: GroupId, pages: u64) {
        let mut at = Some(group);
        while let Some(id) = at.filter(|&id| id != ROOT) {
            let group = self.get_mut(id);
            group.memory.usage += pages;
            at = group.parent;
        }
    }

    fn sub_usage(&mut self, group: GroupId, pages: u64) {
        let mut at = Some(group);
        while let Some(id) = at.filter(|&id| id != ROOT) {
            let group = self.get_mut(id);
            group.memory.usage = group
                .memory
                .usage
                .checked_sub(pages)
                .expect("what is given back was charged");
            at = group.parent;
        }
    }

    /// What a group has charged is held by it and those below it, or kept in stock for them.
    ///
    /// # Panics
    /// If it is not: the model is wrong.
    pub(crate) fn check(&self) {
        for top in self.all() {
            let below = || self.subtree(top).iter();
            let held: u64 = below()
                .map(|&id| self.get(id).pages + self.get(id).kernel_pages())
                .sum();
            let kept: u64 = below().map(|&id| self.stock.kept(id)).sum();
            let usage = self.get(top).memory.usage;
            assert_eq!(usage, held + kept, "{}: charges", self.get(top).path);
        }
    }

    /// Pages that the group may still charge (`mem_cgroup_margin`).
    pub(crate) fn margin(&self, group: GroupId) -> u64 {
        let memory = self.get(group).memory;
        memory.max.saturating_sub(memory.usage)
    }

    /// Pages that the group and those above it may all still take, by `memory.max` and
    /// `memory.high` (`mem_cgroup_wb_stats`).
    pub(crate) fn headroom(&self, group: GroupId) -> u64 {
        let left = |id| {
            let memory = self.get(id).memory;
            memory.max.min(memory.high).saturating_sub(memory.usage)
        };
        let below_root = self.upwards(group).filter(|&id| id != ROOT);
        below_root.map(left).min().unwrap_or(NO_LIMIT)
    }

    /// Charges a page of swap to the group and its ancestors; false where one of them has as much
    /// as it may.
    pub(crate) fn charge_swap(&mut self, group: GroupId) -> bool {
        let full = |id: GroupId| self.get(id).swap.usage >= self.get(id).swap.max;
        if self.upwards(group).any(full) {
            return false;
        }
        self.move_swap(group, |usage| usage + 1);
        true
    }

    /// Gives a page of swap back.
    pub(crate) fn uncharge_swap(&mut self, group: GroupId) {
        self.move_swap(group, |usage| usage - 1);
    }

    fn move_swap(&mut self, group: GroupId, change: impl Fn(u64) -> u64) {
        let mut at = Some(group);
        while let Some(id) = at.filter(|&id| id != ROOT) {
            let group = self.get_mut(id);
            group.swap.usage = change(group.swap.usage);
            at = group.parent;
        }
    }

    /// Pages of swap that the group may still take, `free` of which the devices have
    /// (`mem_cgroup_get_nr_swap_pages`).
    pub(crate) fn swap_left(&self, group: GroupId, free: u64) -> u64 {
        let left = |id: GroupId| {
            let swap = self.get(id).swap;
            swap.max.saturating_sub(swap.usage)
        };
        self.upwards(group).map(left).fold(free, u64::min)
    }
}

/// Pages that a charge added to the counters, its spare pages included; 0 where the stock had them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charged(pub(crate) u64);

/// A node of a file's tree, and the pointer by which its group is known.
pub(crate) const NODE_BYTES: u64 = 576 + 8;
