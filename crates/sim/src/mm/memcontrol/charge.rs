//! Who pays for a page: the group of the task that asks for it first (`try_charge`).

use super::{Event, RETRIES};
use crate::mm::folio::Folios;
use crate::mm::folio::{PageId, State};
use crate::mm::memcontrol::group_id::{GroupId, ROOT};
use crate::mm::memcontrol::state::Groups;
use crate::mm::memcontrol::state::NODE_BYTES;
use crate::mm::page_alloc::state::Allocation;
use crate::mm::page_alloc::state::Charging;
use crate::mm::page_alloc::state::DirectReclaim;
use crate::mm::page_alloc::state::NoPage;
use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::mm::swapfile::Swap;
use crate::mm::vmscan::state::BATCH;
use crate::mm::vmscan::{Control, Reclaimer};
use crate::sched::cpu::Cpu;

impl Memory {
    /// Charges the group that pays for a page that is about to be allocated: the owner of one that
    /// comes back from swap, else the one whose task is running.
    ///
    /// # Errors
    /// Reclaim for the limit is not done, or found nothing.
    pub(crate) fn charge_page(&mut self, page: PageId) -> Result<(), NoPage> {
        if !self.groups.any() {
            return Ok(());
        }
        let group = match self.folios.state(page) {
            State::Swapped => self.folios.group(page),
            _ => self.cpu.current.group,
        };
        let charging = &mut self.allocation.charging;
        if charging.paid != Some(group) {
            if let Some(other) = charging.paid.take() {
                self.groups.uncharge(other, 1);
            }
            self.charge_within_limits(group)?;
            self.allocation.charging.paid = Some(group);
        }
        self.folios.charge[page as usize] = group as u8;
        Ok(())
    }

    /// Charges a group as its limits allow, or reclaims for them (`try_charge_memcg`).
    fn charge_within_limits(&mut self, group: GroupId) -> Result<(), NoPage> {
        loop {
            if let Some((limiting, mut reclaim)) = self.allocation.charging.reclaim.take() {
                let got = self.run_reclaim(&mut reclaim);
                let under_way = got.is_err().then_some((limiting, reclaim));
                self.allocation.charging.reclaim = under_way;
                let got = got?;
                if !self
                    .groups
                    .is_worth_another_try(&mut self.allocation, limiting, got)
                {
                    self.allocation.charging.retries = RETRIES;
                    return Err(NoPage::OverLimit { group: limiting });
                }
            }
            match self.groups.charge(group, 1) {
                Ok(charged) => {
                    self.groups.note_high(&mut self.cpu, group, charged.0);
                    self.allocation.charging = Charging::default();
                    return Ok(());
                }
                Err(limiting) => {
                    self.groups.count(limiting, Event::Max);
                    let reclaim =
                        DirectReclaim::of_group(limiting, BATCH, self.cpu.rules.swappiness);
                    self.allocation.charging.reclaim = Some((limiting, reclaim));
                }
            }
        }
    }
}

impl Allocation {
    /// The page that was paid for is there.
    pub(crate) fn settle(&mut self) {
        self.charging.paid = None;
    }
}

impl Groups {
    /// Gives back what an allocation that comes to nothing has paid for.
    pub(crate) fn refund(&mut self, charging: Charging) {
        if let Some(group) = charging.paid {
            self.uncharge(group, 1);
        }
    }

    /// Counts a page fault of the running task, at its first try.
    pub(crate) fn count_fault(&mut self, cpu: &mut Cpu, first_try: bool) {
        let faults = u64::from(first_try);
        cpu.events.pgfault += faults;
        self.stat(cpu.current.group).pgfault += faults;
    }

    /// Pages that the tasks of a group could use at most, or of the machine, swap included.
    pub(crate) fn oom_total(&self, zones: &Zones, swap: &Swap, domain: GroupId) -> u64 {
        let managed: u64 = zones.iter().map(|zone| zone.managed).sum();
        let group = self.get(domain);
        let swap = swap.total().min(group.swap.max);
        group.memory.max.min(managed).saturating_add(swap)
    }

    /// Charges the running task's group for a huge page; false where it does not fit without
    /// reclaim, which a huge page is not worth.
    pub(crate) fn charge_huge(
        &mut self,
        cpu: &mut Cpu,
        folios: &mut Folios,
        first: PageId,
    ) -> bool {
        if !self.any() {
            return true;
        }
        let group = cpu.current.group;
        let Ok(charged) = self.charge(group, HUGE_PAGES) else {
            return false;
        };
        self.note_high(cpu, group, charged.0);
        let pages = first as usize..first as usize + HUGE_PAGES as usize;
        folios.charge[pages].fill(group as u8);
        true
    }

    /// Gives back what was charged for a page, or for `pages` of a huge one.
    pub(crate) fn uncharge_page(&mut self, folios: &Folios, page: PageId, pages: u64) {
        let group = folios.group(page);
        self.uncharge(group, pages);
    }

    /// A tree node for a file's page is charged to the running task's group, whatever its limit
    /// says: the next page makes up for it.
    pub(crate) fn charge_node(&mut self, cpu: &Cpu) -> GroupId {
        let group = cpu.current.group;
        if group != ROOT {
            self.charge_bytes(group, NODE_BYTES);
        }
        group
    }

    /// Gives back what was charged for a tree node.
    pub(crate) fn uncharge_node(&mut self, group: GroupId) {
        if group != ROOT {
            self.uncharge_bytes(group, NODE_BYTES);
        }
    }

    /// Whether a charge is tried again after reclaim: there is room, or there may be.
    fn is_worth_another_try(
        &mut self,
        allocation: &mut Allocation,
        limiting: GroupId,
        reclaimed: u64,
    ) -> bool {
        if self.margin(limiting) > 0 {
            return true;
        }
        let charging = &mut allocation.charging;
        if !charging.drained {
            charging.drained = true;
            self.drain_stock();
            return true;
        }
        if reclaimed > 0 {
            return true;
        }
        let again = charging.retries > 0;
        charging.retries = charging.retries.saturating_sub(1);
        again
    }

    /// Remembers pages that were charged above the high limit until the task is back in user
    /// space.
    fn note_high(&self, cpu: &mut Cpu, group: GroupId, charged: u64) {
        if charged > 0 && self.is_above_high(group) {
            cpu.current.over_high += charged;
        }
    }
}

impl DirectReclaim {
    /// Reclaim of a group and those below it, for a limit.
    pub(super) fn of_group(target: GroupId, goal: u64, swappiness: u64) -> Self {
        let mut control = Control::new(Reclaimer::Direct, goal.max(BATCH), swappiness);
        control.target = target;
        Self::new(control)
    }
}
