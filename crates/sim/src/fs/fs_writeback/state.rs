//! What the flushers keep: dirty inodes in their queues, rounds, and tasks that wait for them.

use crate::mm::filemap::state::File;
use crate::mm::page_io::state::Plug;
use alloc::collections::VecDeque;
use core::ops::Range;
use mm::units::Nanos;

/// A flusher and what it is doing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flusher {
    pub(crate) awake: bool,
    /// Everything is to be written: reclaim finds only dirty pages (`WB_start_all`). It stands
    /// until that is done, so that a second request meanwhile is not heard.
    pub(crate) wants_all: bool,
    /// When it looks again by itself.
    pub(super) timer: Option<Nanos>,
    /// When it last looked for what is too old, at first when the disk came (`jiffies`).
    pub(crate) last_old: u64,
    /// What it looks for next, now that it is awake.
    pub(crate) next: Reason,
    pub(crate) work: Option<Work>,
    pub(crate) plug: Plug,
}

/// Why a flusher writes, in the order in which it looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reason {
    #[default]
    All,
    Old,
    Background,
    Done,
}

/// Something to write (`struct wb_writeback_work`).
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) reason: Reason,
    /// Real pages that are still to be written.
    pub(crate) left: u64,
    /// It is about files that are dirty since then.
    pub(crate) dirtied_before: Option<Nanos>,
    pub(crate) round: Option<Round>,
}

/// The files that are written one after the other before the flusher looks whether to go on.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) began: Nanos,
    pub(crate) wrote: u64,
    pub(crate) slice: Option<Slice>,
}

/// What of a file is written at a time (`ext4_writepages`).
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) inode: usize,
    /// Real pages that may still be written (`nr_to_write`).
    pub(crate) left: u64,
    /// The next page, and where to stop: the file's end, then the page it began with.
    pub(crate) next: u64,
    pub(crate) end: u64,
    pub(crate) began_at: u64,
    pub(crate) wrapped: bool,
    /// Nothing is left but to submit what was found.
    pub(crate) is_over: bool,
}

impl Reason {
    pub(crate) fn next(self) -> Self {
        match self {
            Self::All => Self::Old,
            Self::Old => Self::Background,
            Self::Background | Self::Done => Self::Done,
        }
    }
}

impl Slice {
    /// From where the last one ended to the file's end, and from its beginning to there.
    pub(crate) fn new(inode: usize, chunk: u64, next: u64, pages: u64) -> Self {
        let next = if next < pages { next } else { 0 };
        Self {
            inode,
            left: chunk,
            next,
            end: pages,
            began_at: next,
            wrapped: next == 0,
            is_over: false,
        }
    }
}

impl Flusher {
    /// That of a disk that came at that time (`wb_init`).
    pub(crate) fn since(jiffies: u64) -> Self {
        Self {
            last_old: jiffies,
            ..Self::default()
        }
    }

    pub(crate) fn is_awake(&self) -> bool {
        self.awake
    }
}

/// A file as writeback sees it.
#[derive(Clone, Debug)]
pub(crate) struct Inode {
    pub(crate) file: File,
    /// When it became dirty; that of its first page, however many follow.
    pub(crate) dirtied_when: Nanos,
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
    pub(crate) dirty: VecDeque<usize>,
    pub(crate) io: VecDeque<usize>,
    pub(crate) more_io: VecDeque<usize>,
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

/// How far a task is with writing files out.
#[derive(Clone, Debug)]
pub(crate) struct Syncing {
    /// The files that are still to be done; the first is being done.
    pub(crate) files: VecDeque<usize>,
    /// Of the file only these pages.
    pub(super) range: Option<Range<u64>>,
    pub(super) until: Until,
    pub(crate) stage: Stage,
    pub(crate) plug: Plug,
}

/// What of its files a task that writes them waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Nothing, once their writing has begun (`WB_SYNC_NONE`).
    Begun,
    /// The pages.
    Written,
    /// The journal's commit too.
    Durable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Dirty pages from this one on are written.
    Write(u64),
    /// The last of them are submitted.
    Submit,
    /// Pages from this one on that are being written are waited for.
    Wait(u64),
    /// The journal is to commit this transaction.
    Commit(u64),
    /// Nothing is left.
    Over,
}

impl Syncing {
    pub(crate) fn new(files: impl IntoIterator<Item = usize>) -> Self {
        Self {
            files: files.into_iter().collect(),
            range: None,
            until: Until::Durable,
            stage: Stage::Write(0),
            plug: Plug::default(),
        }
    }

    /// Of the data of these pages of a file alone (`filemap_write_and_wait_range`).
    pub(crate) fn of_range(file: usize, range: Range<u64>) -> Self {
        Self {
            stage: Stage::Write(range.start),
            range: Some(range),
            until: Until::Written,
            ..Self::new([file])
        }
    }

    /// Begins to write these pages of a file, and waits for none (`__filemap_fdatawrite_range`).
    pub(crate) fn beginning(file: usize, range: Range<u64>) -> Self {
        Self {
            until: Until::Begun,
            ..Self::of_range(file, range)
        }
    }
}
