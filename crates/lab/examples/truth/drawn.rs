//! A drawn study as data: what shrinking takes parts from, and what becomes text.

use mm::stock::Stock;

/// A whole study.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub(super) seed: u64,
    /// The stock kernel that it is asked of.
    pub(super) kernel: &'static str,
    pub(super) cpus: u32,
    /// MiB.
    pub(super) memory: u64,
    pub(super) disks: Vec<Disk>,
    pub(super) swap: Vec<Swap>,
    /// Settings of every arm.
    pub(super) base: Vec<(&'static str, u64)>,
    pub(super) consumers: Vec<Consumer>,
    pub(super) subject: Subject,
    pub(super) arms: Vec<Arm>,
    /// The file of the group "box", whose value is the arm's `limit`.
    pub(super) limited: Option<Limited>,
    /// The `memory.high` of the group "side" in MiB, where there is one.
    pub(super) side: Option<u64>,
    /// Until the first snapshot, and from it to the second, in ms.
    pub(super) warm: u64,
    pub(super) span: u64,
}

/// What a study is put on in place of what its seed drew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Instead {
    pub(super) kernel: Option<&'static Stock>,
    pub(super) cpus: Option<u32>,
}

impl Instead {
    pub(super) fn of(self, drawn: Drawn) -> Drawn {
        Drawn {
            cpus: self.cpus.unwrap_or(drawn.cpus),
            kernel: self.kernel.map_or(drawn.kernel, |kernel| kernel.line),
            ..drawn
        }
    }
}

/// A disk; its size follows from what lies on it.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    pub(super) name: String,
    pub(super) kind: DiskKind,
    /// MB/s.
    pub(super) read: u64,
    pub(super) write: u64,
    /// Microseconds.
    pub(super) latency: u64,
    /// Requests out of order a second; `None` where order makes no difference.
    pub(super) iops: Option<u64>,
    pub(super) channels: u64,
    pub(super) depth: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DiskKind {
    Stick,
    Hdd,
    Sata,
    Nvme,
}

/// A swap area, in MiB.
#[derive(Clone, Copy, Debug)]
pub(super) enum Swap {
    Disk { disk: usize, size: u64 },
    Zram { ratio: u64, size: u64 },
}

/// What the arms differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    Swappiness,
    MinFree,
    ScaleFactor,
    DirtyRatio,
    DirtyBackground,
    DirtyBytes,
    DirtyExpire,
    MinTtl,
    CachePressure,
    PageCluster,
    Ksm,
    Generations,
    Oom,
    GroupMax,
    GroupHigh,
    GroupLow,
    GroupMin,
    GroupSwapMax,
}

#[derive(Clone, Debug)]
pub(super) struct Arm {
    pub(super) name: String,
    pub(super) settings: Vec<(&'static str, u64)>,
    /// The value of the group's file.
    pub(super) limit: Option<String>,
}

/// The file of a control group in which arms differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limited {
    pub(super) file: &'static str,
    /// Its value where no arm says.
    pub(super) usual: &'static str,
}

/// A process, or some of one kind, that use memory.
#[derive(Clone, Debug)]
pub(super) struct Consumer {
    pub(super) kind: Kind,
    pub(super) name: String,
    /// MiB of heap.
    pub(super) heap: u64,
    /// MiB of its file; 0 where it has none.
    pub(super) file: u64,
    /// Its file's disk.
    pub(super) disk: usize,
    pub(super) pattern: String,
    /// Microseconds after every operation.
    pub(super) think: u64,
    pub(super) write_percent: u64,
    /// KiB an operation.
    pub(super) block: u64,
    pub(super) count: u64,
    pub(super) direct: bool,
    pub(super) group: Option<&'static str>,
    pub(super) oom_score_adj: i64,
}

/// The kinds of consumers. A file on tmpfs is none of them: the format has no tmpfs. Once it has,
/// it is a row here, in [`Kind::ALL`] and in the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Heap,
    Grower,
    Allocator,
    Reader,
    Mapped,
    Streamer,
    Writer,
    Rewriter,
    Logger,
    Database,
    Cache,
    Jobs,
    Guests,
}

impl Kind {
    pub(super) const ALL: [Self; 13] = [
        Self::Heap,
        Self::Grower,
        Self::Allocator,
        Self::Reader,
        Self::Mapped,
        Self::Streamer,
        Self::Writer,
        Self::Rewriter,
        Self::Logger,
        Self::Database,
        Self::Cache,
        Self::Jobs,
        Self::Guests,
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::Grower => "grower",
            Self::Allocator => "allocator",
            Self::Reader => "reader",
            Self::Mapped => "mapped",
            Self::Streamer => "streamer",
            Self::Writer => "writer",
            Self::Rewriter => "rewriter",
            Self::Logger => "logger",
            Self::Database => "database",
            Self::Cache => "cache",
            Self::Jobs => "jobs",
            Self::Guests => "guests",
        }
    }
}

impl Drawn {
    /// What lies on a disk, in MiB.
    pub(super) fn stored_on(&self, disk: usize) -> u64 {
        let files = self.consumers.iter().filter(|one| one.disk == disk);
        let swap = self.swap.iter().map(|area| match area {
            Swap::Disk { disk: on, size } if *on == disk => *size,
            _ => 0,
        });
        files.map(|one| one.file).sum::<u64>() + swap.sum::<u64>()
    }
}
