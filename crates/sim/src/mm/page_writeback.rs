//! Pages of files that differ from their disks: which are dirty, which are being written, and for
//! which device that counts (`mm/page-writeback.c`).

pub(crate) mod balance_dirty_pages;
pub(crate) mod bdi;

use alloc::vec::Vec;

use mm::units::{Nanos, PageSize};

use crate::fs::fs_writeback::Flusher;
use crate::fs::fs_writeback::inodes::{Inode, Queues};
use crate::fs::jbd2::Journal;
use crate::mm::filemap::File;
use crate::mm::folio::{Flag, Folios, MAPPED, PageId};
use crate::mm::lruvec::Kind;
use crate::mm::lruvec::Lruvecs;
use crate::mm::objects::Objects;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::rmap::Rmap;
use crate::mm::swapfile::Swap;
use crate::sched::cpu::Cpu;

mod groups;
mod tags;

pub(crate) use balance_dirty_pages::{Domain, Limits, Throttled};
pub(crate) use bdi::Bounded;
pub(crate) use groups::Groups;
pub(crate) use tags::Tags;

/// A page's flag for "to be reclaimed as soon as it is written" (`PG_reclaim`): as in the kernel
/// the bit that marks readahead on a clean page.
pub(crate) const RECLAIM: Flag = Flag::Readahead;

/// A block of a disk, in bytes: as large as a page.
pub(crate) const BLOCK: u64 = 4096;

/// What is dirty and what is being written, in pages of files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writeback {
    pub(crate) dirty_pages: Tags,
    pub(crate) pages_being_written: Tags,
    /// `NR_FILE_DIRTY`.
    pub(crate) dirty: u64,
    /// `NR_WRITEBACK`, without what goes to swap.
    pub(crate) writing: u64,
    /// Each file of the machine, by index; behind them each disk's own.
    pub(crate) inodes: Vec<Inode>,
    /// Each disk of the machine, by index.
    pub(crate) devices: Vec<Device>,
    pub(crate) limits: Limits,
    /// Inodes that something used after boot: they pass for dirty where everything is to be
    /// written.
    pub(crate) inodes_in_use: u64,
    pub(crate) domain: Domain,
    pub(crate) groups: Groups,
    /// Flushers that were woken, and timers that were set, since the system last looked.
    pub(crate) orders: Vec<Order>,
}

/// A disk as writeback sees it (`struct bdi_writeback`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Device {
    /// Its dirty pages (`WB_RECLAIMABLE`) and those being written (`WB_WRITEBACK`).
    pub(crate) reclaimable: u64,
    pub(crate) writing: u64,
    /// Pages that were dirtied and written since boot (`WB_DIRTIED`, `WB_WRITTEN`).
    pub(crate) dirtied: u64,
    pub(crate) written: u64,
    /// The block with its inodes differs from what the disk has (see [`metadata`]).
    pub(crate) metadata: bool,
    pub(crate) queues: Queues,
    pub(crate) flusher: Flusher,
    pub(crate) journal: Journal,
    /// Its journal as a file, of which some blocks are in the page cache.
    pub(crate) journal_blocks: Option<File>,
    pub(crate) throttle: balance_dirty_pages::Throttle,
}

/// Something that the system has to arrange for writeback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The flusher of a disk has something to do.
    WakeFlusher { disk: usize },
    /// It is to look again at a time.
    FlushAt { disk: usize, at: Nanos },
    /// The bandwidth of a disk is estimated at a time.
    EstimateAt { disk: usize, at: Nanos },
    /// The thread of a disk's journal has something to commit.
    WakeJournal { disk: usize },
    /// A transaction of a disk's journal commits at a time.
    CommitAt {
        disk: usize,
        transaction: u64,
        at: Nanos,
    },
}

impl Writeback {
    /// Takes in the machine's files and disks, which came at that time (`jiffies`).
    pub(crate) fn begin(&mut self, files: &[File], disks: usize, came: u64) {
        let of_files = files.iter().cloned().map(Inode::new);
        self.inodes = of_files.chain((0..disks).map(Inode::of_disk)).collect();
        let device = || Device {
            flusher: Flusher::since(came),
            ..Device::default()
        };
        self.devices.resize_with(disks, device);
    }

    /// Every tagged page is counted once, for the machine and for its device.
    ///
    /// # Panics
    /// If one is not: the model is wrong.
    pub(crate) fn check(&self) {
        let sum = |count: fn(&Device) -> u64| self.devices.iter().map(count).sum::<u64>();
        let tagged = self.dirty_pages.len() + self.dirty_metadata();
        assert_eq!(self.dirty, tagged, "dirty pages are tagged");
        assert_eq!(self.dirty, sum(|device| device.reclaimable));
        assert_eq!(self.writing, self.pages_being_written.len());
        assert_eq!(self.writing, sum(|device| device.writing));
    }

    /// Whether a thread was woken since the system last looked.
    pub(crate) fn wakes_someone(&self) -> bool {
        let wakes =
            |order: &Order| matches!(order, Order::WakeFlusher { .. } | Order::WakeJournal { .. });
        self.orders.iter().any(wakes)
    }

    /// Whether a page of a file is being written.
    pub(crate) fn is_writing(&self, page: PageId) -> bool {
        self.writing > 0 && self.pages_being_written.has(page)
    }

    /// Whether a page that is not locked cannot be evicted before it is written, or has been.
    pub(crate) fn waits_for(&self, folios: &Folios, page: PageId) -> bool {
        let is_dirty = self.dirty > 0 && folios.has(page, Flag::Dirty);
        (is_dirty && !folios.has(page, Flag::Anon)) || self.is_writing(page)
    }

    /// The file that a page belongs to.
    pub(crate) fn inode_of(&self, page: PageId) -> usize {
        self.inodes
            .partition_point(|inode| inode.file.base <= page)
            .saturating_sub(1)
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
        folios.clear(page, RECLAIM);
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
        cpu.spent += u64::from(folios.has(page, MAPPED)) * cpu.costs.mkclean_ps;
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
        if !folios.has(page, RECLAIM) {
            return;
        }
        folios.clear(page, RECLAIM);
        if !folios.has(page, Flag::Dirty) && folios.is_on_list(page) {
            lruvecs.take_from_list(cpu, zones, folios, page);
            lruvecs.add_to_tail(cpu, zones, folios, page, Kind::File.inactive());
            cpu.events.pgrotated += 1;
        }
    }

    /// Where a page of a file is on its disk, in bytes.
    pub(crate) fn offset_of(&self, inode: usize, page: PageId) -> u64 {
        let file = &self.inodes[inode].file;
        file.offset + u64::from(page - file.base) * PageSize::FOUR_KIB.bytes()
    }
}

impl Folios {
    fn is_on_list(&self, page: PageId) -> bool {
        use crate::mm::folio::State;
        matches!(self.state(page), State::Inactive | State::Active)
    }
}
