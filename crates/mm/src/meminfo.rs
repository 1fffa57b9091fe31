//! `/proc/meminfo`: where the memory is, in kibibytes.

use crate::items::named_numbers;
use crate::text::{ParseError, lines};
use crate::units::Kib;

/// Path without the leading slash.
pub const PATH: &str = "proc/meminfo";

named_numbers!(
    /// `/proc/meminfo`. A field is `None` where this kernel does not print it.
    ///
    /// The five `HugePages_*` lines count huge pages, not kibibytes; they are found in
    /// [`Meminfo::other`].
    Meminfo(Kib, Kib) {
        /// RAM that the kernel manages.
        mem_total = "MemTotal",
        /// Free pages.
        mem_free = "MemFree",
        /// What can be had without swapping, as the kernel estimates it.
        mem_available = "MemAvailable",
        /// Page cache of block devices.
        buffers = "Buffers",
        /// Page cache of files, shmem included, swap cache and buffers not.
        cached = "Cached",
        /// Pages that are in memory and in swap.
        swap_cached = "SwapCached",
        /// Both active lists.
        active = "Active",
        /// Both inactive lists.
        inactive = "Inactive",
        /// Active list of anonymous pages.
        active_anon = "Active(anon)",
        /// Inactive list of anonymous pages.
        inactive_anon = "Inactive(anon)",
        /// Active list of file pages.
        active_file = "Active(file)",
        /// Inactive list of file pages.
        inactive_file = "Inactive(file)",
        /// Pages that reclaim passes over.
        unevictable = "Unevictable",
        /// Locked by `mlock`.
        mlocked = "Mlocked",
        /// Swap space.
        swap_total = "SwapTotal",
        /// Swap space that is free.
        swap_free = "SwapFree",
        /// RAM that zswap's compressed pages take.
        zswap = "Zswap",
        /// What those pages hold, uncompressed.
        zswapped = "Zswapped",
        /// Waits to be written.
        dirty = "Dirty",
        /// Is being written.
        writeback = "Writeback",
        /// Anonymous pages that are mapped.
        anon_pages = "AnonPages",
        /// File pages that are mapped.
        mapped = "Mapped",
        /// tmpfs and shared anonymous memory.
        shmem = "Shmem",
        /// Kernel memory that can be reclaimed: `SReclaimable` and other caches.
        kreclaimable = "KReclaimable",
        /// All slab.
        slab = "Slab",
        /// Slab that can be reclaimed.
        sreclaimable = "SReclaimable",
        /// Slab that cannot.
        sunreclaim = "SUnreclaim",
        /// Stacks of kernel threads and of tasks in the kernel.
        kernel_stack = "KernelStack",
        /// Page tables.
        page_tables = "PageTables",
        /// Page tables of IOMMUs and virtual machines.
        sec_page_tables = "SecPageTables",
        /// The most that may be promised under `vm.overcommit_memory` = 2.
        commit_limit = "CommitLimit",
        /// What is promised.
        committed_as = "Committed_AS",
        /// Memory in use from `vmalloc`.
        vmalloc_used = "VmallocUsed",
        /// Per-CPU allocations.
        percpu = "Percpu",
        /// Anonymous transparent huge pages.
        anon_huge_pages = "AnonHugePages",
        /// Huge pages of shmem.
        shmem_huge_pages = "ShmemHugePages",
        /// Huge pages of files.
        file_huge_pages = "FileHugePages",
        /// Memory that a balloon driver gave back to the hypervisor.
        balloon = "Balloon",
        /// Size of the default huge page.
        hugepagesize = "Hugepagesize",
        /// Memory of all hugetlb pools.
        hugetlb = "Hugetlb",
    }
);

impl Meminfo {
    /// Reads the text of `/proc/meminfo`.
    ///
    /// # Errors
    /// The first line that is not "NAME: NUMBER kB", or a text without any.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        match Self::read(text) {
            (_, Some(error)) => Err(error),
            (meminfo, None) => meminfo.ok_or_else(nothing),
        }
    }

    /// Reads the lines that can be read, and keeps the error of the first that cannot: a paste may
    /// be cut off. `None` where no line can.
    #[must_use]
    pub fn read(text: &str) -> (Option<Self>, Option<ParseError>) {
        let (mut meminfo, mut first) = (Self::default(), None);
        for line in lines(PATH, text) {
            let item = line.key_number();
            let amount = item.and_then(|(item, value)| Ok((item, line.amount(item, value)?)));
            match amount {
                Ok((item, amount)) => meminfo.set(item, amount),
                Err(error) => first = first.or(Some(error)),
            }
        }
        match meminfo == Self::default() {
            true => (None, Some(first.unwrap_or_else(nothing))),
            false => (Some(meminfo), first),
        }
    }
}

fn nothing() -> ParseError {
    ParseError::new(PATH, 1, "", "lines of \"NAME: NUMBER kB\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_found_by_field_and_by_the_kernels_name() {
        let text = "MemTotal:       24684096 kB\nSReclaimable:      91416 kB\n\
                    HugePages_Total:       3\nActive(file):     142664 kB\nNewThing: 5 kB\n";
        let meminfo = Meminfo::parse(text).expect("a meminfo");
        assert_eq!(meminfo.mem_total, Some(Kib(24_684_096)));
        assert_eq!(meminfo.get("Active(file)"), Some(Kib(142_664)));
        assert_eq!(meminfo.get("NewThing"), Some(Kib(5)));
        assert_eq!(meminfo.other.get("HugePages_Total"), Some(3));
        assert_eq!(meminfo.mem_available, None);
        assert_eq!(meminfo.get("Nonsense"), None);
        assert_eq!(meminfo.iter().count(), 5);
    }

    #[test]
    fn a_line_that_is_not_an_item_is_named() {
        let error = Meminfo::parse("MemTotal: 1 kB\nMemFree: many kB\n").expect_err("no number");
        assert_eq!((error.line, error.item.as_str()), (2, "MemFree"));
        assert!(Meminfo::parse("").is_err());
        let (read, error) = Meminfo::read("MemTotal: 1 kB\nMemFree: 2 kB\nMemAvai");
        assert_eq!(read.expect("two lines").mem_free, Some(Kib(2)));
        assert_eq!(error.expect("the third").line, 3);
    }
}
