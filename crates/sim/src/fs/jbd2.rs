//! The journal of a disk's file system (`fs/jbd2`): a file that is written to changes its time
//! stamp, and that becomes durable with the next commit. While the block with the inodes is on its
//! way to the journal, no time stamp changes.

pub(crate) mod blocks;
pub(crate) mod state;

use mm::units::{Bytes, Nanos};

use crate::block::disk::{Direction, Request};
use crate::fs::jbd2::state::Stage;
use crate::mm::filemap::state::{File, Progress};
use crate::mm::folio::Folios;
use crate::mm::objects::state::Objects;
use crate::mm::page_io::state::PageIo;
use crate::mm::page_writeback::state::Writeback;
use crate::mm::page_writeback::state::{BLOCK, Order};
use crate::mm::parts::Memory;
use crate::sched::core::{Flow, Scheduler, Sleep};
use crate::sched::cpu::Cpu;
use crate::sched::events::Events;
use crate::sched::timer::HZ;
use crate::sched::wait::WaitsFor;

/// Ticks after which a transaction commits by itself (`JBD2_DEFAULT_MAX_COMMIT_AGE`).
const COMMIT_AGE: u64 = 5 * HZ;

/// Tenths of what a commit takes the journal's thread that come before the record, and after it: by
/// a trace of 6.12 it runs for 67, 30 and 10 us, requests included.
const RECORDING: u64 = 2;
const ENDING: u64 = 1;

/// What a commit writes first: its descriptor and the block of inodes.
const BLOCKS: u64 = 2 * BLOCK;

impl Writeback {
    /// A file is written to: its time stamp changes, which begins a transaction unless one is
    /// running, and commits one that is old. It waits where the block with the inodes is being
    /// written to the journal (`do_get_write_access`), while the new transaction grows old.
    pub(crate) fn update_time(&mut self, cpu: &Cpu, objects: &Objects, file: &File) -> Progress {
        let (disk, tick) = (file.disk, cpu.ticks());
        let inode = self.inode_of(file.base);
        if self.inodes[inode].tells(tick) {
            return Progress::Complete;
        }
        if !self.devices[disk].journal.is_running {
            self.begin_transaction(cpu, disk, tick);
        }
        if self.is_shadowed(objects, disk) {
            return Progress::Shadowed { disk };
        }
        self.inodes[inode].change(tick);
        if self.devices[disk].journal.is_old(tick) {
            self.commit(disk);
        }
        Progress::Complete
    }

    fn begin_transaction(&mut self, cpu: &Cpu, disk: usize, tick: u64) {
        let at = cpu.clock.expiry_by_seconds(cpu.began, COMMIT_AGE);
        let journal = &mut self.devices[disk].journal;
        journal.begun += 1;
        (journal.is_running, journal.expires) = (true, tick + COMMIT_AGE);
        let transaction = journal.begun;
        let order = Order::CommitAt {
            disk,
            transaction,
            at,
        };
        self.orders.push(order);
    }

    /// Whether the blocks of a transaction are on their way to a disk's journal (`BH_Shadow`); XFS
    /// writes a copy of what changed.
    pub(crate) fn is_shadowed(&self, objects: &Objects, disk: usize) -> bool {
        let is_ext4 = !objects.buffers.none;
        is_ext4 && self.devices[disk].journal.stage == Stage::Blocks
    }

    /// A transaction is old: it commits, unless it has begun to already.
    pub(crate) fn commit_old(&mut self, disk: usize, transaction: u64) {
        if self.devices[disk].journal.begun == transaction {
            self.commit(disk);
        }
    }

    /// Asks the thread of a journal to commit the running transaction, at once or after the one
    /// that it commits (`jbd2_log_start_commit`).
    pub(crate) fn commit(&mut self, disk: usize) {
        let journal = &mut self.devices[disk].journal;
        journal.wanted |= journal.is_running;
        if journal.wanted && journal.stage == Stage::Idle {
            self.orders.push(Order::WakeJournal { disk });
        }
    }

    fn write_journal(
        &mut self,
        cpu: &mut Cpu,
        folios: &Folios,
        io: &mut PageIo,
        disk: usize,
        length: u64,
    ) {
        let (begin, Bytes(room)) = io.room_of_journal(disk);
        let journal = &mut self.devices[disk].journal;
        let offset = begin + journal.position % room;
        journal.position += length;
        let mut request = Request::new(Direction::Write, offset, length);
        request.is_journal = true;
        io.submit(cpu, folios, disk, request);
    }
}

impl Memory {
    /// The thread of a journal goes on (`jbd2_journal_commit_transaction`), as what it wrote is
    /// there; what it waits for then, if not for the CPU. Before the first transaction the
    /// superblock of the journal is written, and until that is there the transaction goes on taking
    /// in updates; it holds the superblock of the file system too, which tells where it was mounted
    /// (`ext4_sample_last_mounted`).
    pub(crate) fn journal_step(&mut self, disk: usize) -> Option<Sleep> {
        let tick = self.cpu.ticks();
        let journal = &mut self.writeback.devices[disk].journal;
        match journal.stage {
            Stage::Idle if !journal.wanted && !journal.is_old(tick) => return Some(Sleep::Idle),
            Stage::Idle if !journal.is_in_use => {
                journal.stage = Stage::Superblock;
                self.writeback.write_journal(
                    &mut self.cpu,
                    &self.folios,
                    &mut self.io,
                    disk,
                    BLOCK,
                );
            }
            Stage::Idle => self.write_blocks(disk, BLOCKS),
            Stage::Superblock => {
                journal.is_in_use = true;
                self.write_blocks(disk, BLOCKS + BLOCK);
            }
            Stage::Blocks => {
                journal.stage = Stage::Record;
                self.cpu.spent += self.cpu.costs.commit_ps * RECORDING / 10;
                self.make_journal_block(disk);
                self.writeback.write_journal(
                    &mut self.cpu,
                    &self.folios,
                    &mut self.io,
                    disk,
                    BLOCK,
                );
            }
            Stage::Record => {
                journal.stage = Stage::Idle;
                let is_first = journal.committed == 0;
                journal.committed = journal.begun - u64::from(journal.is_running);
                self.cpu.spent += self.cpu.costs.commit_ps * ENDING / 10;
                self.writeback
                    .dirty_inode_block(&mut self.cpu, &self.objects, disk, is_first);
                return None;
            }
        }
        Some(Sleep::Io)
    }

    fn write_blocks(&mut self, disk: usize, length: u64) {
        let journal = &mut self.writeback.devices[disk].journal;
        (journal.is_running, journal.wanted, journal.stage) = (false, false, Stage::Blocks);
        self.cpu.spent += self.cpu.costs.commit_ps * (10 - RECORDING - ENDING) / 10;
        self.make_journal_block(disk);
        self.writeback
            .write_journal(&mut self.cpu, &self.folios, &mut self.io, disk, length);
    }
}

/// Lets a journal's thread go on until it has to wait: for the disk, or for more to commit. Those
/// that waited for it wake.
pub(crate) fn kjournald2(
    memory: &mut Memory,
    scheduler: &mut Scheduler,
    events: &mut Events,
    disk: usize,
    from: Nanos,
) -> (Nanos, Flow) {
    (memory.cpu.began, memory.cpu.unbroken) = (from, 0);
    let sleep = memory.journal_step(disk);
    let now = from + Nanos(memory.cpu.take_spent() / 1000 + 1);
    memory.io.expect_disks(events);
    let (writeback, objects) = (&memory.writeback, &memory.objects);
    let woken = scheduler.queue.take(|waits, _| match waits {
        WaitsFor::Commit { disk, transaction } => writeback.has_committed(disk, transaction),
        WaitsFor::Shadow { disk } => !writeback.is_shadowed(objects, disk),
        _ => false,
    });
    scheduler.wake_up(woken, now);
    (now, sleep.map_or(Flow::Continue, Flow::Blocked))
}
