//! `fsync` and `sync`: a task writes the dirty pages of files itself and waits until they, and
//! their time stamps, are durable.

use alloc::collections::VecDeque;

use crate::block::disk::Writer;
use crate::mm::filemap::Progress;
use crate::mm::folio::Folios;
use crate::mm::page_alloc::NoPage;
use crate::mm::page_io::PageIo;
use crate::mm::page_io::Plug;
use crate::mm::page_writeback::Writeback;
use crate::mm::parts::Memory;
use crate::sched::cpu::Cpu;

/// Pages that are written between two looks at the clock.
const BATCH: u64 = 32;

/// How far a task is with making files durable.
#[derive(Clone, Debug)]
pub(crate) struct Syncing {
    /// The files that are still to be done; the first is being done.
    files: VecDeque<usize>,
    stage: Stage,
    plug: Plug,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Dirty pages from this one on are written.
    Write(u64),
    /// The last of them are submitted.
    Submit,
    /// Pages from this one on that are being written are waited for.
    Wait(u64),
    /// The journal is to commit this transaction.
    Commit(u64),
}

impl Syncing {
    pub(crate) fn new(files: impl IntoIterator<Item = usize>) -> Self {
        Self {
            files: files.into_iter().collect(),
            stage: Stage::Write(0),
            plug: Plug::default(),
        }
    }
}

impl Memory {
    /// Goes on making files durable (`ext4_sync_file`).
    pub(crate) fn sync_step(&mut self, syncing: &mut Syncing) -> Progress {
        let plug = self.io.exchange_plug(core::mem::take(&mut syncing.plug));
        let progress = self.sync_files(syncing);
        if progress != Progress::NoPage(NoPage::Again) {
            self.io.unplug(&mut self.cpu, &self.folios);
        }
        syncing.plug = self.io.exchange_plug(plug);
        progress
    }

    fn sync_files(&mut self, syncing: &mut Syncing) -> Progress {
        while let Some(&inode) = syncing.files.front() {
            let progress = match syncing.stage {
                Stage::Write(next) => self.write_for_sync(inode, next, &mut syncing.stage),
                Stage::Submit => self.writeback.submit_for_sync(
                    &mut self.cpu,
                    &self.folios,
                    &mut self.io,
                    inode,
                    &mut syncing.stage,
                ),
                Stage::Wait(next) => {
                    self.writeback
                        .wait_for_written(inode, next, &mut syncing.stage)
                }
                Stage::Commit(transaction) => self.writeback.wait_for_commit(inode, transaction),
            };
            if progress != Progress::Complete {
                return progress;
            }
            if matches!(syncing.stage, Stage::Commit(_)) {
                syncing.files.pop_front();
                syncing.stage = Stage::Write(0);
            }
        }
        Progress::Complete
    }

    /// Writes the next pages; complete when it goes on with the next stage, or the same.
    fn write_for_sync(&mut self, inode: usize, next: u64, stage: &mut Stage) -> Progress {
        let file = &self.writeback.inodes[inode].file;
        let (base, end, disk) = (file.base, file.base + file.pages as u32, file.disk);
        let mut next = next;
        for _ in 0..BATCH {
            let Some(page) = self.writeback.dirty_pages.next(base + next as u32, end) else {
                *stage = Stage::Submit;
                return Progress::Complete;
            };
            *stage = Stage::Write(u64::from(page - base));
            if self.writeback.is_writing(page) {
                return Progress::Waits(page);
            }
            let offset = self.writeback.offset_of(inode, page);
            if !self.io.bio_takes(disk, offset, page)
                && !self
                    .io
                    .submit_bio(&mut self.cpu, &self.folios, Writer::Task)
            {
                return Progress::NoPage(NoPage::Congested { disk });
            }
            if next == 0 {
                self.writeback.begin_estimate(&self.cpu, disk);
            }
            self.writeback.start_writeback(
                &mut self.cpu,
                &mut self.folios,
                &mut self.rmap,
                page,
                disk,
            );
            self.cpu.spent += self.cpu.costs.fsync_ps;
            self.io.add_to_bio(disk, offset, page);
            next = u64::from(page - base) + 1;
            *stage = Stage::Write(next);
        }
        match self.cpu.spent >= self.cpu.budget {
            true => Progress::NoPage(NoPage::Again),
            false => Progress::Complete,
        }
    }
}

impl Writeback {
    fn submit_for_sync(
        &mut self,
        cpu: &mut Cpu,
        folios: &Folios,
        io: &mut PageIo,
        inode: usize,
        stage: &mut Stage,
    ) -> Progress {
        let disk = self.inodes[inode].file.disk;
        if !io.submit_bio(cpu, folios, Writer::Task) {
            return Progress::NoPage(NoPage::Congested { disk });
        }
        io.unplug(cpu, folios);
        self.requeue(cpu, disk, inode, false);
        *stage = Stage::Wait(0);
        Progress::Complete
    }

    fn wait_for_written(&mut self, inode: usize, next: u64, stage: &mut Stage) -> Progress {
        let file = &self.inodes[inode].file;
        let (base, end, disk) = (file.base, file.base + file.pages as u32, file.disk);
        let writing = &self.pages_being_written;
        if let Some(page) = writing.next(base + next as u32, end) {
            *stage = Stage::Wait(u64::from(page - base));
            return Progress::Waits(page);
        }
        let transaction = self.devices[disk].journal.latest();
        self.commit(disk);
        *stage = Stage::Commit(transaction);
        self.wait_for_commit(inode, transaction)
    }

    /// Whether the journal of a disk has committed a transaction.
    pub(crate) fn has_committed(&self, disk: usize, transaction: u64) -> bool {
        self.devices[disk].journal.has_committed(transaction)
    }

    fn wait_for_commit(&self, inode: usize, transaction: u64) -> Progress {
        let disk = self.inodes[inode].file.disk;
        match self.has_committed(disk, transaction) {
            true => Progress::Complete,
            false => Progress::Commits { disk, transaction },
        }
    }
}
