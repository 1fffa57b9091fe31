//! The journal of a disk's file system (`fs/jbd2`): a file that is written to changes its time
//! stamp, and that becomes durable with the next commit.

use mm::units::{Bytes, Nanos};

use crate::disk::{Direction, Request};
use crate::memory::Memory;
use crate::timer::HZ;
use crate::writeback::Order;

/// Ticks after which a transaction commits by itself (`JBD2_DEFAULT_MAX_COMMIT_AGE`).
const COMMIT_AGE: u64 = 5 * HZ;

/// What a commit writes first: its descriptor and the block of inodes; and then its record.
const BLOCKS: u64 = 2 * 4096;
const RECORD: u64 = 4096;

/// How far the journal of a disk is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Journal {
    /// Transactions begun and committed.
    begun: u64,
    committed: u64,
    /// The running transaction's last update; time stamps are those of ticks.
    updated: Option<Nanos>,
    stage: Stage,
    /// The transaction after the one that commits is waited for.
    wanted: bool,
    /// Bytes written to it so far.
    position: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Idle,
    Blocks,
    Record,
}

impl Journal {
    /// Whether a transaction has been committed.
    pub(crate) fn has_committed(&self, transaction: u64) -> bool {
        self.committed >= transaction
    }

    /// The transaction that holds all updates so far.
    pub(super) fn latest(&self) -> u64 {
        self.begun
    }
}

impl Memory {
    /// A file of a disk was written to: its time stamp changes once a tick.
    pub(crate) fn update_time(&mut self, disk: usize) {
        let (now, at) = (self.now(), self.began);
        let clock = self.writeback.clock;
        let journal = &mut self.writeback.devices[disk].journal;
        let is_new = journal.updated.is_none();
        journal.updated = Some(now);
        if is_new {
            journal.begun += 1;
            let at = clock.expiry(at, COMMIT_AGE);
            self.writeback.orders.push(Order::CommitAt { disk, at });
        }
    }

    /// Begins to commit the running transaction, or notes that it is wanted next.
    pub(crate) fn commit(&mut self, disk: usize) {
        let journal = &mut self.writeback.devices[disk].journal;
        if journal.updated.is_none() {
            return;
        }
        if journal.stage != Stage::Idle {
            journal.wanted = true;
            return;
        }
        (journal.updated, journal.stage) = (None, Stage::Blocks);
        self.write_journal(disk, BLOCKS);
    }

    /// A write of the journal is done: the record follows the blocks. True once a transaction is
    /// durable.
    pub(crate) fn journal_written(&mut self, disk: usize) -> bool {
        let journal = &mut self.writeback.devices[disk].journal;
        match journal.stage {
            Stage::Blocks => {
                journal.stage = Stage::Record;
                self.write_journal(disk, RECORD);
                false
            }
            _ => {
                journal.stage = Stage::Idle;
                journal.committed = journal.begun - u64::from(journal.updated.is_some());
                if core::mem::take(&mut journal.wanted) {
                    self.commit(disk);
                }
                true
            }
        }
    }

    fn write_journal(&mut self, disk: usize, length: u64) {
        let Bytes(size) = self.io.disks[disk].size();
        let room = (size >> 26).clamp(4, 64) << 20;
        let journal = &mut self.writeback.devices[disk].journal;
        let offset = size.saturating_sub(room) + journal.position % room;
        journal.position += length;
        let request = Request {
            direction: Direction::Write,
            offset,
            length,
            pages: alloc::vec::Vec::new(),
            waiter: None,
            is_journal: true,
            submitted: Nanos::ZERO,
            issued: Nanos::ZERO,
        };
        self.submit(disk, request);
    }
}
