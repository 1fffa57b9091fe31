//! What a column means: one list for all tools.

/// What was measured, by the kernel's meaning; the tools' names for it are in their parsers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    /// Free pages: `MemFree`.
    Free,
    /// The kernel's estimate of what can be had without swapping: `MemAvailable`.
    Available,
    /// Page cache of block devices.
    Buffers,
    /// Page cache of files, shmem in it; newer `vmstat` adds reclaimable slab.
    Cached,
    /// Both active lists.
    Active,
    /// Both inactive lists.
    Inactive,
    /// Anonymous pages that are mapped.
    Anonymous,
    /// Slab, reclaimable or not.
    Slab,
    /// Waits to be written.
    Dirty,
    /// Swap space in use.
    SwapUsed,
    /// Read back from swap.
    SwapIn,
    /// Written to swap.
    SwapOut,
    /// Read from block devices, swap included.
    PageIn,
    /// Written to block devices, swap included.
    PageOut,
    /// Page faults, minor ones included.
    Faults,
    /// Page faults that waited for a read.
    MajorFaults,
    /// Pages put on the free lists.
    Freed,
    /// Pages that kswapd looked at.
    ScanKswapd,
    /// Pages that tasks looked at for themselves: direct reclaim.
    ScanDirect,
    /// Pages that reclaim freed, by whichever task.
    Steal,
    /// Steal of scan as the tool printed it.
    Efficiency,
    /// Times that a task began direct reclaim.
    AllocStalls,
    /// Evicted pages that were needed again.
    Refaults,
    /// Tasks that run or wait for a CPU.
    Running,
    /// Tasks in uninterruptible sleep, mostly for a disk.
    Blocked,
    /// CPU time in user space.
    User,
    /// CPU time in the kernel.
    System,
    /// Idle CPU time without a disk to wait for.
    Idle,
    /// Idle CPU time while a task waited for a disk.
    IoWait,
    /// CPU time that the hypervisor took.
    Stolen,
    /// Time in which some task waited for memory.
    MemorySome,
    /// Time in which all tasks waited for memory.
    MemoryFull,
    /// Time in which some task waited for I/O.
    IoSome,
}

/// The unit of an item's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Kibibytes.
    Kib,
    /// Kibibytes in a second.
    KibPerSecond,
    /// Pages in a second.
    PagesPerSecond,
    /// Events in a second.
    PerSecond,
    /// Hundredths of a whole.
    Percent,
    /// Tasks.
    Tasks,
}

/// Whether a value is of a moment or of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What there was when the row was printed.
    Level,
    /// What happened over the row's span, for each second of it.
    Rate,
}

impl Item {
    /// All items, in the order in which a reader wants them.
    pub const ALL: [Self; 33] = [
        Self::Available,
        Self::Free,
        Self::Cached,
        Self::Buffers,
        Self::Active,
        Self::Inactive,
        Self::Anonymous,
        Self::Slab,
        Self::Dirty,
        Self::SwapUsed,
        Self::SwapIn,
        Self::SwapOut,
        Self::MemorySome,
        Self::MemoryFull,
        Self::IoSome,
        Self::ScanKswapd,
        Self::ScanDirect,
        Self::Steal,
        Self::Efficiency,
        Self::AllocStalls,
        Self::Refaults,
        Self::MajorFaults,
        Self::PageIn,
        Self::PageOut,
        Self::Blocked,
        Self::Running,
        Self::IoWait,
        Self::User,
        Self::System,
        Self::Idle,
        Self::Stolen,
        Self::Faults,
        Self::Freed,
    ];

    /// The unit of its values.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Free | Self::Available | Self::Buffers | Self::Cached | Self::Active => Unit::Kib,
            Self::Inactive | Self::Anonymous | Self::Slab | Self::Dirty | Self::SwapUsed => {
                Unit::Kib
            }
            Self::SwapIn | Self::SwapOut | Self::PageIn | Self::PageOut => Unit::KibPerSecond,
            Self::Freed | Self::ScanKswapd | Self::ScanDirect | Self::Steal | Self::Refaults => {
                Unit::PagesPerSecond
            }
            Self::Faults | Self::MajorFaults | Self::AllocStalls => Unit::PerSecond,
            Self::Running | Self::Blocked => Unit::Tasks,
            Self::Efficiency | Self::User | Self::System | Self::Idle | Self::IoWait => {
                Unit::Percent
            }
            Self::Stolen | Self::MemorySome | Self::MemoryFull | Self::IoSome => Unit::Percent,
        }
    }

    /// Whether it is of a moment or of a span.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self.unit() {
            Unit::Kib | Unit::Tasks => Kind::Level,
            _ => Kind::Rate,
        }
    }

    /// What it is, in a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Available => "MemAvailable",
            Self::Buffers => "buffers",
            Self::Cached => "page cache",
            Self::Active => "active lists",
            Self::Inactive => "inactive lists",
            Self::Anonymous => "anonymous",
            Self::Slab => "slab",
            Self::Dirty => "dirty",
            Self::SwapUsed => "swap used",
            Self::SwapIn => "swap-ins",
            Self::SwapOut => "swap-outs",
            Self::PageIn => "read from disks",
            Self::PageOut => "written to disks",
            Self::Faults => "page faults",
            Self::MajorFaults => "major faults",
            Self::Freed => "pages freed",
            Self::ScanKswapd => "scanned by kswapd",
            Self::ScanDirect => "scanned directly",
            Self::Steal => "stolen",
            Self::Efficiency => "stolen of scanned",
            Self::AllocStalls => "direct reclaims",
            Self::Refaults => "refaults",
            Self::Running => "runnable tasks",
            Self::Blocked => "blocked tasks",
            Self::User => "CPU, user",
            Self::System => "CPU, kernel",
            Self::Idle => "CPU, idle",
            Self::IoWait => "CPU, waits for I/O",
            Self::Stolen => "CPU, stolen",
            Self::MemorySome => "memory PSI, some",
            Self::MemoryFull => "memory PSI, full",
            Self::IoSome => "I/O PSI, some",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_stands_in_the_list_once() {
        for item in Item::ALL {
            let same = Item::ALL.iter().filter(|other| **other == item).count();
            assert_eq!(same, 1, "{item:?}");
        }
        assert!(Item::ALL.contains(&Item::IoSome) && Item::ALL.contains(&Item::Freed));
    }
}
