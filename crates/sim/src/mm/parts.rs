//! The memory of one node: zones, pages, lists, swap and what moves pages between them.
//!
//! Every operation adds its CPU time to [`Memory::spent`]; the task that asked for it pays.

use alloc::vec;
use alloc::vec::Vec;

use mm::calibration::Costs;
use mm::units::Nanos;
use mm::workload::Cgroup;

use crate::block::disk::Disk;
use crate::error::Error;
use crate::mm::folio::{Folios, NIL, NODE_PAGES, PageId};
use crate::mm::hugetlb::Hugetlb;
use crate::mm::ksm::Ksm;
use crate::mm::lru::Lru;
use crate::mm::lruvec::Lruvec;
use crate::mm::memcontrol::{self, GroupId, Groups};
use crate::mm::objects::Objects;
use crate::mm::page_alloc::buddy::Frame;
use crate::mm::page_alloc::zonelist::Nodes;
use crate::mm::page_alloc::{Allocation, Zone};
use crate::mm::page_io::PageIo;
use crate::mm::page_writeback::{Throttled, Writeback};
use crate::mm::rmap::Rmap;
use crate::mm::swap_state::SwapReadahead;
use crate::mm::swapfile::Swap;
use crate::mm::vmscan::kswapd::Kswapd;
use crate::mm::vmstat::Events;
use crate::mm::workingset::shadow_nodes::ShadowNodes;
use crate::rules::Rules;
use crate::sched::timer::Clock;

/// The node's memory.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// Real pages that each page stands for.
    pub(crate) scale: u64,
    /// Lowest first.
    pub(crate) zones: Vec<Zone>,
    pub(crate) nodes: Nodes,
    /// All zones of the node, with their watermarks, as /proc/zoneinfo lists them.
    pub(crate) layout: Vec<mm::zoneinfo::Zone>,
    pub(crate) folios: Folios,
    /// The frame of its zone that each resident page lies in.
    pub(crate) frames: Vec<Frame>,
    /// Frames of the pages that the batch of reclaim under way has freed, and their zones.
    pub(crate) freed: Vec<(usize, Frame)>,
    /// The group that each page is charged to; empty where there is none but the root.
    pub(crate) charge: Vec<u8>,
    pub(crate) groups: Groups,
    /// The group of the task that is running.
    pub(crate) current: GroupId,
    /// The group in whose name reclaim goes on: the root, or one that met a limit.
    pub(crate) reclaiming: GroupId,
    /// Pages that the running task charged above a high limit since it was last looked at.
    pub(crate) over_high: u64,
    /// The groups' lists, the root's first, parents before children.
    pub(crate) lruvecs: Vec<Lruvec>,
    pub(crate) kswapd: Kswapd,
    pub(crate) ksm: Ksm,
    pub(crate) swap: Swap,
    pub(crate) swap_readahead: SwapReadahead,
    pub(crate) io: PageIo,
    pub(crate) clock: Clock,
    pub(crate) writeback: Writeback,
    pub(crate) rmap: Rmap,
    /// The process that runs, as an entity of the scheduler: whose page tables are used.
    pub(crate) space: usize,
    /// How this kernel reclaims: its release, and the tunables that say so.
    pub(crate) rules: Rules,
    /// New pages that are still to come to their lists.
    pub(crate) batched: u64,
    /// What the task that is running has in hand.
    pub(crate) allocation: Allocation,
    /// What is known of the running task as one that dirties pages.
    pub(crate) throttled: Throttled,
    /// CPUs of the machine.
    pub(crate) cpus: u64,
    pub(crate) events: Events,
    pub(crate) costs: Costs,
    /// Allocations give the CPU away when kswapd is woken, as they may in a kernel (`might_alloc`).
    pub(crate) may_yield: bool,
    /// When the step under way began.
    pub(crate) began: Nanos,
    /// CPU time used since it was last taken, in picoseconds.
    pub(crate) spent: u64,
    /// The part of it at its end that nothing interrupts: copying from the page cache.
    pub(crate) unbroken: u64,
    /// CPU time that a disk's interrupt has used since it was last taken, in picoseconds.
    pub(crate) in_interrupt: u64,
    /// When the task that runs began and ended to work for reclaim, since that was last taken.
    pub(crate) stalls: Vec<(Nanos, bool)>,
    /// CPU time after which a step lets the scheduler look, in picoseconds.
    pub(crate) budget: u64,
    pub(crate) objects: Objects,
    pub(crate) shadow_nodes: ShadowNodes,
    /// Resident anonymous pages, and those of them in huge pages.
    pub(crate) anon_pages: u64,
    pub(crate) anon_huge_pages: u64,
    /// Resident pages of files that page tables map.
    pub(crate) file_mapped: u64,
    pub(crate) hugetlb: Hugetlb,
    /// Resident pages that have a swap slot.
    pub(crate) swap_cached: u64,
    /// A fault on a mapped file is reading.
    pub(crate) in_fault: bool,
    /// Pages that are being written to swap.
    pub(crate) writing: u64,
    /// Freed ranges of page indices, reused by the next object of the same length.
    free_ranges: Vec<(PageId, u32)>,
}

impl Memory {
    pub(crate) fn new(zones: Vec<Zone>, layout: Vec<mm::zoneinfo::Zone>, costs: Costs) -> Self {
        Self {
            scale: 1,
            nodes: Nodes::of(&zones, &layout),
            zones,
            layout,
            frames: Vec::new(),
            freed: Vec::new(),
            folios: Folios::default(),
            charge: Vec::new(),
            groups: Groups::default(),
            current: memcontrol::ROOT,
            reclaiming: memcontrol::ROOT,
            over_high: 0,
            lruvecs: vec![Lruvec::default()],
            kswapd: Kswapd::default(),
            ksm: Ksm::default(),
            swap: Swap::default(),
            swap_readahead: SwapReadahead::MACHINE,
            io: PageIo::default(),
            clock: Clock::default(),
            writeback: Writeback::default(),
            rmap: Rmap::default(),
            space: 0,
            rules: Rules::default(),
            batched: 0,
            allocation: Allocation::default(),
            throttled: Throttled::default(),
            cpus: 1,
            events: Events::default(),
            costs,
            may_yield: false,
            began: Nanos::ZERO,
            spent: 0,
            unbroken: 0,
            in_interrupt: 0,
            stalls: Vec::new(),
            budget: u64::MAX,
            objects: Objects::default(),
            shadow_nodes: ShadowNodes::default(),
            anon_pages: 0,
            anon_huge_pages: 0,
            file_mapped: 0,
            hugetlb: Hugetlb::default(),
            swap_cached: 0,
            in_fault: false,
            writing: 0,
            free_ranges: Vec::new(),
        }
    }

    /// Takes a range of page indices for an object of `pages` pages; all of them are absent. `None`
    /// where fewer indices are left.
    pub(crate) fn take_range(&mut self, pages: u64) -> Option<PageId> {
        let length = range_length(pages)?;
        if let Some(at) = self.free_ranges.iter().position(|&(_, len)| len == length) {
            return Some(self.free_ranges.swap_remove(at).0);
        }
        let base = PageId::try_from(self.folios.len()).ok()?;
        let end = base.checked_add(length).filter(|&end| end < NIL)?;
        self.folios.grow(end as usize);
        self.frames.resize(end as usize, 0);
        self.objects.grow(end, self.groups.any());
        if self.lruvecs.len() > 1 {
            self.charge.resize(end as usize, 0);
        }
        Some(base)
    }

    /// Gives back the range of an object of `pages` pages; they must be absent.
    pub(crate) fn give_range(&mut self, base: PageId, pages: u64) {
        let length = range_length(pages).expect("it was taken");
        self.free_ranges.push((base, length));
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
        self.lruvecs = (0..groups.len()).map(lruvec).collect();
        self.groups = groups;
        Ok(())
    }

    /// Takes the CPU time used since the last call, in picoseconds.
    pub(crate) fn take_spent(&mut self) -> u64 {
        core::mem::take(&mut self.spent)
    }

    /// The time, what the step under way has spent included.
    pub(crate) fn now(&self) -> Nanos {
        self.began + Nanos(self.spent / 1000)
    }

    pub(crate) fn file_pages(&self) -> u64 {
        self.list(Lru::InactiveFile) + self.list(Lru::ActiveFile)
    }

    pub(crate) fn free_pages(&self) -> u64 {
        self.zones.iter().map(|zone| zone.free).sum()
    }

    /// The disk with this index.
    pub(crate) fn disk(&mut self, index: usize) -> &mut Disk {
        &mut self.io.disks[index]
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
        Self::new(vec![zone.clone(), zone], Vec::new(), Costs::default())
    }

    /// A zone with so many pages of a file on the inactive and on the active list.
    #[cfg(test)]
    pub(crate) fn with_cache(managed: u64, min: u64, inactive: u64, active: u64) -> Self {
        let mut memory = Self::with_zone(managed, min);
        let base = memory.take_range(inactive + active).expect("there is room");
        for index in 0..inactive + active {
            let page = base + index as PageId;
            memory
                .allocate(page, crate::mm::folio::State::Inactive)
                .expect("it fits");
            memory.tree_insert(page).expect("it fits");
            let list = match index < inactive {
                true => Lru::InactiveFile,
                false => Lru::ActiveFile,
            };
            memory.add_to_list(page, list);
        }
        memory
    }
}

/// Indices that an object takes: whole tree nodes.
fn range_length(pages: u64) -> Option<u32> {
    let length = pages.checked_next_multiple_of(u64::from(NODE_PAGES))?;
    u32::try_from(length).ok()
}
