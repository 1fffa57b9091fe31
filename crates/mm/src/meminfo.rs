//! `/proc/meminfo`: where the memory is, in kibibytes.

use alloc::vec::Vec;

use crate::items::named_numbers;
use crate::text::{ParseError, lines};
use crate::units::{Kib, PageSize};

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

/// Items that count pages.
const OF_PAGES: [&str; 14] = [
    "MemFree",
    "Buffers",
    "Cached",
    "Active(anon)",
    "Inactive(anon)",
    "Active(file)",
    "Inactive(file)",
    "AnonPages",
    "Mapped",
    "Shmem",
    "SReclaimable",
    "SUnreclaim",
    "PageTables",
    "Unevictable",
];

/// Items of which each is a multiple of a larger page by chance once in four times or less:
/// that eight are is no chance.
const TELLING: usize = 8;

impl Meminfo {
    /// The size of a base page above 4 KiB that these amounts tell: each counts pages, and all are
    /// multiples of it; else the size of the default huge page, where one base page alone has it
    /// (arm64: 512 MiB of 64 KiB pages, 32 MiB of 16 KiB ones).
    #[must_use]
    pub fn page_size(&self) -> Option<PageSize> {
        let amounts = OF_PAGES.iter().filter_map(|item| self.get(item));
        let amounts: Vec<u64> = amounts.map(|Kib(kib)| kib).filter(|&kib| kib > 0).collect();
        let unit = amounts.iter().map(|kib| kib.trailing_zeros()).min();
        let large = [65_536, 16_384].into_iter().filter_map(PageSize::new);
        let fits = |page: &PageSize| unit.is_some_and(|unit| 1_u64 << unit >= page.kib());
        let mut fitting = large.filter(fits);
        match amounts.len() >= TELLING {
            true => fitting.next(),
            false => self.page_size_by_huge_page(),
        }
    }

    fn page_size_by_huge_page(&self) -> Option<PageSize> {
        match self.hugepagesize? {
            Kib(524_288) => PageSize::new(65_536),
            Kib(32_768) => PageSize::new(16_384),
            _ => None,
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
    fn amounts_or_the_huge_page_tell_a_large_base_page() {
        let size = |text: &str| {
            let meminfo = Meminfo::parse(text).expect("a meminfo");
            meminfo.page_size().map(PageSize::kib)
        };
        let amounts = |unit: u64| {
            let lines = OF_PAGES.iter().zip(3..).take(TELLING);
            let lines = lines.map(|(item, count)| alloc::format!("{item}: {} kB\n", count * unit));
            lines.collect::<alloc::string::String>()
        };
        assert_eq!(size(&amounts(64)), Some(64), "ppc64le, arm64+64k");
        assert_eq!(size(&amounts(16)), Some(16), "arm64+16k");
        assert_eq!(size(&amounts(4)), None);
        let huge = "Hugepagesize: 524288 kB\n";
        assert_eq!(size(huge), Some(64));
        assert_eq!(
            size(&(amounts(4) + huge)),
            None,
            "the amounts are told in 4 KiB"
        );
        assert_eq!(size("Hugepagesize: 32768 kB\n"), Some(16));
        assert_eq!(size("Hugepagesize: 2048 kB\n"), None);
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
