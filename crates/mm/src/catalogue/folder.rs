//! The folders in which the machine's tunables lie, without the leading slash.
//!
//! A path is written here and in the tables beside, and nowhere else: code asks [`path_of`] for a
//! file, or joins a folder with a name that it was given. `cargo xtask tidy` holds it.

use super::names::GROUPS;

/// `vm.*`: reserves, reclaim, dirty throttling, overcommit.
pub const VM: &str = "proc/sys/vm";
/// Kernel samepage merging.
pub const KSM: &str = "sys/kernel/mm/ksm";
/// The multi-generation LRU.
pub const LRU_GEN: &str = "sys/kernel/mm/lru_gen";
/// Transparent huge pages, with a folder for each size.
pub const THP: &str = "sys/kernel/mm/transparent_hugepage";
/// Each size's.
pub const THP_EACH: &str = "sys/kernel/mm/transparent_hugepage/*";
/// The thread that makes them out of base pages.
pub const KHUGEPAGED: &str = "sys/kernel/mm/transparent_hugepage/khugepaged";
/// Huge pages that are set aside, with a folder for each size.
pub const HUGEPAGES: &str = "sys/kernel/mm/hugepages";
/// Each size's.
pub const HUGEPAGES_EACH: &str = "sys/kernel/mm/hugepages/*";
/// zswap.
pub const ZSWAP: &str = "sys/module/zswap/parameters";
/// Demotion to nodes of slower memory.
pub const NUMA: &str = "sys/kernel/mm/numa";
/// How swap-ins read ahead.
pub const SWAP: &str = "sys/kernel/mm/swap";

/// Whether a path lies in a folder.
#[must_use]
pub fn holds(folder: &str, path: &str) -> bool {
    let below = path.strip_prefix(folder);
    below.is_some_and(|below| below.starts_with('/'))
}

/// The file of the machine's tunable with this name, without the leading slash. In a constant the
/// compiler refuses a name that the catalogue lacks.
#[must_use]
pub const fn path_of(name: &str) -> &'static str {
    let mut found = None;
    let mut group = 0;
    while group < GROUPS.len() {
        let mut row = 0;
        while row < GROUPS[group].len() {
            if is_same(GROUPS[group][row].name, name) {
                found = Some(GROUPS[group][row].path);
            }
            row += 1;
        }
        group += 1;
    }
    found.expect("a name of the catalogue")
}

/// `==` of texts, which constants cannot ask for.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{all, of_page_sizes};

    const FOLDERS: [&str; 9] = [
        VM, KSM, LRU_GEN, THP, KHUGEPAGED, HUGEPAGES, ZSWAP, NUMA, SWAP,
    ];

    #[test]
    fn every_tunable_of_the_machine_lies_in_one_of_the_folders() {
        for tunable in all() {
            let (folder, _) = tunable.path.rsplit_once('/').expect("a folder");
            assert!(FOLDERS.contains(&folder), "{}", tunable.path);
            assert_eq!(path_of(tunable.name), tunable.path);
        }
        for tunable in of_page_sizes() {
            let below = |folder: &&str| tunable.path.starts_with(*folder);
            assert!(FOLDERS.iter().any(below), "{}", tunable.path);
        }
    }
}
