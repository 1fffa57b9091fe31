//! Pages of files that differ from their disks: which are dirty, which are being written, and for
//! which device that counts (`mm/page-writeback.c`).

pub(crate) mod balance_dirty_pages;
pub(crate) mod bdi;
pub(crate) mod groups_state;
pub(crate) mod state;

use crate::mm::folio::{Flag, Folios, PageId};
use crate::mm::lru::Kind;
use crate::mm::lruvec::state::Lruvecs;
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::page_writeback::state::Writeback;
use crate::mm::rmap::state::Rmap;
use crate::mm::swapfile::Swap;
use crate::sched::cpu::Cpu;

mod groups;
mod tags;

pub(crate) use crate::mm::page_writeback::bdi::Bounded;
pub(crate) use crate::mm::page_writeback::state::{Limits, Throttled};
pub(crate) use tags::Tags;

impl Writeback {
    /// Whether a page that is not locked cannot be evicted before it is written, or has been.
    pub(crate) fn waits_for(&self, folios: &Folios, page: PageId) -> bool {
        let is_dirty = self.dirty > 0 && folios.has(page, Flag::Dirty);
        (is_dirty && !folios.has(page, Flag::Anon)) || self.is_writing(page)
    }
}

impl Writeback {
    /// Pages that are being written, to files and to swap (`NR_WRITEBACK`).
    pub(crate) fn under_writeback(&self, swap: &Swap) -> u64 {
        self.writing + swap.writing
    }

    /// Whether a resident page of a file differs from its disk.
    pub(crate) fn is_dirty_file(&self, folios: &Folios, page: PageId) -> bool {
        self.dirty > 0
            && folios.kind(page) == Kind::File
            && !folios.is_reading(page)
            && folios.has(page, Flag::Dirty)
    }

    /// Whether a clean page of a file may be dropped: it is neither dirty nor being written.
    pub(crate) fn is_clean_file(&self, folios: &Folios, page: PageId) -> bool {
        !self.is_dirty_file(folios, page) && !self.is_writing(page)
    }

    /// A page of a file was written to (`folio_mark_dirty`, `folio_account_dirtied`).
    pub(crate) fn mark_dirty(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        objects: &mut Objects,
        page: PageId,
    ) {
        if folios.has(page, Flag::Dirty) {
            return;
        }
        cpu.spent += cpu.costs.dirty_ps;
        objects.create_buffers(cpu, zones, page);
        folios.set(page, Flag::Dirty);
        folios.clear(page, Flag::Reclaim);
        let inode = self.inode_of(page);
        self.dirty_pages.set(page);
        self.dirty += 1;
        cpu.current.throttled.note(&mut self.domain, cpu.scale);
        cpu.events.nr_dirtied += 1;
        let disk = self.inodes[inode].file.disk;
        let device = &mut self.devices[disk];
        device.reclaimable += 1;
        device.dirtied += 1;
        zones.node_dirties(folios, page);
        self.group_dirties(cpu, folios.group(page), disk);
        self.mark_inode_dirty(cpu, inode);
    }

    /// A dirty page is to be dropped unwritten (`folio_cancel_dirty`).
    pub(crate) fn cancel_dirty(&mut self, zones: &mut Zones, folios: &mut Folios, page: PageId) {
        folios.clear(page, Flag::Dirty);
        if let Some(group) = self.groups.get_mut(folios.group(page)) {
            group.dirty -= 1;
        }
        self.dirty_pages.clear(page);
        self.dirty -= 1;
        let disk = self.inodes[self.inode_of(page)].file.disk;
        self.devices[disk].reclaimable -= 1;
        zones.node_cleans(folios, page);
    }

    /// A dirty page is about to be written (`folio_clear_dirty_for_io`, `folio_start_writeback`): a
    /// write through a mapping faults again.
    pub(crate) fn start_writeback(
        &mut self,
        cpu: &mut Cpu,
        folios: &mut Folios,
        rmap: &mut Rmap,
        page: PageId,
        disk: usize,
    ) {
        folios.clear(page, Flag::Dirty);
        let group = folios.group(page);
        if let Some(group) = self.groups.get_mut(group) {
            group.dirty -= 1;
            group.writing += 1;
        }
        self.dirty_pages.clear(page);
        self.pages_being_written.set(page);
        self.dirty -= 1;
        self.writing += 1;
        let device = &mut self.devices[disk];
        device.reclaimable -= 1;
        device.writing += 1;
        cpu.spent += cpu.costs.writeback_ps;
        cpu.spent += u64::from(folios.has(page, Flag::Mapped)) * cpu.costs.mkclean_ps;
        rmap.write_protect(folios, page);
    }

    /// A page of a file has been written (`folio_end_writeback`): one that reclaim waits for is the
    /// next to be reclaimed.
    pub(crate) fn end_writeback(
        &mut self,
        cpu: &mut Cpu,
        zones: &mut Zones,
        folios: &mut Folios,
        lruvecs: &mut Lruvecs,
        page: PageId,
        disk: usize,
    ) {
        self.pages_being_written.clear(page);
        self.writing -= 1;
        let device = &mut self.devices[disk];
        device.writing -= 1;
        device.written += 1;
        cpu.events.nr_written += 1;
        cpu.in_interrupt += cpu.costs.written_ps;
        zones.node_cleans(folios, page);
        self.count_completion(cpu, folios, page, disk);
        if !folios.has(page, Flag::Reclaim) {
            return;
        }
        folios.clear(page, Flag::Reclaim);
        if !folios.has(page, Flag::Dirty) && folios.is_on_list(page) {
            lruvecs.take_from_list(cpu, zones, folios, page);
            lruvecs.add_to_tail(cpu, zones, folios, page, Kind::File.inactive());
            cpu.events.pgrotated += 1;
        }
    }
}

impl Folios {
    fn is_on_list(&self, page: PageId) -> bool {
        use crate::mm::folio::State;
        matches!(self.state(page), State::Inactive | State::Active)
    }
}
