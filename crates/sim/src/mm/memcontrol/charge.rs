//! Who pays for a page: the group of the task that asks for it first (`try_charge`).

use super::{Event, GroupId, RETRIES, ROOT};
use crate::mm::folio::{PageId, State};
use crate::mm::page_alloc::NoPage;
use crate::mm::page_alloc::slowpath::DirectReclaim;
use crate::mm::page_alloc::zone::HUGE_PAGES;
use crate::mm::parts::Memory;
use crate::mm::vmscan::{BATCH, Control, Reclaimer};

/// A node of a file's tree, and the pointer by which its group is known.
pub(crate) const NODE_BYTES: u64 = 576 + 8;

/// A charge that has not succeeded yet, kept from one attempt to the next.
#[derive(Clone, Debug)]
pub(crate) struct Charging {
    /// The group that has paid for a page which is not there yet.
    paid: Option<GroupId>,
    /// Reclaim under way, and the group whose limit it is for.
    reclaim: Option<(GroupId, DirectReclaim)>,
    /// What the stock held has been given back.
    drained: bool,
    /// Fruitless rounds that are left.
    retries: u32,
}

impl Default for Charging {
    fn default() -> Self {
        Self {
            paid: None,
            reclaim: None,
            drained: false,
            retries: RETRIES,
        }
    }
}

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
            State::Swapped => self.group(page),
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

    /// The page that was paid for is there.
    pub(crate) fn settle(&mut self) {
        self.allocation.charging.paid = None;
    }

    /// Gives back what an allocation that comes to nothing has paid for.
    pub(crate) fn refund(&mut self, charging: Charging) {
        if let Some(group) = charging.paid {
            self.groups.uncharge(group, 1);
        }
    }

    /// Counts a page fault of the running task, at its first try.
    pub(crate) fn count_fault(&mut self, first_try: bool) {
        let faults = u64::from(first_try);
        self.cpu.events.pgfault += faults;
        self.groups.stat(self.cpu.current.group).pgfault += faults;
    }

    /// Pages that the tasks of a group could use at most, or of the machine, swap included.
    pub(crate) fn oom_total(&self, domain: GroupId) -> u64 {
        let managed: u64 = self.zones.iter().map(|zone| zone.managed).sum();
        let group = self.groups.get(domain);
        let swap = self.swap.total().min(group.swap.max);
        group.memory.max.min(managed).saturating_add(swap)
    }

    /// Charges the running task's group for a huge page; false where it does not fit without
    /// reclaim, which a huge page is not worth.
    pub(crate) fn charge_huge(&mut self, first: PageId) -> bool {
        if !self.groups.any() {
            return true;
        }
        let group = self.cpu.current.group;
        let Ok(charged) = self.groups.charge(group, HUGE_PAGES) else {
            return false;
        };
        self.note_high(group, charged.0);
        let pages = first as usize..first as usize + HUGE_PAGES as usize;
        self.folios.charge[pages].fill(group as u8);
        true
    }

    /// Gives back what was charged for a page, or for `pages` of a huge one.
    pub(crate) fn uncharge_page(&mut self, page: PageId, pages: u64) {
        let group = self.group(page);
        self.groups.uncharge(group, pages);
    }

    /// A tree node for a file's page is charged to the running task's group, whatever its limit
    /// says: the next page makes up for it.
    pub(crate) fn charge_node(&mut self) -> GroupId {
        let group = self.cpu.current.group;
        if group != ROOT {
            self.groups.charge_bytes(group, NODE_BYTES);
        }
        group
    }

    /// Gives back what was charged for a tree node.
    pub(crate) fn uncharge_node(&mut self, group: GroupId) {
        if group != ROOT {
            self.groups.uncharge_bytes(group, NODE_BYTES);
        }
    }

    fn charge_within_limits(&mut self, group: GroupId) -> Result<(), NoPage> {
        loop {
            if let Some((limiting, mut reclaim)) = self.allocation.charging.reclaim.take() {
                let got = self.run_reclaim(&mut reclaim);
                let under_way = got.is_err().then_some((limiting, reclaim));
                self.allocation.charging.reclaim = under_way;
                let got = got?;
                if !self.is_worth_another_try(limiting, got) {
                    self.allocation.charging.retries = RETRIES;
                    return Err(NoPage::OverLimit { group: limiting });
                }
            }
            match self.groups.charge(group, 1) {
                Ok(charged) => {
                    self.note_high(group, charged.0);
                    self.allocation.charging = Charging::default();
                    return Ok(());
                }
                Err(limiting) => {
                    self.groups.count(limiting, Event::Max);
                    let reclaim = self.reclaim_of(limiting, BATCH, self.cpu.rules.swappiness);
                    self.allocation.charging.reclaim = Some((limiting, reclaim));
                }
            }
        }
    }

    /// Reclaim of a group and those below it, for a limit.
    pub(crate) fn reclaim_of(&self, target: GroupId, goal: u64, swappiness: u64) -> DirectReclaim {
        let mut control = Control::new(Reclaimer::Direct, goal.max(BATCH), swappiness);
        control.target = target;
        DirectReclaim::new(control)
    }

    /// Whether a charge is tried again after reclaim: there is room, or there may be.
    fn is_worth_another_try(&mut self, limiting: GroupId, reclaimed: u64) -> bool {
        if self.groups.margin(limiting) > 0 {
            return true;
        }
        let charging = &mut self.allocation.charging;
        if !charging.drained {
            charging.drained = true;
            self.groups.drain_stock();
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
    fn note_high(&mut self, group: GroupId, charged: u64) {
        if charged > 0 && self.groups.is_above_high(group) {
            self.cpu.current.over_high += charged;
        }
    }
}
