//! What a policy sees: the machine at one moment, and what was seen since the moment before.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use mm::diskstats::DiskStats;
use mm::ksm::Ksm;
use mm::meminfo::Meminfo;
use mm::units::{Bytes, Kib, Nanos, PageSize, Pages};
use mm::zoneinfo::Zoneinfo;

use crate::shares::User;

/// The time between two samples of a machine on which nothing is urgent.
pub(crate) const TICK: Nanos = Nanos(200_000_000);
/// The shortest time between two samples, and the longest.
pub(crate) const SHORTEST: Nanos = Nanos(10_000_000);
pub(crate) const LONGEST: Nanos = Nanos::SECOND;
/// More than most machines use up within [`LONGEST`].
pub(crate) const AMPLE: Bytes = Bytes(2 << 30);

/// How much of a file is looked at, from its beginning.
pub const LOOKED_AT: Bytes = Bytes(1 << 30);

/// A file, by the number that whoever takes the samples gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct File(pub u32);

/// The machine at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample<'a> {
    /// When it was taken, since boot.
    pub at: Nanos,
    /// The whole machine's memory.
    pub memory: Memory,
    /// `vm.swappiness`.
    pub swappiness: u64,
    /// The groups that the configuration names, in its order; `None` for one that does not exist.
    pub groups: &'a [Option<Group>],
    /// Files that were used since the last sample, in order.
    pub touches: &'a [Touch],
    /// Answers to [`crate::Action::Look`].
    pub looked: &'a [Looked],
    /// What is locked at present.
    pub held: &'a [Held],
    /// The kernel cannot be asked for file pages alone of the whole machine: they go file by file.
    pub must_drop: bool,
    /// Answers to [`crate::Action::Drop`].
    pub dropped: &'a [Dropped],
    /// What the policy `watermarks` looks at.
    pub watermarks: Option<Watermarks<'a>>,
    /// What the policy `writeback` looks at.
    pub writeback: Option<Writeback<'a>>,
    /// What the policy `ksm` looks at; `None` where the kernel has no samepage merging.
    pub merging: Option<Merging>,
}

/// How far free memory is from where allocations wait.
#[derive(Clone, Copy, Debug)]
pub struct Watermarks<'a> {
    /// `vm.watermark_scale_factor`, in parts of 10 000.
    pub scale_factor: u64,
    /// Allocations that had to reclaim themselves.
    pub stalls: Stalls,
    /// The zones that have memory.
    pub zones: &'a [Zone],
}

/// Allocations that found no zone above its min watermark, since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// How often one reclaimed (`allocstall_*`).
    pub count: u64,
    /// What they reclaimed (`pgsteal_direct`).
    pub reclaimed: Pages,
}

/// A zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zone {
    /// What the allocator owns of it.
    pub managed: Pages,
    /// Free pages.
    pub free: Pages,
    /// The watermarks.
    pub min: Pages,
    /// Below it kswapd is woken.
    pub low: Pages,
}

/// What is dirty, and how fast it can be written.
#[derive(Clone, Copy, Debug)]
pub struct Writeback<'a> {
    /// What may be dirty on the machine (`nr_dirty_threshold`).
    pub threshold: Bytes,
    /// `vm.dirty_bytes`; 0 where a ratio counts.
    pub dirty_bytes: u64,
    /// Its devices, in any order.
    pub disks: &'a [Disk],
}

/// A block device with limits of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Its name, as in `/sys/block`.
    pub name: String,
    /// Bytes written since it came.
    pub written: Bytes,
    /// Time in which it had something to do, since it came.
    pub busy: Nanos,
    /// What it may have dirty, in parts of a million of the threshold (`max_ratio_fine`), or in
    /// hundredths, as parts of a million.
    pub share: u64,
    /// Whether that is held however little is dirty elsewhere (`strict_limit`); `None` where the
    /// kernel cannot: before Linux 6.2, which knows `max_ratio` only.
    pub is_strict: Option<bool>,
}

/// Samepage merging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merging {
    /// `run`.
    pub run: u64,
    /// `pages_to_scan`.
    pub pages_to_scan: u64,
    /// Pages that merging saves, as the kernel counts them: one that a write has copied again
    /// counts until ksmd comes by.
    pub saved: Pages,
    /// Pages that writes have copied again, since boot (`cow_ksm`); 0 before Linux 5.18, which
    /// does not count them.
    pub copied: Pages,
    /// How often all candidates were scanned, since boot.
    pub scans: u64,
    /// CPU time that ksmd took, since boot.
    pub cpu: Nanos,
    /// Somebody else runs ksmd: the kernel's advisor, or ksmtuned.
    pub is_theirs: bool,
}

/// Memory of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// `MemTotal`.
    pub total: Bytes,
    /// `MemFree`.
    pub free: Bytes,
    /// `MemAvailable`.
    pub available: Bytes,
    /// File pages on the lists of reclaim.
    pub file: Bytes,
    /// Those of them that are dirty or being written.
    pub dirty: Bytes,
    /// Anonymous pages on the lists of reclaim.
    pub anon: Bytes,
    /// Swap space, and what is free of it.
    pub swap_total: Bytes,
    /// Swap space that is free.
    pub swap_free: Bytes,
}

/// Memory of a control group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// File pages on the lists of reclaim.
    pub file: Bytes,
    /// Those of them that are dirty or being written.
    pub dirty: Bytes,
}

/// A use of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The file.
    pub file: File,
    /// What was done.
    pub how: Use,
    /// Who did it.
    pub user: User,
}

/// How a file was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It was opened; seen only where [`Sample::must_drop`].
    Opened,
    /// A reader closed it.
    Closed,
    /// A writer closed it, which is no use; told of where opens are.
    Written,
    /// It was executed.
    Executed,
    /// The configuration names it.
    Named,
}

/// A file, looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looked {
    /// The file.
    pub file: File,
    /// Its size; `None` where it must not be locked: it is gone, empty, no regular file, not on a
    /// local disk, or excluded.
    pub size: Option<Bytes>,
    /// What is in memory of its first [`LOOKED_AT`] bytes.
    pub resident: Bytes,
}

/// A file of which something was to be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The file.
    pub file: File,
    /// Its size; `None` where it is none to be dropped, for the reasons of [`Looked::size`].
    pub size: Option<Bytes>,
    /// What left memory; 0 where there was nothing, or nothing now: somebody writes the file.
    pub bytes: Bytes,
    /// Where the search ended.
    pub next: Bytes,
}

/// A locked file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The file.
    pub file: File,
    /// Bytes of it that are locked.
    pub locked: Bytes,
    /// It was deleted, replaced or cut short, or its file system is about to go.
    pub is_stale: bool,
}

impl Memory {
    /// How long after this sample the next one is due where nothing is urgent: longer where a
    /// quarter of the memory is available, and [`AMPLE`].
    pub(crate) fn tick(&self) -> Nanos {
        match self.available >= self.ample() {
            true => LONGEST,
            false => TICK,
        }
    }

    /// Whether the machine reclaims nothing, and will not before the next sample: more is free than
    /// its watermarks ask for.
    pub(crate) fn is_idle(&self) -> bool {
        self.free >= self.ample()
    }

    /// A quarter of the memory, and [`AMPLE`].
    fn ample(&self) -> Bytes {
        AMPLE.max(Bytes(self.total.0 / 4))
    }

    /// A machine's memory by its `/proc/meminfo`. What a kernel does not print counts as 0.
    #[must_use]
    pub fn of(meminfo: &Meminfo) -> Self {
        let bytes = |item: Option<Kib>| item.unwrap_or(Kib(0)).bytes();
        let sum = |one, other| bytes(one).saturating_add(bytes(other));
        Self {
            total: bytes(meminfo.mem_total),
            free: bytes(meminfo.mem_free),
            available: bytes(meminfo.mem_available),
            file: sum(meminfo.active_file, meminfo.inactive_file),
            dirty: sum(meminfo.dirty, meminfo.writeback),
            anon: sum(meminfo.active_anon, meminfo.inactive_anon),
            swap_total: bytes(meminfo.swap_total),
            swap_free: bytes(meminfo.swap_free),
        }
    }
}

impl Zone {
    /// The zones of `/proc/zoneinfo` from which allocations of all kinds are served: without the
    /// small ones for old devices.
    #[must_use]
    pub fn of(zoneinfo: &Zoneinfo) -> Vec<Self> {
        let all = zoneinfo.zones.iter().filter(|zone| zone.is_usable());
        let most = all.clone().map(|zone| zone.managed.0).max();
        let large = all.filter(|zone| zone.managed.0 > most.unwrap_or(0) / 32);
        let zone = |zone: &mm::zoneinfo::Zone| Self {
            managed: zone.managed,
            free: zone.free,
            min: zone.watermarks.min,
            low: zone.watermarks.low,
        };
        large.map(zone).collect()
    }
}

/// What the policies of a tick need of `/proc/vmstat`; 0 where the kernel does not print it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Allocations that had to reclaim themselves.
    pub stalls: Stalls,
    /// What may be dirty on the machine (`nr_dirty_threshold`).
    pub threshold: Bytes,
    /// Merged pages that writes have copied again, since boot (`cow_ksm`).
    pub copied: Pages,
}

/// Whether the kernel's own advisor sets how fast ksmd scans.
#[must_use]
pub fn is_advised(ksm: &Ksm) -> bool {
    let mode = ksm.advisor_mode.as_ref();
    mode.is_some_and(|mode| mode.chosen() == "scan-time")
}

/// Pages that merging saves, as the kernel counts them.
#[must_use]
pub fn saved(ksm: &Ksm) -> Pages {
    let numbers = &ksm.numbers;
    let zero = numbers.ksm_zero_pages.unwrap_or(0);
    Pages(numbers.pages_sharing.unwrap_or(0).saturating_add(zero))
}

impl Disk {
    /// All of a share.
    pub const WHOLE: u64 = 1_000_000;
    /// A hundredth of it.
    pub const PERCENT: u64 = Self::WHOLE / 100;

    /// A block device with its limits: `limit` reads the number in a file of its folder, which is
    /// named below the root. `None` for what has no limits of its own, as a partition, and for
    /// memory, which is no device to flush.
    pub fn of(stats: DiskStats, limit: impl Fn(&str) -> Option<u64>) -> Option<Self> {
        let memory = ["ram", "zram", "loop"];
        if memory.iter().any(|it| stats.name.starts_with(it)) {
            return None;
        }
        // The kernel writes a slash in a name as an exclamation mark.
        let folder = format!("sys/block/{}/bdi", stats.name.replace('/', "!"));
        let limit = |file: &str| limit(&format!("{folder}/{file}"));
        let percent = limit("max_ratio")?;
        let fine = limit("max_ratio_fine").zip(limit("strict_limit"));
        Some(Self {
            name: stats.name,
            written: stats.written,
            busy: stats.busy,
            share: fine.map_or(percent.saturating_mul(Self::PERCENT), |(share, _)| share),
            is_strict: fine.map(|(_, strict)| strict != 0),
        })
    }
}

impl Counts {
    /// Reads the text of `/proc/vmstat`, of which it takes four items of some two hundred.
    #[must_use]
    pub fn of(vmstat: &str) -> Self {
        let mut counts = Self::default();
        for line in vmstat.lines() {
            let Some((item, value)) = line.split_once(' ') else {
                continue;
            };
            let value = || value.trim().parse().unwrap_or(0);
            match item {
                "nr_dirty_threshold" => {
                    counts.threshold = Pages(value()).bytes(PageSize::FOUR_KIB);
                }
                "cow_ksm" => counts.copied = Pages(value()),
                "pgsteal_direct" => counts.stalls.reclaimed = Pages(value()),
                item if item.starts_with("allocstall") => {
                    counts.stalls.count = counts.stalls.count.saturating_add(value());
                }
                _ => {}
            }
        }
        counts
    }
}

impl Merging {
    /// Samepage merging by the files of its folder, the counters and the CPU time of ksmd.
    #[must_use]
    pub fn of(ksm: &Ksm, counts: &Counts, cpu: Nanos) -> Option<Self> {
        let numbers = &ksm.numbers;
        Some(Self {
            run: numbers.run?,
            pages_to_scan: numbers.pages_to_scan?,
            saved: saved(ksm),
            copied: counts.copied,
            scans: numbers.full_scans.unwrap_or(0),
            cpu,
            is_theirs: is_advised(ksm),
        })
    }
}
