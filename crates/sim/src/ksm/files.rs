//! What merging shows of itself: the files of `/sys/kernel/mm/ksm`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use mm::capture::Frame;
use mm::formula::ksm::general_profit;
use mm::ksm::DIR;
use mm::units::PageSize;

use crate::memory::Memory;

/// The files that a kernel has, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Template(Vec<String>);

impl Template {
    /// Those of a kernel after boot.
    pub(crate) fn of(boot: &Frame) -> Self {
        let names = boot.files.keys().filter_map(|path| path.strip_prefix(DIR));
        let names = names.filter_map(|name| name.strip_prefix('/'));
        Self(names.map(str::to_string).collect())
    }

    /// Path and text of those that count, and of those that the kernel sets itself.
    pub(crate) fn files(&self, memory: &Memory) -> impl Iterator<Item = (String, String)> {
        self.0.iter().filter_map(|name| {
            let value = memory.ksm_file(name)?;
            Some((mm::ksm::path(name), format!("{value}\n")))
        })
    }
}

impl Memory {
    fn ksm_file(&self, name: &str) -> Option<i64> {
        let ksm = &self.ksm;
        let real = |pages: u64| self.real(pages).0;
        let (counts, trees) = (ksm.counts, &ksm.trees);
        let merged = counts.shared + counts.sharing + counts.unshared;
        let number = match name {
            "pages_to_scan" => ksm.settings.pages_to_scan,
            "pages_shared" => real(counts.shared),
            "pages_sharing" => real(counts.sharing),
            "pages_unshared" => real(counts.unshared),
            "pages_volatile" => real(counts.items.saturating_sub(merged)),
            "pages_scanned" => real(counts.scanned),
            "pages_skipped" => real(counts.skipped),
            "full_scans" => counts.full_scans,
            "ksm_zero_pages" => real(counts.zero_pages),
            "stable_node_chains" => real(trees.chains),
            "stable_node_dups" => real(trees.dups),
            "general_profit" => {
                let (sharing, zero) = (real(counts.sharing), real(counts.zero_pages));
                let items = real(counts.items);
                return Some(general_profit(sharing, zero, items, PageSize::FOUR_KIB));
            }
            _ => return None,
        };
        i64::try_from(number).ok()
    }
}
