//! What a policy sees: the machine at one moment, and what was seen since the moment before.

use mm::meminfo::Meminfo;
use mm::units::{Bytes, Kib, Nanos};

/// The time between two samples of a machine on which nothing is urgent.
pub(crate) const TICK: Nanos = Nanos(200_000_000);
/// The shortest time between two samples.
pub(crate) const SHORTEST: Nanos = Nanos(10_000_000);

/// How much of a file is looked at, from its beginning.
pub const LOOKED_AT: Bytes = Bytes(1 << 30);

/// A file, by the number that whoever takes the samples gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct File(pub u32);

/// The machine at one moment.
#[derive(Clone, Copy, Debug)]
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
}

/// Memory of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// `MemTotal`.
    pub total: Bytes,
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
}

/// How a file was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A reader closed it.
    Closed,
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
    /// A machine's memory by its `/proc/meminfo`. What a kernel does not print counts as 0.
    #[must_use]
    pub fn of(meminfo: &Meminfo) -> Self {
        let bytes = |item: Option<Kib>| item.unwrap_or(Kib(0)).bytes();
        let sum = |one, other| bytes(one).saturating_add(bytes(other));
        Self {
            total: bytes(meminfo.mem_total),
            available: bytes(meminfo.mem_available),
            file: sum(meminfo.active_file, meminfo.inactive_file),
            dirty: sum(meminfo.dirty, meminfo.writeback),
            anon: sum(meminfo.active_anon, meminfo.inactive_anon),
            swap_total: bytes(meminfo.swap_total),
            swap_free: bytes(meminfo.swap_free),
        }
    }
}
