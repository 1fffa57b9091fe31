//! What has memory: RAM, CPUs, disks, swap and the files that lie on the disks beforehand.

use alloc::string::String;
use alloc::vec::Vec;

use mm::meminfo::Meminfo;
use mm::units::{Bytes, Nanos, PageSize};
use mm::zoneinfo::Zoneinfo;

/// A machine as a study describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// RAM as the firmware reports it (a VM's `-m`).
    pub memory: Bytes,
    /// CPUs, at least one. A bench in virtual time has one.
    pub cpus: u32,
    /// NUMA nodes, at least one; memory and CPUs are spread evenly.
    pub nodes: u32,
    /// Disks, in order of their device names.
    pub disks: Vec<Disk>,
    /// Swap devices and their priority order.
    pub swaps: Vec<Swap>,
    /// Files made before the run.
    pub files: Vec<File>,
    /// What operations take on this machine, where that is known better than by a calibration.
    pub costs: Vec<Cost>,
    /// What the files lie on.
    pub file_system: FileSystem,
    /// The disk, by name, with the files of a recording.
    pub recorded_on: Option<String>,
    /// What is [`available`] when the run begins: a bench that has more holds the rest.
    pub available: Option<Bytes>,
}

/// A file system, by what it makes of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileSystem {
    /// ext4: a buffer head for the block of each page that was written to.
    #[default]
    Ext4,
    /// XFS: none. All else is as with ext4.
    Xfs,
}

/// A cost of the machine's own, in place of the calibration's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// One of [`Costs::NAMES`](crate::calibration::Costs::NAMES).
    pub name: String,
    /// The time of one such operation.
    pub picoseconds: u64,
}

/// What a machine has available for a workload: `MemAvailable`, and what lies on the CPUs' own
/// lists of free pages, which that leaves out. `None` where the kernel does not say it (before
/// 3.14).
#[must_use]
pub fn available(meminfo: &Meminfo, zoneinfo: &Zoneinfo, page: PageSize) -> Option<Bytes> {
    let of_kernel = Bytes(meminfo.mem_available?.0.saturating_mul(1024));
    let lists = zoneinfo.zones.iter().flat_map(|zone| &zone.pagesets);
    let on_lists = lists.fold(0_u64, |sum, list| sum.saturating_add(list.count));
    let on_lists = on_lists.saturating_mul(page.bytes());
    Some(Bytes(of_kernel.0.saturating_add(on_lists)))
}

/// How much less than `available` a machine may have, in bytes: another kernel, and another size
/// of memory, keep some more for themselves.
#[must_use]
pub fn within(memory: Bytes) -> u64 {
    memory.0 / 64
}

/// A disk: a request takes `latency`, plus `seek` unless it begins where the last one ended, plus
/// its bytes over the bandwidth; `channels` requests are served at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Its name within the study.
    pub name: String,
    /// Capacity.
    pub size: Bytes,
    /// Bytes per second, reading.
    pub read_bandwidth: Bytes,
    /// Bytes per second, writing.
    pub write_bandwidth: Bytes,
    /// Fixed cost of each request.
    pub latency: Nanos,
    /// Further cost of a request that does not follow the one before (from IOPS: 1 / iops -
    /// latency).
    pub seek: Nanos,
    /// Requests served at a time.
    pub channels: u32,
    /// Requests queued at a time.
    pub queue_depth: u32,
    /// Whether the kernel is told that it rotates.
    pub rotational: bool,
}

/// A swap device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swap {
    /// What it is made of.
    pub backing: SwapBacking,
    /// Its size.
    pub size: Bytes,
}

/// What a swap device is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwapBacking {
    /// A partition of the disk with this name.
    Disk(String),
    /// Compressed RAM; the ratio in thousandths (3000 is 3:1).
    Zram {
        /// Uncompressed over compressed size, in thousandths.
        ratio_milli: u32,
    },
}

/// A file made before the run, contiguous on its disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name within the study.
    pub name: String,
    /// The disk it lies on, by name.
    pub disk: String,
    /// Its size.
    pub size: Bytes,
}

#[cfg(test)]
mod tests;
