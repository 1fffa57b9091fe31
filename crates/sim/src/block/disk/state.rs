//! What the scheduler of a disk knows of the tasks that use it.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::block::disk::{Request, Writer};

/// Requests of one direction in a row (`fifo_batch`).
pub(super) const BATCH: u32 = 16;

/// Who waits for room.
#[derive(Clone, Debug, Default)]
pub(super) struct Throttled {
    /// Tasks that write to files, and those that write to swap.
    pub(super) lines: [VecDeque<(usize, Writer)>; 2],
    /// Tasks that have room and have not begun their write, and whether it goes to swap: it counts
    /// as under way.
    pub(super) given: Vec<(usize, bool)>,
}

/// Who has tags that are not seen in the queues, and who waits for one.
#[derive(Clone, Debug, Default)]
pub(super) struct Tags {
    /// Those of requests that tasks hold back.
    pub(super) plugged: u64,
    /// Tasks that have been given one and have not gone on since.
    pub(super) given: Vec<usize>,
    pub(super) line: VecDeque<Sleeper>,
}

/// A task, as an entity of the scheduler, that sleeps in `blk_mq_get_tag`.
#[derive(Clone, Debug)]
pub(super) struct Sleeper {
    pub(super) entity: usize,
    /// What it sends one after the other, each with a tag; none where it goes on itself when it has
    /// one.
    pub(super) bios: VecDeque<Request>,
}
