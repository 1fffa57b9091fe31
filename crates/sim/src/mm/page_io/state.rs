//! Requests that are held back, and bios on their way.

use crate::block::disk::Direction;
use crate::block::disk::Disk;
use crate::block::disk::MOST_BYTES;
use crate::block::disk::Request;
use crate::mm::folio::PageId;
use alloc::vec::Vec;
use core::ops::Range;
use mm::units::Nanos;
use mm::units::PageSize;

/// The disks, and what is on its way.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageIo {
    pub(crate) disks: Vec<Disk>,
    pub(crate) plug: Plug,
    pub(crate) chains: Chains,
    /// Writes to swap that are held up, each with its reclaimer, in the order in which it sends
    /// them.
    pub(crate) stuck: Vec<Stuck>,
    /// Requests that a device began to serve since this was last emptied: when they are done.
    pub(crate) dispatched: Vec<(Nanos, usize)>,
}

/// A write to swap beside which enough is under way, or for which there is no tag: its reclaimer,
/// an entity of the scheduler, sleeps until it may go on (`wbt_wait`, `blk_mq_get_tag`).
#[derive(Clone, Debug)]
pub(crate) struct Stuck {
    pub(crate) entity: usize,
    pub(crate) disk: usize,
    pub(crate) request: Request,
    pub(crate) stage: Stage,
}

/// How far a write to swap has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The reclaimer, which writes one page after the other, is stuck with an earlier one.
    Behind,
    /// It merges with none, and may have to wait for others' writes.
    Throttled,
    /// The throttling of writeback has let it pass.
    Begun,
}

/// What a task holds back so that it can grow: requests, with their disks, and pages that will be
/// the next ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plug {
    pub(crate) requests: Vec<(usize, Request)>,
    pub(crate) bio: Option<Bio>,
}

impl PageIo {
    /// The disk that a task has to wait for: with a write to swap in its hand, or for a tag.
    pub(crate) fn is_stuck_at(&self, entity: usize) -> Option<usize> {
        let mut stuck = self.stuck.iter();
        let stuck = stuck.find(|stuck| stuck.entity == entity);
        let mut disks = self.disks.iter();
        let held_up = || disks.position(|disk| disk.holds_up(entity));
        stuck.map(|stuck| stuck.disk).or_else(held_up)
    }

    /// Puts what one task holds back in place of another's.
    pub(crate) fn exchange_plug(&mut self, plug: Plug) -> Plug {
        core::mem::replace(&mut self.plug, plug)
    }

    /// A disk that is writing.
    pub(crate) fn writing_disk(&self) -> Option<usize> {
        self.disks.iter().position(Disk::is_writing)
    }
}

/// Pages one after the other, in their file, on its disk and, as memory is taken to be contiguous,
/// in memory: this many segments as a bio may have hold any of them.
#[derive(Clone, Debug)]
pub(crate) struct Bio {
    pub(crate) disk: usize,
    /// Where on the disk, in bytes.
    pub(crate) offset: u64,
    pub(crate) pages: Range<PageId>,
    /// It is being submitted: it grows no longer, and its pages from this one on are left.
    pub(crate) rest: Option<PageId>,
    /// Where its requests are counted, if it needs more than one.
    pub(crate) chain: Option<usize>,
}

/// The bios that need more than one request, as long as one of these is under way (`bio_chain`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Chains(Vec<Chain>);

#[derive(Clone, Debug)]
pub(crate) struct Chain {
    pages: Range<PageId>,
    /// Requests that have not ended.
    requests: u64,
}

impl Bio {
    /// Whether the page at `offset` goes on where it ends.
    pub(crate) fn grows_by(&self, disk: usize, offset: u64, page: PageId) -> bool {
        let length = self.pages.len() as u64 * PageSize::FOUR_KIB.bytes();
        let follows = self.pages.end == page && self.offset + length == offset;
        follows && self.disk == disk && self.rest.is_none()
    }

    /// The pages of the next request.
    pub(crate) fn piece(&self) -> Range<PageId> {
        let from = self.rest.unwrap_or(self.pages.start);
        let most = (MOST_BYTES / PageSize::FOUR_KIB.bytes()) as PageId;
        from..self.pages.end.min(from + most)
    }

    /// The next request (`bio_split`), without what its end unlocks.
    pub(crate) fn request(&self) -> Request {
        let Range { start, end } = self.piece();
        let page_size = PageSize::FOUR_KIB.bytes();
        let offset = self.offset + u64::from(start - self.pages.start) * page_size;
        Request::new(Direction::Write, offset, u64::from(end - start) * page_size)
    }
}

impl Chains {
    pub(crate) fn begin(&mut self, pages: Range<PageId>) -> usize {
        let length = pages.len() as u64 * PageSize::FOUR_KIB.bytes();
        let requests = length.div_ceil(MOST_BYTES);
        let chain = Chain { pages, requests };
        match self.0.iter().position(|chain| chain.requests == 0) {
            Some(free) => {
                self.0[free] = chain;
                free
            }
            None => {
                self.0.push(chain);
                self.0.len() - 1
            }
        }
    }

    /// A request has ended: the pages of the bio if it was the last one.
    pub(crate) fn end(&mut self, chain: usize) -> Option<Range<PageId>> {
        let chain = &mut self.0[chain];
        chain.requests -= 1;
        (chain.requests == 0).then(|| chain.pages.clone())
    }
}
