//! Dirty files and the queues in which their flusher finds them (`fs/fs-writeback.c`).

use alloc::collections::VecDeque;

use mm::units::Nanos;

use crate::mm::filemap::File;
use crate::mm::page_writeback::Order;
use crate::mm::page_writeback::Writeback;
use crate::sched::cpu::Cpu;

/// A file as writeback sees it.
#[derive(Clone, Debug)]
pub(crate) struct Inode {
    pub(crate) file: File,
    /// When it became dirty; that of its first page, however many follow.
    dirtied_when: Nanos,
    pub(super) place: Place,
    /// The tick that its time stamp tells.
    changed: Option<u64>,
    /// The page with which the next round of writing begins (`writeback_index`).
    pub(super) next: u64,
}

/// The queue that a file is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Clean,
    /// Dirty, and to be written once it is old enough (`b_dirty`).
    Dirty,
    /// To be written now (`b_io`).
    Io,
    /// To be written next: it has had its slice (`b_more_io`).
    MoreIo,
}

/// The queues of a disk; the oldest file is at each one's back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queues {
    dirty: VecDeque<usize>,
    io: VecDeque<usize>,
    more_io: VecDeque<usize>,
}

impl Inode {
    pub(crate) fn new(file: File) -> Self {
        Self {
            file,
            dirtied_when: Nanos::ZERO,
            place: Place::Clean,
            changed: None,
            next: 0,
        }
    }

    /// Whether its time stamp tells that it changed in this tick.
    pub(crate) fn tells(&self, tick: u64) -> bool {
        self.changed == Some(tick)
    }

    /// It changes in this tick.
    pub(crate) fn change(&mut self, tick: u64) {
        self.changed = Some(tick);
    }

    /// Whether it became dirty at that time or before; never where there is none.
    pub(super) fn is_dirty_since(&self, time: Option<Nanos>) -> bool {
        time.is_some_and(|time| self.dirtied_when <= time)
    }
}

impl Queues {
    /// Whether a file is dirty (`wb_has_dirty_io`).
    pub(super) fn any(&self) -> bool {
        !(self.dirty.is_empty() && self.io.is_empty() && self.more_io.is_empty())
    }

    pub(super) fn has_more_io(&self) -> bool {
        !self.more_io.is_empty()
    }

    /// The file to write next.
    pub(super) fn next_to_write(&self) -> Option<usize> {
        self.io.back().copied()
    }
}

impl Writeback {
    /// A file has a page, or a time stamp, that its disk does not have (`__mark_inode_dirty`). The
    /// first one of a disk sets the flusher's timer.
    pub(crate) fn mark_inode_dirty(&mut self, cpu: &Cpu, index: usize) {
        let now = cpu.now();
        let inode = &mut self.inodes[index];
        if inode.place != Place::Clean {
            return;
        }
        inode.dirtied_when = now;
        inode.place = Place::Dirty;
        let disk = inode.file.disk;
        let was_idle = !self.devices[disk].queues.any();
        self.devices[disk].queues.dirty.push_front(index);
        if was_idle {
            self.set_flush_timer(cpu, disk);
        }
    }

    /// Queues what is to be written: what has had its slice, and behind it what was dirtied before
    /// `cutoff`, if anything (`queue_io`).
    pub(super) fn queue_io(&mut self, disk: usize, cutoff: Option<Nanos>) {
        let writeback = self;
        let (inodes, queues) = (&mut writeback.inodes, &mut writeback.devices[disk].queues);
        while let Some(index) = queues.more_io.pop_back() {
            inodes[index].place = Place::Io;
            queues.io.push_front(index);
        }
        while let Some(&index) = queues.dirty.back() {
            if !inodes[index].is_dirty_since(cutoff) {
                break;
            }
            queues.dirty.pop_back();
            inodes[index].place = Place::Io;
            queues.io.push_front(index);
        }
    }

    pub(super) fn has_queued(&self, disk: usize) -> bool {
        !self.devices[disk].queues.io.is_empty()
    }

    /// Puts a file whose slice is over where it belongs (`requeue_inode`): one that has pages left
    /// `goes_on` in the next round, as its slice was used up; or it waits as any dirty file, and no
    /// longer than before unless a younger one waits already.
    pub(super) fn requeue(&mut self, cpu: &Cpu, disk: usize, index: usize, goes_on: bool) {
        let now = cpu.now();
        let is_dirty = self.has_dirty_page(index);
        let writeback = self;
        let queues = &mut writeback.devices[disk].queues;
        queues.io.retain(|&other| other != index);
        let place = match (is_dirty, goes_on) {
            (false, _) => Place::Clean,
            (true, true) => Place::MoreIo,
            (true, false) => Place::Dirty,
        };
        match place {
            Place::MoreIo => queues.more_io.push_front(index),
            Place::Dirty => {
                let newest = queues.dirty.front().copied();
                queues.dirty.push_front(index);
                let newest = newest.map(|other| writeback.inodes[other].dirtied_when);
                let own = &mut writeback.inodes[index].dirtied_when;
                if newest.is_some_and(|newest| *own < newest) {
                    *own = now;
                }
            }
            _ => {}
        }
        writeback.inodes[index].place = place;
    }

    fn has_dirty_page(&self, index: usize) -> bool {
        if self.is_of_disk(index) {
            return self.devices[self.inodes[index].file.disk].metadata;
        }
        let file = &self.inodes[index].file;
        let pages = file.pages_of(0..file.pages);
        let next = self.dirty_pages.next(pages.start, pages.end);
        next.is_some()
    }

    /// Lets the flusher look in `dirty_writeback_centisecs`, unless it does so earlier
    /// (`wb_wakeup_delayed`).
    pub(super) fn set_flush_timer(&mut self, cpu: &Cpu, disk: usize) {
        let ticks = self.limits.interval;
        let flusher = &mut self.devices[disk].flusher;
        if ticks == 0 || flusher.timer.is_some() {
            return;
        }
        let at = cpu.clock.expiry(cpu.began, ticks);
        self.devices[disk].flusher.timer = Some(at);
        self.orders.push(Order::FlushAt { disk, at });
    }
}
