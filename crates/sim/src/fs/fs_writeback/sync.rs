//! `fsync` and `sync`: a task writes the dirty pages of files itself and waits until they, and
//! their time stamps, are durable. With `POSIX_FADV_DONTNEED` it does not wait.

use core::ops::Range;

use crate::block::disk::Writer;
use crate::fs::fs_writeback::state::{Stage, Syncing, Until};
use crate::mm::filemap::state::{File, Progress};
use crate::mm::folio::{Folios, PageId};
use crate::mm::page_alloc::state::NoPage;
use crate::mm::page_io::state::PageIo;
use crate::mm::page_writeback::state::Writeback;
use crate::mm::rmap::state::Rmap;
use crate::sched::cpu::Cpu;

/// Pages that are written between two looks at the clock.
const BATCH: u64 = 32;

/// The pages of a file that are to be written: its first, and the one behind the last.
struct Place {
    base: PageId,
    end: PageId,
    disk: usize,
}

impl Writeback {
    /// Goes on making files durable (`ext4_sync_file`).
    pub(crate) fn sync_step(
        &mut self,
        cpu: &mut Cpu,
        folios: &mut Folios,
        rmap: &mut Rmap,
        io: &mut PageIo,
        syncing: &mut Syncing,
    ) -> Progress {
        let plug = io.exchange_plug(core::mem::take(&mut syncing.plug));
        let progress = self.sync_files(cpu, folios, rmap, io, syncing);
        if progress != Progress::NoPage(NoPage::Again) {
            io.unplug(cpu, folios);
        }
        syncing.plug = io.exchange_plug(plug);
        progress
    }

    fn sync_files(
        &mut self,
        cpu: &mut Cpu,
        folios: &mut Folios,
        rmap: &mut Rmap,
        io: &mut PageIo,
        syncing: &mut Syncing,
    ) -> Progress {
        while let Some(&inode) = syncing.files.front() {
            let progress = match syncing.stage {
                Stage::Write(_) => self.write_for_sync(cpu, folios, rmap, io, inode, syncing),
                Stage::Submit => self.submit_for_sync(cpu, folios, io, inode, syncing),
                Stage::Wait(next) => self.wait_for_written(inode, next, syncing),
                Stage::Commit(transaction) => self.wait_for_commit(inode, transaction),
                Stage::Over => Progress::Complete,
            };
            if progress != Progress::Complete {
                return progress;
            }
            if matches!(syncing.stage, Stage::Commit(_) | Stage::Over) {
                syncing.files.pop_front();
                syncing.stage = Stage::Write(0);
            }
        }
        Progress::Complete
    }

    /// Writes the next pages; complete when it goes on with the next stage, or the same.
    fn write_for_sync(
        &mut self,
        cpu: &mut Cpu,
        folios: &mut Folios,
        rmap: &mut Rmap,
        io: &mut PageIo,
        inode: usize,
        syncing: &mut Syncing,
    ) -> Progress {
        let Stage::Write(mut next) = syncing.stage else {
            return Progress::Complete;
        };
        let Place { base, end, disk } = self.place(inode, syncing);
        let (until, writer) = (syncing.until, self.task_as_writer(cpu, disk, syncing));
        let stage = &mut syncing.stage;
        for _ in 0..BATCH {
            let Some(page) = self.dirty_pages.next(base + next as u32, end) else {
                *stage = Stage::Submit;
                return Progress::Complete;
            };
            *stage = Stage::Write(u64::from(page - base));
            if self.is_writing(page) {
                if until != Until::Begun {
                    return Progress::Waits(page);
                }
                next = u64::from(page - base) + 1;
                *stage = Stage::Write(next);
                continue;
            }
            let offset = self.offset_of(inode, page);
            if !io.bio_takes(disk, offset, page) && !io.submit_bio(cpu, folios, writer) {
                return Progress::NoPage(NoPage::Congested {
                    disk,
                    refaults: false,
                });
            }
            if next == 0 {
                self.begin_estimate(cpu, disk);
            }
            self.start_writeback(cpu, folios, rmap, page, disk);
            cpu.spent += cpu.costs.fsync_ps;
            io.add_to_bio(disk, offset, page);
            next = u64::from(page - base) + 1;
            *stage = Stage::Write(next);
        }
        match cpu.spent >= cpu.budget {
            true => Progress::NoPage(NoPage::Again),
            false => Progress::Complete,
        }
    }

    fn submit_for_sync(
        &mut self,
        cpu: &mut Cpu,
        folios: &Folios,
        io: &mut PageIo,
        inode: usize,
        syncing: &mut Syncing,
    ) -> Progress {
        let disk = self.inodes[inode].file.disk;
        if !io.submit_bio(cpu, folios, self.task_as_writer(cpu, disk, syncing)) {
            return Progress::NoPage(NoPage::Congested {
                disk,
                refaults: false,
            });
        }
        io.unplug(cpu, folios);
        if syncing.until == Until::Begun {
            syncing.stage = Stage::Over;
            return Progress::Complete;
        }
        self.requeue(cpu, disk, inode, false);
        let first = syncing.range.as_ref().map_or(0, |range| range.start);
        syncing.stage = Stage::Wait(first);
        Progress::Complete
    }

    fn wait_for_written(&mut self, inode: usize, next: u64, syncing: &mut Syncing) -> Progress {
        let Place { base, end, disk } = self.place(inode, syncing);
        let writing = &self.pages_being_written;
        if let Some(page) = writing.next(base + next as u32, end) {
            syncing.stage = Stage::Wait(u64::from(page - base));
            return Progress::Waits(page);
        }
        if syncing.until == Until::Written {
            syncing.stage = Stage::Over;
            return Progress::Complete;
        }
        let transaction = self.devices[disk].journal.latest();
        self.commit(disk);
        syncing.stage = Stage::Commit(transaction);
        self.wait_for_commit(inode, transaction)
    }

    /// How much a task that writes files may have under way.
    fn task_as_writer(&self, cpu: &Cpu, disk: usize, syncing: &Syncing) -> Writer {
        match syncing.until {
            Until::Begun => Writer::Flusher {
                waited_for: self.devices[disk].throttle.was_waited_for(cpu.now()),
                marked: false,
            },
            Until::Written | Until::Durable => Writer::Sync,
        }
    }

    /// Where the pages lie that are written of a file.
    fn place(&self, inode: usize, syncing: &Syncing) -> Place {
        let file = &self.inodes[inode].file;
        let end = syncing.range.as_ref().map_or(file.pages, |range| range.end);
        Place {
            base: file.base,
            end: file.base + end.min(file.pages) as u32,
            disk: file.disk,
        }
    }

    /// Whether pages of a file are dirty, or being written.
    pub(crate) fn has_unwritten(&self, file: &File, range: &Range<u64>) -> bool {
        let (first, end) = (file.base + range.start as u32, file.base + range.end as u32);
        let tags = [&self.dirty_pages, &self.pages_being_written];
        tags.into_iter()
            .any(|pages| pages.next(first, end).is_some())
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
