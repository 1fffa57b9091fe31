//! The block with a disk's inodes, a page of the disk itself: dirty once its journal has it, and
//! written by the flusher like a file's pages (`__jbd2_journal_refile_buffer`, the block device's
//! inode).

use mm::units::Bytes;

use crate::block::disk::{Direction, Request};
use crate::fs::fs_writeback::inodes::Inode;
use crate::mm::filemap::File;
use crate::mm::folio::PageId;
use crate::mm::page_writeback::{BLOCK, Writeback};
use crate::mm::parts::Memory;
use crate::mm::vmscan::Progress;

impl Inode {
    /// That of a disk: none of its pages is a file's.
    pub(crate) fn of_disk(disk: usize) -> Self {
        Self::new(File {
            base: PageId::MAX,
            pages: 0,
            disk,
            offset: 0,
        })
    }
}

impl Writeback {
    /// That of a disk, behind those of all files.
    fn inode_of_disk(&self, disk: usize) -> usize {
        self.inodes.len() - self.devices.len() + disk
    }

    /// Pages of disks that are dirty.
    pub(crate) fn dirty_metadata(&self) -> u64 {
        let dirty = self.devices.iter().filter(|device| device.metadata);
        dirty.count() as u64
    }
}

impl Memory {
    /// Whether an inode is a disk's own.
    pub(super) fn is_of_disk(&self, inode: usize) -> bool {
        self.writeback.inodes[inode].file.base == PageId::MAX
    }

    /// A transaction has been committed: its block is dirty, unless it was, or the next transaction
    /// has taken it in already. The first one has the superblock too, which no other takes. A
    /// miniature leaves it out, as a page of it stands for many.
    pub(crate) fn dirty_metadata(&mut self, disk: usize, is_first: bool) {
        let is_ext4 = !self.objects.buffers.none;
        let inode = self.writeback.inode_of_disk(disk);
        let device = &mut self.writeback.devices[disk];
        let is_taken = device.journal.is_running() && !is_first;
        if device.metadata || is_taken || !is_ext4 || self.cpu.scale > 1 {
            return;
        }
        device.metadata = true;
        device.reclaimable += 1;
        device.dirtied += 1;
        self.writeback.dirty += 1;
        self.cpu.events.nr_dirtied += 1;
        self.mark_inode_dirty(inode);
    }

    /// What `sync` writes after the files: the disks themselves (`sync_bdevs`). It is not waited
    /// for.
    pub(crate) fn sync_disks(&mut self) {
        for disk in 0..self.writeback.devices.len() {
            if self.writeback.devices[disk].metadata {
                self.write_metadata(disk);
            }
        }
        self.unplug();
    }

    /// The flusher comes to it. Where a transaction has it again, or `sync` was there while the
    /// flusher waited for the disk, there is nothing to write.
    pub(super) fn write_metadata(&mut self, disk: usize) -> Progress {
        if !self.writeback.devices[disk].metadata {
            return Progress::Done;
        }
        if !self.writeback.devices[disk].journal.is_running() {
            let writer = self.flusher_as_writer(disk);
            if self.io.is_congested(self.now(), disk, writer) {
                return Progress::Congested { disk };
            }
            let Bytes(behind) = self.io.disks[disk].size();
            self.plug(disk, Request::new(Direction::Write, behind, BLOCK));
        }
        let device = &mut self.writeback.devices[disk];
        device.metadata = false;
        device.reclaimable -= 1;
        device.written += 1;
        self.writeback.dirty -= 1;
        self.cpu.events.nr_written += 1;
        self.cpu.spent += self.cpu.costs.writeback_ps;
        Progress::Done
    }
}
