//! The mappings of a process: `/proc/PID/maps`, as far as merging of pages is concerned.

use alloc::string::String;
use alloc::vec::Vec;

use crate::text::{Line, ParseError, lines};

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The first byte's address.
    pub start: u64,
    /// The address behind the last byte.
    pub end: u64,
    /// Whether the process may access it at all; reserved address space it may not.
    pub accessible: bool,
    /// Whether writes stay the process's own.
    pub private: bool,
    /// The inode number of the file; 0 where there is none.
    pub inode: u64,
    /// The file, a name in brackets, or nothing; the kernel escapes newlines in it.
    pub name: String,
}

/// Mappings that the kernel makes itself, in which nothing is merged.
const KERNELS_OWN: [&str; 6] = [
    "[vdso]",
    "[vsyscall]",
    "[vvar]",
    "[vvar_vclock]",
    "[uprobes]",
    "[sigpage]",
];

/// The name of a private mapping of huge pages from the pool (`MAP_HUGETLB`).
const ANON_HUGETLB: &str = "/anon_hugepage";

/// Reads the whole file.
///
/// # Errors
/// The first line that is no mapping.
pub fn parse(file: &str, text: &str) -> Result<Vec<Mapping>, ParseError> {
    lines(file, text).map(|line| mapping(&line)).collect()
}

/// Where file systems of huge pages are mounted, from `/proc/PID/mounts`.
#[must_use]
pub fn hugetlb_mounts(mounts: &str) -> Vec<String> {
    let target = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let target = words.next()?;
        (words.next()? == "hugetlbfs").then(|| target.into())
    };
    mounts.lines().filter_map(target).collect()
}

impl Mapping {
    /// Whether the kernel would merge pages of it if it were asked to: its anonymous pages can be
    /// merged (`vma_ksm_compatible`), those of the huge page pool and the kernel's own cannot.
    #[must_use]
    pub fn may_merge(&self, hugetlb_mounts: &[String]) -> bool {
        let name = self.name.as_str();
        let below = |mount: &String| {
            let rest = name.strip_prefix(mount.as_str());
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        self.private
            && !KERNELS_OWN.contains(&name)
            && !name.starts_with(ANON_HUGETLB)
            && !hugetlb_mounts.iter().any(below)
    }
}

fn mapping(line: &Line<'_>) -> Result<Mapping, ParseError> {
    const EXPECTED: &str = "\"START-END PERMISSIONS OFFSET DEVICE INODE [NAME]\"";
    let error = || line.error(line.text, EXPECTED);
    let mut words = line.text.trim_ascii_start().splitn(6, ' ');
    let range = words.next().and_then(|range| range.split_once('-'));
    let (start, end) = range.ok_or_else(error)?;
    let address = |hex| u64::from_str_radix(hex, 16).map_err(|_| error());
    let (start, end) = (address(start)?, address(end)?);
    let permissions = words.next().filter(|word| word.len() == 4 && start < end);
    let permissions = permissions.ok_or_else(error)?;
    let (Some(_offset), Some(_device), Some(inode)) = (words.next(), words.next(), words.next())
    else {
        return Err(error());
    };
    let name = words.next().unwrap_or_default().trim_ascii();
    Ok(Mapping {
        start,
        end,
        accessible: !permissions.starts_with("---"),
        private: permissions.ends_with('p'),
        inode: inode.parse().map_err(|_| error())?,
        name: name.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c0a00000-55d0c0a21000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0040000000 rw-p 00000000 00:00 0
7f0040000000-7f0040200000 rw-p 00000000 00:0f 5    /anon_hugepage (deleted)
7f0050000000-7f0050200000 rw-p 00000000 00:2f 9    /dev/hugepages/qemu ram (deleted)
7f0060000000-7f0060001000 rw-s 00000000 00:01 7    /dev/zero (deleted)
7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0    [vdso]
";

    #[test]
    fn private_memory_may_merge_and_huge_pages_of_the_pool_may_not() {
        let mounts = hugetlb_mounts("a /x ext4 rw 0 0\nnodev /dev/hugepages hugetlbfs rw 0 0\n");
        assert_eq!(mounts, ["/dev/hugepages"]);
        let mappings = parse("proc/1/maps", MAPS).expect("mappings");
        assert_eq!(mappings[1].end - mappings[1].start, 1 << 30);
        assert_eq!(mappings[3].name, "/dev/hugepages/qemu ram (deleted)");
        let may: Vec<bool> = mappings.iter().map(|m| m.may_merge(&mounts)).collect();
        assert_eq!(may, [true, true, false, false, false, false]);
        assert!(mappings.iter().all(|mapping| mapping.accessible));
        let reserved = parse("f", "1000-2000 ---p 00000000 00:00 0").expect("a mapping");
        assert!(!reserved[0].accessible);
    }

    #[test]
    fn what_is_no_mapping_is_named_with_its_line() {
        for bad in [
            "x",
            "1-2 rw-p 0 0",
            "2-1 rw-p 0 0:0 0",
            "1-2 rw 0 0:0 0",
            "1-g rw-p 0 0:0 0",
        ] {
            let error = parse("proc/1/maps", bad).expect_err(bad);
            assert_eq!(error.line, 1);
        }
        assert!(
            parse("proc/1/maps", "")
                .expect("a process that ends")
                .is_empty()
        );
    }
}
