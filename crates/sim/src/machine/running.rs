//! An access under way: how far it has come, and what it has counted.

use alloc::string::String;

use mm::units::{Bytes, Nanos};
use scenario::access::Ahead;
use scenario::workload::Access;

use crate::fs::fs_writeback::state::Syncing;
use crate::machine::figures::Figures;
use crate::mm::filemap::state::Span;
use crate::mm::readahead::Readahead;

/// An access under way.
#[derive(Clone, Debug)]
pub(crate) struct Running<'a> {
    pub(crate) access: &'a Access,
    pub(crate) target: Area,
    /// Bytes it is to access.
    pub(crate) amount: u64,
    pub(crate) figures: Figures<'a>,
    pub(crate) operation: Option<Underway>,
    /// CPU time of its own that the task has yet to use before the next one, in picoseconds.
    pub(crate) compute_ps: u64,
    /// What an operation of several blocks has done, between two of them.
    pub(crate) begun: Option<Begun>,
    /// The parts of the process's own memory that were touched for the next operation, which needs
    /// each page once, and not all at one time.
    pub(crate) touched: [bool; 3],
    /// Which blocks are still to come.
    pub(crate) operations_to_do: Ahead,
    pub(crate) readahead: Readahead,
    /// Dirty pages that a direct operation writes before it begins.
    pub(crate) writing_out: Option<Syncing>,
    pub(super) path: String,
}

/// The part of an operation that is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) began: Nanos,
    bytes: u64,
    blocks: u32,
}

/// A block of an operation of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Underway {
    /// When its operation began.
    pub(crate) began: Nanos,
    /// Its first byte.
    pub(crate) offset: u64,
    /// Pages, from the target's first: the next one and the end.
    pub(crate) cursor: u64,
    pub(crate) end: u64,
    pub(crate) bytes: u64,
    pub(crate) write: bool,
    /// It has yet to change the time stamp of its file.
    pub(crate) changes_time: bool,
    /// It is direct, and has yet to look at what the page cache has of its range.
    pub(crate) meets_cache: bool,
    /// The page behind the last one that its file had before: a page of a file that grows is not
    /// read.
    pub(crate) beyond: u64,
    /// The page at the cursor is being faulted in: the fault has been counted.
    pub(crate) faulting: bool,
}

/// What an access goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Area {
    File { index: usize, size: Bytes },
    Region { size: Bytes },
}

impl<'a> Running<'a> {
    /// Accounts an operation that ends now, and stands for `scale` of them one after the other.
    pub(crate) fn finish_operation(&mut self, operation: Underway, now: Nanos, scale: u64) {
        self.figures.count(scale, operation.bytes * scale);
        let took = now.saturating_sub(operation.began).0;
        self.figures
            .count_latency(Nanos(if scale == 1 { took } else { took / scale }));
    }

    /// A block is done: the whole operation, if it was the last one of it.
    pub(crate) fn finish_block(&mut self, block: Underway) -> Option<Underway> {
        if self.access.blocks <= 1 {
            return Some(block);
        }
        let begun = self.begun.take();
        let (bytes, blocks) = begun.map_or((0, 0), |begun| (begun.bytes, begun.blocks));
        let (bytes, blocks) = (bytes + block.bytes, blocks + 1);
        if blocks < self.access.blocks {
            let began = block.began;
            self.begun = Some(Begun {
                began,
                bytes,
                blocks,
            });
            return None;
        }
        Some(Underway { bytes, ..block })
    }

    /// Bytes that it has yet to access.
    pub(crate) fn left(&self) -> u64 {
        self.amount.saturating_sub(self.figures.bytes)
    }

    /// Whether it has reached its amount or its time limit.
    pub(crate) fn is_done(&self, now: Nanos) -> bool {
        let late = |limit: Nanos| now.saturating_sub(self.figures.began) >= limit;
        let empty = self.target.size() == Bytes::ZERO;
        empty || self.left() == 0 || self.access.time_limit.is_some_and(late)
    }

    /// When the next operation may begin, at the access's rate.
    pub(crate) fn due(&self) -> Nanos {
        match self.access.rate {
            0 => Nanos::ZERO,
            rate => {
                let after =
                    self.figures.operations.saturating_mul(Nanos::SECOND.0) / u64::from(rate);
                self.figures.began.saturating_add(Nanos(after))
            }
        }
    }
}

impl Underway {
    /// The bytes it goes to.
    pub(crate) fn span(&self) -> Span {
        Span {
            from: self.offset,
            to: self.offset + self.bytes,
        }
    }
}

impl Area {
    pub(crate) fn size(&self) -> Bytes {
        match self {
            Self::File { size, .. } | Self::Region { size } => *size,
        }
    }
}
