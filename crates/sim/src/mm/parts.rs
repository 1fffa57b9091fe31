//! The memory of a machine, in parts.

use alloc::vec::Vec;

use mm::units::Nanos;
use scenario::calibration::Costs;
use scenario::workload::Cgroup;

use crate::block::disk::Disk;
use crate::error::Error;
use crate::mm::folio::{Folios, NIL, NODE_PAGES, PageId};
use crate::mm::ksm::state::Ksm;
use crate::mm::lru::Lru;
use crate::mm::lruvec::state::{Lruvec, Lruvecs};
use crate::mm::memcontrol::state::Groups;
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::state::Allocation;
use crate::mm::page_alloc::zone::{Zone, Zones};
use crate::mm::page_io::state::PageIo;
use crate::mm::page_writeback::state::Writeback;
use crate::mm::rmap::state::Rmap;
use crate::mm::swapfile::Swap;
use crate::sched::cpu::Cpu;

/// The memory of a machine: its parts, each of which owns its state.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) cpu: Cpu,
    pub(crate) zones: Zones,
    pub(crate) folios: Folios,
    pub(crate) lruvecs: Lruvecs,
    pub(crate) groups: Groups,
    pub(crate) objects: Objects,
    pub(crate) rmap: Rmap,
    pub(crate) swap: Swap,
    pub(crate) writeback: Writeback,
    pub(crate) io: PageIo,
    pub(crate) ksm: Ksm,
    /// What the task that is running has in hand.
    pub(crate) allocation: Allocation,
}

impl Memory {
    pub(crate) fn new(zones: Vec<Zone>, layout: Vec<mm::zoneinfo::Zone>, costs: Costs) -> Self {
        Self {
            cpu: Cpu::new(costs),
            zones: Zones::new(zones, layout),
            folios: Folios::default(),
            lruvecs: Lruvecs::default(),
            groups: Groups::default(),
            objects: Objects::default(),
            rmap: Rmap::default(),
            swap: Swap::default(),
            writeback: Writeback::default(),
            io: PageIo::default(),
            ksm: Ksm::default(),
            allocation: Allocation::default(),
        }
    }

    /// Takes a range of page indices for an object of `pages` pages; all of them are absent. `None`
    /// where fewer indices are left.
    pub(crate) fn take_range(&mut self, pages: u64) -> Option<PageId> {
        let length = range_length(pages)?;
        if let Some(at) = self
            .folios
            .free_ranges
            .iter()
            .position(|&(_, len)| len == length)
        {
            return Some(self.folios.free_ranges.swap_remove(at).0);
        }
        let base = PageId::try_from(self.folios.len()).ok()?;
        let end = base.checked_add(length).filter(|&end| end < NIL)?;
        self.folios.grow(end as usize);
        self.zones.frames.resize(end as usize, 0);
        self.objects.grow(end, self.groups.any());
        if self.lruvecs.len() > 1 {
            self.folios.charge.resize(end as usize, 0);
        }
        Some(base)
    }

    /// Brings the control groups in, before there is any page.
    ///
    /// # Errors
    /// A group that has no parent, or a file that cannot be written so.
    pub(crate) fn set_groups(&mut self, cgroups: &[Cgroup]) -> Result<(), Error> {
        let groups = Groups::new(cgroups)?;
        let lruvec = |group| Lruvec {
            parent: groups.parent(group),
            ..Lruvec::default()
        };
        self.lruvecs = Lruvecs::new((0..groups.len()).map(lruvec).collect());
        self.groups = groups;
        Ok(())
    }

    /// The counters of an empty machine, for tests of one mechanism.
    #[cfg(test)]
    pub(crate) fn with_zone(managed: u64, min: u64) -> Self {
        Self::new(
            alloc::vec![Zone::plain(managed, min)],
            Vec::new(),
            Costs::default(),
        )
    }

    /// Two zones of the same size.
    #[cfg(test)]
    pub(crate) fn with_two_zones(managed: u64, min: u64) -> Self {
        let zone = Zone::plain(managed, min);
        Self::new(
            alloc::vec![zone.clone(), zone],
            Vec::new(),
            Costs::default(),
        )
    }

    /// Makes this a page of a file, on no list.
    #[cfg(test)]
    pub(crate) fn cache(&mut self, page: PageId, state: crate::mm::folio::State) {
        self.allocate(page, state).expect("it fits");
        let (zones, groups) = (&mut self.zones, &mut self.groups);
        self.objects
            .tree_insert(&mut self.cpu, zones, &self.folios, groups, page)
            .expect("it fits");
    }

    /// A zone with this many pages of a file on the inactive and on the active list.
    #[cfg(test)]
    pub(crate) fn with_cache(managed: u64, min: u64, inactive: u64, active: u64) -> Self {
        let mut memory = Self::with_zone(managed, min);
        let base = memory.take_range(inactive + active).expect("there is room");
        for index in 0..inactive + active {
            let page = base + index as PageId;
            memory.cache(page, crate::mm::folio::State::Inactive);
            let list = match index < inactive {
                true => Lru::InactiveFile,
                false => Lru::ActiveFile,
            };
            memory.lruvecs.add_to_list(
                &memory.cpu,
                &mut memory.zones,
                &mut memory.folios,
                page,
                list,
            );
        }
        memory
    }
}

impl Folios {
    /// Gives back the range of an object of `pages` pages; they must be absent.
    pub(crate) fn give_range(&mut self, base: PageId, pages: u64) {
        let length = range_length(pages).expect("it was taken");
        self.free_ranges.push((base, length));
    }
}

impl Cpu {
    /// Takes the CPU time used since the last call, in picoseconds.
    pub(crate) fn take_spent(&mut self) -> u64 {
        core::mem::take(&mut self.spent)
    }

    /// The time, what the step under way has spent included.
    pub(crate) fn now(&self) -> Nanos {
        self.began + Nanos(self.spent / 1000)
    }
}

impl Zones {
    pub(crate) fn file_pages(&self) -> u64 {
        self.list(Lru::InactiveFile) + self.list(Lru::ActiveFile)
    }

    pub(crate) fn free_pages(&self) -> u64 {
        self.iter().map(|zone| zone.free).sum()
    }
}

impl PageIo {
    /// The disk with this index.
    pub(crate) fn disk(&mut self, index: usize) -> &mut Disk {
        &mut self.disks[index]
    }
}

/// Indices that an object takes: whole tree nodes.
fn range_length(pages: u64) -> Option<u32> {
    let length = pages.checked_next_multiple_of(u64::from(NODE_PAGES))?;
    u32::try_from(length).ok()
}
