//! The flusher of a disk (`wb_workfn`): it writes what is too old, what is above the background
//! threshold, and everything when reclaim finds nothing else.

pub(crate) mod inodes;
pub(crate) mod metadata;
pub(crate) mod state;
pub(crate) mod sync;
pub(crate) mod thread;

use mm::formula::throttle::chunk_size;
use mm::rules::Mechanism;
use mm::units::{Nanos, Pages};

use crate::block::disk::Writer;
use crate::fs::fs_writeback::state::{Reason, Round, Slice, Work};
use crate::mm::objects::state::Objects;
use crate::mm::page_writeback::state::Order;
use crate::mm::page_writeback::state::Writeback;
use crate::mm::parts::Memory;
use crate::mm::vmscan::state::Progress;
use crate::sched::cpu::Cpu;
use crate::sched::timer::{HZ, TICK};

/// Pages that are written between two looks at the clock.
const BATCH: u64 = 32;

/// How long files are written before it is looked whether to go on (`writeback_sb_inodes`).
const ROUND: Nanos = Nanos(HZ / 10 * TICK.0);

impl Writeback {
    /// Wakes a flusher at once (`wb_wakeup`); one that is awake looks once more.
    pub(crate) fn wake_flusher(&mut self, disk: usize) {
        let flusher = &mut self.devices[disk].flusher;
        flusher.awake = true;
        flusher.next = Reason::All;
        flusher.timer = None;
        self.orders.push(Order::WakeFlusher { disk });
    }

    /// The time that a flusher's timer was set to has come; false where it was set again since.
    pub(crate) fn flush_timer(&mut self, disk: usize, at: Nanos) -> bool {
        let flusher = &mut self.devices[disk].flusher;
        let due = flusher.timer == Some(at);
        if due {
            (flusher.timer, flusher.awake, flusher.next) = (None, true, Reason::All);
        }
        due
    }

    /// Wakes all flushers: they are to write everything (`wakeup_flusher_threads`).
    pub(crate) fn wake_flushers(&mut self) {
        for disk in 0..self.devices.len() {
            let device = &mut self.devices[disk];
            let busy = device.flusher.wants_all || !device.queues.any();
            if !busy {
                device.flusher.wants_all = true;
                self.wake_flusher(disk);
            }
        }
    }

    /// Whether a flusher is at work for the background threshold, or everything
    /// (`writeback_in_progress`).
    pub(crate) fn is_flushing(&self, disk: usize) -> bool {
        self.devices[disk].flusher.work.is_some()
    }

    fn flusher_ends(&mut self, cpu: &Cpu, disk: usize) {
        let device = &mut self.devices[disk];
        device.flusher.awake = false;
        if device.queues.any() {
            self.set_flush_timer(cpu, disk);
        }
    }

    /// After a round that wrote nothing the work is over, unless files wait for their next slice.
    fn end_round(&self, disk: usize, round: &Round) -> Progress {
        let goes_on = round.wrote > 0 || self.devices[disk].queues.has_more_io();
        match goes_on {
            true => Progress::More,
            false => Progress::Done,
        }
    }

    fn next_slice(&mut self, cpu: &Cpu, disk: usize, work: &Work) -> Option<Slice> {
        let inode = self.devices[disk].queues.next_to_write()?;
        self.begin_estimate(cpu, disk);
        let bandwidth = self.devices[disk].throttle.bandwidth();
        let limit = self.domain.limit();
        let chunk = chunk_size(bandwidth, limit, Pages(work.left)).0;
        let inode_of = &self.inodes[inode];
        Some(Slice::new(inode, chunk, inode_of.next, inode_of.file.pages))
    }

    fn end_slice(&mut self, cpu: &Cpu, disk: usize, slice: &Slice, dirtied_before: Option<Nanos>) {
        let inode = &mut self.inodes[slice.inode];
        inode.next = slice.next;
        let is_due =
            !cpu.rules.has(Mechanism::LeavesYoungFiles) || inode.is_dirty_since(dirtied_before);
        self.requeue(cpu, disk, slice.inode, slice.left == 0 && is_due);
        self.estimate_bandwidth(cpu, disk);
    }

    /// How much a flusher may have under way.
    pub(crate) fn flusher_as_writer(&self, cpu: &Cpu, objects: &Objects, disk: usize) -> Writer {
        let throttle = &self.devices[disk].throttle;
        Writer::Flusher {
            waited_for: throttle.was_waited_for(cpu.now()),
            marked: objects.buffers.none,
        }
    }
}

impl Memory {
    /// Does the next piece of a flusher's work; it is asleep afterwards when nothing is left.
    pub(crate) fn flusher_step(&mut self, disk: usize) -> Progress {
        let flusher = &mut self.writeback.devices[disk].flusher;
        let plug = core::mem::take(&mut flusher.plug);
        let work = flusher.work.take();
        let plug = self.io.exchange_plug(plug);
        let progress = match work.or_else(|| self.next_work(disk)) {
            Some(mut work) => {
                let progress = self.write_back(disk, &mut work);
                let flusher = &mut self.writeback.devices[disk].flusher;
                let is_over = progress == Progress::Done;
                flusher.wants_all &= !(is_over && work.reason == Reason::All);
                flusher.work = (!is_over).then_some(work);
                progress
            }
            None => {
                self.writeback.flusher_ends(&self.cpu, disk);
                Progress::Done
            }
        };
        if progress != Progress::More {
            self.io.unplug(&mut self.cpu, &self.folios);
        }
        self.writeback.devices[disk].flusher.plug = self.io.exchange_plug(plug);
        progress
    }

    /// What a flusher that is awake finds to do (`wb_do_writeback`).
    fn next_work(&mut self, disk: usize) -> Option<Work> {
        let now = self.cpu.now();
        let jiffies = self.cpu.clock.jiffies(now);
        let dirty = self.cpu.real(self.writeback.dirty).0;
        let all = dirty + self.writeback.inodes_in_use;
        let interval = self.writeback.limits.interval;
        loop {
            let flusher = &mut self.writeback.devices[disk].flusher;
            let reason = flusher.next;
            flusher.next = reason.next();
            let left = match reason {
                Reason::All if flusher.wants_all => all,
                Reason::Old if interval > 0 && jiffies >= flusher.last_old + interval => {
                    flusher.last_old = jiffies;
                    all
                }
                Reason::Background
                    if self.writeback.is_over_background(
                        &self.cpu,
                        &self.zones,
                        &self.lruvecs,
                        &self.groups,
                        &self.swap,
                        disk,
                    ) =>
                {
                    u64::MAX
                }
                Reason::Done => return None,
                _ => continue,
            };
            if left > 0 {
                return Some(Work {
                    reason,
                    left,
                    dirtied_before: Some(now),
                    round: None,
                });
            }
        }
    }

    /// Goes on with a work (`wb_writeback`).
    fn write_back(&mut self, disk: usize, work: &mut Work) -> Progress {
        let mut round = match work.round.take() {
            Some(round) => round,
            None => match self.begin_round(disk, work) {
                Some(round) => round,
                None => return Progress::Done,
            },
        };
        let Some(mut slice) = round
            .slice
            .take()
            .or_else(|| self.writeback.next_slice(&self.cpu, disk, work))
        else {
            return self.writeback.end_round(disk, &round);
        };
        let before = slice.left;
        let progress = self.write_slice(disk, &mut slice);
        let wrote = before - slice.left;
        work.left = work.left.saturating_sub(wrote);
        round.wrote += wrote;
        if progress == Progress::Done {
            self.writeback
                .end_slice(&self.cpu, disk, &slice, work.dirtied_before);
            if work.left == 0 || self.cpu.now() > round.began.saturating_add(ROUND) {
                return self.writeback.end_round(disk, &round);
            }
        } else {
            round.slice = Some(slice);
        }
        work.round = Some(round);
        match progress {
            Progress::Done => Progress::More,
            progress => progress,
        }
    }

    /// Whether there is a reason to go on, and what is to be written now.
    fn begin_round(&mut self, disk: usize, work: &mut Work) -> Option<Round> {
        let is_enough = work.reason == Reason::Background
            && !self.writeback.is_over_background(
                &self.cpu,
                &self.zones,
                &self.lruvecs,
                &self.groups,
                &self.swap,
                disk,
            );
        if work.left == 0 || is_enough {
            return None;
        }
        let now = self.cpu.now();
        let age = match work.reason {
            Reason::Old => self.writeback.limits.expire,
            _ => Nanos::ZERO,
        };
        if !self.writeback.has_queued(disk) {
            work.dirtied_before = now.0.checked_sub(age.0).map(Nanos);
            self.writeback.queue_io(disk, work.dirtied_before);
        }
        Some(Round {
            began: now,
            wrote: 0,
            slice: None,
        })
    }

    /// Writes dirty pages of a file in the order of their place in it.
    fn write_slice(&mut self, disk: usize, slice: &mut Slice) -> Progress {
        if self.writeback.is_of_disk(slice.inode) {
            let progress = self.writeback.write_metadata(
                &mut self.cpu,
                &self.folios,
                &self.objects,
                &mut self.io,
                disk,
            );
            slice.left -= u64::from(progress == Progress::Done);
            return progress;
        }
        let base = self.writeback.inodes[slice.inode].file.base;
        let writer = self
            .writeback
            .flusher_as_writer(&self.cpu, &self.objects, disk);
        for _ in 0..BATCH {
            if slice.left == 0 || slice.is_over {
                slice.is_over = true;
                return match self.io.submit_bio(&mut self.cpu, &self.folios, writer) {
                    true => Progress::Done,
                    false => Progress::Congested { disk },
                };
            }
            let (from, end) = (base + slice.next as u32, base + slice.end as u32);
            let Some(page) = self.writeback.dirty_pages.next(from, end) else {
                match slice.wrapped {
                    true => slice.is_over = true,
                    false => (slice.next, slice.end, slice.wrapped) = (0, slice.began_at, true),
                }
                continue;
            };
            slice.next = u64::from(page - base) + 1;
            if self.writeback.is_writing(page) {
                continue;
            }
            let offset = self.writeback.offset_of(slice.inode, page);
            if !self.io.bio_takes(disk, offset, page)
                && !self.io.submit_bio(&mut self.cpu, &self.folios, writer)
            {
                slice.next -= 1;
                return Progress::Congested { disk };
            }
            self.writeback.start_writeback(
                &mut self.cpu,
                &mut self.folios,
                &mut self.rmap,
                page,
                disk,
            );
            self.io.add_to_bio(disk, offset, page);
            slice.left = slice.left.saturating_sub(self.cpu.scale);
        }
        Progress::More
    }
}
