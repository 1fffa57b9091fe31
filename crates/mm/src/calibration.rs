//! What the model must be told of a machine because no formula gives it: the cost of each elementary
//! operation, and the state in which the kernel leaves its memory after boot.
//!
//! Costs are measured on a bench by micro-measurements, never fitted to a study's result.

use alloc::string::String;
use alloc::vec::Vec;

use crate::capture::Capture;
use crate::units::{Bytes, Nanos};

/// A calibration of one kernel on one bench.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// The release it was measured on, as `uname -r` prints it.
    pub kernel: String,
    /// The bench and its clock, as in `vm, virtual time`.
    pub bench: String,
    /// Elementary costs.
    pub costs: Costs,
    /// States after boot, by size of RAM, smallest first; at least one.
    pub boots: Vec<Boot>,
}

/// CPU time of elementary operations, in picoseconds where one page or less is concerned (a page
/// copy is a few hundred nanoseconds; integer picoseconds keep its digits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// A system call that does next to nothing.
    pub syscall_ps: u64,
    /// Reading one page that is in the page cache, `read()` in large blocks.
    pub cached_read_ps: u64,
    /// CPU beyond `cached_read_ps` for a page that a read brings in: allocation, insertion,
    /// readahead, completion of the I/O.
    pub read_in_ps: u64,
    /// One access to a page that is mapped.
    pub touch_ps: u64,
    /// A minor fault on an anonymous base page, zeroing included.
    pub anon_fault_ps: u64,
    /// A fault that is served by a transparent huge page, zeroing included.
    pub huge_fault_ps: u64,
    /// A minor fault on a page of a mapped file that is in the page cache.
    pub file_fault_ps: u64,
    /// CPU of a fault that had to wait for a disk, beyond the wait.
    pub major_fault_ps: u64,
    /// Freeing one anonymous page (exit, unmap).
    pub anon_free_ps: u64,
    /// Reclaiming one clean page-cache page from the inactive list.
    pub reclaim_file_ps: u64,
    /// Moving one page from the active to the inactive list.
    pub deactivate_ps: u64,
    /// Copying one page into the page cache and marking it dirty, `write()` in large blocks.
    pub cached_write_ps: u64,
    /// CPU of writing one dirty page back.
    pub write_out_ps: u64,
    /// Switching from one task to another.
    pub context_switch_ps: u64,
    /// Starting a process and letting it end.
    pub spawn_ps: u64,
}

/// The state of an idle machine after boot: the files of one capture, taken before any workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boot {
    /// RAM as the firmware reports it.
    pub memory: Bytes,
    /// `/proc/zoneinfo`, `/proc/meminfo`, `/proc/vmstat` and the tunables at that moment.
    pub capture: Capture,
    /// How long after power-on it was taken.
    pub uptime: Nanos,
}
