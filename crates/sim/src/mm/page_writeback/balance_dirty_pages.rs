//! What a task that dirties pages goes through now and then: it pauses so that it dirties no faster
//! than the device writes (`balance_dirty_pages`).

use mm::formula::dirty::{self, Thresholds};
use mm::formula::throttle::share::{Completions, Share, WHOLE};
use mm::formula::throttle::{
    Counts, Device as Part, Domain as Whole, Outlook, Writer, position, ratelimit_pages,
};
use mm::units::{PageSize, Pages};

use crate::mm::folio::Folios;
use crate::mm::folio::PageId;
use crate::mm::lru::Lru;
use crate::mm::lruvec::state::Lruvecs;
use crate::mm::memcontrol::state::Groups;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::page_writeback::state::Order;
use crate::mm::page_writeback::state::Writeback;
use crate::mm::page_writeback::state::{Limits, Throttled, View};
use crate::mm::parts::Memory;
use crate::mm::swapfile::Swap;
use crate::sched::cpu::Cpu;
use crate::sched::timer::HZ;

/// A device with no more dirty pages than its count may be wrong by stops nobody (`wb_stat_error`).
const STAT_ERROR: u64 = 8;

impl Writeback {
    /// The dirty thresholds, in real pages, from what memory there is.
    pub(crate) fn dirty_thresholds(&self, cpu: &Cpu, zones: &Zones) -> Thresholds {
        let Limits {
            background, dirty, ..
        } = self.limits;
        dirty::thresholds(background, dirty, zones.dirtyable(cpu), PageSize::FOUR_KIB)
    }

    /// The machine has booted, and computed its dirty threshold when only a part of memory was
    /// there (`page_writeback_init`).
    pub(crate) fn begin_throttling(
        &mut self,
        cpu: &Cpu,
        zones: &Zones,
        groups: &Groups,
        early: Option<Pages>,
    ) {
        let threshold = self.dirty_thresholds(cpu, zones).dirty;
        self.domain.completions = Completions::new(cpu.cpus);
        let (groups, disks) = (groups.len(), self.devices.len());
        self.groups.begin(groups, disks, cpu.cpus);
        self.set_ratelimit(cpu, early.unwrap_or(threshold).min(threshold));
    }

    /// The dirty threshold was set again (`writeback_set_ratelimit`).
    pub(crate) fn set_dirty_ratelimit(&mut self, cpu: &Cpu, zones: &Zones) {
        self.set_ratelimit(cpu, self.dirty_thresholds(cpu, zones).dirty);
    }

    fn set_ratelimit(&mut self, cpu: &Cpu, threshold: Pages) {
        let domain = &mut self.domain;
        domain.limit.reset(threshold);
        domain.ratelimit = ratelimit_pages(threshold, cpu.cpus);
    }

    fn start_background(&mut self, disk: usize) {
        if !self.is_flushing(disk) {
            self.wake_flusher(disk);
        }
    }

    /// The limits and the rate of one task are renewed, where that is due
    /// (`__wb_update_bandwidth`): for the machine, and again for the task's group.
    fn renew_rates(
        &mut self,
        cpu: &Cpu,
        disk: usize,
        machine: &View,
        group: Option<&View>,
        now: u64,
    ) {
        let (counts, current) = (self.counts(cpu, disk), cpu.current.group);
        let writeback = self;
        let pace = &mut writeback.devices[disk].throttle.pace;
        if !pace.is_due(now) {
            return;
        }
        let own = writeback.groups.get_mut(current);
        let limits = [
            Some(&mut writeback.domain.limit),
            own.map(|own| &mut own.limit),
        ];
        for (view, limit) in [Some(machine), group].into_iter().zip(limits) {
            if let (Some(View { domain, device }), Some(limit)) = (view, limit) {
                limit.update(now, domain.thresholds.dirty, domain.dirty);
                let position = position::ratio(domain, device);
                pace.rate(now, counts, domain, device, position);
            }
        }
        pace.write(now, counts);
    }

    /// A flusher, or a task that syncs, begins with a file.
    pub(crate) fn begin_estimate(&mut self, cpu: &Cpu, disk: usize) {
        let (now, counts) = (cpu.ticks(), self.counts(cpu, disk));
        let device = &mut self.devices[disk];
        let is_idle = device.writing == 0;
        device.throttle.pace.start(now, counts, is_idle);
    }

    /// Pages of a file have been handed over: the bandwidth is estimated where that is due.
    pub(crate) fn estimate_bandwidth(&mut self, cpu: &Cpu, disk: usize) {
        let now = cpu.ticks();
        if self.devices[disk].throttle.pace.is_due(now) {
            self.renew_bandwidth(cpu, disk);
        }
    }

    /// The bandwidth is estimated (`wb_update_bandwidth_workfn`).
    pub(crate) fn renew_bandwidth(&mut self, cpu: &Cpu, disk: usize) {
        let (now, counts) = (cpu.ticks(), self.counts(cpu, disk));
        self.devices[disk].throttle.pace.write(now, counts);
    }

    /// Pages of a device have been written; the last of them has the bandwidth estimated once more.
    pub(super) fn count_completion(
        &mut self,
        cpu: &Cpu,
        folios: &Folios,
        page: PageId,
        disk: usize,
    ) {
        let (now, at, scale) = (cpu.ticks(), cpu.began, cpu.scale);
        let group = folios.group(page);
        let writeback = self;
        let completions = &mut writeback.domain.completions;
        completions.tick(now);
        let device = &mut writeback.devices[disk];
        let throttle = &mut device.throttle;
        completions.add(
            &mut throttle.completed,
            Pages(scale),
            throttle.bounded.share,
            now,
        );
        if let Some(group) = writeback.groups.get_mut(group) {
            group.writing -= 1;
            group.complete(disk, scale, throttle.bounded.share, now);
        }
        if device.writing == 0 {
            let at = cpu.clock.expiry(at, HZ / 5);
            writeback.orders.push(Order::EstimateAt { disk, at });
        }
    }

    fn counts(&self, cpu: &Cpu, disk: usize) -> Counts {
        let device = &self.devices[disk];
        Counts {
            dirtied: cpu.real(device.dirtied),
            written: cpu.real(device.written),
        }
    }

    /// What is dirty on the machine, pages on their way to swap included.
    fn whole(&self, cpu: &Cpu, zones: &Zones, swap: &Swap) -> Whole {
        let writeback = self;
        Whole {
            thresholds: self.dirty_thresholds(cpu, zones),
            dirty: cpu.real(writeback.dirty + writeback.writing + swap.writing),
            limit: writeback.domain.limit.pages,
        }
    }

    /// A device's share of all completions; those of the past have faded by now.
    fn share(&mut self, cpu: &Cpu, disk: usize) -> Share {
        let now = cpu.ticks();
        let writeback = self;
        writeback.domain.completions.tick(now);
        let completed = &mut writeback.devices[disk].throttle.completed;
        writeback.domain.completions.share(completed)
    }

    fn machine_view(&mut self, cpu: &Cpu, zones: &Zones, swap: &Swap, disk: usize) -> View {
        let domain = self.whole(cpu, zones, swap);
        let device = self.part(cpu, disk, domain.thresholds);
        View { domain, device }
    }

    fn part(&mut self, cpu: &Cpu, disk: usize, thresholds: Thresholds) -> Part {
        let share = self.share(cpu, disk);
        let device = &self.devices[disk];
        let throttle = &device.throttle;
        Part {
            thresholds: share.thresholds(thresholds, throttle.bounded.share, self.reserved()),
            dirty: cpu.real(device.reclaimable + device.writing),
            bandwidth: throttle.bandwidth(),
            is_strict: throttle.bounded.is_strict,
        }
    }

    /// What devices have as their least share, together.
    pub(super) fn reserved(&self) -> u64 {
        let devices = self.devices.iter();
        let least = devices.map(|device| device.throttle.bounded.share.min);
        least.sum::<u64>().min(WHOLE)
    }

    /// Whether a flusher has something to do for the background threshold (`wb_over_bg_thresh`).
    pub(crate) fn is_over_background(
        &mut self,
        cpu: &Cpu,
        zones: &Zones,
        lruvecs: &Lruvecs,
        groups: &Groups,
        swap: &Swap,
        disk: usize,
    ) -> bool {
        let background = self.dirty_thresholds(cpu, zones).background;
        let share = self.share(cpu, disk);
        let throttle = &self.devices[disk].throttle;
        let own = share.threshold(background, throttle.bounded.share, self.reserved());
        cpu.real(self.dirty) > background
            || cpu.real(self.devices[disk].reclaimable) > own
            || self.is_group_over_background(cpu, zones, lruvecs, groups, swap)
    }
}

impl Zones {
    /// The memory that ratios are taken of, in real pages.
    pub(crate) fn dirtyable(&self, cpu: &Cpu) -> Pages {
        let free = cpu.real(self.free_pages());
        let kept = [Lru::InactiveFile, Lru::ActiveFile].map(|lru| self.kept_blocks(lru));
        let file = Pages(cpu.real(self.file_pages()).0 + kept.iter().sum::<u64>());
        dirty::dirtyable(free, self.totalreserve(), file)
    }
}

impl Memory {
    /// A task has dirtied a page of a file on the disk: how many ticks it pauses, if it does
    /// (`balance_dirty_pages_ratelimited`).
    pub(crate) fn balance_dirty(&mut self, disk: usize) -> Option<u64> {
        let now = self.cpu.clock.jiffies(self.cpu.now());
        let Throttled { mut writer, again } = self.cpu.current.throttled;
        let domain = &mut self.writeback.domain;
        let is_exceeded = self.writeback.devices[disk].throttle.is_exceeded;
        let looked_at =
            again.is_some() || domain.cpu.asks(&mut writer, is_exceeded, domain.ratelimit);
        let pause = match looked_at {
            true => self.judge(disk, &mut writer, again, now),
            false => None,
        };
        let (pause, again) = pause.unzip();
        self.cpu.current.throttled = Throttled {
            writer,
            again: again.flatten(),
        };
        pause
    }

    /// Looks at a task that has dirtied pages (`balance_dirty_pages`): its pause, and for how many
    /// pages it is to be judged again afterwards.
    fn judge(
        &mut self,
        disk: usize,
        writer: &mut Writer,
        again: Option<Pages>,
        now: u64,
    ) -> Option<(u64, Option<Pages>)> {
        let machine = self
            .writeback
            .machine_view(&self.cpu, &self.zones, &self.swap, disk);
        let group = self.writeback.group_view(
            &self.cpu,
            &self.zones,
            &self.lruvecs,
            &self.groups,
            disk,
            &machine.domain,
        );
        let views = || [Some(machine), group].into_iter().flatten();
        if self.cpu.real(self.writeback.dirty) > machine.domain.thresholds.background {
            self.writeback.start_background(disk);
        }
        let is_free = views().all(|view| view.domain.is_free(&view.device));
        self.writeback.devices[disk].throttle.is_exceeded =
            !is_free && views().any(|view| view.domain.is_exceeded(&view.device));
        if is_free || again.is_some() && machine.device.dirty.0 <= STAT_ERROR {
            let intervals = views().map(|view| view.domain.poll_interval(&view.device));
            writer.run_free(now, intervals.min().unwrap_or_default());
            return None;
        }
        self.writeback.start_background(disk);
        self.writeback
            .renew_rates(&self.cpu, disk, &machine, group.as_ref(), now);
        let (position, ruling) = views()
            .map(|view| (view.position(), view))
            .min_by_key(|(position, _)| *position)?;
        let outlook = Outlook {
            ratelimit: self.writeback.devices[disk].throttle.pace.ratelimit,
            position,
            device: ruling.device,
        };
        let dirtied = again.unwrap_or(writer.dirtied);
        let paused_when = writer.paused_when;
        let pause = writer.throttle(now, dirtied, &outlook);
        if pause.sleep == 0 {
            return None;
        }
        self.writeback.devices[disk].throttle.slept = Some(self.cpu.now());
        let again = pause.again.then_some(dirtied);
        if self.cpu.scale == 1 || pause.again {
            return Some((pause.sleep, again));
        }
        // A page stands for many, and so does its pause: it is not cut short.
        let thought = now.saturating_sub(paused_when.max(1));
        let sleep = pause.period.saturating_sub(thought).max(pause.sleep);
        writer.paused_when = now + sleep;
        Some((sleep, None))
    }
}

impl Cpu {
    pub(crate) fn ticks(&self) -> u64 {
        self.clock.jiffies(self.now())
    }
}
