//! What the model must be told of a machine because no formula gives it: the cost of each
//! elementary operation, and the state in which the kernel leaves its memory after boot.
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

/// CPU time of elementary operations, in picoseconds: a page copy is a few hundred nanoseconds, and
/// integer picoseconds keep its digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// What the workload does between two operations, outside their latency: the stopwatch, the
    /// counting, the choice of the next block.
    pub loop_ps: u64,
    /// One `read()`, without what it does for each page.
    pub syscall_ps: u64,
    /// Copying one page that is in the page cache.
    pub cached_read_ps: u64,
    /// Moving a page to the active list on its second access.
    pub activate_ps: u64,
    /// Bringing one page in, beyond its copying: allocation, insertion, completion.
    pub read_in_ps: u64,
    /// One request to a disk: submission, sleep, interrupt, waking.
    pub request_ps: u64,
    /// One operation on a region, without what it does for each page.
    pub operation_ps: u64,
    /// One read of a page that is mapped.
    pub load_ps: u64,
    /// One write to a page that is mapped.
    pub touch_ps: u64,
    /// A minor fault on an anonymous base page, zeroing included.
    pub anon_fault_ps: u64,
    /// A fault that is served by a transparent huge page, zeroing included.
    pub huge_fault_ps: u64,
    /// Freeing one anonymous page (exit, unmap).
    pub anon_free_ps: u64,
    /// kswapd's time for a clean page-cache page that it reclaims from the inactive list.
    pub reclaim_file_ps: u64,
    /// kswapd's time for a page that it moves from the active to the inactive list.
    pub deactivate_ps: u64,
    /// Reclaim's time for a page that it looks at and leaves on its list: its accessed bit is found
    /// and cleared.
    pub rotate_ps: u64,
    /// Reclaim's time for an anonymous page that goes to swap, from its unmapping to its freeing,
    /// beyond the request.
    pub swap_out_ps: u64,
    /// A fault's time for a page that comes back from swap, beyond the request.
    pub swap_in_ps: u64,
    /// Reclaim's time for an anonymous page that goes to zram, compression included.
    pub zram_out_ps: u64,
    /// A fault's time for a page that comes back from zram, decompression included.
    pub zram_in_ps: u64,
    /// A minor fault on a page of a mapped file that is in the page cache: it maps the pages around
    /// it too, 16 in all.
    pub map_file_ps: u64,
    /// Direct I/O's time for each page, beyond the system call and the request.
    pub direct_ps: u64,
    /// One `write()`, without what it does for each page.
    pub write_call_ps: u64,
    /// Copying one page into the page cache where it is dirty already.
    pub write_ps: u64,
    /// Making a clean page dirty.
    pub dirty_ps: u64,
    /// Making a page for a `write()` that covers it, beyond its copying: allocation, insertion.
    pub write_in_ps: u64,
    /// A fault on a mapped page of a file that is there, and is written to for the first time since
    /// it was clean.
    pub mkwrite_ps: u64,
    /// The flusher's time for a page that it writes, and that of its completion, beyond the
    /// request.
    pub writeback_ps: u64,
    /// What the flusher takes longer for a page that is mapped: its page-table entries become
    /// clean.
    pub mkclean_ps: u64,
    /// MGLRU's time for a page-table entry that a walk finds accessed.
    pub walk_ps: u64,
    /// A pass of reclaim over the node, without what it does for each page: every shrinker is
    /// asked.
    pub pass_ps: u64,
    /// Falling asleep and waking at a time: what passes before the timer is set and after it went
    /// off.
    pub sleep_ps: u64,
    /// Leaving the CPU to another task, when the timer is set.
    pub switch_ps: u64,
    /// Starting a process, and its end.
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
