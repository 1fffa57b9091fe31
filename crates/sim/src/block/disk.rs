//! A disk behind the block layer: a scheduler that prefers reads, a device with channels.
//!
//! The device takes up to `queue_depth` requests; each waits for a channel and takes latency, seek
//! and transfer time. As many have a tag of the scheduler besides: one has been taken out for the
//! device already, the others wait in the scheduler, where what adjoins them is merged with them.
#![expect(
    clippy::single_range_in_vec_init,
    reason = "a request is made of ranges of pages, often of one"
)]

mod mq_deadline;
mod rq_qos;
mod sched;
mod state;
mod tags;

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use mm::formula::wbt::Limits;
use mm::units::{Bytes, Nanos};
use scenario::machine;

use crate::block::disk::state::{BATCH, Tags, Throttled};
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
    /// Whether it is throttled apart from writes to files (`WBT_RWQ_SWAP`).
    fn is_swap(self) -> bool {
        self == Self::Swap
    }

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
    /// What was taken from the scheduler when the device was full: it goes first
    /// (`hctx->dispatch`).
    parked: Option<Request>,
    reads: VecDeque<Request>,
    writes: VecDeque<Request>,
    tags: Tags,
    /// When what the device took since somebody last looked will be done.
    pub(crate) taken: Vec<Nanos>,
    /// The direction of the present batch, and requests in it so far.
    batch: (Direction, u32),
    /// Where the last request of each direction began that was taken from the scheduler.
    latest: [u64; 2],
    /// Batches of reads since writes were waiting.
    starved: u32,
    writes_serving: u32,
    /// Writes under way, those to files and those to swap.
    writing: [u64; 2],
    throttled: Throttled,
    /// Tasks that need not wait any longer since this was last taken.
    woken: Vec<usize>,
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
            parked: None,
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            tags: Tags::default(),
            taken: Vec::new(),
            batch: (Direction::Read, BATCH),
            latest: [0; 2],
            starved: 0,
            writes_serving: 0,
            writing: [0; 2],
            throttled: Throttled::default(),
            woken: Vec::new(),
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

    /// A bio of a task's, an entity of the scheduler, becomes a request.
    pub(crate) fn begin(&mut self, now: Nanos, entity: usize, request: &Request) {
        self.judge_windows(now);
        match request.direction {
            Direction::Read => self.last_read = Some(now),
            Direction::Write => {
                self.wbt.note_write(now);
                if !self.throttled.take_room(entity) {
                    self.writing[usize::from(request.is_swap)] += 1;
                }
            }
        }
    }

    /// Ends the request that is done at `now`. The device takes what it can from the scheduler
    /// before tasks wake; those that have got room for a write run before those that have waited
    /// for a tag, and so take theirs first.
    pub(crate) fn complete(&mut self, now: Nanos) -> Option<Request> {
        self.judge_windows(now);
        let (_, request) = self.serving.pop_front().filter(|(done, _)| *done <= now)?;
        self.stats.end(&request, now);
        let woken_before = self.woken.len();
        match request.direction {
            Direction::Read => {
                self.last_read = Some(now);
                self.wbt.count_read(now.saturating_sub(request.issued));
            }
            Direction::Write => {
                self.wbt.count_write();
                self.writes_serving -= 1;
                self.end_write(now, request.is_swap);
            }
        }
        self.run(now);
        self.give_tags_to_woken(woken_before);
        self.give_tags(now);
        self.run(now);
        Some(request)
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

    /// Whether a write is under way.
    pub(crate) fn is_writing(&self) -> bool {
        self.writes_serving > 0
    }

    /// Whether a read came or ended within the last tenth of a second (`close_io`).
    fn was_read(&self, now: Nanos) -> bool {
        self.last_read
            .is_some_and(|read| now < read.saturating_add(LATELY))
    }

    /// The tasks that need not wait any longer since this was last asked.
    pub(crate) fn take_woken(&mut self) -> Vec<usize> {
        core::mem::take(&mut self.woken)
    }

    /// A task waits no longer, for room or for a tag, and gives back what it was given.
    pub(crate) fn forget(&mut self, now: Nanos, entity: usize) {
        self.tags.forget(entity);
        for is_swap in self.throttled.forget(entity) {
            self.end_write(now, is_swap);
        }
        self.give_tags(now);
    }

    fn queue(&mut self, direction: Direction) -> &mut VecDeque<Request> {
        match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        }
    }

    fn serve(&mut self, now: Nanos, mut request: Request) {
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
        self.taken.push(done);
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
