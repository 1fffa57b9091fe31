//! The blocks of a journal that stay in the page cache of its disk: each commit makes a descriptor
//! and a record there, in use at once (`jbd2_journal_get_descriptor_buffer`, `__getblk`). The block
//! with the inodes goes to the journal from where it is.

use mm::units::Bytes;

use crate::mm::filemap::state::File;
use crate::mm::folio::{PageId, State};
use crate::mm::page_io::state::PageIo;
use crate::mm::page_writeback::state::{BLOCK, Device};
use crate::mm::parts::Memory;
use crate::mm::workingset::History;

impl Memory {
    /// Gives each disk's journal its place in the page cache. A miniature leaves it out, as a page
    /// of it stands for many; so does a machine with control groups.
    pub(crate) fn place_journals(&mut self) {
        if self.objects.buffers.none || self.cpu.scale > 1 || self.groups.any() {
            return;
        }
        for disk in 0..self.writeback.devices.len() {
            let (offset, Bytes(room)) = self.io.room_of_journal(disk);
            let pages = room / BLOCK;
            let Some(base) = self.take_range(pages) else {
                return;
            };
            self.writeback.devices[disk].journal_blocks = Some(File {
                base,
                pages,
                size: pages * 4096,
                disk,
                offset,
            });
        }
    }

    /// Pages of disks that are in the page cache because of their journals (`Buffers`).
    pub(crate) fn journal_blocks(&self) -> u64 {
        let devices = self.writeback.devices.iter();
        devices.map(|device| device.cached_blocks(self)).sum()
    }

    /// The block that a journal comes to next is made, or found. It does not wait for memory.
    pub(super) fn make_journal_block(&mut self, disk: usize) {
        let device = &self.writeback.devices[disk];
        let Some(file) = &device.journal_blocks else {
            return;
        };
        let index = device.journal.written() / BLOCK % file.pages;
        let page = file.base + index as PageId;
        // What this takes is part of what a commit takes.
        let spent = self.cpu.spent;
        if self.folios.is_resident(page) || self.insert_journal_block(page) {
            self.lruvecs.mark_accessed(
                &mut self.cpu,
                &mut self.zones,
                &mut self.folios,
                &mut self.groups,
                page,
            );
            self.lruvecs.mark_accessed(
                &mut self.cpu,
                &mut self.zones,
                &mut self.folios,
                &mut self.groups,
                page,
            );
        }
        self.cpu.spent = spent;
    }

    fn insert_journal_block(&mut self, page: PageId) -> bool {
        let history = self.folios.history(page);
        self.lruvecs
            .hold_shadow_node(&self.groups, &self.objects, page);
        let has_come =
            self.zones
                .allocate_at_once(&mut self.cpu, &mut self.folios, page, State::Reading);
        self.lruvecs
            .let_go_shadow_node(&self.folios, &self.groups, &self.objects, page, has_come);
        if !has_come {
            return false;
        }
        if history == History::None
            && self
                .objects
                .tree_insert(
                    &mut self.cpu,
                    &mut self.zones,
                    &self.folios,
                    &mut self.groups,
                    page,
                )
                .is_err()
        {
            self.zones.free(
                &mut self.cpu,
                &self.folios,
                &mut self.groups,
                &mut self.objects,
                page,
            );
            self.folios.forget(page);
            return false;
        }
        self.admit(page, history);
        self.lruvecs
            .add_new(&self.cpu, &mut self.zones, &mut self.folios, page);
        self.folios.unlock(page);
        self.objects
            .create_buffers(&mut self.cpu, &mut self.zones, page);
        true
    }

    /// Drops those blocks (`vm.drop_caches`).
    pub(crate) fn drop_journal_blocks(&mut self) {
        for disk in 0..self.writeback.devices.len() {
            if let Some(file) = self.writeback.devices[disk].journal_blocks.clone() {
                file.drop_pages(self);
            }
        }
    }
}

impl PageIo {
    /// Where on a disk its journal lies, and how large it is.
    pub(super) fn room_of_journal(&self, disk: usize) -> (u64, Bytes) {
        let Bytes(size) = self.disks[disk].size();
        let room = (size >> 26).clamp(4, 64) << 20;
        (size.saturating_sub(room), Bytes(room))
    }
}

impl Device {
    fn cached_blocks(&self, memory: &Memory) -> u64 {
        let Some(file) = &self.journal_blocks else {
            return 0;
        };
        let written = (self.journal.written() / BLOCK).min(file.pages);
        let pages = file.base..file.base + written as PageId;
        let cached = pages.filter(|&page| memory.folios.is_resident(page));
        cached.count() as u64
    }
}
