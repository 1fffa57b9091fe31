//! The journal of a disk's file system (`fs/jbd2`): a file that is written to changes its time
//! stamp, and that becomes durable with the next commit.

use mm::units::Bytes;

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
    /// The last transaction that was begun is still taking in updates.
    is_running: bool,
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
    /// A file of a disk was written to: its time stamp changes, which begins a transaction unless
    /// one is running.
    pub(crate) fn update_time(&mut self, disk: usize) {
        let at = self.clock.expiry(self.began, COMMIT_AGE);
        let journal = &mut self.writeback.devices[disk].journal;
        if core::mem::replace(&mut journal.is_running, true) {
            return;
        }
        journal.begun += 1;
        let transaction = journal.begun;
        let order = Order::CommitAt {
            disk,
            transaction,
            at,
        };
        self.writeback.orders.push(order);
    }

    /// A transaction is old: it commits, unless it has begun to already.
    pub(crate) fn commit_old(&mut self, disk: usize, transaction: u64) {
        if self.writeback.devices[disk].journal.begun == transaction {
            self.commit(disk);
        }
    }

    /// Begins to commit the running transaction, or notes that it is wanted next. What that takes
    /// the journal's thread is spent by who asks for it.
    pub(crate) fn commit(&mut self, disk: usize) {
        let journal = &mut self.writeback.devices[disk].journal;
        if !journal.is_running {
            return;
        }
        if journal.stage != Stage::Idle {
            journal.wanted = true;
            return;
        }
        (journal.is_running, journal.stage) = (false, Stage::Blocks);
        self.spent += self.costs.commit_ps;
        self.write_journal(disk, BLOCKS);
    }

    /// A write of the journal is done: the record follows the blocks.
    pub(crate) fn journal_written(&mut self, disk: usize) {
        let journal = &mut self.writeback.devices[disk].journal;
        match journal.stage {
            Stage::Blocks => {
                journal.stage = Stage::Record;
                self.write_journal(disk, RECORD);
            }
            _ => {
                journal.stage = Stage::Idle;
                journal.committed = journal.begun - u64::from(journal.is_running);
                if core::mem::take(&mut journal.wanted) {
                    self.commit(disk);
                }
            }
        }
    }

    fn write_journal(&mut self, disk: usize, length: u64) {
        let Bytes(size) = self.io.disks[disk].size();
        let room = (size >> 26).clamp(4, 64) << 20;
        let journal = &mut self.writeback.devices[disk].journal;
        let offset = size.saturating_sub(room) + journal.position % room;
        journal.position += length;
        let mut request = Request::new(Direction::Write, offset, length);
        request.is_journal = true;
        self.submit(disk, request);
    }
}
