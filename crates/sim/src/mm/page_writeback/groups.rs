//! Control groups in the throttling of writers: what a group's memory may hold dirty follows from
//! its file pages and what it may still take (`mdtc` of `balance_dirty_pages`).
//!
//! A disk has one flusher and one estimate for all groups, where a kernel has them for each.

use mm::formula::dirty::{self, Thresholds};
use mm::formula::throttle::{Device as Part, Domain as Whole};
use mm::units::{PageSize, Pages};

use crate::mm::lru::Lru;
use crate::mm::lruvec::state::Lruvecs;
use crate::mm::memcontrol::group_id::{GroupId, ROOT};
use crate::mm::memcontrol::state::Groups;
use crate::mm::memcontrol::{self};
use crate::mm::page_alloc::zone::Zones;
use crate::mm::page_writeback::state::Writeback;
use crate::mm::page_writeback::state::{Limits, View};
use crate::mm::swapfile::Swap;
use crate::sched::cpu::Cpu;

impl Writeback {
    /// A page of a group became dirty. With the first on a disk a kernel begins a new estimate for
    /// the group there; here the disk's own begins again, if it has rested.
    pub(super) fn group_dirties(&mut self, cpu: &Cpu, group: GroupId, disk: usize) {
        let own = self.groups.get_mut(group);
        if own.is_some_and(|own| own.dirty_one(disk)) {
            self.begin_estimate(cpu, disk);
        }
    }

    /// How the running task's group sees its dirty pages and those of a disk.
    pub(super) fn group_view(
        &mut self,
        cpu: &Cpu,
        zones: &Zones,
        lruvecs: &Lruvecs,
        groups: &memcontrol::state::Groups,
        disk: usize,
        machine: &Whole,
    ) -> Option<View> {
        let group = cpu.current.group;
        if group == ROOT {
            return None;
        }
        let [dirty, writing] = lruvecs.known_dirty(cpu, self, group);
        let thresholds = self.group_thresholds(cpu, zones, lruvecs, groups, group, machine.dirty);
        let (now, reserved) = (cpu.ticks(), self.reserved());
        let throttle = &self.devices[disk].throttle;
        let (bounded, bandwidth) = (throttle.bounded, throttle.bandwidth());
        let own = self.groups.get_mut(group)?;
        own.completions.tick(now);
        let completed = own.completed[disk].get_or_insert_default();
        let share = own.completions.share(completed);
        Some(View {
            domain: Whole {
                thresholds,
                dirty: Pages(dirty + writing),
                limit: own.limit.pages,
            },
            device: Part {
                thresholds: share.thresholds(thresholds, bounded.share, reserved),
                dirty: Pages(own.dirty + own.writing),
                bandwidth,
                is_strict: bounded.is_strict,
            },
        })
    }

    /// The thresholds of a group, where so much of the machine's is dirty (`mdtc_calc_avail`).
    fn group_thresholds(
        &self,
        cpu: &Cpu,
        zones: &Zones,
        lruvecs: &Lruvecs,
        groups: &memcontrol::state::Groups,
        group: GroupId,
        dirty: Pages,
    ) -> Thresholds {
        let files = [Lru::InactiveFile, Lru::ActiveFile];
        let file: u64 = files
            .map(|lru| lruvecs.known_list(cpu, zones, group, lru))
            .iter()
            .sum();
        let held: u64 = lruvecs.known_dirty(cpu, self, group).iter().sum();
        let machine = zones.dirtyable(cpu);
        let clean = machine.saturating_sub(dirty);
        let headroom = Pages(groups.headroom(group));
        let own = dirty::group_dirtyable(Pages(file), Pages(held), headroom, clean);
        let Limits {
            background, dirty, ..
        } = self.limits;
        dirty::group_thresholds(background, dirty, machine, own, PageSize::FOUR_KIB)
    }

    /// Whether a group has more dirty than its background threshold.
    pub(super) fn is_group_over_background(
        &self,
        cpu: &Cpu,
        zones: &Zones,
        lruvecs: &Lruvecs,
        groups: &Groups,
        swap: &Swap,
    ) -> bool {
        let machine = cpu.real(self.dirty + self.under_writeback(swap));
        groups.all().any(|group| {
            let [own, _] = self.groups.counts(group);
            let [dirty, _] = lruvecs.known_dirty(cpu, self, group);
            own > 0
                && Pages(dirty)
                    > self
                        .group_thresholds(cpu, zones, lruvecs, groups, group, machine)
                        .background
        })
    }
}
