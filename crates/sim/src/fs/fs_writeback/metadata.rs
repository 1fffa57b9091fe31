//! The block with a disk's inodes, a page of the disk itself: dirty once its journal has it, and
//! written by the flusher like a file's pages (`__jbd2_journal_refile_buffer`, the block device's
//! inode).

use mm::units::Bytes;

use crate::block::disk::{Direction, Request};
use crate::fs::fs_writeback::state::Inode;
use crate::mm::filemap::state::File;
use crate::mm::folio::Folios;
use crate::mm::folio::PageId;
use crate::mm::objects::state::Objects;
use crate::mm::page_io::state::PageIo;
use crate::mm::page_writeback::state::{BLOCK, Writeback};
use crate::mm::vmscan::state::Progress;
use crate::sched::cpu::Cpu;

impl Inode {
    /// That of a disk: none of its pages is a file's.
    pub(crate) fn of_disk(disk: usize) -> Self {
        Self::new(File {
            base: PageId::MAX,
            pages: 0,
            size: 0,
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

    /// Whether an inode is a disk's own.
    pub(super) fn is_of_disk(&self, inode: usize) -> bool {
        self.inodes[inode].file.base == PageId::MAX
    }

    /// What `sync` writes after the files: the disks themselves (`sync_bdevs`). It is not waited
    /// for.
    pub(crate) fn sync_disks(
        &mut self,
        cpu: &mut Cpu,
        folios: &Folios,
        objects: &Objects,
        io: &mut PageIo,
    ) {
        for disk in 0..self.devices.len() {
            if self.devices[disk].metadata
                && self.write_metadata(cpu, folios, objects, io, disk) != Progress::Done
            {
                io.disks[disk].forget(cpu.now(), cpu.current.entity);
            }
        }
        io.unplug(cpu, folios);
    }

    /// The flusher comes to it. Where a transaction has it again, or `sync` was there while the
    /// flusher waited for the disk, there is nothing to write.
    pub(super) fn write_metadata(
        &mut self,
        cpu: &mut Cpu,
        folios: &Folios,
        objects: &Objects,
        io: &mut PageIo,
        disk: usize,
    ) -> Progress {
        let has_it = self.devices[disk].metadata;
        if !has_it || self.devices[disk].journal.is_running() {
            io.disks[disk].forget(cpu.now(), cpu.current.entity);
        } else {
            let writer = self.flusher_as_writer(cpu, objects, disk);
            let Bytes(behind) = io.disks[disk].size();
            let bio = Request::new(Direction::Write, behind, BLOCK);
            if !io.begin_write(cpu, folios, disk, &bio, writer) {
                return Progress::Congested { disk };
            }
        }
        if !has_it {
            return Progress::Done;
        }
        let device = &mut self.devices[disk];
        device.metadata = false;
        device.reclaimable -= 1;
        device.written += 1;
        self.dirty -= 1;
        cpu.events.nr_written += 1;
        cpu.spent += cpu.costs.writeback_ps;
        Progress::Done
    }

    /// A transaction has been committed: its block is dirty, unless it was, or the next transaction
    /// has taken it in already. The first one has the superblock too, which no other takes. A
    /// miniature leaves it out, as a page of it stands for many.
    pub(crate) fn dirty_inode_block(
        &mut self,
        cpu: &mut Cpu,
        objects: &Objects,
        disk: usize,
        is_first: bool,
    ) {
        let is_ext4 = !objects.buffers.none;
        let inode = self.inode_of_disk(disk);
        let device = &mut self.devices[disk];
        let is_taken = device.journal.is_running() && !is_first;
        if device.metadata || is_taken || !is_ext4 || cpu.scale > 1 {
            return;
        }
        device.metadata = true;
        device.reclaimable += 1;
        device.dirtied += 1;
        self.dirty += 1;
        cpu.events.nr_dirtied += 1;
        self.mark_inode_dirty(cpu, inode);
    }
}
