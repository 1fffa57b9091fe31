//! What is dirty and what is being written, the limits, and the rates of devices.

use crate::fs::fs_writeback::state::Flusher;
use crate::fs::fs_writeback::state::Inode;
use crate::fs::fs_writeback::state::Queues;
use crate::fs::jbd2::state::Journal;
use crate::mm::filemap::state::File;
use crate::mm::folio::PageId;
use crate::mm::page_writeback::Bounded;
use crate::mm::page_writeback::groups_state::DirtyGroups;
use crate::mm::page_writeback::tags::Tags;
use crate::sched::timer::HZ;
use alloc::vec::Vec;
use mm::formula::dirty::Amount;
use mm::formula::throttle::Device as Part;
use mm::formula::throttle::Domain as Whole;
use mm::formula::throttle::Limit;
use mm::formula::throttle::Pace;
use mm::formula::throttle::Writer;
use mm::formula::throttle::position;
use mm::formula::throttle::share::Completed;
use mm::formula::throttle::share::Completions;
use mm::formula::throttle::{self};
use mm::units::Nanos;
use mm::units::PageSize;
use mm::units::Pages;

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
    pub(crate) groups: DirtyGroups,
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
    pub(crate) throttle: Throttle,
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

    /// The file that a page belongs to.
    pub(crate) fn inode_of(&self, page: PageId) -> usize {
        self.inodes
            .partition_point(|inode| inode.file.base <= page)
            .saturating_sub(1)
    }
}

impl Writeback {
    /// Where a page of a file is on its disk, in bytes.
    pub(crate) fn offset_of(&self, inode: usize, page: PageId) -> u64 {
        let file = &self.inodes[inode].file;
        file.offset + u64::from(page - file.base) * PageSize::FOUR_KIB.bytes()
    }
}

/// What is judged: all dirty pages that share a threshold, and a disk's part of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(super) domain: Whole,
    pub(super) device: Part,
}

/// Tunables that writeback goes by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// `vm.dirty_background_ratio`, or its partner in bytes.
    pub(crate) background: Amount,
    /// `vm.dirty_ratio`, or its partner in bytes.
    pub(crate) dirty: Amount,
    /// `vm.dirty_expire_centisecs`.
    pub(crate) expire: Nanos,
    /// `vm.dirty_writeback_centisecs`, in ticks; 0 where the flusher does not wake by itself.
    pub(crate) interval: u64,
}

/// What all devices share (`global_wb_domain`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Domain {
    pub(crate) limit: Limit,
    pub(crate) completions: Completions,
    pub(crate) cpu: throttle::Cpu,
    /// Pages after which some task is looked at, whichever dirtied them.
    pub(crate) ratelimit: Pages,
}

/// What the kernel keeps of a device for the tasks that write to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throttle {
    pub(crate) pace: Pace,
    pub(crate) completed: Completed,
    pub(crate) bounded: Bounded,
    pub(crate) is_exceeded: bool,
    /// When a task last paused for it.
    pub(crate) slept: Option<Nanos>,
}

/// What the kernel keeps of a task that dirties pages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Throttled {
    pub(super) writer: Writer,
    /// After its pause it is judged again for this many pages.
    pub(crate) again: Option<Pages>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            background: Amount::Ratio(10),
            dirty: Amount::Ratio(20),
            expire: Nanos(30 * Nanos::SECOND.0),
            interval: 5 * HZ,
        }
    }
}

impl Default for Throttle {
    fn default() -> Self {
        Self {
            pace: Pace::new(0),
            completed: Completed::default(),
            bounded: Bounded::default(),
            is_exceeded: false,
            slept: None,
        }
    }
}

impl Domain {
    pub(crate) fn limit(&self) -> Pages {
        self.limit.pages
    }
}

impl Throttle {
    /// Pages a second that the device writes, as the kernel knows it.
    pub(crate) fn bandwidth(&self) -> u64 {
        self.pace.bandwidth.average
    }

    /// Whether a task paused for the device within the last second: then its writes are not held
    /// back (`wb_recent_wait`).
    pub(crate) fn was_waited_for(&self, now: Nanos) -> bool {
        self.slept
            .is_some_and(|slept| now < slept.saturating_add(Nanos::SECOND))
    }
}

impl View {
    pub(crate) fn position(&self) -> u64 {
        position::ratio(&self.domain, &self.device)
    }
}

impl Throttled {
    /// Notes pages that the task made dirty.
    pub(super) fn note(&mut self, domain: &mut Domain, pages: u64) {
        self.writer.dirtied.0 += pages;
        domain.cpu.dirtied.0 += pages;
    }

    /// Whether the task is to be judged again now that its pause is over.
    pub(crate) fn is_pending(&self) -> bool {
        self.again.is_some()
    }
}
