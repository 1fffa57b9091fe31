//! What the model must be told of a machine because no formula gives it: the cost of each
//! elementary operation, and the state in which the kernel leaves its memory after boot.
//!
//! Costs are measured on a bench by micro-measurements, never fitted to a study's result.

use alloc::string::String;
use alloc::vec::Vec;

use crate::machine::Machine;
use mm::capture::Capture;
use mm::units::{Bytes, Nanos, Pages};

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
    /// Length of the study's text of which the VM's supervisor keeps a part. It is told no text any
    /// more: this is 0 but for the records that were made before.
    pub text_kept: Bytes,
}

/// Declares the costs once: each with its field and the name by which files know it.
macro_rules! costs {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident = $key:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: u64,)*
        }

        impl $name {
            /// The names of all costs, in order.
            pub const NAMES: &[&str] = &[$($key),*];

            /// The cost of this name.
            pub fn get_mut(&mut self, name: &str) -> Option<&mut u64> {
                match name {
                    $($key => Some(&mut self.$field),)*
                    _ => None,
                }
            }

            /// Every cost with its name, in order.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$(($key, self.$field)),*].into_iter()
            }
        }
    };
}

costs! {
    /// CPU time of elementary operations, in picoseconds: a page copy is a few hundred nanoseconds,
    /// and integer picoseconds keep its digits.
    Costs {
        /// What the workload does between two operations, outside their latency: the stopwatch, the
        /// counting, the choice of the next block.
        loop_ps = "loop",
        /// One `read()`, without what it does for each page.
        syscall_ps = "syscall",
        /// Copying one page that is in the page cache.
        cached_read_ps = "cached-read",
        /// Moving a page to the active list on its second access.
        activate_ps = "activate",
        /// Bringing one page in, beyond its copying: allocation, insertion, completion.
        read_in_ps = "read-in",
        /// Dropping a clean page of the page cache because somebody asks for it.
        drop_ps = "drop",
        /// An allocation under the low watermark, beyond what one above it takes.
        slowpath_ps = "slowpath",
        /// A page's way from its zone to a per-CPU list: the part of the costs of making a page
        /// (`anon-fault`, `read-in`, `write-in`, `swap-in`) that the task that makes the list draw
        /// pays for all that it draws.
        draw_ps = "draw",
        /// Putting a new page on its list.
        lru_add_ps = "lru-add",
        /// One request to a disk: submission and interrupt.
        request_ps = "request",
        /// Waiting for a page that is read, or for a direct read or write: going to sleep, waking,
        /// and running again.
        wait_ps = "wait",
        /// One operation on a region, without what it does for each page.
        operation_ps = "operation",
        /// One read of a page that is mapped.
        load_ps = "load",
        /// One write to a page that is mapped.
        touch_ps = "touch",
        /// A minor fault on an anonymous base page, zeroing included.
        anon_fault_ps = "anon-fault",
        /// A fault that is served by a transparent huge page, zeroing included.
        huge_fault_ps = "huge-fault",
        /// Freeing one anonymous page (exit, unmap).
        anon_free_ps = "anon-free",
        /// kswapd's time for a clean page-cache page that it reclaims from the inactive list.
        reclaim_file_ps = "reclaim-file",
        /// The same for one that MGLRU evicts from its oldest generation.
        evict_file_ps = "evict-file",
        /// kswapd's time for a page that it moves from the active to the inactive list.
        deactivate_ps = "deactivate",
        /// Reclaim's time for a page that it looks at and leaves on its list: its accessed bit is
        /// found and cleared.
        rotate_ps = "rotate",
        /// Reclaim's time for an anonymous page that goes to swap, from its unmapping to its
        /// freeing, beyond the request.
        swap_out_ps = "swap-out",
        /// A fault's time for a page that comes back from swap, beyond the request.
        swap_in_ps = "swap-in",
        /// Reclaim's time for an anonymous page that goes to zram, compression included.
        zram_out_ps = "zram-out",
        /// A fault's time for a page that comes back from zram, decompression included.
        zram_in_ps = "zram-in",
        /// A minor fault on a page of a mapped file that is in the page cache: it maps the pages
        /// around it too, 16 in all.
        map_file_ps = "map-file",
        /// The same where another process maps these pages already.
        map_again_ps = "map-again",
        /// Taking a page of a file out of one page table, in reclaim.
        unmap_ps = "unmap",
        /// Direct I/O's time for each page, beyond the system call and the request.
        direct_ps = "direct",
        /// One `write()`, without what it does for each page.
        write_call_ps = "write-call",
        /// Copying one page into the page cache where it is dirty already.
        write_ps = "write",
        /// Making a clean page dirty.
        dirty_ps = "dirty",
        /// Making a page for a `write()` that covers it, beyond its copying: allocation, insertion.
        write_in_ps = "write-in",
        /// A fault on a mapped page of a file that is there, and is written to for the first time
        /// since it was clean.
        mkwrite_ps = "mkwrite",
        /// Handing a dirty page over to its disk, beyond the request.
        writeback_ps = "writeback",
        /// What the disk's interrupt takes for a page that has been written, the disk's own copying
        /// of it included.
        written_ps = "written",
        /// The part of `read_in_ps` that the disk's interrupt takes; 0 where that was not measured.
        read_done_ps = "read-done",
        /// The part of `request_ps` that the interrupt takes where the request reads pages of a
        /// file; 0 where that was not measured.
        interrupt_ps = "interrupt",
        /// An `fsync` that finds nothing to do, beyond a system call.
        fsync_call_ps = "fsync-call",
        /// What `fsync` takes longer than the flusher for a page that it hands over.
        fsync_ps = "fsync",
        /// What the flusher takes longer for a page that is mapped: its page-table entries become
        /// clean.
        mkclean_ps = "mkclean",
        /// What a commit of a file system's journal takes on the CPU, beyond its requests.
        commit_ps = "commit",
        /// MGLRU's time for a page-table entry that a walk, or a look around, goes through.
        walk_ps = "walk",
        /// What that takes longer where the entry is found accessed.
        walk_young_ps = "walk-young",
        /// A pass of reclaim over the node, without what it does for each page: every shrinker is
        /// asked.
        pass_ps = "pass",
        /// What that takes longer for each disk: its file system has shrinkers too.
        pass_disk_ps = "pass-disk",
        /// The supervisor's time for a sample that holds what merging shows.
        sample_ps = "sample",
        /// The supervisor's time for such a snapshot.
        snapshot_ps = "snapshot",
        /// What such a snapshot takes longer for each process beyond the first.
        watch_ps = "watch",
        /// A batch of ksmd without what it does for each page: waking and falling asleep.
        ksm_batch_ps = "ksm-batch",
        /// ksmd's visit of a candidate that is merged already.
        ksm_visit_ps = "ksm-visit",
        /// What smart scan takes of a visit: asking whether it passes over the candidate.
        ksm_smart_ps = "ksm-smart",
        /// Computing the checksum of a page, beyond the visit.
        ksm_checksum_ps = "ksm-checksum",
        /// What a candidate's first visit takes beyond its checksum: making its item.
        ksm_item_ps = "ksm-item",
        /// A level of a search in the unstable tree, of which a tree of n pages has log2(n + 1).
        ksm_unstable_level_ps = "ksm-unstable-level",
        /// A level of a search in the stable tree, likewise.
        ksm_stable_level_ps = "ksm-stable-level",
        /// Taking an item out of the unstable tree and putting it in, beyond the search.
        ksm_insert_ps = "ksm-insert",
        /// Merging a page with one that is merged, beyond the search: write protection, comparison,
        /// replacing, freeing.
        ksm_merge_ps = "ksm-merge",
        /// Merging two pages of which none is merged, beyond the searches in both trees.
        ksm_merge_two_ps = "ksm-merge-two",
        /// Merging a page with the zero page.
        ksm_merge_zero_ps = "ksm-merge-zero",
        /// Splitting the huge page that a page to be merged lies in.
        ksm_split_ps = "ksm-split",
        /// Passing over a candidate that smart scan skips.
        ksm_skip_ps = "ksm-skip",
        /// What that takes longer where it was in the unstable tree.
        ksm_leave_ps = "ksm-leave",
        /// Going on to a process in a full scan, and behind its last candidate.
        ksm_mm_ps = "ksm-mm",
        /// Dropping the item of a candidate that is gone.
        ksm_forget_ps = "ksm-forget",
        /// A fault that writes to a merged page, copying included, the freeing of that page not.
        ksm_cow_ps = "ksm-cow",
        /// The same on the zero page, with zeroing in place of copying.
        ksm_cow_zero_ps = "ksm-cow-zero",
        /// Unmerging a page by `run` = 2, its item's end included, the freeing of the merged page
        /// not.
        ksm_unmerge_ps = "ksm-unmerge",
        /// What `run` = 2 takes for a page that became the zero page: parted, or left as it is.
        ksm_unmerge_zero_ps = "ksm-unmerge-zero",
        /// What `run` = 2 takes for a candidate that is not merged, its item's end included.
        ksm_look_ps = "ksm-look",
        /// What reading the bytes of a page once takes longer where it lies on another NUMA node.
        remote_ps = "remote",
        /// Falling asleep and waking at a time: what passes before the timer is set and after it
        /// went off.
        sleep_ps = "sleep",
        /// Leaving the CPU to another task, when the timer is set.
        switch_ps = "switch",
        /// A process's writing of a tunable, which it reads before and after: the first time it
        /// does, as most do it once.
        set_ps = "set",
        /// Starting a process, and its end.
        spawn_ps = "spawn",
        /// The bench's writing of eight bytes that do not compress: with a page's first word it
        /// writes as many as zram's ratio asks for.
        noise_ps = "noise",
    }
}

impl Costs {
    /// These costs on a machine that has some of its own. A part of a cost is never more than the
    /// whole of it.
    #[must_use]
    pub fn on(mut self, machine: &Machine) -> Self {
        for cost in &machine.costs {
            if let Some(place) = self.get_mut(&cost.name) {
                *place = cost.picoseconds;
            }
        }
        self.read_done_ps = self.read_done_ps.min(self.read_in_ps);
        self.interrupt_ps = self.interrupt_ps.min(self.request_ps);
        let made = [
            self.anon_fault_ps,
            self.read_in_ps - self.read_done_ps,
            self.write_in_ps,
        ];
        let least = made.into_iter().fold(u64::MAX, u64::min);
        self.draw_ps = self.draw_ps.min(least);
        self.lru_add_ps = self.lru_add_ps.min(least - self.draw_ps);
        self
    }
}

/// The frame of a boot's capture whose `/proc/zoneinfo` was read when users had taken all pages of
/// the per-CPU lists that are for them: what is on the lists is the kernel's.
pub const USERS_LISTS_USED_UP: &str = "users' lists are used up";

/// The state of an idle machine after boot: the files of one capture, taken before any workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boot {
    /// RAM as the firmware reports it.
    pub memory: Bytes,
    /// Its first frame has `/proc/zoneinfo`, `/proc/meminfo`, `/proc/vmstat` and the tunables at
    /// that moment. `/proc/pagetypeinfo`, for the types of the free pages, may be in another, from
    /// a later boot of the same kernel; where it is in none, all free pages are users'. So may the
    /// one of [`USERS_LISTS_USED_UP`]; where there is none, what is on the per-CPU lists is users'.
    pub capture: Capture,
    /// When the machine was ready for a run, on its clock.
    pub ready: Nanos,
    /// When its ticks began ([`mm::timer_list::ticks_began`]).
    pub ticks: Nanos,
    /// When its disks came: each flusher counts from then to when it first looks for old files.
    pub disks: Nanos,
    /// The dirty threshold that the kernel computed when only a part of memory was there
    /// (`page_writeback_init` comes before the rest of it is initialised): its slow limit, and what
    /// tasks may dirty between two looks, follow that one until a dirty tunable is written. `None`
    /// is not known: as if all memory had been there.
    pub dirty_limit: Option<Pages>,
}
