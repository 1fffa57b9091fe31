//! A disk behind the block layer: a scheduler that prefers reads, a device with channels.
//!
//! The device takes up to `queue_depth` requests; each waits for a channel and takes latency, seek
//! and transfer time. As many wait in the scheduler, where one that continues the last of its kind
//! is merged with it; what finds no tag there waits in line (`block/blk-mq-tag.c`).
#![expect(
    clippy::single_range_in_vec_init,
    reason = "a request is made of ranges of pages, often of one"
)]

mod mq_deadline;

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use mm::formula::wbt::Limits;
use mm::units::{Bytes, Nanos};
use scenario::machine;

use crate::block::disk::mq_deadline::BATCH;
use crate::block::diskstats::Stats;
use crate::block::wbt::{UnderWay, Wbt};
use crate::mm::folio::PageId;
use crate::mm::slub::SlabId;
use crate::sched::timer::Clock;

/// Bytes of a request at most (`queue/max_sectors_kb`).
pub(crate) const MOST_BYTES: u64 = 1280 << 10;

/// Pieces of contiguous memory of a request at most (`queue/max_segments`), and the bytes of one
/// (`queue/max_segment_size`).
const MOST_SEGMENTS: u64 = 256;
const SEGMENT_BYTES: u64 = 64 << 10;

/// Tags of the scheduler for each request that the device takes, and the most of these that count
/// (`blk_mq_init_sched`).
const QUEUED_PER_TAG: u32 = 2;
const MOST_TAGS: u32 = 128;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// How long a read counts as one of late (`HZ` / 10).
const LATELY: Nanos = Nanos(100 * Nanos::MILLI.0);

/// What is written: pages to swap, or dirty ones of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// kswapd, and since 6.11 whatever goes to swap (`REQ_SWAP`).
    Swap,
    Task,
    /// What a task waits for (`REQ_SYNC`).
    Sync,
    Flusher {
        /// A task has paused for it within the last second.
        waited_for: bool,
        /// Its file system marks what is written in the background: XFS does, ext4 does not.
        marked: bool,
    },
}

impl Writer {
    /// Requests that the throttling of writeback lets be under way, by whether the disk was read
    /// lately (`get_limit`).
    fn most_requests(self, limits: Limits, was_read: bool) -> u64 {
        match self {
            Self::Swap
            | Self::Sync
            | Self::Flusher {
                waited_for: true, ..
            } => limits.most,
            Self::Flusher { marked: true, .. } => limits.background,
            _ if was_read => limits.background,
            _ => limits.normal,
        }
    }
}

/// Pages on their way from or to a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) direction: Direction,
    /// Where on the disk, in bytes.
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// Pieces of contiguous memory.
    segments: u64,
    /// The pages that are locked until it has ended.
    pub(crate) pages: Vec<Range<PageId>>,
    /// Bios of which it carries a part.
    pub(crate) chains: Vec<usize>,
    /// The slabs of the bios that it consists of, where each of its pages has one of its own.
    pub(crate) bios: Vec<SlabId>,
    /// The task, as an entity of the scheduler, that waits for the request itself.
    pub(crate) waiter: Option<usize>,
    /// It belongs to the journal of the disk's file system.
    pub(crate) is_journal: bool,
    /// The throttling of writeback counts it apart from writes to files (`WBT_RWQ_SWAP`).
    pub(crate) is_swap: bool,
    /// When it came to the disk.
    pub(crate) submitted: Nanos,
    /// When the device took it.
    pub(crate) issued: Nanos,
}

/// A disk, its queue and its scheduler.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    spec: machine::Disk,
    /// When each channel has served what it has.
    free_at: Vec<Nanos>,
    /// Where the last request ended: one that begins there needs no seek.
    head: u64,
    /// Requests in the device, by the time at which they are done.
    serving: VecDeque<(Nanos, Request)>,
    reads: VecDeque<Request>,
    writes: VecDeque<Request>,
    /// What waits for a tag, each with the task, as an entity of the scheduler, that sleeps until
    /// it has one (`blk_mq_get_tag`).
    line: VecDeque<(usize, Request)>,
    /// Tasks whose request has got its tag since this was last taken.
    tagged: Vec<usize>,
    /// The direction of the present batch, and requests in it so far.
    batch: (Direction, u32),
    /// Where the last request of each direction began that was taken from the scheduler.
    latest: [u64; 2],
    /// Batches of reads since writes were waiting.
    starved: u32,
    writes_serving: u32,
    /// Writes under way, those to files and those to swap.
    writing: [u64; 2],
    /// Of which of the two the last write was that ended.
    ended: usize,
    wbt: Wbt,
    /// When a read last came or ended.
    last_read: Option<Nanos>,
    /// The end of a window that an event is expected for.
    window: Option<Nanos>,
    scale: u64,
    pub(crate) stats: Stats,
}

impl Request {
    /// A request that holds no page, and that nobody waits for.
    pub(crate) fn new(direction: Direction, offset: u64, length: u64) -> Self {
        Self {
            direction,
            offset,
            length,
            segments: length.div_ceil(SEGMENT_BYTES),
            pages: Vec::new(),
            chains: Vec::new(),
            bios: Vec::new(),
            waiter: None,
            is_journal: false,
            is_swap: false,
            submitted: Nanos::ZERO,
            issued: Nanos::ZERO,
        }
    }

    fn is_read(&self) -> bool {
        self.direction == Direction::Read
    }

    /// A request for one page.
    pub(crate) fn page(direction: Direction, offset: u64, page: PageId) -> Self {
        Self {
            pages: vec![page..page + 1],
            ..Self::new(direction, offset, 4096)
        }
    }

    /// Whether `next` goes on where this one ends, and both may be one request.
    pub(crate) fn grows_by(&self, next: &Self) -> bool {
        let follows = self.direction == next.direction && self.offset + self.length == next.offset;
        let alone = |request: &Self| request.waiter.is_some() || request.is_journal;
        let fits = self.length + next.length <= MOST_BYTES
            && self.segments + next.segments <= MOST_SEGMENTS;
        follows && fits && !alone(self) && !alone(next)
    }

    /// Takes in `next` if it goes on where this one ends.
    pub(crate) fn merge(&mut self, next: &Self) -> bool {
        if !self.grows_by(next) {
            return false;
        }
        self.take_in(next);
        true
    }

    /// Takes in `previous` if it goes on where that ends.
    fn merge_front(&mut self, previous: &Self) -> bool {
        if !previous.grows_by(self) {
            return false;
        }
        self.offset = previous.offset;
        self.take_in(previous);
        true
    }

    fn take_in(&mut self, other: &Self) {
        self.length += other.length;
        self.segments += other.segments;
        self.chains.extend(&other.chains);
        self.bios.extend(&other.bios);
        for range in &other.pages {
            match self.pages.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => self.pages.push(range.clone()),
            }
        }
    }
}

impl Disk {
    /// A disk of a machine on which a page stands for `scale` real ones.
    pub(crate) fn new(spec: &machine::Disk, clock: Clock, scale: u64) -> Self {
        let channels = spec.channels.max(1) as usize;
        Self {
            spec: spec.clone(),
            free_at: vec![Nanos::ZERO; channels],
            head: u64::MAX,
            serving: VecDeque::new(),
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            line: VecDeque::new(),
            tagged: Vec::new(),
            batch: (Direction::Read, BATCH),
            latest: [0; 2],
            starved: 0,
            writes_serving: 0,
            writing: [0; 2],
            ended: 0,
            wbt: Wbt::new(clock),
            last_read: None,
            window: None,
            scale,
            stats: Stats::default(),
        }
    }

    pub(crate) fn size(&self) -> Bytes {
        self.spec.size
    }

    pub(crate) fn is_rotational(&self) -> bool {
        self.spec.rotational
    }

    /// Queues a request of a task's, an entity of the scheduler. Where the device takes it at once,
    /// the time at which it is done.
    pub(crate) fn submit(
        &mut self,
        now: Nanos,
        entity: usize,
        mut request: Request,
    ) -> Option<Nanos> {
        request.submitted = now;
        self.judge_windows(now);
        match request.direction {
            Direction::Read => self.last_read = Some(now),
            Direction::Write => self.wbt.note_write(now),
        }
        self.stats.begin(now);
        if self.merges(&request) {
            return None;
        }
        *self.writing_of(&request) += u64::from(request.direction == Direction::Write);
        if !self.has_tag(0) {
            self.line.push_back((entity, request));
            return None;
        }
        self.enqueue(now, request)
    }

    /// Whether a request, with `plugged` others that a task holds back, gets a tag at once.
    pub(crate) fn has_tag(&self, plugged: usize) -> bool {
        let used = self.serving.len() + self.reads.len() + self.writes.len();
        self.line.is_empty() && ((used + plugged) as u64) < self.requests()
    }

    /// Whether a task sleeps as a request of its has no tag.
    pub(crate) fn holds_up(&self, entity: usize) -> bool {
        self.line.iter().any(|(of, _)| *of == entity)
    }

    /// The tasks whose requests have got tags since this was last asked.
    pub(crate) fn take_tagged(&mut self) -> Vec<usize> {
        core::mem::take(&mut self.tagged)
    }

    /// Whether a request becomes part of the last one of its direction in the scheduler.
    fn merges(&mut self, request: &Request) -> bool {
        let queue = self.queue(request.direction);
        let merged = queue.back_mut().is_some_and(|last| last.merge(request));
        if merged {
            self.stats.merge(request.direction);
        }
        merged
    }

    /// A request that has a tag goes to the device, if that has room, else to the scheduler.
    fn enqueue(&mut self, now: Nanos, request: Request) -> Option<Nanos> {
        if self.serving.len() < self.spec.queue_depth.max(1) as usize {
            return Some(self.serve(now, request));
        }
        self.queue(request.direction).push_back(request);
        None
    }

    /// The tags that are free go to those that have waited longest. The device has taken what it
    /// can from the scheduler before they wake.
    fn give_tags(&mut self) {
        let requests = self.requests();
        while let Some((entity, request)) = self.line.pop_front() {
            let used = self.serving.len() + self.reads.len() + self.writes.len();
            if used as u64 >= requests {
                self.line.push_front((entity, request));
                return;
            }
            self.tagged.push(entity);
            match self.merges(&request) {
                true => *self.writing_of(&request) -= u64::from(!request.is_read()),
                false => self.queue(request.direction).push_back(request),
            }
        }
    }

    fn writing_of(&mut self, request: &Request) -> &mut u64 {
        &mut self.writing[usize::from(request.is_swap)]
    }

    /// Takes a write in as a part of one that waits in the scheduler and ends where it begins, or
    /// begins where it ends (`blk_mq_sched_bio_merge`).
    pub(crate) fn merge_bio(&mut self, now: Nanos, bio: &Request) -> bool {
        let mut waiting = self.writes.iter_mut();
        let merged = waiting.any(|request| request.merge(bio) || request.merge_front(bio));
        if merged {
            self.stats.begin(now);
            self.stats.merge(Direction::Write);
        }
        merged
    }

    /// Ends the request that is done at `now`, and takes the next one from the scheduler: when that
    /// will be done.
    pub(crate) fn complete(&mut self, now: Nanos) -> Option<(Request, Option<Nanos>)> {
        self.judge_windows(now);
        let (_, request) = self.serving.pop_front().filter(|(done, _)| *done <= now)?;
        self.stats.end(&request, now);
        match request.direction {
            Direction::Read => {
                self.last_read = Some(now);
                self.wbt.count_read(now.saturating_sub(request.issued));
            }
            Direction::Write => {
                self.wbt.count_write();
                self.writes_serving -= 1;
                *self.writing_of(&request) -= 1;
                self.ended = usize::from(request.is_swap);
            }
        }
        let next = self.dispatch(now).map(|next| self.serve(now, next));
        self.give_tags();
        Some((request, next))
    }

    /// Requests that the scheduler has (`queue/nr_requests`).
    fn requests(&self) -> u64 {
        u64::from(QUEUED_PER_TAG * self.spec.queue_depth.clamp(1, MOST_TAGS))
    }

    /// In a miniature the depth stays as it begins: its requests stand for as many times the real
    /// pages as its pages do.
    fn judge_windows(&mut self, now: Nanos) {
        if self.scale > 1 || !self.wbt.is_due(now) {
            return;
        }
        let serving = self.serving.iter().map(|(_, request)| request);
        let reads = serving.filter(|request| request.direction == Direction::Read);
        let under_way = UnderWay {
            is_writing: self.writing != [0; 2],
            oldest_read: reads.map(|request| request.issued).min(),
            requests: self.requests(),
            is_rotational: self.spec.rotational,
        };
        self.wbt.judge(now, under_way);
    }

    /// The end of a window of its throttling that nobody knows of yet.
    pub(crate) fn take_window(&mut self) -> Option<Nanos> {
        let ends = self.wbt.ends().filter(|_| self.scale == 1);
        let is_new = ends != self.window;
        self.window = ends;
        ends.filter(|_| is_new)
    }

    /// A window may have ended: whether the tasks that wait to write may try again
    /// (`rwb_wake_all`).
    pub(crate) fn end_window(&mut self, now: Nanos) -> bool {
        self.judge_windows(now);
        self.wbt.take_growth()
    }

    /// Whether the end of a request wakes the tasks that wait to write: only when fewer are under
    /// way than tasks may have, by half of what the background may (`wbt_rqw_done`).
    pub(crate) fn wakes_writers(&self) -> bool {
        let limits = self.wbt.limits(self.requests());
        let under_way = self.writing[self.ended];
        let room = limits.normal.saturating_sub(under_way);
        under_way == 0 || room > 0 && room >= limits.background / 2
    }

    /// Whether a write is under way.
    pub(crate) fn is_writing(&self) -> bool {
        self.writes_serving > 0
    }

    /// Whether a read came or ended within the last tenth of a second (`close_io`).
    fn was_read(&self, now: Nanos) -> bool {
        self.last_read
            .is_some_and(|read| now < read.saturating_add(LATELY))
    }

    /// Whether a writer has to wait until a request is done, with `plugged` requests of its own
    /// held back: as few writes may be under way as keep reads quick (`block/blk-wbt.c`).
    pub(crate) fn is_congested(&self, now: Nanos, writer: Writer, plugged: usize) -> bool {
        let limits = self.wbt.limits(self.requests());
        let under_way = self.writing[usize::from(writer == Writer::Swap)] + plugged as u64;
        under_way >= writer.most_requests(limits, self.was_read(now))
    }

    fn queue(&mut self, direction: Direction) -> &mut VecDeque<Request> {
        match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        }
    }

    fn serve(&mut self, now: Nanos, mut request: Request) -> Nanos {
        request.issued = now;
        let service = self.service(&request);
        self.head = request.offset + request.length;
        self.writes_serving += u32::from(request.direction == Direction::Write);
        let channel = self.free_at.iter_mut().min();
        let channel = channel.expect("a disk has at least one channel");
        let done = (*channel).max(now).saturating_add(service);
        *channel = done;
        let later = self.serving.partition_point(|(other, _)| *other <= done);
        self.serving.insert(later, (done, request));
        done
    }

    fn service(&self, request: &Request) -> Nanos {
        let (bandwidth, length) = match request.direction {
            Direction::Read => (self.spec.read_bandwidth, request.length),
            Direction::Write => (self.spec.write_bandwidth, request.length),
        };
        let seek = match request.offset == self.head {
            true => Nanos::ZERO,
            false => self.spec.seek,
        };
        let Bytes(rate) = bandwidth;
        let transfer = u128::from(length) * 1_000_000_000 / u128::from(rate.max(1));
        let moving = Nanos(u64::try_from(transfer).unwrap_or(u64::MAX));
        let fixed = self.spec.latency.saturating_add(seek);
        fixed.saturating_add(moving)
    }
}

#[cfg(test)]
mod tests;
